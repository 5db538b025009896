//! The doors of the house, and which path belongs to which of them.
//!
//! This is the only place that knows it: keys, refusals and listeners all ask here. What is added to the router gets
//! its row here, else it counts as Letta's.

use std::collections::BTreeSet;

use openai_gateway::PREFIXES;
use serde::Deserialize;

use crate::dialect::Dialect;

/// What a listener can offer or keep to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Door {
    /// OpenAI's dialect.
    OpenAi,
    /// Letta's dialect, and whatever belongs to no other door.
    Letta,
    /// Our own command line and web page.
    Console,
    /// Whether the server is up.
    Health,
    /// Numbers for a monitor.
    Metrics,
    /// What the operator looks into when something is strange.
    Debug,
}

/// Where our own command line and web page come in.
const CONSOLE: &str = "/console";
/// Paths that say only that the server is up.
const HEALTH: [&str; 3] = ["/health", "/v1/health", "/v1/health/"];
const METRICS: &str = "/metrics";
const DEBUG: &str = "/debug";

/// Letta lists its models at paths that differ from OpenAI's only by the slash or by a name.
const LETTA_MODELS: [&str; 3] = ["/v1/models/", "/v1/models/embedding", "/v1/models/embedding/"];

/// What some clients of OpenAI put before `/v1`; all that is under it is OpenAI's.
const OPENAI: &str = "/openai";

/// What OpenAI's clients ask for under each prefix and Letta's never do, whether it is offered or not.
const OPENAI_ONLY: [&str; 19] = [
    "/chat",
    "/completions",
    "/embeddings",
    "/models",
    RESPONSES,
    "/files",
    "/batches",
    "/images",
    "/audio",
    "/moderations",
    "/assistants",
    "/threads",
    "/vector_stores",
    "/realtime",
    "/uploads",
    "/fine_tuning",
    "/containers",
    "/evals",
    "/videos",
];

/// OpenAI's newer dialect, which is not offered.
const RESPONSES: &str = "/responses";

impl Door {
    /// Every door.
    const ALL: [Self; 6] = [Self::OpenAi, Self::Letta, Self::Console, Self::Health, Self::Metrics, Self::Debug];

    /// The door that `path` leads to.
    pub(crate) fn of_path(path: &str) -> Self {
        if HEALTH.contains(&path) {
            Self::Health
        } else if begins_with(path, CONSOLE) {
            Self::Console
        } else if begins_with(path, METRICS) {
            Self::Metrics
        } else if begins_with(path, DEBUG) {
            Self::Debug
        } else if !LETTA_MODELS.contains(&path) && is_openai(path) {
            Self::OpenAi
        } else {
            Self::Letta
        }
    }

    /// The shape of errors that clients of this door expect.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::OpenAi | Self::Debug => Dialect::OpenAi,
            Self::Letta | Self::Health | Self::Metrics => Dialect::Letta,
            Self::Console => Dialect::Console,
        }
    }

    /// How the configuration file calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Letta => "letta",
            Self::Console => "console",
            Self::Health => "health",
            Self::Metrics => "metrics",
            Self::Debug => "debug",
        }
    }
}

/// The doors that one listener offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenDoors(BTreeSet<Door>);

impl OpenDoors {
    /// Every door.
    pub(crate) fn all() -> Self {
        Self::only(Door::ALL)
    }

    /// These and no others.
    pub(crate) fn only(doors: impl IntoIterator<Item = Door>) -> Self {
        Self(doors.into_iter().collect())
    }

    /// Whether nothing is offered.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `door` is offered.
    pub(crate) fn has(&self, door: Door) -> bool {
        self.0.contains(&door)
    }

    /// Whether everything is offered.
    pub(crate) fn has_all(&self) -> bool {
        self.0.len() == Door::ALL.len()
    }

    /// What our own command line needs: it speaks to agents in Letta's dialect and to their memory in the console's.
    pub(crate) fn serve_commands(&self) -> bool {
        self.has(Door::Console) && self.has(Door::Letta)
    }

    /// In which dialect a refusal of `path` is told here. Where that path's door is closed, it is one that is spoken
    /// behind an open door: a closed door must not be told from one that was never there.
    pub(crate) fn dialect(&self, path: &str) -> Dialect {
        let own = Door::of_path(path).dialect();
        let doors = [Door::OpenAi, Door::Letta, Door::Console];
        let spoken = || doors.iter().filter(|door| self.has(**door)).map(|door| door.dialect());
        if spoken().any(|dialect| dialect == own) { own } else { spoken().next().unwrap_or(own) }
    }

    /// The names, as the configuration file has them.
    pub(crate) fn names(&self) -> String {
        self.0.iter().map(|door| door.name()).collect::<Vec<_>>().join(", ")
    }
}

/// Whether `path` is one that only clients of OpenAI ask for.
fn is_openai(path: &str) -> bool {
    begins_with(path, OPENAI) || OPENAI_ONLY.iter().any(|start| is_under_prefix(path, start))
}

/// Whether `path` is one of OpenAI's Responses API.
pub(crate) fn is_responses_api(path: &str) -> bool {
    is_under_prefix(path, RESPONSES)
}

/// Whether `path` is `start` or lies under it, behind one of the prefixes of OpenAI's door.
fn is_under_prefix(path: &str, start: &str) -> bool {
    PREFIXES.iter().any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| begins_with(rest, start)))
}

/// Whether `path` is `start` or lies under it.
fn begins_with(path: &str, start: &str) -> bool {
    path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_one_door() {
        for (door, paths) in [
            (
                Door::OpenAi,
                &[
                    "/v1/chat/completions",
                    "/chat/completions",
                    "/openai/v1/chat/completions",
                    "/v1/completions",
                    "/completions",
                    "/v1/embeddings",
                    "/embeddings",
                    "/v1/models",
                    "/v1/models/librarian",
                    "/v1/models/provider/model",
                    "/models",
                    "/models/",
                    "/models/embedding",
                    "/openai/v1/models",
                    "/openai/v1/models/",
                    "/openai/v1/models/embedding",
                    "/openai/deployments/x",
                    "/v1/responses",
                ][..],
            ),
            (
                Door::Letta,
                &[
                    "/v1/models/",
                    "/v1/models/embedding",
                    "/v1/models/embedding/",
                    "/v1/agents/",
                    "/v1/chatter",
                    "/chatter",
                    "/openair",
                    "/",
                    "",
                    "/healthy",
                    "/consoles",
                ],
            ),
            (Door::Console, &["/console", "/console/v1/backup"]),
            (Door::Health, &["/health", "/v1/health", "/v1/health/"]),
            (Door::Metrics, &["/metrics"]),
            (Door::Debug, &["/debug/sessions"]),
        ] {
            for path in paths {
                assert_eq!(Door::of_path(path), door, "{path}");
            }
        }
    }

    #[test]
    fn a_closed_door_is_refused_in_the_words_of_an_open_one() {
        let only = |doors: &[Door]| OpenDoors::only(doors.iter().copied());
        for (doors, path, dialect) in [
            (only(&[Door::OpenAi]), "/v1/agents/", Dialect::OpenAi),
            (only(&[Door::OpenAi]), "/console/v1/backup", Dialect::OpenAi),
            (only(&[Door::OpenAi, Door::Health]), "/v1/agents/", Dialect::OpenAi),
            (only(&[Door::OpenAi, Door::Letta]), "/v1/agents/", Dialect::Letta),
            (only(&[Door::OpenAi, Door::Letta]), "/console/v1/backup", Dialect::OpenAi),
            (only(&[Door::Letta]), "/v1/chat/completions", Dialect::Letta),
            (only(&[Door::Console]), "/v1/agents/", Dialect::Console),
            (only(&[Door::Health]), "/v1/models", Dialect::OpenAi),
            (OpenDoors::all(), "/console/v1/backup", Dialect::Console),
        ] {
            assert_eq!(doors.dialect(path), dialect, "{doors:?} {path}");
        }
    }

    #[test]
    fn names_are_those_of_the_file() {
        #[derive(Deserialize)]
        struct File {
            doors: Vec<Door>,
        }
        let names: Vec<String> = Door::ALL.iter().map(|door| format!("\"{}\"", door.name())).collect();
        let file: File = toml::from_str(&format!("doors = [{}]", names.join(", "))).unwrap();
        assert_eq!(file.doors, Door::ALL);
    }
}
