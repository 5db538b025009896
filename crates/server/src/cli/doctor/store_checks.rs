//! The store and its owner: opened and checked where nobody owns it, asked about where somebody does.

use std::path::Path;

use anyhow::Context;
use domain::{Actor, Timestamp};
use retrieval::embed::Embedders;
use retrieval::{IndexError, Search};
use serde::Deserialize;
use serde_json::Value;
use storage::{AgentFilter, Problem, Store, StoreReport};

use super::agent_models::AgentModel;
use super::finding::Finding;
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::holdings::Holdings;
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
    let remedy = replacement(&directory.store_path());
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
        Treatment::Repair => repair(&store, directory, &mut findings).await,
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
    findings.extend(soundness(&Checkup::from(&report), &remedy));
    let agents = agents.iter().map(|agent| AgentModel::new(&agent.name, agent.llm_config.handle.as_str())).collect();
    StoreSight { findings, agents, offered: None }
}

/// Makes right what can be, and says what was wrong and what was done.
async fn repair(store: &Store, directory: &OwnedDirectory, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let before = store.check().await.context("the store could not be checked")?;
    let wrong = before.problems.iter().filter(|problem| problem.can_be_repaired());
    findings.extend(wrong.map(|problem| Finding::note("repair", format!("was wrong: {problem}"))));
    let done = store.repair(Timestamp::now()).await.context("the store could not be repaired")?;
    findings.extend(done.into_iter().map(|text| Finding::fine("repair", text)));
    rebuild_search(store, directory, findings).await
}

/// Makes the search index again from the rows. Vectors of a model that only a server can reach are left to it.
async fn rebuild_search(store: &Store, directory: &OwnedDirectory, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let search = Search::new(store.clone(), Embedders::local_only(directory.models_path()));
    let (mut made, mut left) = (0_usize, 0_usize);
    for (owner, scope) in store.search_scopes().await? {
        match search.index(owner, scope, &mut |_| true).await {
            Ok(()) => made += 1,
            Err(IndexError::Embed(_)) => left += 1,
            Err(IndexError::Store(error)) => return Err(error).context("the search index could not be made again"),
        }
    }
    findings
        .push(Finding::fine("repair", format!("made the search index of {made} agents and archives from their rows")));
    if left > 0 {
        let text = format!("{left} agents and archives use embedding models that a running server has to ask");
        findings.push(Finding::note("repair", text));
    }
    Ok(())
}

/// What a check found, by whichever process.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Checkup {
    #[serde(flatten)]
    holdings: Holdings,
    problems: Vec<Complaint>,
}

/// Something that is wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Complaint {
    text: String,
    repairable: bool,
}

impl From<&StoreReport> for Checkup {
    fn from(report: &StoreReport) -> Self {
        let complaint =
            |problem: &Problem| Complaint { text: problem.text.clone(), repairable: problem.can_be_repaired() };
        Self { holdings: report.into(), problems: report.problems.iter().map(complaint).collect() }
    }
}

fn soundness(checkup: &Checkup, remedy: &str) -> Vec<Finding> {
    let holds = checkup.holdings.to_string();
    if checkup.problems.is_empty() {
        return vec![Finding::fine("store", format!("sound: {holds}"))];
    }
    let damage = |Complaint { text, repairable }: &Complaint| {
        let remedy =
            if *repairable { "stop the server if one runs, then run `librarian doctor --repair`" } else { remedy };
        Finding::problem("store", format!("damaged: {text}"), remedy)
    };
    let mut findings: Vec<Finding> = checkup.problems.iter().map(damage).collect();
    findings.push(Finding::note("store", holds));
    findings
}

/// What to do about damage that can't be repaired.
fn replacement(file: &Path) -> String {
    format!(
        "put a backup in its place with `librarian restore FILE --force`, which keeps what is there; without one, keep \
         a copy of {} and the files beside it, then move them away to begin anew",
        file.display()
    )
}

/// Asks the process that owns the store.
async fn ask(config: &Config, owner: &Owner) -> StoreSight {
    let at = format!("process {} at http://{}", owner.pid, owner.address);
    match answers(config).await {
        Ok(Asked { version, checkup, agents, offered }) => {
            let mut findings = vec![Finding::fine("server", format!("version {version} answers as {at}"))];
            findings.extend(soundness(&checkup, &replacement(&data_dir::store_file(&config.data_dir))));
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

/// What a running process tells.
struct Asked {
    version: String,
    checkup: Checkup,
    agents: Vec<AgentView>,
    offered: Vec<String>,
}

async fn answers(config: &Config) -> anyhow::Result<Asked> {
    let connection = Connection::open(config).await?;
    let asked = connection.during(async |connection: &mut Connection<'_>| {
        let health: Value = connection.ask(&Call::get("/health")).await?.ok()?;
        let version = health["version"].as_str().unwrap_or("unknown").to_owned();
        let agents = lookup::all(connection).await?;
        let agents = agents.iter().map(wire::read).collect::<anyhow::Result<Vec<AgentView>>>()?;
        let models: Vec<ModelView> = wire::read(&connection.ask(&Call::get("/v1/models/")).await?.ok()?)?;
        let offered = models.into_iter().map(|model| model.handle).collect();
        let checkup = wire::read(&connection.ask_patiently(&Call::get("/console/v1/store")).await?)?;
        Ok(Asked { version, checkup, agents, offered })
    });
    asked.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_a_problem_each() {
        let mut checkup = Checkup::default();
        assert!(soundness(&checkup, "x").iter().all(|finding| !finding.is_problem()));
        let complaint = |text: &str, repairable| Complaint { text: text.to_owned(), repairable };
        checkup.problems = vec![complaint("a", false), complaint("b", true)];
        let findings = soundness(&checkup, "x");
        assert_eq!(findings.iter().filter(|finding| finding.is_problem()).count(), 2);
        let told = format!("{findings:?}");
        assert!(told.contains("Some(\"x\")") && told.contains("doctor --repair"), "{told}");
    }
}
