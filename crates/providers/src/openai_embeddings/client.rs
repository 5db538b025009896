//! Sends texts in batches and reads their vectors. A batch that is too long is halved, a text that is too long is cut:
//! one long text must not keep the others from being found. Other failures are told and not tried again.

use std::sync::Arc;
use std::time::Duration;

use domain::seams::BoxFuture;
use domain::seams::chat_model::ModelError;
use domain::seams::embedder::{EmbedError, Embedder, Pace};
use domain::{EmbeddingConfig, ModelHandle};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Response, Url};

use super::wire::{self, Understood};
use crate::http::{describe, read_body, read_start};
use crate::openai_chat::{Endpoint, Failure, clean};

/// Characters of a text that are sent. What follows says little about the whole.
const TEXT_CAP: usize = 24_000;
/// Characters below which a text is not cut any more.
const SHORTEST_CUT: usize = 200;
/// Bytes of the texts of one request.
const BATCH_BYTES: usize = 192 * 1024;
/// Bytes of an answer.
const ANSWER_CAP: usize = 64 * 1024 * 1024;
/// Bytes of an error's words that are read, and how long they are waited for.
const ERROR_CAP: usize = 64 * 1024;
const ERROR_WAIT: Duration = Duration::from_secs(5);
/// What is embedded to learn how long a model's vectors are.
const SAMPLE: &str = "librarian";

/// One embedding model behind an endpoint that speaks the dialect.
pub(crate) struct OpenAiEmbeddings {
    endpoint: Arc<Endpoint>,
    address: Url,
    config: EmbeddingConfig,
}

/// Why a call gave no vectors.
enum AskError {
    /// The texts were more than the model takes.
    TooLong {
        detail: String,
    },
    Other(EmbedError),
}

impl OpenAiEmbeddings {
    /// Asks for one vector, to learn how long this model's are.
    pub(crate) async fn open(endpoint: Arc<Endpoint>, handle: ModelHandle) -> Result<Self, EmbedError> {
        let address = endpoint.url("embeddings");
        let mut model = Self { endpoint, address, config: EmbeddingConfig { handle, dimensions: 0 } };
        let vectors = model.ask(&[SAMPLE]).await.map_err(final_error)?;
        model.config.dimensions = vectors.first().map_or(0, Vec::len) as u32;
        Ok(model)
    }

    async fn embed_all(&self, texts: &[Arc<str>]) -> Result<Vec<Vec<f32>>, EmbedError> {
        // Vendors refuse empty texts; they have no direction anyway.
        let full = texts.iter().map(|text| cut(text, TEXT_CAP)).filter(|text| !text.trim().is_empty());
        let full: Vec<&str> = full.collect();
        let mut found = Vec::with_capacity(full.len());
        for batch in batches(&full, self.endpoint.profile.embeddings.texts_at_once) {
            self.embed_batch(batch, &mut found).await?;
        }
        let mut found = found.into_iter();
        let zeros = || vec![0.0; self.config.dimensions as usize];
        let vector = |text: &Arc<str>| if text.trim().is_empty() { None } else { found.next() };
        Ok(texts.iter().map(vector).map(|vector| vector.unwrap_or_else(zeros)).collect())
    }

    /// Appends the vectors of a batch, halving it while it is too long.
    async fn embed_batch(&self, batch: &[&str], vectors: &mut Vec<Vec<f32>>) -> Result<(), EmbedError> {
        let mut waiting = vec![batch];
        while let Some(texts) = waiting.pop() {
            match self.ask(texts).await {
                Ok(found) => vectors.extend(found),
                Err(AskError::TooLong { .. }) if texts.len() > 1 => {
                    let (first, second) = texts.split_at(texts.len() / 2);
                    waiting.extend([second, first]);
                }
                Err(AskError::TooLong { detail }) => vectors.push(self.embed_cut(texts[0], detail).await?),
                Err(AskError::Other(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// The vector of as much of a text as the model takes.
    async fn embed_cut(&self, text: &str, mut detail: String) -> Result<Vec<f32>, EmbedError> {
        let mut length = text.chars().count() / 2;
        while length >= SHORTEST_CUT {
            match self.ask(&[cut(text, length)]).await {
                Ok(found) => return Ok(found.into_iter().next().unwrap_or_default()),
                Err(AskError::TooLong { detail: again }) => detail = again,
                Err(AskError::Other(error)) => return Err(error),
            }
            length /= 2;
        }
        Err(EmbedError::Rejected { detail })
    }

    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, AskError> {
        let limit = self.endpoint.timeouts.embed;
        let asking = async {
            let response = self.send(texts).await?;
            if !response.status().is_success() {
                return Err(self.failure(response).await);
            }
            let body = read_body(response, ANSWER_CAP, limit).await;
            let body = body.map_err(|error| AskError::Other(EmbedError::Broken { detail: self.shown(&error) }))?;
            self.understand(&body, texts.len())
        };
        match tokio::time::timeout(limit, asking).await {
            Ok(outcome) => outcome,
            Err(_) => Err(unavailable(format!("no vectors came within {limit:?}"))),
        }
    }

    async fn send(&self, texts: &[&str]) -> Result<Response, AskError> {
        let body = wire::body(self.config.handle.model(), texts)
            .map_err(|error| AskError::Other(EmbedError::Rejected { detail: error.to_string() }))?;
        let client = self.endpoint.http.for_url(&self.address).map_err(unavailable)?;
        let mut headers = self.endpoint.headers("application/json");
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let sent = client.post(self.address.clone()).headers(headers).body(body).send().await;
        sent.map_err(|error| unavailable(clean(&describe(error), self.endpoint.key())))
    }

    async fn failure(&self, response: Response) -> AskError {
        let status = response.status().as_u16();
        // Neither the model nor, on servers that only chat, the address is there.
        if matches!(status, 404 | 405 | 501) {
            return AskError::Other(EmbedError::Unknown { handle: self.config.handle.clone(), hint: None });
        }
        let body = read_start(response, ERROR_CAP, ERROR_WAIT).await;
        by_remedy(Failure::from_body(status, &body, None).into_error(self.endpoint.key()))
    }

    fn understand(&self, body: &[u8], count: usize) -> Result<Vec<Vec<f32>>, AskError> {
        let broken = |detail: String| AskError::Other(EmbedError::Broken { detail: self.shown(&detail) });
        match wire::understand(body, count) {
            Understood::Failed(error) => Err(by_remedy(Failure::from_value(&error).into_error(self.endpoint.key()))),
            Understood::Malformed(why) => Err(broken(why)),
            Understood::Vectors(vectors) => {
                let (came, expected) = (vectors.first().map_or(0, Vec::len), self.config.dimensions as usize);
                // Nought while the first answer is waited for.
                if expected != 0 && came != expected {
                    return Err(broken(format!("its vectors had {expected} numbers before and have {came} now")));
                }
                Ok(vectors)
            }
        }
    }

    fn shown(&self, words: &dyn std::fmt::Display) -> String {
        clean(&words.to_string(), self.endpoint.key())
    }
}

impl Embedder for OpenAiEmbeddings {
    fn config(&self) -> &EmbeddingConfig {
        &self.config
    }

    fn pace(&self) -> Pace {
        Pace::Slow
    }

    fn embed<'a>(&'a self, texts: &'a [Arc<str>]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(self.embed_all(texts))
    }
}

fn unavailable(detail: String) -> AskError {
    AskError::Other(EmbedError::Unavailable { detail })
}

fn final_error(error: AskError) -> EmbedError {
    match error {
        AskError::TooLong { detail } => EmbedError::Rejected { detail },
        AskError::Other(error) => error,
    }
}

fn by_remedy(error: ModelError) -> AskError {
    match error {
        ModelError::Filtered => AskError::Other(EmbedError::Rejected { detail: error.to_string() }),
        ModelError::ContextTooLong { detail } => AskError::TooLong { detail },
        ModelError::RateLimited { detail, .. } | ModelError::Unavailable { detail } => unavailable(detail),
        ModelError::Unauthorized { detail } | ModelError::Refused { detail } | ModelError::Rejected { detail } => {
            AskError::Other(EmbedError::Rejected { detail })
        }
        ModelError::Broken { detail } => AskError::Other(EmbedError::Broken { detail }),
    }
}

/// The start of a text, of at most `characters`.
fn cut(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// Texts that go together: at most so many, and of so many bytes unless one alone is larger.
fn batches<'a, 'b>(texts: &'a [&'b str], at_once: usize) -> impl Iterator<Item = &'a [&'b str]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = rest.iter().take(at_once.max(1)).take_while(|text| {
            bytes += text.len();
            bytes <= BATCH_BYTES
        });
        let count = fits.count().max(1).min(rest.len());
        let (batch, after) = rest.split_at(count);
        rest = after;
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_so_many_texts_and_bytes() {
        let big = "x".repeat(BATCH_BYTES / 2);
        let check = |texts: &[&str], at_once: usize, expected: &[usize]| {
            let sizes: Vec<usize> = batches(texts, at_once).map(<[&str]>::len).collect();
            assert_eq!(sizes, expected);
        };
        check(&[], 4, &[]);
        check(&["a"; 10], 4, &[4, 4, 2]);
        check(&[&big, &big, &big, "a"], 100, &[2, 2]);
        check(&[&big.repeat(3), "a", "b"], 100, &[1, 2]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!((cut("äöü", 2), cut("äöü", 3), cut("", 0)), ("äö", "äöü", ""));
    }
}
