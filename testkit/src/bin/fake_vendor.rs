//! The fake vendor as a program: `fake-vendor --port 9200`, then point `OPENAI_BASE_URL` at the address it prints.
//!
//! Its directives are described in `testkit::fake_vendor::directives`; `GET /_requests` shows what it received.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Parser;
use testkit::fake_vendor::{TokenRules, VendorMode, VendorOptions, run};

/// A fake OpenAI-compatible vendor that does what directives in the last user message say.
///
/// [[say:TEXT]] [[think:TEXT]] [[tool:NAME {json}]] [[tools-together]] [[loop:NAME {json}]] [[error:STATUS]]
/// [[error-once:STATUS]] [[retry-after:SECONDS]] [[delay:MS]] [[cut]] [[stall]] [[bad-arguments]] [[length]]
/// [[tokens:N]]. GET /_requests shows what it received, DELETE /_requests forgets it.
#[derive(Debug, Parser)]
struct Arguments {
    /// The port on loopback; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Answer one fixed reply as quickly as possible, and keep only the last request.
    #[arg(long)]
    plain: bool,
    /// Wait this long before each answer.
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// Cut every streamed text into at most this many pieces, instead of a few characters each.
    #[arg(long)]
    pieces: Option<usize>,
    /// Count tokens, and refuse requests of more than this many as OpenAI does; every model is listed with this window.
    #[arg(long)]
    window: Option<u32>,
    /// Multiply the count by this, to be a vendor that counts differently.
    #[arg(long, default_value_t = 1.0, requires = "window")]
    count_factor: f64,
    /// Say nothing about what answers cost.
    #[arg(long)]
    no_usage: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let options = VendorOptions {
        port: arguments.port,
        mode: if arguments.plain { VendorMode::Plain } else { VendorMode::Strict },
        latency: Duration::from_millis(arguments.latency_ms),
        pieces: arguments.pieces,
        // A store outlives this program, and ids in it should not repeat after a restart.
        first_number: SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() * 1_000_000,
        reports_usage: !arguments.no_usage,
        ..VendorOptions::default()
    };
    let options = match arguments.window {
        Some(window) => options.counting(TokenRules { window, count_factor: arguments.count_factor }),
        None => options,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run(options, |url| {
        let mut stdout = std::io::stdout();
        writeln!(stdout, "{url}")?;
        Ok(stdout.flush()?)
    }))
}
