//! The embedder that is always there: a table with one row for each token, and the mean of a text's rows.
//!
//! The table is part of the binary, so it needs no download and no key, and a text costs microseconds. Only what a text
//! touches is read from disk; the tokenizer's index is made when the first text comes, so an idle server pays nothing.

use std::sync::Arc;

use domain::seams::BoxFuture;
use domain::seams::embedder::{EmbedError, Embedder, Pace};
use domain::{EmbeddingConfig, ModelHandle};

use super::pieces::{Pieces, TOKENS, Tokens};

/// Numbers in a vector.
pub const DIMENSIONS: usize = 256;
/// Characters of a text that count. What follows is left out: a mean over more than a few pages says nothing.
pub const MAX_CHARACTERS: usize = 32_768;
/// Texts between two chances for other tasks to run.
const TEXTS_AT_ONCE: usize = 256;

/// All rows as int8, then each row's scale as little-endian f32.
static ROWS: &[u8; TOKENS * (DIMENSIONS + 4)] = include_bytes!("../../assets/wordllama.rows");

/// The built-in embedder, `builtin/embedding`. All of them share one table.
#[derive(Debug, Clone)]
pub struct Builtin {
    config: EmbeddingConfig,
}

impl Default for Builtin {
    fn default() -> Self {
        Self::new()
    }
}

impl Builtin {
    pub fn new() -> Self {
        Self { config: EmbeddingConfig { handle: ModelHandle::builtin("embedding"), dimensions: DIMENSIONS as u32 } }
    }

    /// Makes `out` the vector of `text`: of length 1, or all zeros if the text holds nothing but spaces.
    pub fn embed_now(&self, text: &str, out: &mut Vec<f32>) {
        out.clear();
        out.resize(DIMENSIONS, 0.0);
        if text.trim().is_empty() {
            return;
        }
        for token in self.tokens(text) {
            self.add(token, 1.0, out);
        }
        normalise(out);
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = Vec::new();
        self.embed_now(text, &mut vector);
        vector
    }

    /// The tokens of a text, up to [`MAX_CHARACTERS`].
    pub fn tokens(&self, text: &str) -> Tokens {
        Pieces::shared().tokens(capped(text))
    }

    /// The row of a token and what its numbers are to be multiplied with. A token that doesn't exist has that of `<unk>`.
    pub fn row(&self, token: u32) -> (&'static [i8], f32) {
        let token = if (token as usize) < TOKENS { token as usize } else { 0 };
        let (values, scales) = ROWS.split_at(TOKENS * DIMENSIONS);
        let scale = &scales[token * 4..token * 4 + 4];
        let values = &values[token * DIMENSIONS..(token + 1) * DIMENSIONS];
        (bytemuck::cast_slice(values), f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]))
    }

    /// Adds a token's row, times `weight`, to a sum.
    pub fn add(&self, token: u32, weight: f32, sum: &mut [f32]) {
        let (values, scale) = self.row(token);
        let scale = scale * weight;
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += f32::from(*value) * scale;
        }
    }
}

impl Embedder for Builtin {
    fn config(&self) -> &EmbeddingConfig {
        &self.config
    }

    fn pace(&self) -> Pace {
        Pace::Instant
    }

    fn embed<'a>(&'a self, texts: &'a [Arc<str>]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move {
            let mut vectors = Vec::with_capacity(texts.len());
            for texts in texts.chunks(TEXTS_AT_ONCE) {
                vectors.extend(texts.iter().map(|text| self.vector(text)));
                tokio::task::yield_now().await;
            }
            Ok(vectors)
        })
    }
}

/// Makes a vector's length 1; zeros stay zeros.
pub fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        for number in vector {
            *number /= length;
        }
    }
}

/// The start of a text, as much as counts.
fn capped(text: &str) -> &str {
    // A text can't have more characters than bytes, so most are not counted at all.
    if text.len() <= MAX_CHARACTERS {
        return text;
    }
    text.char_indices().nth(MAX_CHARACTERS).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
#[path = "builtin_tests.rs"]
mod tests;
