//! `librarian keys list`.

use std::collections::HashMap;
use std::process::ExitCode;

use domain::Timestamp;
use serde_json::Value;

use super::KEYS;
use super::view::KeyView;
use crate::cli::call::Call;
use crate::cli::connection::{Connection, nothing_yet};
use crate::cli::lookup;
use crate::cli::output::{Output, Style, one_line};
use crate::cli::table::table;
use crate::cli::wire::{self, AgentView};
use crate::config::Config;

/// Which keys to list.
#[derive(Debug, clap::Args)]
pub(crate) struct ListFlags {
    /// List keys that were revoked, too
    #[arg(long)]
    all: bool,
    /// Print the keys as JSON
    #[arg(long)]
    json: bool,
}

/// Names of agents by their ids.
type Names = HashMap<String, String>;

/// Lists them.
pub(crate) async fn run(config: &Config, flags: &ListFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let (keys, names) = match Connection::open_existing(config).await? {
        Some(connection) => connection.during(fetch).await?,
        None if flags.json => (Vec::new(), Names::new()),
        None => {
            output.line(&format!("No keys: {}.", nothing_yet(config)));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let keys: Vec<Value> = keys.into_iter().filter(|key| flags.all || key["revoked_at"].is_null()).collect();
    if flags.json {
        output.json(&Value::Array(keys));
        return Ok(ExitCode::SUCCESS);
    }
    let keys: Vec<KeyView> = keys.iter().map(wire::read).collect::<anyhow::Result<_>>()?;
    if keys.is_empty() {
        output.line("No keys: make one with `librarian keys create NAME`.");
    } else {
        output.rendered(&shown_keys(&keys, &names, output.style()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The keys, and the names of agents where some key is limited to those.
async fn fetch(connection: &mut Connection<'_>) -> anyhow::Result<(Vec<Value>, Names)> {
    let keys: Vec<Value> = wire::read(&connection.ask(&Call::get(KEYS)).await?.ok()?)?;
    if keys.iter().all(|key| key["agents"].is_null()) {
        return Ok((keys, Names::new()));
    }
    let agents = lookup::all(connection).await?;
    let agents: Vec<AgentView> = agents.iter().map(wire::read).collect::<anyhow::Result<_>>()?;
    Ok((keys, agents.into_iter().map(|agent| (agent.id, agent.name)).collect()))
}

fn shown_keys(keys: &[KeyView], names: &Names, style: Style) -> String {
    let rows: Vec<[String; 6]> = keys.iter().map(|key| row(key, names)).collect();
    table(["NAME", "KEY", "OPENS", "LAST USED", "MADE", "ID"], &rows, style)
}

fn row(key: &KeyView, names: &Names) -> [String; 6] {
    let used = match (&key.revoked_at, &key.last_used_at) {
        (Some(at), _) => format!("revoked {}", shown(*at)),
        (None, Some(at)) => shown(*at),
        (None, None) => "never".to_owned(),
    };
    let beginning = format!("{}…", key.beginning);
    [one_line(&key.name), beginning, opens(key, names), used, shown(key.created_at), key.id.clone()]
}

fn opens(key: &KeyView, names: &Names) -> String {
    match &key.agents {
        None if key.letta => "all agents, Letta".to_owned(),
        None => "all agents".to_owned(),
        Some(agents) if agents.is_empty() => "nobody: its agents were deleted".to_owned(),
        Some(agents) => {
            let named = |id: &String| one_line(names.get(id).unwrap_or(id));
            agents.iter().map(named).collect::<Vec<_>>().join(", ")
        }
    }
}

fn shown(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_told_by_its_name_and_its_beginning() {
        let keys = json!([
            { "id": "key-1", "name": "laptop", "beginning": "lib-01234567", "agents": null, "letta": false,
              "created_at": "2026-11-18T16:00:00Z", "last_used_at": null, "revoked_at": null },
            { "id": "key-2", "name": "a\nb", "beginning": "lib-89abcdef", "agents": ["agent-1", "agent-2"],
              "letta": false, "created_at": "2026-11-18T16:00:00Z", "last_used_at": "2026-11-19T07:30:59Z",
              "revoked_at": null },
            { "id": "key-3", "name": "gone", "beginning": "lib-aaaaaaaa", "agents": [], "letta": false,
              "created_at": "2026-11-18T16:00:00Z", "last_used_at": null, "revoked_at": "2026-11-20T00:00:00Z" },
            { "id": "key-4", "name": "admin", "beginning": "lib-bbbbbbbb", "agents": null, "letta": true,
              "created_at": "2026-11-18T16:00:00Z", "last_used_at": null, "revoked_at": null },
        ]);
        let keys: Vec<KeyView> = keys.as_array().unwrap().iter().map(|key| wire::read(key).unwrap()).collect();
        let names = Names::from([("agent-1".to_owned(), "ada".to_owned())]);
        expect![[r#"
            NAME    KEY            OPENS                            LAST USED                     MADE                  ID
            laptop  lib-01234567…  all agents                       never                         2026-11-18 16:00 UTC  key-1
            a b     lib-89abcdef…  ada, agent-2                     2026-11-19 07:30 UTC          2026-11-18 16:00 UTC  key-2
            gone    lib-aaaaaaaa…  nobody: its agents were deleted  revoked 2026-11-20 00:00 UTC  2026-11-18 16:00 UTC  key-3
            admin   lib-bbbbbbbb…  all agents, Letta                never                         2026-11-18 16:00 UTC  key-4
        "#]]
        .assert_eq(&shown_keys(&keys, &names, Style { colours: false }));
    }
}
