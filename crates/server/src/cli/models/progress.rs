//! How far a download is, for a person at a terminal. Elsewhere nothing is drawn.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// One bar on standard error.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(super) fn new() -> Self {
        // Draws only where standard error is a terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = "{msg:10} {wide_bar} {bytes}/{total_bytes} {eta:>4}";
        bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar }
    }

    /// A new file of `length` bytes.
    pub(super) fn begin(&self, name: &str, length: u64) {
        self.bar.set_message(name.to_owned());
        self.bar.set_length(length);
        self.bar.reset();
    }

    pub(super) fn at(&self, bytes: u64) {
        self.bar.set_position(bytes);
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
