//! `librarian serve`: opens the doors, says where they are, and closes them when asked to.

use std::process::ExitCode;

use anyhow::{Context, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::output::Output;
use crate::config::Config;
use crate::data_dir::{self, Ownership, reachable};
use crate::door::Door;
use crate::doors::{Audience, Doors};
use crate::first_agent::{self, FirstAgent};
use crate::listen::Listener;

/// What a shell reports for a program that a signal ended at once.
const EXIT_AT_ONCE: i32 = 130;

/// Serves until a signal comes.
pub(crate) async fn run(config: &Config, output: &Output) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let directory = match data_dir::claim(&config.data_dir)? {
        Ownership::Ours(directory) => directory,
        Ownership::Theirs(owner) => bail!(
            "{} is owned by process {}, which listens on http://{}: use that one, stop it, or choose another \
             directory with --data-dir",
            config.data_dir.display(),
            owner.pid,
            owner.address
        ),
    };
    let doors = Doors::open(config, directory, Audience::Clients).await?;
    let ready = async {
        let agent = first_agent::ensure(&doors.house, config.model.as_ref()).await?;
        greet(&doors, config, &agent, output);
        anyhow::Ok(())
    };
    // A signal must end a start that waits for a provider, too.
    tokio::select! {
        ready = ready => {
            ready.context("the first agent can't be made")?;
            signals.next().await;
        }
        () = signals.next() => {}
    }
    output.line("Stopping: running steps are finished first. A second signal stops at once.");
    tokio::select! {
        () = doors.close() => Ok(ExitCode::SUCCESS),
        () = signals.next() => std::process::exit(EXIT_AT_ONCE),
    }
}

/// Says what a person needs to begin.
fn greet(doors: &Doors, config: &Config, agent: &FirstAgent, output: &Output) {
    output.line(&format!("Librarian {} listens on {}", crate::router::VERSION, addresses(&doors.listeners)));
    if doors.listeners.iter().all(|listener| listener.address != doors.address) {
        output.line(&format!("  commands   http://{} for this user's own `librarian` commands", doors.address));
    }
    output.line(&format!("  data       {}", doors.directory().path().display()));
    output.line(&format!("  providers  {}", providers(doors)));
    output.line(&format!("  agent      {} on {}", agent.name, agent.model));
    if let Some(warning) = &agent.warning {
        output.line(&format!("  warning    {warning}"));
    }
    let open = |listener: &&Listener| listener.doors.has(Door::OpenAi);
    let Some(chat) = doors.listeners.iter().find(open) else { return };
    let url = format!("http://{}", reachable(chat.address));
    output.line("");
    output.line("Try it:");
    let key = if config.api_key.is_some() { " -H \"Authorization: Bearer $LIBRARIAN_API_KEY\"" } else { "" };
    let body = serde_json::json!({ "model": agent.name, "messages": [{ "role": "user", "content": "Hello!" }] });
    // A single quote would end the shell's string.
    let body = body.to_string().replace('\'', r"'\''");
    output.line(&format!("  curl {url}/v1/chat/completions{key} -H 'Content-Type: application/json' -d '{body}'"));
}

/// Every address with its doors, where it does not offer all.
fn addresses(listeners: &[Listener]) -> String {
    let shown = |listener: &Listener| match listener.doors.has_all() {
        true => format!("http://{}", listener.address),
        false => format!("http://{} ({})", listener.address, listener.doors.names()),
    };
    listeners.iter().map(shown).collect::<Vec<_>>().join(",\n  and on     ")
}

fn providers(doors: &Doors) -> String {
    let known = doors.house.models.providers();
    if known.is_empty() {
        return "none: set OPENAI_API_KEY or start Ollama; builtin/guide is always there".to_owned();
    }
    known.iter().map(|provider| format!("{} ({})", provider.name, provider.base_url)).collect::<Vec<_>>().join(", ")
}

/// The signals that ask a server to stop.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("can't listen for signals");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
