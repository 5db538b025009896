//! Runs tool calls: the built-in ones here, any other with an honest refusal.
//!
//! It reads the store and never writes: what a call changes goes into its outcome. A tool's return is cut to the length
//! that the tool allows before anyone sees it, so that one call can't fill the context.

use domain::seams::BoxFuture;
use domain::seams::tool_executor::{ToolExecutor, ToolInvocation, ToolOutcome};
use domain::{Tool, ToolType};
use retrieval::Search;
use storage::Store;

use crate::memory::{self, Author, MemoryCall};
use crate::{archival, recall};

/// The executor of the tools that ship with the program. Cheap to clone.
#[derive(Clone)]
pub struct Toolbox {
    store: Store,
    search: Search,
}

impl Toolbox {
    /// A toolbox that looks into `store` and searches with `search`.
    pub fn new(store: Store, search: Search) -> Self {
        Self { store, search }
    }

    async fn run(&self, invocation: &ToolInvocation<'_>) -> ToolOutcome {
        let tool = invocation.tool;
        let mut outcome = match tool.kind {
            ToolType::LettaCore | ToolType::LettaMemoryCore | ToolType::LettaSleeptimeCore => {
                self.run_builtin(invocation).await
            }
            ToolType::Custom => ToolOutcome::error(format!(
                "The tool `{}` was not run: it is made of code, and this server has no sandbox to run code in. Calling \
                 it again will not help.",
                tool.name
            )),
        };
        outcome.text = cut(outcome.text, tool);
        tracing::debug!(tool = &*tool.name, status = outcome.status.as_str(), "tool called");
        outcome
    }

    async fn run_builtin(&self, invocation: &ToolInvocation<'_>) -> ToolOutcome {
        match &*invocation.tool.name {
            "conversation_search" => recall::conversation_search(&self.search, invocation).await,
            "archival_memory_insert" => archival::archival_memory_insert(&self.store, invocation).await,
            "archival_memory_search" => archival::archival_memory_search(&self.search, &self.store, invocation).await,
            _ => edit_memory(invocation),
        }
    }
}

impl ToolExecutor for Toolbox {
    fn execute<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move { self.run(&invocation).await })
    }
}

fn edit_memory(invocation: &ToolInvocation<'_>) -> ToolOutcome {
    let agent = &invocation.snapshot.agent;
    let call = MemoryCall {
        memory: invocation.memory,
        arguments: invocation.arguments,
        author: Author { organization: agent.organization, user: agent.created_by, now: invocation.now },
    };
    match memory::run(&invocation.tool.name, &call) {
        Some(Ok(edit)) => ToolOutcome::success(edit.reply, edit.changes),
        Some(Err(error)) => ToolOutcome::error(error.to_string()),
        None => ToolOutcome::error(format!(
            "The tool `{}` was not run: this version of the server does not have it. Calling it again will not help.",
            invocation.tool.name
        )),
    }
}

/// `text` with at most as many characters as the tool may return, and a note where some were cut off.
fn cut(text: String, tool: &Tool) -> String {
    let limit = tool.return_char_limit as usize;
    let Some((end, _)) = text.char_indices().nth(limit) else { return text };
    let total = text.chars().count();
    let kept = &text[..end];
    format!("{kept}… [cut: the return has {total} characters, and only the first {limit} are shown]")
}

#[cfg(test)]
#[path = "toolbox_tests.rs"]
mod tests;
