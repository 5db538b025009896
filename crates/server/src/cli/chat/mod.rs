//! `librarian chat`: talks to an agent in the terminal.
//!
//! Ctrl-C while an answer comes in hangs up, which cancels the run, and the chat goes on; at an empty prompt it leaves,
//! as Ctrl-D does. Lines from a pipe are answered one after the other.

mod history;
mod input;
mod memory_edit;
mod reply_view;
mod stream_event;

use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::input::Input;
use self::reply_view::{Ending, Look, ReplyView};
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::{Output, complain, one_line, warn};
use crate::cli::replies::CUT_OFF;
use crate::cli::wire::AgentView;
use crate::config::Config;
use crate::first_agent::{self, FIRST_AGENT};

/// What a shell reports for a program that Ctrl-C ended.
const EXIT_INTERRUPTED: u8 = 130;

/// Whom to talk to, and what to see.
#[derive(Debug, clap::Args)]
pub(crate) struct ChatFlags {
    /// The agent's exact name or its id [default: librarian, else the oldest]
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    /// Show the agent's private reasoning
    #[arg(long)]
    reasoning: bool,
}

/// Talks until the person leaves.
pub(crate) async fn run(config: &Config, flags: &ChatFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let mut connection = connect(config, flags).await?;
    let (agent, input) = match prepare(&mut connection, flags, config, output).await {
        Ok(prepared) => prepared,
        Err(error) => {
            connection.close().await;
            return Err(error);
        }
    };
    // Until here Ctrl-C ends the program, as it does everywhere else.
    let mut interrupt = signal(SignalKind::interrupt()).context("can't listen for signals")?;
    let look = Look { style: output.style(), reasoning: flags.reasoning };
    let chat = Chat { connection: &mut connection, agent, input, interrupt: &mut interrupt, output, look };
    let ended = chat.talk().await;
    tokio::select! {
        () = connection.close() => ended,
        _ = interrupt.recv() => Ok(ExitCode::from(EXIT_INTERRUPTED)),
    }
}

/// A chat with the agent of the house may be the first thing that ever happens here; any other agent must exist.
async fn connect<'a>(config: &'a Config, flags: &ChatFlags) -> anyhow::Result<Connection<'a>> {
    if flags.agent.as_deref().is_none_or(|agent| agent == FIRST_AGENT) {
        Connection::open(config).await
    } else {
        Connection::demand(config).await
    }
}

/// Finds the agent, making the first one where there is none, and says how to go on.
async fn prepare(
    connection: &mut Connection<'_>,
    flags: &ChatFlags,
    config: &Config,
    output: &Output,
) -> anyhow::Result<(AgentView, Input)> {
    if let Some(doors) = connection.doors() {
        let first = first_agent::ensure(&doors.house, config.model.as_ref()).await;
        if let Some(warning) = first.context("the first agent can't be made")?.warning {
            warn(&warning);
        }
    }
    let agent = match &flags.agent {
        Some(agent) => lookup::find(connection, agent).await?,
        None => lookup::usual(connection).await?,
    };
    let input = Input::open(&config.data_dir)?;
    if input.is_terminal() && output.is_terminal() {
        let greeting = format!("{} on {}.", one_line(&agent.name), agent.model);
        output.rendered(&format!("{} Ctrl-C stops an answer, Ctrl-D leaves.\n\n", output.style().bold(&greeting)));
    }
    Ok((agent, input))
}

/// A chat that is going on.
struct Chat<'c, 'a> {
    connection: &'c mut Connection<'a>,
    agent: AgentView,
    input: Input,
    interrupt: &'c mut Signal,
    output: &'c Output,
    look: Look,
}

/// How an answer went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Fine,
    Failed,
    Interrupted,
}

impl Chat<'_, '_> {
    /// Answers message after message.
    async fn talk(mut self) -> anyhow::Result<ExitCode> {
        let at_terminal = self.input.is_terminal();
        let mut last = ExitCode::SUCCESS;
        while !self.output.is_closed() {
            let message = tokio::select! {
                message = self.input.next() => message?,
                _ = self.interrupt.recv() => return Ok(ExitCode::from(EXIT_INTERRUPTED)),
            };
            let Some(message) = message else { break };
            if message.trim().is_empty() {
                continue;
            }
            match self.answer(message.trim_end()).await {
                // Whoever stops a script means the script.
                Outcome::Interrupted if !at_terminal => return Ok(ExitCode::from(EXIT_INTERRUPTED)),
                Outcome::Failed if !at_terminal => last = ExitCode::FAILURE,
                Outcome::Fine | Outcome::Failed | Outcome::Interrupted => {}
            }
            if at_terminal && self.output.is_terminal() {
                self.output.line("");
            }
        }
        Ok(last)
    }

    async fn answer(&mut self, message: &str) -> Outcome {
        let mut view = ReplyView::new(self.look);
        let heard = tokio::select! {
            heard = hear(self.connection, &self.agent, message, (&mut view, self.output)) => Some(heard),
            _ = self.interrupt.recv() => None,
        };
        let was_interrupted = heard.is_none();
        let Ending { text, failure } = match heard {
            Some(Ok(())) => view.end(),
            Some(Err(error)) => view.cut(format!("{error:#}")),
            None => view.interrupted(),
        };
        self.output.rendered(&text);
        if let Some(failure) = &failure {
            complain(failure);
        }
        match failure {
            Some(_) => Outcome::Failed,
            None if was_interrupted => Outcome::Interrupted,
            None => Outcome::Fine,
        }
    }
}

/// Sends a message and shows the answer while it comes in. Whoever stops waiting hangs up.
async fn hear(
    connection: &mut Connection<'_>,
    agent: &AgentView,
    message: &str,
    (view, output): (&mut ReplyView, &Output),
) -> anyhow::Result<()> {
    let body = json!({ "messages": [{ "role": "user", "content": message }], "stream_tokens": true });
    let mut replies = connection.listen(&Call::post(format!("/v1/agents/{}/messages/stream", agent.id), body)).await?;
    while let Some(text) = replies.next().await? {
        for event in stream_event::read(&text) {
            output.rendered(&view.hear(event));
        }
        if view.is_done() || output.is_closed() {
            return Ok(());
        }
    }
    bail!(CUT_OFF)
}
