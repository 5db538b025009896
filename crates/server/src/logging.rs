//! Log lines: structured, to standard error, without message texts or keys above debug level.

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// Starts logging; `usual` is the filter where the operator gave none.
pub(crate) fn start(config: &Config, usual: &str) -> anyhow::Result<()> {
    let filter = config.log.as_deref().unwrap_or(usual);
    let filter = EnvFilter::try_new(filter)
        .with_context(|| "LIBRARIAN_LOG is not a log filter: try `info`, `debug` or `warn,dispatch=debug`")?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match config.log_format {
        LogFormat::Text => {
            let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
            lines.with_ansi(colours).try_init()
        }
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging can't be started: {error}"))?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// A panic's text may quote what it stumbled over, a message for one, so only its place is told.
fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "a fault in the program was caught");
    tracing::debug!(text = panic.payload_as_str().unwrap_or_default(), "what the fault said");
}
