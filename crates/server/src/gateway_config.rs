//! What `librarian.toml` says about OpenAI's door: `[gateway]`, `[[alias]]` and `[[unescape]]`.
//!
//! Everything is checked at the start. A name that could mean two things would otherwise first be noticed by somebody
//! who talks to the wrong agent.

use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use domain::{AgentId, ModelHandle};
use openai_gateway::config::{Alias, GatewayConfig, MemoryScope, Mode, ReasoningShown, Unescape};
use serde::Deserialize;

use crate::config::Environment;

/// Aliases and unescaped models that a file may name.
const MAX_ENTRIES: usize = 1_000;
/// Characters of an alias.
const MAX_NAME: usize = 200;
/// Sessions that may be kept in memory.
const MAX_SESSIONS: usize = 1_000_000;
/// A year.
const MAX_IDLE_MINUTES: u64 = 365 * 24 * 60;
/// Turns `GET /debug/sessions` on, whatever the file says.
const DEBUG_SESSIONS: &str = "PROXY_DEBUG_SESSIONS";

/// `[gateway]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GatewaySection {
    pass_through: Option<bool>,
    session_capacity: Option<usize>,
    session_idle_minutes: Option<u64>,
    debug_sessions: Option<bool>,
    follow_edits: Option<bool>,
}

/// `[[alias]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AliasSection {
    name: String,
    agent: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    memory: MemoryScope,
    #[serde(default)]
    reasoning: ReasoningShown,
    unescape: Option<Unescape>,
    #[serde(default)]
    prompt_cache_key: bool,
}

/// `[[unescape]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnescapeSection {
    model: String,
    unescape: Unescape,
}

/// The sections as the door takes them; the error says which entry is wrong and what it may be.
pub(crate) fn gateway_config(
    section: &GatewaySection,
    aliases: Vec<AliasSection>,
    unescape: Vec<UnescapeSection>,
    environment: Environment<'_>,
) -> anyhow::Result<GatewayConfig> {
    let usual = GatewayConfig::default();
    let session_capacity = section.session_capacity.unwrap_or(usual.session_capacity);
    ensure!(
        (1..=MAX_SESSIONS).contains(&session_capacity),
        "[gateway] session_capacity must be 1 to {MAX_SESSIONS}, not {session_capacity}"
    );
    let session_idle = match section.session_idle_minutes {
        None => usual.session_idle,
        Some(minutes) if (1..=MAX_IDLE_MINUTES).contains(&minutes) => Duration::from_secs(minutes * 60),
        Some(minutes) => {
            bail!("[gateway] session_idle_minutes must be 1 to {MAX_IDLE_MINUTES}, not {minutes}")
        }
    };
    let debug_sessions = switched(environment, DEBUG_SESSIONS)?.or(section.debug_sessions);
    Ok(GatewayConfig {
        aliases: checked_aliases(aliases)?,
        pass_through: section.pass_through.unwrap_or(usual.pass_through),
        session_capacity,
        session_idle,
        debug_sessions: debug_sessions.unwrap_or(usual.debug_sessions),
        follow_edits: section.follow_edits.unwrap_or(usual.follow_edits),
        unescape: checked_models(unescape)?,
    })
}

/// What a variable that turns something on or off says.
fn switched(environment: Environment<'_>, name: &str) -> anyhow::Result<Option<bool>> {
    match environment(name).as_deref() {
        None => Ok(None),
        Some("1" | "true") => Ok(Some(true)),
        Some("0" | "false") => Ok(Some(false)),
        Some(other) => Err(anyhow!("{name} must be `1` or `0`, not `{other}`")),
    }
}

fn checked_aliases(sections: Vec<AliasSection>) -> anyhow::Result<Vec<Alias>> {
    ensure!(sections.len() <= MAX_ENTRIES, "there are {} [[alias]], and {MAX_ENTRIES} are allowed", sections.len());
    let mut aliases: Vec<Alias> = Vec::with_capacity(sections.len());
    for section in sections {
        let name = section.name;
        check_name(&name).with_context(|| format!("[[alias]] `{}`", shown(&name)))?;
        ensure!(!section.agent.trim().is_empty(), "[[alias]] `{name}`: agent is empty: write an agent's name or id");
        ensure!(
            aliases.iter().all(|other| other.name != name),
            "two [[alias]] are named `{name}`: give each its own name"
        );
        aliases.push(Alias {
            name,
            agent: section.agent,
            mode: section.mode,
            memory: section.memory,
            reasoning: section.reasoning,
            unescape: section.unescape,
            prompt_cache_key: section.prompt_cache_key,
        });
    }
    Ok(aliases)
}

/// Refuses names that are something else already, or that no client could send.
fn check_name(name: &str) -> anyhow::Result<()> {
    ensure!(!name.trim().is_empty(), "name is empty: write the model name that clients will send");
    ensure!(name.trim() == name, "name begins or ends with a space, which clients leave out");
    ensure!(name.chars().count() <= MAX_NAME, "name is longer than {MAX_NAME} characters");
    ensure!(!name.chars().any(char::is_control), "name holds a line break or another control character");
    ensure!(
        ModelHandle::parse(name).is_err(),
        "name reads as the model handle `provider/model`, which clients may mean: choose a name without a slash"
    );
    ensure!(name.parse::<AgentId>().is_err(), "name is an agent's id, which names that agent already");
    Ok(())
}

fn checked_models(sections: Vec<UnescapeSection>) -> anyhow::Result<Vec<(String, Unescape)>> {
    ensure!(sections.len() <= MAX_ENTRIES, "there are {} [[unescape]], and {MAX_ENTRIES} are allowed", sections.len());
    let mut models: Vec<(String, Unescape)> = Vec::with_capacity(sections.len());
    for section in sections {
        let handle = ModelHandle::parse(&section.model).context("[[unescape]] model")?;
        let model = handle.as_str().to_owned();
        ensure!(
            models.iter().all(|(other, _)| *other != model),
            "two [[unescape]] are about `{model}`: keep one of them"
        );
        models.push((model, section.unescape));
    }
    Ok(models)
}

/// The beginning of a text from the file, without anything that could break a line.
fn shown(text: &str) -> String {
    text.chars().take(MAX_NAME).map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
#[path = "gateway_config_tests.rs"]
mod tests;
