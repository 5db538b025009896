//! Keeps the store's rows of the built-in tools in step with the catalog of this version.

use std::sync::Arc;

use domain::{Actor, Timestamp, Tool, ToolId};
use storage::{Change, Commit};
use storage::{Store, StoreError};
use tools::catalog::{self, Builtin};

/// Writes the tools that are new or changed, and nothing if there are none: most starts write nothing.
pub(crate) async fn bring_up_to_date(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    let actor = Actor::default_user();
    let stored = store.tools(actor.organization).await?;
    let mut commit = Commit::new(actor, now);
    for builtin in catalog::all() {
        let old = stored.iter().find(|tool| &*tool.name == builtin.name);
        if old.is_none_or(|old| differs(old, builtin)) {
            commit.changes.push(Change::UpsertTool(Box::new(builtin.to_tool(ToolId::random(), actor, now))));
        }
    }
    if !commit.changes.is_empty() {
        store.commit(commit).await?;
    }
    Ok(())
}

fn differs(old: &Arc<Tool>, builtin: &Builtin) -> bool {
    *old.description != *builtin.description || *old.parameters != builtin.parameters() || old.kind != builtin.kind
}
