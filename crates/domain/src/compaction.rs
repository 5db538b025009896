//! How an agent's context is compacted: what its maker may set, and what holds where nothing is set.
//!
//! The store keeps the settings as the client wrote them. This is their meaning, read anew where it is needed.

use serde_json::{Map, Value};

use crate::model_config::ModelHandle;

/// The share of the context window that recent messages keep, unless somebody says otherwise.
pub const DEFAULT_KEEP: f64 = 0.5;
/// Characters that a summarising prompt may have.
const MAX_PROMPT_CHARS: usize = 100_000;
/// Characters that a summary may be allowed.
const MAX_CLIP_CHARS: u64 = 1_000_000;
const MAX_OUTPUT_TOKENS: u64 = 1_000_000;

/// What goes when the context is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CompactionMode {
    /// Everything but the open exchange.
    All,
    /// The oldest messages.
    #[default]
    SlidingWindow,
}

/// How long a summary may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clip {
    /// As the context window suggests.
    #[default]
    Usual,
    /// As long as the context window bears.
    Unlimited,
    /// So many characters.
    Chars(u32),
}

/// What overrides the summarising model's own settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SummariserSettings {
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
    pub reasoning_effort: Option<String>,
}

/// How to compact.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionSettings {
    /// Who summarises; None means the agent's own model.
    pub model: Option<ModelHandle>,
    pub model_settings: SummariserSettings,
    /// None means our own prompt.
    pub prompt: Option<String>,
    /// Whether the summariser is made to say first that it will answer with a summary only.
    pub prompt_acknowledgement: bool,
    pub clip: Clip,
    pub mode: CompactionMode,
    /// The share of the context window that recent messages keep, above 0 and at most 1.
    pub keep: f64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            model: None,
            model_settings: SummariserSettings::default(),
            prompt: None,
            prompt_acknowledgement: false,
            clip: Clip::default(),
            mode: CompactionMode::default(),
            keep: DEFAULT_KEEP,
        }
    }
}

/// A setting that makes no sense, and what would.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("compaction_settings.{field} {expected}")]
pub struct CompactionError {
    pub field: &'static str,
    pub expected: String,
}

impl CompactionSettings {
    /// Reads settings as clients write them; unknown fields are left alone.
    pub fn parse(value: &Value) -> Result<Self, CompactionError> {
        let Value::Object(fields) = value else {
            return Err(wrong("*", "must be a JSON object"));
        };
        let (mode, own_model) = mode(fields)?;
        let model = text(fields, "model")?.map(ModelHandle::parse).transpose();
        let model = model.map_err(|error| wrong("model", error.to_string()))?;
        Ok(Self {
            model: model.filter(|_| !own_model),
            model_settings: model_settings(fields)?,
            prompt: prompt(fields)?,
            prompt_acknowledgement: flag(fields, "prompt_acknowledgement")?,
            clip: clip(fields)?,
            mode,
            keep: keep(fields)?,
        })
    }

    /// The settings of an agent that keeps `stored`. What the doors refuse today may have been stored before.
    pub fn of_agent(stored: Option<&Value>) -> Self {
        stored.and_then(|value| Self::parse(value).ok()).unwrap_or_default()
    }
}

fn wrong(field: &'static str, expected: impl Into<String>) -> CompactionError {
    CompactionError { field, expected: expected.into() }
}

/// The value of a field; null counts as left out.
fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn text<'a>(fields: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a str>, CompactionError> {
    match given(fields, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(name, "must be a string")),
    }
}

fn flag(fields: &Map<String, Value>, name: &'static str) -> Result<bool, CompactionError> {
    match given(fields, name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(wrong(name, "must be true or false")),
    }
}

/// The mode, and whether the agent's own model must summarise, which is what the newer modes add.
fn mode(fields: &Map<String, Value>) -> Result<(CompactionMode, bool), CompactionError> {
    match text(fields, "mode")? {
        None | Some("sliding_window") => Ok((CompactionMode::SlidingWindow, false)),
        Some("all") => Ok((CompactionMode::All, false)),
        Some("self_compact_sliding_window") => Ok((CompactionMode::SlidingWindow, true)),
        Some("self_compact_all") => Ok((CompactionMode::All, true)),
        Some(_) => {
            Err(wrong("mode", "must be `all`, `sliding_window`, `self_compact_all` or `self_compact_sliding_window`"))
        }
    }
}

fn prompt(fields: &Map<String, Value>) -> Result<Option<String>, CompactionError> {
    match text(fields, "prompt")? {
        Some(prompt) if prompt.contains('\0') || prompt.chars().count() > MAX_PROMPT_CHARS => {
            Err(wrong("prompt", format!("can have {MAX_PROMPT_CHARS} characters at most, and no NUL")))
        }
        prompt => Ok(prompt.filter(|prompt| !prompt.trim().is_empty()).map(str::to_owned)),
    }
}

fn clip(fields: &Map<String, Value>) -> Result<Clip, CompactionError> {
    match fields.get("clip_chars") {
        None => Ok(Clip::Usual),
        Some(Value::Null) => Ok(Clip::Unlimited),
        Some(value) => {
            let chars = value.as_u64().filter(|chars| (1..=MAX_CLIP_CHARS).contains(chars));
            let chars = chars.and_then(|chars| u32::try_from(chars).ok());
            let expected =
                || wrong("clip_chars", format!("must be a whole number from 1 to {MAX_CLIP_CHARS}, or null"));
            chars.map(Clip::Chars).ok_or_else(expected)
        }
    }
}

fn keep(fields: &Map<String, Value>) -> Result<f64, CompactionError> {
    const FIELD: &str = "sliding_window_percentage";
    let Some(value) = given(fields, FIELD) else { return Ok(DEFAULT_KEEP) };
    let share = value.as_f64().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| wrong(FIELD, "must be a number above 0 and at most 1: the share of the window to keep"))
}

fn model_settings(fields: &Map<String, Value>) -> Result<SummariserSettings, CompactionError> {
    const FIELD: &str = "model_settings";
    let settings = match given(fields, FIELD) {
        None => return Ok(SummariserSettings::default()),
        Some(Value::Object(settings)) => settings,
        Some(_) => return Err(wrong(FIELD, "must be a JSON object")),
    };
    let temperature = match given(settings, "temperature") {
        None => None,
        Some(value) => {
            let number = value.as_f64().filter(|number| (0.0..=2.0).contains(number));
            Some(number.ok_or_else(|| wrong(FIELD, "temperature must be between 0 and 2"))?)
        }
    };
    let max_output_tokens = match given(settings, "max_output_tokens") {
        None => None,
        Some(value) => {
            let tokens = value.as_u64().filter(|tokens| (1..=MAX_OUTPUT_TOKENS).contains(tokens));
            let tokens = tokens.and_then(|tokens| u32::try_from(tokens).ok());
            let expected = || wrong(FIELD, format!("max_output_tokens must be from 1 to {MAX_OUTPUT_TOKENS}"));
            Some(tokens.ok_or_else(expected)?)
        }
    };
    let effort = settings.get("reasoning").and_then(|reasoning| reasoning.get("reasoning_effort"));
    let reasoning_effort = effort.and_then(Value::as_str).map(str::to_owned);
    Ok(SummariserSettings { temperature, max_output_tokens, reasoning_effort })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> CompactionSettings {
        CompactionSettings::parse(&value).unwrap()
    }

    #[test]
    fn what_is_left_out_is_usual() {
        let usual = CompactionSettings::default();
        assert_eq!(read(json!({})), usual);
        assert_eq!(read(json!({"model": null, "prompt": " ", "mode": null, "future": [1]})), usual);
        assert_eq!(CompactionSettings::of_agent(None), usual);
        assert_eq!(CompactionSettings::of_agent(Some(&json!({"mode": "odd"}))), usual);
    }

    #[test]
    fn everything_can_be_set() {
        let settings = read(json!({
            "model": "openai/gpt-4o-mini", "prompt": "Sum up.", "prompt_acknowledgement": true, "clip_chars": 300,
            "mode": "all", "sliding_window_percentage": 0.3,
            "model_settings": {"provider_type": "openai", "temperature": 0, "max_output_tokens": 500,
                               "reasoning": {"reasoning_effort": "low"}},
        }));
        assert_eq!(settings.model.unwrap().as_str(), "openai/gpt-4o-mini");
        assert_eq!((settings.mode, settings.clip, settings.keep), (CompactionMode::All, Clip::Chars(300), 0.3));
        assert_eq!(settings.prompt.as_deref(), Some("Sum up."));
        assert!(settings.prompt_acknowledgement);
        let SummariserSettings { temperature, max_output_tokens, reasoning_effort } = settings.model_settings;
        assert_eq!((temperature, max_output_tokens), (Some(0.0), Some(500)));
        assert_eq!(reasoning_effort.as_deref(), Some("low"));
        assert_eq!(read(json!({"clip_chars": null})).clip, Clip::Unlimited);
    }

    #[test]
    fn an_agent_that_compacts_itself_asks_its_own_model() {
        let settings = read(json!({"mode": "self_compact_all", "model": "openai/gpt-4o"}));
        assert_eq!((settings.mode, settings.model), (CompactionMode::All, None));
        assert_eq!(read(json!({"mode": "self_compact_sliding_window"})).mode, CompactionMode::SlidingWindow);
    }

    #[test]
    fn nonsense_is_named() {
        for (value, field) in [
            (json!([]), "*"),
            (json!({"mode": "some"}), "mode"),
            (json!({"mode": 1}), "mode"),
            (json!({"model": "gpt"}), "model"),
            (json!({"prompt": 3}), "prompt"),
            (json!({"prompt": "\0"}), "prompt"),
            (json!({"prompt_acknowledgement": "yes"}), "prompt_acknowledgement"),
            (json!({"clip_chars": 0}), "clip_chars"),
            (json!({"clip_chars": 1.5}), "clip_chars"),
            (json!({"clip_chars": "many"}), "clip_chars"),
            (json!({"sliding_window_percentage": 0}), "sliding_window_percentage"),
            (json!({"sliding_window_percentage": 30}), "sliding_window_percentage"),
            (json!({"model_settings": []}), "model_settings"),
            (json!({"model_settings": {"temperature": 9}}), "model_settings"),
            (json!({"model_settings": {"max_output_tokens": 0}}), "model_settings"),
        ] {
            let error = CompactionSettings::parse(&value).expect_err(&value.to_string());
            assert_eq!(error.field, field, "{error}");
        }
    }
}
