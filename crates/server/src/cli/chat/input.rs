//! Where the person's words come from: a line editor on a terminal, or lines from a pipe.

use std::io::{BufRead, IsTerminal};
use std::path::Path;

use anyhow::Context;
use rustyline::config::Behavior;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{
    Cmd, ConditionalEventHandler, Editor, Event, EventContext, EventHandler, KeyEvent, Movement, RepeatCount,
};
use tokio::sync::mpsc;

use super::history::{History, MAX_ENTRIES};

const PROMPT: &str = "> ";

/// Where messages come from.
pub(crate) enum Input {
    Terminal(Box<Terminal>),
    /// One message for each line.
    Pipe(mpsc::Receiver<String>),
}

impl Input {
    /// Standard input, whatever it is.
    pub(crate) fn open(data_dir: &Path) -> anyhow::Result<Self> {
        if std::io::stdin().is_terminal() {
            return Ok(Self::Terminal(Box::new(Terminal::open(data_dir)?)));
        }
        let (sender, lines) = mpsc::channel(1);
        // Nobody waits for this thread: a read that is under way can't be called off.
        let reader = std::thread::Builder::new().name("chat-input".to_owned()).spawn(move || read_lines(&sender));
        reader.context("the thread that reads input can't be started")?;
        Ok(Self::Pipe(lines))
    }

    /// Whether a person types.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// The next message; nothing at the end.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<String>> {
        match self {
            Self::Terminal(terminal) => tokio::task::block_in_place(|| terminal.read()),
            Self::Pipe(lines) => Ok(lines.recv().await),
        }
    }
}

fn read_lines(sender: &mpsc::Sender<String>) {
    let mut stdin = std::io::stdin().lock();
    loop {
        let mut line = Vec::new();
        match stdin.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if sender.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
    }
}

/// A line editor with a history.
pub(crate) struct Terminal {
    editor: Editor<(), MemHistory>,
    history: History,
}

impl Terminal {
    fn open(data_dir: &Path) -> anyhow::Result<Self> {
        // Where the answers go elsewhere, the prompt must not go with them.
        let behavior = if std::io::stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
        let config = rustyline::Config::builder().max_history_size(MAX_ENTRIES)?.behavior(behavior).build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history).context("the line editor can't be started")?;
        editor.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(ClearFirst)));
        let history = History::inside(data_dir);
        for entry in history.load() {
            editor.add_history_entry(entry)?;
        }
        Ok(Self { editor, history })
    }

    fn read(&mut self) -> anyhow::Result<Option<String>> {
        match self.editor.readline(PROMPT) {
            Ok(line) => {
                if !line.trim().is_empty() && self.editor.add_history_entry(line.as_str())? {
                    self.history.add(&line);
                }
                Ok(Some(line))
            }
            Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
            Err(error) => Err(error).context("the terminal can't be read"),
        }
    }
}

/// Ctrl-C throws away what was typed, and leaves where nothing was.
struct ClearFirst;

impl ConditionalEventHandler for ClearFirst {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        Some(if context.line().is_empty() { Cmd::Interrupt } else { Cmd::Kill(Movement::WholeBuffer) })
    }
}
