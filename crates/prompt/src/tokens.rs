//! How many tokens a text is to a model, by the vocabulary of the model's family.
//!
//! A vocabulary is a constant of tens of megabytes once it is unpacked, so it is unpacked when a text is first counted
//! and never before: whoever asks begins with [`message_bytes`], because a text has no more tokens than bytes.
//! Families without a public vocabulary are counted by the nearest one and a factor. The rest of the difference is
//! learned from what vendors report (see [`crate::budget`]).

use std::io::{self, Write};

use domain::image::{IMAGE_MARK, Image, ImageDetail};
use domain::seams::chat_model::ToolSpec;
use domain::{ContentPart, Message, Role};
use tiktoken_rs::CoreBPE;

use crate::history::{HistoryOptions, cut};

/// Tokens around a message: its role and its borders.
const PER_MESSAGE: u64 = 4;
/// Tokens around a tool call.
const PER_CALL: u64 = 8;
/// Tokens around a tool's description.
const PER_TOOL: u64 = 8;
/// Tokens of a request beside its messages and tools.
pub const PER_REQUEST: u64 = 8;
/// Tokens of an image: what OpenAI counts for one of six tiles, such as a photo, and for any at low detail. Nobody here
/// looks into images, so their real size is not known; what vendors report corrects the estimate.
const PER_IMAGE: u64 = 1_105;
const PER_IMAGE_LOW: u64 = 85;
/// Bytes that are split at once. Longer runs without a break cost more than their length.
const PIECE: usize = 8 * 1024;
/// Bytes a token where only a rule of thumb is wanted.
const ROUGH: usize = 3;

/// What splits texts into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Vocabulary {
    O200k,
    Cl100k,
    /// None: a rule of thumb, for a model that reads no tokens.
    Rough,
}

/// Models that count alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Family {
    vocabulary: Vocabulary,
    /// Tokens of the family for 100 of the vocabulary.
    percent: u64,
}

/// Names by their start, the first that fits counts. What is not here is counted as the last line says.
const FAMILIES: &[(&str, Vocabulary, u64)] = &[
    ("gpt-4o", Vocabulary::O200k, 100),
    ("gpt-4.", Vocabulary::O200k, 100),
    ("gpt-5", Vocabulary::O200k, 100),
    ("gpt-oss", Vocabulary::O200k, 100),
    ("chatgpt-4o", Vocabulary::O200k, 100),
    ("o1", Vocabulary::O200k, 100),
    ("o3", Vocabulary::O200k, 100),
    ("o4", Vocabulary::O200k, 100),
    ("gpt-", Vocabulary::Cl100k, 100),
    // Denser vocabularies need fewer tokens, but none of these is far from the stand-in.
    ("llama-3", Vocabulary::Cl100k, 100),
    ("llama3", Vocabulary::Cl100k, 100),
    ("llama-4", Vocabulary::O200k, 100),
    ("qwen", Vocabulary::Cl100k, 105),
    ("deepseek", Vocabulary::Cl100k, 105),
    ("gemini", Vocabulary::O200k, 105),
    ("gemma", Vocabulary::O200k, 105),
    ("grok", Vocabulary::O200k, 105),
    ("claude", Vocabulary::Cl100k, 120),
    // Vocabularies of 32,000 pieces.
    ("llama", Vocabulary::Cl100k, 120),
    ("mistral", Vocabulary::Cl100k, 120),
    ("mixtral", Vocabulary::Cl100k, 120),
    ("phi", Vocabulary::Cl100k, 115),
    ("guide", Vocabulary::Rough, 100),
    ("", Vocabulary::Cl100k, 110),
];

impl Family {
    /// The family of a model, by the provider's own name of it.
    pub fn of_model(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        // Some clouds put the maker and a dot before the name.
        let name = name.rsplit_once("anthropic.").map_or(name.as_str(), |(_, name)| name);
        let found = FAMILIES.iter().find(|(start, ..)| name.starts_with(start));
        let (_, vocabulary, percent) = found.copied().unwrap_or(("", Vocabulary::Cl100k, 110));
        Self { vocabulary, percent }
    }

    /// Tokens of `text`.
    pub fn count(self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        (self.pieces(text) * self.percent).div_ceil(100)
    }

    fn pieces(self, text: &str) -> u64 {
        let bpe = match self.vocabulary {
            Vocabulary::O200k => tiktoken_rs::o200k_base_singleton(),
            Vocabulary::Cl100k => tiktoken_rs::cl100k_base_singleton(),
            Vocabulary::Rough => return text.len().div_ceil(ROUGH) as u64,
        };
        count_by(bpe, text)
    }

    /// `bytes` as tokens of the family, at most.
    pub fn at_most(self, bytes: u64) -> u64 {
        (bytes * self.percent.max(100)).div_ceil(100)
    }
}

fn count_by(bpe: &CoreBPE, text: &str) -> u64 {
    let mut rest = text;
    let mut tokens = 0;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(piece_end(rest));
        tokens += bpe.count_ordinary(piece) as u64;
        rest = after;
    }
    tokens
}

/// Tokens of `text` by OpenAI's vocabulary cl100k_base.
pub fn cl100k_count(text: &str) -> usize {
    count_by(tiktoken_rs::cl100k_base_singleton(), text) as usize
}

/// The text that ids of cl100k_base spell; a character that is not all there is shown as unknown. The error is the first
/// id that is none.
pub fn cl100k_text(ids: &[u32]) -> Result<String, u32> {
    let bytes = tiktoken_rs::cl100k_base_singleton().decode_bytes(ids).map_err(|unknown| unknown.token)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned()))
}

/// Where the first piece of `text` ends: between words where that is near.
fn piece_end(text: &str) -> usize {
    if text.len() <= PIECE {
        return text.len();
    }
    let end = text.floor_char_boundary(PIECE);
    let near = text.floor_char_boundary(end - 64);
    text[near..end].rfind(' ').map_or(end, |place| near + place)
}

/// Tokens of a message as it is shown, its borders included.
pub fn message_tokens(message: &Message, options: &HistoryOptions, family: Family) -> u64 {
    let mut texts = 0;
    let borders = walk(message, options, &mut |text| texts += family.count(text));
    texts + borders
}

/// Bytes of a message before anything is cut, and its borders: never fewer than its tokens by a plain vocabulary.
pub fn message_bytes(message: &Message, options: &HistoryOptions) -> u64 {
    let whole = HistoryOptions { max_return_chars: None, ..*options };
    let mut texts = 0;
    let borders = walk(message, &whole, &mut |text| texts += text.len() as u64);
    texts + borders
}

/// Shows `visit` every text of a message that a model is shown, and gives the tokens of its borders and images.
fn walk(message: &Message, options: &HistoryOptions, visit: &mut dyn FnMut(&str)) -> u64 {
    if message.role == Role::Tool {
        for (index, returned) in message.tool_returns.iter().enumerate() {
            let part = message.content.get(index).and_then(ContentPart::as_text);
            let shown = options.max_return_chars.and_then(|limit| cut(&returned.text, limit));
            match shown {
                // The envelope around a cut return is small beside it.
                Some(short) => visit(&short),
                None => visit(part.unwrap_or(&returned.text)),
            }
        }
        return (PER_MESSAGE + PER_CALL) * message.tool_returns.len() as u64;
    }
    let mut images = 0;
    for part in message.content.iter() {
        match part {
            ContentPart::Text { text } => visit(text),
            ContentPart::Reasoning { text, is_native, .. } if *is_native || options.inner_thoughts => visit(text),
            ContentPart::Reasoning { .. } => {}
            ContentPart::Image(image) if options.images => images += image_tokens(image),
            ContentPart::Image(_) => visit(IMAGE_MARK),
        }
    }
    for call in message.tool_calls.iter() {
        visit(&call.name);
        visit(&call.arguments);
    }
    PER_MESSAGE + PER_CALL * message.tool_calls.len() as u64 + images
}

/// Tokens of an image that the model sees.
fn image_tokens(image: &Image) -> u64 {
    match image.detail {
        Some(ImageDetail::Low) => PER_IMAGE_LOW,
        None | Some(ImageDetail::Auto | ImageDetail::High) => PER_IMAGE,
    }
}

/// Tokens of the tools' descriptions.
pub fn tools_tokens(tools: &[ToolSpec], family: Family) -> u64 {
    let count = |tool: &ToolSpec| {
        let parameters = family.count(&tool.parameters.to_string());
        family.count(&tool.name) + family.count(&tool.description) + parameters + PER_TOOL
    };
    tools.iter().map(count).sum()
}

/// Bytes of the tools' descriptions.
pub fn tools_bytes(tools: &[ToolSpec]) -> u64 {
    let mut counter = Counter(0);
    for tool in tools {
        counter.0 += tool.name.len() as u64 + tool.description.len() as u64 + PER_TOOL;
        // Counting can't fail, and a value without a text form has no length.
        let _ = serde_json::to_writer(&mut counter, &*tool.parameters);
    }
    counter.0
}

/// Counts what is written to it.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
