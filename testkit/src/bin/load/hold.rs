//! Streams that are begun and held open, to see what each costs the server in memory.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::task::LocalSet;

use crate::measure::{Connection, Plan};
use crate::process::Reading;

/// Begins one stream for each client, in a session of its own, and reads the server's memory when all are open.
pub(crate) async fn run(plan: Plan, read: impl Fn() -> Result<Reading>) -> Result<Value> {
    let before = read()?;
    let after = LocalSet::new()
        .run_until(async {
            let mut open = Vec::with_capacity(plan.clients);
            for number in 0..plan.clients {
                let target = &plan.targets[number % plan.targets.len()];
                let mut connection = Connection::open(&plan.authority).await?;
                let session = format!("held-{number}");
                let body = connection.begin(&plan, target, &session).await;
                open.push((body.with_context(|| format!("stream {number}"))?, connection));
            }
            read()
        })
        .await?;
    let each = after.rss_kib.saturating_sub(before.rss_kib) as f64 / plan.clients as f64;
    Ok(json!({
        "streams": plan.clients,
        "errors": 0,
        "rss_kib_before": before.rss_kib,
        "rss_kib_after": after.rss_kib,
        "kib_each": (each * 10.0).round() / 10.0,
    }))
}
