//! A cheap closed-loop load client: it sends messages to a server and prints one line of JSON with what it measured.
//!
//! It shares the machine with what it measures, so it runs on one thread, keeps its connections, and reads answers
//! without looking into them.

mod hold;
mod measure;
mod process;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use clap::{Parser, ValueEnum};
use serde_json::json;

use measure::{Pace, Plan, Target};
use process::Reading;

/// Sends messages over keep-alive connections and prints one line of JSON.
#[derive(Debug, Parser)]
struct Arguments {
    /// The server, `http://host:port`.
    #[arg(long)]
    url: String,
    /// Ids (or, for `openai`, names) of agents. Client number i has the agents i, i + clients, and so on.
    #[arg(long, value_delimiter = ',')]
    agents: Vec<String>,
    /// Connections that send at the same time.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// How long it measures.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// How long it sends before it measures.
    #[arg(long, default_value_t = 1.0)]
    warmup: f64,
    /// Which door is used.
    #[arg(long, value_enum, default_value_t = Mode::Letta)]
    mode: Mode,
    /// For `vendor`: the file that is posted.
    #[arg(long)]
    body: Option<PathBuf>,
    /// Stop after this many messages to each agent, instead of by time.
    #[arg(long)]
    count: Option<usize>,
    /// Go on to a client's next agent after this many messages, so that no agent's context grows far.
    #[arg(long, default_value_t = 1)]
    per_agent: usize,
    /// The server's process, to measure its CPU time and memory.
    #[arg(long)]
    pid: Option<u32>,
    /// Sent as a bearer token.
    #[arg(long)]
    api_key: Option<String>,
    /// Ask for streams.
    #[arg(long)]
    stream: bool,
    /// Begin one stream with each client, hold all of them open, and say what each costs in memory.
    #[arg(long, requires = "pid")]
    hold: bool,
    /// What is said in each message.
    #[arg(long, default_value = "What do you remember about me? Please answer in one short sentence.")]
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// `POST /v1/agents/{id}/messages`.
    Letta,
    /// `POST /v1/chat/completions` with the agent, or a model's handle, as the model.
    Openai,
    /// `POST /v1/chat/completions` with the body of a file.
    Vendor,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let plan = plan(&arguments)?;
    let pid = arguments.pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if arguments.hold {
        let line = runtime.block_on(hold::run(plan, || Reading::take(&pid)))?;
        writeln!(std::io::stdout(), "{line}")?;
        return Ok(());
    }
    let measured = runtime.block_on(measure::run(plan, || Reading::take(&pid)))?;
    let requests = measured.micros.len();
    let cpu = measured.after.cpu_micros.saturating_sub(measured.before.cpu_micros);
    let server = arguments.pid.is_some();
    let line = json!({
        "requests": requests,
        "errors": measured.errors,
        "first_error": measured.first_error,
        "req_per_s": rounded(requests as f64 / measured.seconds),
        "first_p50_us": measured.first_words(),
        "p50_us": measured.quantile(0.50),
        "p90_us": measured.quantile(0.90),
        "p99_us": measured.quantile(0.99),
        "server_cpu_us_per_request": server.then(|| rounded(cpu as f64 / requests.max(1) as f64)),
        "server_rss_mib": server.then(|| rounded(measured.after.rss_kib as f64 / 1024.0)),
    });
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn plan(arguments: &Arguments) -> Result<Plan> {
    ensure!(arguments.clients > 0, "there must be at least one client");
    let targets = targets(arguments)?;
    let authority = arguments.url.strip_prefix("http://").context("only http:// is spoken here")?;
    let pace = match arguments.count {
        Some(count) => Pace::Count(count),
        None => Pace::Time {
            warmup: Duration::try_from_secs_f64(arguments.warmup)?,
            measured: Duration::try_from_secs_f64(arguments.seconds)?,
        },
    };
    Ok(Plan {
        authority: authority.trim_end_matches('/').to_owned(),
        bearer: arguments.api_key.as_ref().map(|key| format!("Bearer {key}")),
        clients: arguments.clients,
        per_agent: arguments.per_agent.max(1),
        targets,
        pace,
    })
}

fn targets(arguments: &Arguments) -> Result<Vec<Target>> {
    let said = json!([{"role": "user", "content": arguments.text}]);
    let chat = "/v1/chat/completions".to_owned();
    if arguments.mode == Mode::Vendor {
        let file = arguments.body.as_ref().context("--mode vendor needs --body")?;
        let body = std::fs::read(file).with_context(|| format!("{} can't be read", file.display()))?;
        return Ok(vec![Target { path: chat, body: Bytes::from(body) }]);
    }
    ensure!(!arguments.agents.is_empty(), "--agents must name at least one agent");
    let target = |agent: &String| match arguments.mode {
        Mode::Letta => Target {
            path: format!("/v1/agents/{agent}/messages"),
            body: Bytes::from(json!({"messages": said}).to_string()),
        },
        Mode::Openai | Mode::Vendor => {
            let body = json!({"model": agent, "messages": said, "stream": arguments.stream});
            Target { path: chat.clone(), body: Bytes::from(body.to_string()) }
        }
    };
    Ok(arguments.agents.iter().map(target).collect())
}
