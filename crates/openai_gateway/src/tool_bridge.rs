//! Under which names a client's tools are offered to a model, and back. Pure.
//!
//! A client's tool must not hide one of the agent's own, and some vendors take no long names. What has to be renamed is
//! renamed the same way in every request, so that calls in a stored history keep meaning the same tool.

use std::sync::Arc;

use dispatch::request::{ClientToolChoice, ClientTools};
use domain::message::SEND_MESSAGE;
use domain::seams::chat_model::ToolSpec;

use crate::session_name::text_digest;
use crate::wire::chat_tools::{RequestChoice, RequestTools};

/// Characters of a name that every vendor takes.
const MAX_OFFERED: usize = 48;
/// What stands before a name that the agent has too.
const COLLIDING: &str = "client_";

/// A client's tools with both of their names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bridge {
    /// The client's name, then the one that the model is shown.
    names: Vec<(String, Arc<str>)>,
}

impl Bridge {
    /// Finds a name for each of the client's tools that none of the agent's `own` has.
    pub(crate) fn new<'a>(tools: &RequestTools, own: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut names: Vec<(String, Arc<str>)> = Vec::with_capacity(tools.tools.len());
        for tool in &tools.tools {
            // A call of that name is words for the user, also where the agent has no such tool.
            let own = || own.clone().chain([SEND_MESSAGE]);
            let taken = |name: &str, names: &[(String, Arc<str>)]| {
                own().any(|own| own == name) || names.iter().any(|(_, offered)| **offered == *name)
            };
            let mut offered = fitting(&tool.name);
            if taken(&offered, &names) {
                offered = fitting(&format!("{COLLIDING}{}", tool.name));
            }
            if taken(&offered, &names) {
                offered = with_digest(&format!("{COLLIDING}{}", tool.name));
            }
            names.push((tool.name.clone(), offered.into()));
        }
        Self { names }
    }

    /// The client's name of an offered tool; None if it is not the client's.
    pub(crate) fn client_name(&self, offered: &str) -> Option<&str> {
        self.names.iter().find(|(_, name)| **name == *offered).map(|(client, _)| client.as_str())
    }

    /// The name under which a client's tool is offered; one that this request does not bring keeps its own.
    pub(crate) fn offered(&self, client: &str) -> Arc<str> {
        let found = self.names.iter().find(|(name, _)| name == client).map(|(_, offered)| offered.clone());
        found.unwrap_or_else(|| fitting(client).into())
    }

    /// The tools as a run is given them.
    pub(crate) fn client_tools(&self, tools: &RequestTools) -> ClientTools {
        let specs = tools.tools.iter().zip(&self.names).map(|(tool, (_, offered))| ToolSpec {
            name: offered.clone(),
            description: tool.description.as_str().into(),
            parameters: Arc::new(tool.parameters.clone()),
            strict: tool.strict,
        });
        let choice = match &tools.choice {
            RequestChoice::Auto => ClientToolChoice::Auto,
            RequestChoice::None => ClientToolChoice::None,
            RequestChoice::Required => ClientToolChoice::Required,
            RequestChoice::Function(name) => ClientToolChoice::Function(self.offered(name)),
        };
        ClientTools { specs: specs.collect(), choice, parallel: tools.parallel }
    }
}

/// The name itself where it is short and plain enough.
fn fitting(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if name.len() <= MAX_OFFERED && plain { name.to_owned() } else { with_digest(name) }
}

/// As much of the name as there is room for, and a digest that tells it from its like.
fn with_digest(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect();
    let digest = text_digest(name).to_string();
    let room = MAX_OFFERED - 9;
    format!("{}_{}", &plain[..plain.len().min(room)], &digest[..8])
}
