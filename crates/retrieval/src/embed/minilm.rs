//! MiniLM: a small transformer, run from two files in the data directory.
//!
//! It takes milliseconds for a text and 150 to 220 MB once it is loaded, so it is opened when somebody first asks, runs
//! on a thread that nobody waits for, one batch at a time, and leaves a core to the rest of the server.

use std::path::Path;
use std::sync::Arc;

use domain::seams::BoxFuture;
use domain::seams::embedder::{EmbedError, Embedder, Pace};
use domain::{EmbeddingConfig, ModelHandle};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, op_registry};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;
use tokio::sync::Semaphore;

use super::builtin::normalise;
use super::manifest::MINILM;
use super::word_pieces::WordPieces;

/// Tokens of a text that count, those of its start and end included: what the model was made for.
const MAX_TOKENS: usize = 256;
/// Texts that run together.
const BATCH: usize = 16;
/// Threads that a run may use at most.
const MAX_THREADS: usize = 4;

/// The model `builtin/minilm`.
pub struct MiniLm {
    config: EmbeddingConfig,
    loaded: Arc<Loaded>,
    turn: Semaphore,
}

struct Loaded {
    model: Model,
    pieces: WordPieces,
    threads: Arc<ThreadPool>,
    ids: NodeId,
    mask: NodeId,
    kinds: NodeId,
    output: NodeId,
}

impl MiniLm {
    /// What its vectors are stored under.
    pub fn config() -> EmbeddingConfig {
        EmbeddingConfig { handle: ModelHandle::builtin(MINILM.model), dimensions: MINILM.dimensions }
    }

    /// Whether its files are in `folder`.
    pub fn is_in(folder: &Path) -> bool {
        MINILM.files.iter().all(|file| folder.join(file.name).is_file())
    }

    /// Reads the files. Takes a moment and blocks.
    pub fn open(folder: &Path) -> Result<Self, EmbedError> {
        let loaded = Loaded::read(folder).map_err(|detail| EmbedError::Broken {
            detail: format!("{detail}; `librarian models pull {}` fetches it anew", MINILM.id),
        })?;
        Ok(Self { config: Self::config(), loaded: Arc::new(loaded), turn: Semaphore::new(1) })
    }

    async fn embed_all(&self, texts: &[Arc<str>]) -> Result<Vec<Vec<f32>>, EmbedError> {
        // Texts of one length run together, so that none is padded much.
        let mut order: Vec<usize> = (0..texts.len()).filter(|at| !texts[*at].trim().is_empty()).collect();
        order.sort_by_key(|at| texts[*at].len());
        let mut vectors = vec![vec![0.0; MINILM.dimensions as usize]; texts.len()];
        for batch in order.chunks(BATCH) {
            let chosen: Vec<Arc<str>> = batch.iter().map(|at| Arc::clone(&texts[*at])).collect();
            let found = self.run(chosen).await?;
            for (at, vector) in batch.iter().zip(found) {
                vectors[*at] = vector;
            }
        }
        Ok(vectors)
    }

    async fn run(&self, texts: Vec<Arc<str>>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let broken = |detail: String| EmbedError::Broken { detail };
        let _turn = self.turn.acquire().await.map_err(|error| broken(error.to_string()))?;
        let loaded = Arc::clone(&self.loaded);
        let run = tokio::task::spawn_blocking(move || loaded.run(&texts)).await;
        run.map_err(|error| broken(format!("the model stopped: {error}")))?.map_err(broken)
    }
}

impl Loaded {
    fn read(folder: &Path) -> Result<Self, String> {
        let model = folder.join("model.onnx");
        // Only what this model is made of is linked in.
        let operators = op_registry!(
            Add,
            And,
            Cast,
            Concat,
            Div,
            Erf,
            Expand,
            Gather,
            GatherND,
            GreaterOrEqual,
            IsNaN,
            LayerNormalization,
            MatMul,
            Max,
            Mul,
            Range,
            Reshape,
            Shape,
            Slice,
            Softmax,
            Squeeze,
            Transpose,
            Unsqueeze,
            Where
        );
        let model = ModelOptions::with_ops(operators)
            .load_file(&model)
            .map_err(|error| format!("{} can't be read: {error}", model.display()))?;
        let words = folder.join("vocab.txt");
        let unreadable = |why: &str| format!("{} can't be read: {why}", words.display());
        let text = std::fs::read_to_string(&words).map_err(|error| unreadable(&error.to_string()))?;
        let pieces = WordPieces::read(&text).ok_or_else(|| unreadable("it is not a vocabulary"))?;
        let node = |name: &str| model.node_id(name).map_err(|error| error.to_string());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = Arc::new(ThreadPool::with_num_threads((cores.saturating_sub(1)).clamp(1, MAX_THREADS)));
        let (ids, mask, kinds) = (node("input_ids")?, node("attention_mask")?, node("token_type_ids")?);
        let output = node("last_hidden_state")?;
        Ok(Self { model, pieces, threads, ids, mask, kinds, output })
    }

    /// The vectors of a batch: the mean over each text's tokens.
    fn run(&self, texts: &[Arc<str>]) -> Result<Vec<Vec<f32>>, String> {
        let tokens: Vec<Vec<i32>> = texts.iter().map(|text| self.pieces.tokens(text, MAX_TOKENS)).collect();
        let longest = tokens.iter().map(Vec::len).max().unwrap_or(0);
        let shape = [tokens.len(), longest];
        let mut ids = NdTensor::<i32, 2>::zeros(shape);
        let mut mask = NdTensor::<i32, 2>::zeros(shape);
        for (row, tokens) in tokens.iter().enumerate() {
            for (at, token) in tokens.iter().enumerate() {
                ids[[row, at]] = *token;
                mask[[row, at]] = 1;
            }
        }
        let kinds = NdTensor::<i32, 2>::zeros(shape);
        let inputs = vec![(self.ids, ids.into()), (self.mask, mask.into()), (self.kinds, kinds.into())];
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.threads)));
        let [output] = self.model.run_n(inputs, [self.output], Some(options)).map_err(|error| error.to_string())?;
        let states: NdTensor<f32, 3> = output.try_into().map_err(|_| "its output has another shape".to_owned())?;
        if states.shape() != [tokens.len(), longest, MINILM.dimensions as usize] {
            return Err("its output has another shape".to_owned());
        }
        let mean = |(row, tokens): (usize, &Vec<i32>)| {
            let mut sum = vec![0.0; MINILM.dimensions as usize];
            for at in 0..tokens.len() {
                sum.iter_mut().enumerate().for_each(|(number, sum)| *sum += states[[row, at, number]]);
            }
            normalise(&mut sum);
            sum
        };
        Ok(tokens.iter().enumerate().map(mean).collect())
    }
}

impl Embedder for MiniLm {
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

#[cfg(test)]
#[path = "minilm_tests.rs"]
mod tests;
