//! The store and its owner: opened and checked where nobody owns it, asked about where somebody does.

use anyhow::Context;
use domain::{Actor, Timestamp};
use serde_json::Value;
use storage::{AgentFilter, Problem, Store, StoreReport};

use super::agent_models::AgentModel;
use super::finding::Finding;
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::holdings::{counted, holdings};
use crate::cli::lookup;
use crate::cli::wire::{self, AgentView, ModelView};
use crate::config::Config;
use crate::data_dir::{self, OwnedDirectory, Owner, Ownership};
use crate::wiring;

/// Agents whose models are looked at.
const MAX_AGENTS: u32 = 1000;

/// What can be seen of the store.
#[derive(Default)]
pub(super) struct StoreSight {
    pub(super) findings: Vec<Finding>,
    pub(super) agents: Vec<AgentModel>,
    /// The models that a running process offers; nothing if none runs.
    pub(super) offered: Option<Vec<String>>,
}

/// What to do about a store that is not sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Only look.
    Look,
    /// Make right what can be made from the rows.
    Repair,
}

/// Looks at the store of the data directory.
pub(super) async fn look(config: &Config, treatment: Treatment) -> StoreSight {
    let unseen = match data_dir::store_file(&config.data_dir).try_exists() {
        Ok(true) => None,
        Ok(false) => Some("nothing is stored yet"),
        Err(_) => Some("not checked, because the data directory can't be looked into"),
    };
    if let Some(text) = unseen {
        return StoreSight { findings: vec![Finding::note("store", text)], ..StoreSight::default() };
    }
    match data_dir::claim(&config.data_dir) {
        Ok(Ownership::Ours(directory)) => open(&directory, treatment).await,
        Ok(Ownership::Theirs(owner)) => {
            let mut sight = ask(config, &owner).await;
            if treatment == Treatment::Repair {
                let text = format!("process {} uses the store, so nothing was repaired", owner.pid);
                let remedy = "stop it, then run `librarian doctor --repair` again";
                sight.findings.push(Finding::problem("repair", text, remedy));
            }
            sight
        }
        Err(error) => {
            let remedy = "check who owns the directory and its files, and whether another librarian is just starting";
            let finding = Finding::problem("store", format!("{error:#}"), remedy);
            StoreSight { findings: vec![finding], ..StoreSight::default() }
        }
    }
}

/// Checks a store that nobody else uses.
async fn open(directory: &OwnedDirectory, treatment: Treatment) -> StoreSight {
    let file = directory.store_path();
    let remedy = format!(
        "put a backup in its place with `librarian restore FILE --force`, which keeps what is there; without one, keep \
         a copy of {} and the files beside it, then move them away to begin anew",
        file.display()
    );
    let broken = |error: anyhow::Error| StoreSight {
        findings: vec![Finding::problem("store", format!("{error:#}"), remedy.clone())],
        ..StoreSight::default()
    };
    let store = match wiring::open_store(directory) {
        Ok(store) => store,
        Err(error) => return broken(error),
    };
    let mut findings = vec![Finding::fine("server", "none runs")];
    let repaired = match treatment {
        Treatment::Look => Ok(()),
        Treatment::Repair => repair(&store, &mut findings).await,
    };
    let checked = match repaired {
        Ok(()) => store.check().await.context("the store could not be checked"),
        Err(error) => Err(error),
    };
    let filter = AgentFilter { limit: MAX_AGENTS, ascending: true, ..AgentFilter::default() };
    let agents = store.agents(Actor::default_user().organization, &filter).await.unwrap_or_default();
    store.close().await;
    let report = match checked {
        Ok(report) => report,
        Err(error) => return broken(error),
    };
    findings.extend(soundness(&report, &remedy));
    let agents = agents.iter().map(|agent| AgentModel::new(&agent.name, agent.llm_config.handle.as_str())).collect();
    StoreSight { findings, agents, offered: None }
}

/// Makes right what can be, and says what was wrong and what was done.
async fn repair(store: &Store, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let before = store.check().await.context("the store could not be checked")?;
    let wrong = before.problems.iter().filter(|problem| problem.can_be_repaired());
    findings.extend(wrong.map(|problem| Finding::note("repair", format!("was wrong: {problem}"))));
    let done = store.repair(Timestamp::now()).await.context("the store could not be repaired")?;
    findings.extend(done.into_iter().map(|text| Finding::fine("repair", text)));
    Ok(())
}

fn soundness(report: &StoreReport, remedy: &str) -> Vec<Finding> {
    let holds = holdings(report);
    if report.problems.is_empty() {
        return vec![Finding::fine("store", format!("sound: {holds}"))];
    }
    let damage = |problem: &Problem| {
        let remedy = if problem.can_be_repaired() { "run `librarian doctor --repair`" } else { remedy };
        Finding::problem("store", format!("damaged: {problem}"), remedy)
    };
    let mut findings: Vec<Finding> = report.problems.iter().map(damage).collect();
    findings.push(Finding::note("store", holds));
    findings
}

/// Asks the process that owns the store.
async fn ask(config: &Config, owner: &Owner) -> StoreSight {
    let at = format!("process {} at http://{}", owner.pid, owner.address);
    match answers(config).await {
        Ok((version, agents, offered)) => {
            let counted = format!(
                "{}. Messages are not counted and the file is not checked while that process uses it: stop it and run \
                 `librarian doctor` again to check it",
                counted(agents.len() as u64, "agent")
            );
            let findings = vec![
                Finding::fine("server", format!("version {version} answers as {at}")),
                Finding::note("store", counted),
            ];
            let agents = agents.iter().map(|agent| AgentModel::new(&agent.name, &agent.model)).collect();
            StoreSight { findings, agents, offered: Some(offered) }
        }
        Err(error) => {
            let remedy = format!("look into that process's log, or stop it (kill {})", owner.pid);
            let finding = Finding::problem("server", format!("{at} owns the store: {error:#}"), remedy);
            StoreSight { findings: vec![finding], ..StoreSight::default() }
        }
    }
}

async fn answers(config: &Config) -> anyhow::Result<(String, Vec<AgentView>, Vec<String>)> {
    let connection = Connection::open(config).await?;
    let asked = connection.during(async |connection: &mut Connection<'_>| {
        let health: Value = connection.ask(&Call::get("/health")).await?.ok()?;
        let agents = lookup::all(connection).await?;
        let agents = agents.iter().map(wire::read).collect::<anyhow::Result<Vec<AgentView>>>()?;
        let models: Vec<ModelView> = wire::read(&connection.ask(&Call::get("/v1/models/")).await?.ok()?)?;
        let version = health["version"].as_str().unwrap_or("unknown").to_owned();
        Ok((version, agents, models.into_iter().map(|model| model.handle).collect()))
    });
    asked.await
}

#[cfg(test)]
mod tests {
    use storage::Area;

    use super::*;

    #[test]
    fn damage_is_a_problem_each() {
        let mut report = StoreReport {
            problems: Vec::new(),
            schema_version: 1,
            bytes: 4097,
            agents: 1,
            conversations: 1,
            messages: 3,
            blocks: 2,
            tools: 9,
            runs: 1,
        };
        assert!(soundness(&report, "x").iter().all(|finding| !finding.is_problem()));
        let problem = |area, text: &str| Problem { area, text: text.to_owned() };
        report.problems = vec![problem(Area::File, "a"), problem(Area::Index, "b")];
        let findings = soundness(&report, "x");
        assert_eq!(findings.iter().filter(|finding| finding.is_problem()).count(), 2);
        let told = format!("{findings:?}");
        assert!(told.contains("Some(\"x\")") && told.contains("doctor --repair"), "{told}");
    }
}
