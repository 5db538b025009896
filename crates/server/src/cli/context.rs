//! `librarian context`: what fills an agent's context window, as a bar.

use std::process::ExitCode;

use serde::Deserialize;

use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::{Output, Style};
use crate::cli::wire;
use crate::config::Config;

/// Cells of the bar.
const WIDTH: u64 = 60;
/// What stands for tokens that are free.
const FREE: &str = "·";

/// `librarian context …`
#[derive(Debug, clap::Args)]
pub(crate) struct ContextFlags {
    /// The agent's exact name or its id
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Print everything as JSON, with the texts
    #[arg(long)]
    json: bool,
}

/// What the owner says of a context.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContextView {
    context_window_size_max: u64,
    context_window_size_current: u64,
    num_messages: u64,
    num_recall_memory: u64,
    num_tokens_external_memory_summary: u64,
    num_tokens_system: u64,
    num_tokens_core_memory: u64,
    num_tokens_tool_usage_rules: u64,
    num_tokens_directories: u64,
    num_tokens_summary_memory: u64,
    num_tokens_functions_definitions: u64,
    num_tokens_messages: u64,
}

/// A part of the bar.
struct Part {
    name: &'static str,
    /// The cell where there are no colours.
    letter: &'static str,
    /// The colour where there are.
    colour: &'static str,
    tokens: u64,
}

/// Runs the command.
pub(crate) async fn run(config: &Config, flags: &ContextFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    let (agent, answer) = connection
        .during(async |connection: &mut Connection<'_>| {
            let agent = lookup::find(connection, &flags.agent).await?;
            let answer = connection.ask(&Call::get(format!("/v1/agents/{}/context", agent.id))).await?.ok()?;
            Ok((agent, answer))
        })
        .await?;
    if flags.json {
        output.json(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let view: ContextView = wire::read(&answer)?;
    output.rendered(&rendered(&agent.name, &view, output.style()));
    Ok(ExitCode::SUCCESS)
}

impl ContextView {
    fn parts(&self) -> [Part; 8] {
        let part = |name, letter, colour, tokens| Part { name, letter, colour, tokens };
        [
            part("system prompt", "s", "34", self.num_tokens_system),
            part("memory blocks", "b", "35", self.num_tokens_core_memory),
            part("tool rules", "r", "36", self.num_tokens_tool_usage_rules),
            part("directories", "d", "94", self.num_tokens_directories),
            part("metadata", "i", "90", self.num_tokens_external_memory_summary),
            part("tool schemas", "t", "33", self.num_tokens_functions_definitions),
            part("summary", "y", "95", self.num_tokens_summary_memory),
            part("messages", "m", "32", self.num_tokens_messages),
        ]
    }
}

fn rendered(name: &str, view: &ContextView, style: Style) -> String {
    let window = view.context_window_size_max.max(1);
    let used = view.context_window_size_current;
    let head = format!("{} of {} tokens ({})", grouped(used), grouped(window), percent(used, window));
    let messages = format!("{} messages in context, {} in all", view.num_messages, view.num_recall_memory);
    let mut text = format!("{}  {head}\n{}\n\n{}\n\n", style.bold(name), style.dim(&messages), bar(view, style));
    let free = Part { name: "free", letter: FREE, colour: "2", tokens: window.saturating_sub(used) };
    for part in view.parts().iter().chain([&free]).filter(|part| part.tokens > 0 || part.name == free.name) {
        let (tokens, share) = (grouped(part.tokens), percent(part.tokens, window));
        text.push_str(&format!("  {} {:<14} {tokens:>10} {share:>7}\n", cell(part, style), part.name));
    }
    if used > window {
        let note = "This is more than the window holds. The next message makes room.";
        text.push_str(&format!("\n{}\n", style.alarm(note)));
    }
    text
}

/// One cell for each sixtieth of the window, or of what is in it where that is more. Every part has one at least.
fn bar(view: &ContextView, style: Style) -> String {
    let whole = view.context_window_size_max.max(view.context_window_size_current).max(1);
    let mut cells = String::new();
    let mut drawn = 0;
    for part in view.parts().iter().filter(|part| part.tokens > 0) {
        let wide = (part.tokens * WIDTH).div_ceil(whole).min(WIDTH.saturating_sub(drawn));
        (0..wide).for_each(|_| cells.push_str(&cell(part, style)));
        drawn += wide;
    }
    let free = Part { name: "free", letter: FREE, colour: "2", tokens: 0 };
    (drawn..WIDTH).for_each(|_| cells.push_str(&cell(&free, style)));
    format!("  {cells}")
}

fn cell(part: &Part, style: Style) -> String {
    let sign = if style.colours && part.letter != FREE { "█" } else { part.letter };
    style.coloured(part.colour, sign)
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", part as f64 * 100.0 / whole as f64)
}

/// `12345` as `12,345`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const PLAIN: Style = Style { colours: false };

    fn view() -> ContextView {
        ContextView {
            context_window_size_max: 32_000,
            context_window_size_current: 4_474,
            num_messages: 70,
            num_recall_memory: 72,
            num_tokens_external_memory_summary: 64,
            num_tokens_system: 427,
            num_tokens_core_memory: 191,
            num_tokens_functions_definitions: 1_457,
            num_tokens_messages: 2_335,
            ..ContextView::default()
        }
    }

    #[test]
    fn a_context_is_a_bar_with_its_numbers() {
        expect![[r#"
            diary  4,474 of 32,000 tokens (14.0%)
            70 messages in context, 72 in all

              sbitttmmmmm·················································

              s system prompt         427    1.3%
              b memory blocks         191    0.6%
              i metadata               64    0.2%
              t tool schemas        1,457    4.6%
              m messages            2,335    7.3%
              · free               27,526   86.0%
        "#]]
        .assert_eq(&rendered("diary", &view(), PLAIN));
    }

    #[test]
    fn colours_are_for_terminals() {
        let text = rendered("diary", &view(), Style { colours: true });
        assert!(text.contains("\x1b[34m█\x1b[0m") && !text.contains('m'.to_string().repeat(3).as_str()), "{text}");
    }

    #[test]
    fn a_context_that_is_too_full_says_so_and_stays_in_its_width() {
        let full = ContextView { context_window_size_max: 4_096, ..view() };
        let text = rendered("diary", &full, PLAIN);
        assert!(text.contains("more than the window holds"), "{text}");
        assert_eq!(bar(&full, PLAIN).trim().chars().count() as u64, WIDTH);
        assert_eq!(bar(&ContextView::default(), PLAIN).trim().chars().count() as u64, WIDTH);
    }
}
