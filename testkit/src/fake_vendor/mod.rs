//! A fake OpenAI-compatible vendor over real HTTP.
//!
//! It is strict about what it accepts, records everything, and does what a script, a closure or the directives in the
//! last user message say (see [`directives`]). It lives on a thread of its own, so that it answers whatever the test's
//! runtime is doing. It must never reach out to the network or invent an answer that nobody asked for.

mod defaults;
pub mod directives;
mod embeddings;
mod log;
mod plain;
mod reply;
mod request;
mod serve;
mod shape;
mod strict;
mod summaries;
mod text;
mod tokens;
mod wire;

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

pub use log::{Outcome, RecordedRequest, Tally};
pub use reply::VendorReply;
pub use tokens::TokenRules;

use crate::sync::lock;
use directives::{Plan, SENTENCE};
use request::{ChatRequest, LastUser};

/// How long `until` waits: longer than any answer of a healthy system, shorter than a person's patience.
const PATIENCE: Duration = Duration::from_secs(20);

/// A model that the vendor lists. Others are served too: it answers to any name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorModel {
    pub id: String,
    pub context_length: u32,
}

/// How much the vendor looks at requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VendorMode {
    /// Checks, records, and follows directives.
    #[default]
    Strict,
    /// Answers the same at once, for benchmarks.
    Plain,
}

/// How the vendor behaves, whatever it is asked.
#[derive(Debug, Clone)]
pub struct VendorOptions {
    /// 0 takes a free port.
    pub port: u16,
    pub mode: VendorMode,
    /// Waited before each answer to a chat request.
    pub latency: Duration,
    /// How many pieces a streamed text is cut into at most; without it, a few characters each.
    pub pieces: Option<usize>,
    /// The only key that is accepted; without it, everyone is let in.
    pub api_key: Option<String>,
    pub models: Vec<VendorModel>,
    /// Counts tokens and refuses what is too long; without it, everything is taken, and usage is a rule of thumb.
    pub tokens: Option<TokenRules>,
    /// Whether answers say what they cost.
    pub reports_usage: bool,
    /// `reasoning_content` or `reasoning`: compatible servers differ.
    pub reasoning_field: &'static str,
    /// How many numbers the vectors of embeddings have.
    pub dimensions: usize,
    /// The first number in the ids of answers and calls, so that a restarted vendor does not repeat them.
    pub first_number: u64,
}

impl Default for VendorOptions {
    fn default() -> Self {
        let model = |id: &str, context_length| VendorModel { id: id.to_owned(), context_length };
        Self {
            port: 0,
            mode: VendorMode::Strict,
            latency: Duration::ZERO,
            pieces: None,
            api_key: None,
            models: vec![
                model("gpt-4o-mini", 128_000),
                model("gpt-4o", 128_000),
                model("fake-small", 8_192),
                model("text-embedding-3-small", 8_192),
            ],
            tokens: None,
            reports_usage: true,
            reasoning_field: "reasoning_content",
            dimensions: 64,
            first_number: 1,
        }
    }
}

impl VendorOptions {
    /// Counts tokens by these rules; every listed model has their window.
    #[must_use]
    pub fn counting(mut self, rules: TokenRules) -> Self {
        self.models.iter_mut().for_each(|model| model.context_length = rules.window);
        Self { tokens: Some(rules), ..self }
    }
}

type Chooser = dyn Fn(&Value) -> Option<VendorReply> + Send + Sync;

/// What all connections share.
struct Vendor {
    options: VendorOptions,
    log: Arc<log::Log>,
    plain: plain::Plain,
    counter: tokens::Counter,
    script: Mutex<VecDeque<VendorReply>>,
    chooser: Mutex<Option<Arc<Chooser>>>,
    /// Messages whose one error was given.
    failed_once: Mutex<HashSet<u64>>,
    number: AtomicU64,
}

impl Vendor {
    fn new(options: VendorOptions) -> Self {
        Self {
            plain: plain::Plain::new(options.pieces),
            counter: tokens::Counter::default(),
            log: Arc::default(),
            script: Mutex::default(),
            chooser: Mutex::default(),
            failed_once: Mutex::default(),
            number: AtomicU64::new(options.first_number),
            options,
        }
    }

    fn next_number(&self) -> u64 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    /// What is to be done with a request for vectors.
    fn choose_embeddings(&self, texts: &[&str]) -> VendorReply {
        let plan = Plan::parse(&texts.join("\n"));
        let mut hasher = DefaultHasher::new();
        texts.hash(&mut hasher);
        let seen_before = plan.fails_once() && !lock(&self.failed_once).insert(hasher.finish());
        plan.outcome(seen_before)
    }

    fn chat_requests(&self) -> Vec<Arc<RecordedRequest>> {
        let mut requests = self.log.requests();
        requests.retain(|request| request.is_chat());
        requests
    }

    /// The next reply of the script, else of the closure, else a summary where one is asked for, else what the last user
    /// message asks for.
    fn choose(&self, body: &Value) -> VendorReply {
        if let Some(reply) = lock(&self.script).pop_front() {
            return reply;
        }
        // The lock must not be held while foreign code runs.
        let chooser = lock(&self.chooser).clone();
        if let Some(reply) = chooser.and_then(|choose| choose(body)) {
            return reply;
        }
        let request = ChatRequest::new(body);
        if let Some(summary) = summaries::summary(request) {
            return summary;
        }
        let Some(last) = request.last_user() else {
            return VendorReply::say(SENTENCE);
        };
        let plan = Plan::parse(&last.text);
        let seen_before = plan.fails_once() && self.was_seen(request, &last);
        plan.reply(request, &last, seen_before)
    }

    /// Whether the conversation up to its newest user message was seen before; from now on it was.
    fn was_seen(&self, request: ChatRequest<'_>, last: &LastUser) -> bool {
        let mut hasher = DefaultHasher::new();
        for message in request.messages().iter().take(last.index + 1) {
            message.to_string().hash(&mut hasher);
        }
        !lock(&self.failed_once).insert(hasher.finish())
    }
}

/// A running vendor. Dropping it closes its port and all connections.
pub struct FakeVendor {
    vendor: Arc<Vendor>,
    address: SocketAddr,
    stop: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
}

async fn serve_until(listener: std::net::TcpListener, vendor: Arc<Vendor>, stopped: &Semaphore) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    tokio::select! {
        _ = stopped.acquire() => {}
        () = serve::serve(listener, vendor) => {}
    }
}

impl FakeVendor {
    /// Starts a vendor with the usual options on a free port.
    pub fn start() -> Result<Self> {
        Self::with(VendorOptions::default())
    }

    /// Starts a vendor.
    pub fn with(options: VendorOptions) -> Result<Self> {
        let listener = bind(options.port)?;
        let address = listener.local_addr()?;
        let vendor = Arc::new(Vendor::new(options));
        let stop = Arc::new(Semaphore::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stopped, served) = (stop.clone(), vendor.clone());
        let thread = thread::Builder::new().name("fake-vendor".to_owned()).spawn(move || {
            runtime.block_on(serve_until(listener, served, &stopped));
        })?;
        Ok(Self { vendor, address, stop, thread: Some(thread) })
    }

    /// The address with `/v1`, as it goes into `OPENAI_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a reply to the script. The script goes before everything else.
    pub fn push(&self, reply: VendorReply) {
        lock(&self.vendor.script).push_back(reply);
    }

    /// Replies of the script that were not asked for yet.
    pub fn remaining(&self) -> usize {
        lock(&self.vendor.script).len()
    }

    /// Asks `choose` about every request for which the script is empty; where it has no reply, directives count.
    pub fn answer_with(&self, choose: impl Fn(&Value) -> Option<VendorReply> + Send + Sync + 'static) {
        *lock(&self.vendor.chooser) = Some(Arc::new(choose));
    }

    /// Every chat request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.vendor.chat_requests()
    }

    /// Every request for vectors so far, in order of arrival.
    pub fn embedding_requests(&self) -> Vec<Arc<RecordedRequest>> {
        let mut requests = self.vendor.log.requests();
        requests.retain(|request| request.path.ends_with("/embeddings"));
        requests
    }

    /// Every request so far, those for models and for unknown addresses too.
    pub fn all_requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.vendor.log.requests()
    }

    /// Forgets all requests; the tally goes on.
    pub fn clear(&self) {
        self.vendor.log.clear();
    }

    /// What happened to chat requests so far.
    pub fn tally(&self) -> Tally {
        *self.vendor.log.tally().borrow()
    }

    /// Returns once the tally is as `wanted` says.
    pub async fn until(&self, wanted: impl Fn(&Tally) -> bool) -> Result<Tally> {
        let mut tally: watch::Receiver<Tally> = self.vendor.log.tally();
        let reached = tokio::time::timeout(PATIENCE, tally.wait_for(|tally| wanted(tally))).await;
        let reached = reached.with_context(|| format!("the vendor saw only {:?}", self.tally()))?;
        Ok(*reached?)
    }
}

impl Drop for FakeVendor {
    fn drop(&mut self) {
        self.stop.close();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has already told why.
            drop(thread.join());
        }
    }
}

fn bind(port: u16) -> Result<TcpListener> {
    let listener = TcpListener::bind(("127.0.0.1", port)).with_context(|| format!("port {port} is not free"))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves for ever on the current runtime, for the program; `started` is told the address for `OPENAI_BASE_URL`.
pub async fn run(options: VendorOptions, started: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    let listener = bind(options.port)?;
    started(&format!("http://{}/v1", listener.local_addr()?))?;
    serve::serve(tokio::net::TcpListener::from_std(listener)?, Arc::new(Vendor::new(options))).await;
    Ok(())
}

#[cfg(test)]
#[path = "vendor_tests.rs"]
mod tests;
