//! API keys as JSON.

use dispatch::{KeySpec, KeyText};
use domain::{AgentId, ApiKey, ApiKeyId, KeyScope, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::ConsoleError;

/// A key to make.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KeyBody {
    name: String,
    /// The agents that it opens; left out: all of them.
    agents: Option<Vec<AgentId>>,
    /// Whether it opens Letta's door too.
    letta: bool,
}

impl TryFrom<KeyBody> for KeySpec {
    type Error = ConsoleError;

    fn try_from(body: KeyBody) -> Result<Self, ConsoleError> {
        let scope = match (body.agents, body.letta) {
            (Some(_), true) => {
                let text = "Letta's door shows and changes all agents: `letta` can't be limited to `agents`";
                return Err(ConsoleError::invalid(text));
            }
            (Some(agents), false) => KeyScope::Agents(agents.into()),
            (None, false) => KeyScope::AllAgents,
            (None, true) => KeyScope::Letta,
        };
        Ok(Self { name: body.name, scope })
    }
}

/// A key, without its text.
#[derive(Debug, Serialize)]
pub(crate) struct KeyEntry {
    id: ApiKeyId,
    name: String,
    /// The first characters of its text.
    beginning: String,
    /// The agents that it opens; null for all of them.
    agents: Option<Vec<AgentId>>,
    letta: bool,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl From<&ApiKey> for KeyEntry {
    fn from(key: &ApiKey) -> Self {
        Self {
            id: key.id,
            name: key.name.clone(),
            beginning: key.beginning.clone(),
            agents: key.scope.agents().map(|agents| agents.to_vec()),
            letta: key.scope == KeyScope::Letta,
            created_at: key.created_at,
            last_used_at: key.last_used_at,
            revoked_at: key.revoked_at,
        }
    }
}

/// A key that was just made, with the only sight of its text.
#[derive(Serialize)]
pub(crate) struct NewKey {
    key: String,
    #[serde(flatten)]
    entry: KeyEntry,
}

impl NewKey {
    pub(crate) fn new(key: &ApiKey, text: &KeyText) -> Self {
        Self { key: text.reveal().to_owned(), entry: key.into() }
    }
}
