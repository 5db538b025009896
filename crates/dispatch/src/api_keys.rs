//! API keys on behalf of whoever may make them: new ones from the system's random numbers, and their end.
//!
//! The text of a key leaves this file once, to be shown to whoever asked for the key, and is never kept or logged.

use std::collections::HashSet;
use std::fmt;

use domain::api_key::{KEY_BEGINNING, KEY_BYTES, key_text, shown_beginning};
use domain::{Actor, ApiKey, ApiKeyId, Caller, KeyScope};
use rand::TryRngCore;
use storage::{Change, Commit, StoreError, key_digest};

use crate::dispatcher::Dispatcher;

const MAX_NAME_CHARS: usize = 100;
/// Agents that a key may be limited to: every request looks through them.
const MAX_KEY_AGENTS: usize = 256;

/// A new key.
#[derive(Debug, Clone)]
pub struct KeySpec {
    pub name: String,
    pub scope: KeyScope,
}

/// The text of a key. It is not shown by `Debug`.
#[derive(Clone)]
pub struct KeyText(String);

impl KeyText {
    /// The text itself, for the one answer that may hold it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Why keys stay as they are, named by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Change the request.
    #[error("{0}")]
    Invalid(String),
    #[error("there is an API key named `{0}` already: choose another name, or revoke that one first")]
    NameTaken(String),
    #[error("there is no API key `{0}`")]
    NoSuchKey(ApiKeyId),
    /// Ask somebody who may do more.
    #[error("a key can't be given more than whoever makes it has")]
    TooWide,
    #[error("the system has no random numbers to make a key of")]
    NoRandomNumbers,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Dispatcher {
    /// Makes a key. Its text is known from this answer only.
    pub async fn create_api_key(
        &self,
        actor: Actor,
        caller: &Caller,
        spec: KeySpec,
    ) -> Result<(ApiKey, KeyText), KeyError> {
        let spec = checked(spec)?;
        if !spec.scope.may_be_given_by(caller) {
            return Err(KeyError::TooWide);
        }
        let mut random = [0; KEY_BYTES];
        rand::rngs::OsRng.try_fill_bytes(&mut random).map_err(|_| KeyError::NoRandomNumbers)?;
        let text = KeyText(key_text(&random));
        let now = (self.inner.clock)();
        let key = ApiKey {
            id: ApiKeyId::random(),
            organization: actor.organization,
            created_by: actor.user,
            name: spec.name,
            digest: key_digest(text.reveal().as_bytes()),
            beginning: shown_beginning(text.reveal()),
            scope: spec.scope,
            created_at: now,
            revoked_at: None,
            last_used_at: None,
        };
        let insert = Change::InsertApiKey(Box::new(key.clone()));
        match self.inner.store.commit(Commit::new(actor, now).with(insert)).await {
            Ok(_) => Ok((self.inner.store.api_key(actor.organization, key.id).await?, text)),
            Err(StoreError::Conflict { noun: "API key", .. }) => Err(KeyError::NameTaken(key.name)),
            Err(error) => Err(error.into()),
        }
    }

    /// All keys, those that open something first.
    pub async fn api_keys(&self, actor: Actor) -> Result<Vec<ApiKey>, KeyError> {
        Ok(self.inner.store.api_keys(actor.organization).await?)
    }

    /// Revokes a key for good: once this has returned, no request that begins is let in by it. One that was revoked
    /// before stays as it was.
    pub async fn revoke_api_key(&self, actor: Actor, id: ApiKeyId) -> Result<ApiKey, KeyError> {
        let (store, now) = (&self.inner.store, (self.inner.clock)());
        let missing = |error| match error {
            StoreError::NotFound { .. } => KeyError::NoSuchKey(id),
            error => error.into(),
        };
        // With the key goes what memory knows of its use.
        store.write_key_uses(now).await?;
        store.commit(Commit::new(actor, now).with(Change::RevokeApiKey(id))).await.map_err(missing)?;
        store.api_key(actor.organization, id).await.map_err(missing)
    }
}

/// `spec` with each agent once, or what is wrong with it.
fn checked(spec: KeySpec) -> Result<KeySpec, KeyError> {
    let invalid = |text: String| Err(KeyError::Invalid(text));
    let KeySpec { name, scope } = spec;
    let printable = !name.trim().is_empty() && !name.chars().any(char::is_control);
    if !printable || name.chars().count() > MAX_NAME_CHARS {
        return invalid(format!("a key's name needs 1 to {MAX_NAME_CHARS} characters without control characters"));
    }
    if name.starts_with(KEY_BEGINNING) {
        return invalid(format!("a key's name can't begin with `{KEY_BEGINNING}`: so begin the keys themselves"));
    }
    let scope = match scope {
        KeyScope::Agents(agents) => {
            let mut seen = HashSet::new();
            let agents: Vec<_> = agents.iter().copied().filter(|agent| seen.insert(*agent)).collect();
            match agents.len() {
                0 => return invalid("name the agents of the key, or leave them out for all agents".to_owned()),
                1..=MAX_KEY_AGENTS => KeyScope::Agents(agents.into()),
                _ => return invalid(format!("a key can be limited to {MAX_KEY_AGENTS} agents at most")),
            }
        }
        scope @ (KeyScope::AllAgents | KeyScope::Letta) => scope,
    };
    Ok(KeySpec { name, scope })
}

#[cfg(test)]
mod tests {
    use domain::AgentId;

    use super::*;

    fn check(name: &str, scope: KeyScope) -> Result<KeyScope, String> {
        checked(KeySpec { name: name.to_owned(), scope }).map(|spec| spec.scope).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_is_printable_short_and_no_key() {
        let long = "x".repeat(MAX_NAME_CHARS + 1);
        for (name, fits) in [
            ("laptop", true),
            ("Ada's laptop", true),
            ("x", true),
            ("", false),
            (" ", false),
            ("a\nb", false),
            ("lib-0123", false),
            (long.as_str(), false),
        ] {
            assert_eq!(check(name, KeyScope::AllAgents).is_ok(), fits, "{name:?}");
        }
    }

    #[test]
    fn a_list_of_agents_is_never_empty_and_names_each_once() {
        let agents = |count: usize| -> Vec<AgentId> { (0..count).map(|_| AgentId::random()).collect() };
        let two = agents(2);
        let twice = KeyScope::Agents([two[0], two[1], two[0]].into());
        assert_eq!(check("x", twice), Ok(KeyScope::Agents(two.into())));
        assert!(check("x", KeyScope::Agents([].into())).unwrap_err().contains("for all agents"));
        assert!(check("x", KeyScope::Agents(agents(MAX_KEY_AGENTS).into())).is_ok());
        assert!(check("x", KeyScope::Agents(agents(MAX_KEY_AGENTS + 1).into())).unwrap_err().contains("256"));
    }

    #[test]
    fn a_text_is_not_shown() {
        assert_eq!(format!("{:?}", KeyText("lib-secret".to_owned())), "[redacted]");
    }
}
