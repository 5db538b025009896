//! Whether each agent's model can be had: the usual reason why an agent does not answer.

use domain::ModelHandle;
use providers::{Registry, ResolveError};

use super::finding::Finding;
use crate::cli::output::one_line;

/// Agents that one line names at most.
const NAMED: usize = 3;

/// An agent and the handle of its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentModel {
    name: String,
    model: String,
}

impl AgentModel {
    pub(super) fn new(name: &str, model: &str) -> Self {
        Self { name: name.to_owned(), model: model.to_owned() }
    }
}

/// Looks every agent's model up: among what a running process offers, else at the providers themselves.
pub(super) async fn look(agents: &[AgentModel], offered: &Option<Vec<String>>, models: &Registry) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (model, users) in by_model(agents) {
        findings.extend(match offered {
            Some(offered) => not_offered(model, &users, offered),
            None => unresolved(model, &users, models).await,
        });
    }
    findings
}

/// Agents by model, in the order of the first agent of each.
fn by_model(agents: &[AgentModel]) -> Vec<(&str, String)> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for agent in agents {
        let name = one_line(&agent.name);
        match groups.iter_mut().find(|(model, _)| *model == agent.model) {
            Some((_, names)) => names.push(name),
            None => groups.push((&agent.model, vec![name])),
        }
    }
    groups.into_iter().map(|(model, names)| (model, listed(&names))).collect()
}

/// A few names; the others are counted.
fn listed(names: &[String]) -> String {
    match names.len().checked_sub(NAMED) {
        Some(more) if more > 0 => format!("{} and {more} more", names[..NAMED].join(", ")),
        _ => names.join(", "),
    }
}

/// A provider without a list is not seen from here, so this may be no problem.
fn not_offered(model: &str, users: &str, offered: &[String]) -> Option<Finding> {
    let missing = !offered.iter().any(|offer| offer == model);
    missing
        .then(|| Finding::note(format!("agent {users}"), format!("the running server does not list its model {model}")))
}

async fn unresolved(model: &str, users: &str, models: &Registry) -> Option<Finding> {
    let handle = ModelHandle::parse(model).ok()?;
    let error = models.resolve(&handle).await.err()?;
    let subject = format!("agent {users}");
    let remedy = match &error {
        // The provider has its own finding.
        ResolveError::Unavailable { .. } => {
            return Some(Finding::note(subject, format!("its model {model} waits for its provider")));
        }
        ResolveError::UnknownProvider { .. } | ResolveError::UnknownModel { .. } => {
            "configure that provider, or choose another model with `librarian agents set-model`"
        }
    };
    Some(Finding::problem(subject, format!("its model {model} is not there: {error}"), remedy))
}

#[cfg(test)]
mod tests {
    use providers::RegistryConfig;

    use super::*;

    fn agents() -> Vec<AgentModel> {
        vec![AgentModel::new("a", "builtin/guide"), AgentModel::new("b", "gone/x"), AgentModel::new("c", "gone/x")]
    }

    #[tokio::test]
    async fn agents_that_can_not_answer_are_named_together() {
        let models = Registry::new(RegistryConfig::default()).unwrap();
        let findings = look(&agents(), &None, &models).await;
        assert_eq!(findings.len(), 1);
        assert!(findings[0].is_problem() && format!("{findings:?}").contains("agent b, c"), "{findings:?}");
    }

    #[test]
    fn many_names_are_counted() {
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        assert_eq!(listed(&names), "a, b, c and 2 more");
        assert_eq!(listed(&names[..3]), "a, b, c");
    }

    #[tokio::test]
    async fn a_running_server_knows_better() {
        let models = Registry::new(RegistryConfig::default()).unwrap();
        let offered = Some(vec!["builtin/guide".to_owned(), "gone/x".to_owned()]);
        assert_eq!(look(&agents(), &offered, &models).await, []);
        let fewer = Some(vec!["builtin/guide".to_owned()]);
        assert!(look(&agents(), &fewer, &models).await.iter().all(|finding| !finding.is_problem()));
    }
}
