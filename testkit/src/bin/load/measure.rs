//! The loop of each client, and what all of them measured.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::{JoinSet, LocalSet};

use crate::process::Reading;

/// What stands before the words of an answer.
const WORDS: &str = "\"content\":\"";
/// Errors in a row after which a client gives up: the server is gone or refuses everything.
const ERRORS_IN_A_ROW: usize = 100;

/// Where a message goes.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) body: Bytes,
}

/// When a client stops.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// By time; only what begins after the warm-up and ends in time is measured.
    Time { warmup: Duration, measured: Duration },
    /// After this many messages to each target.
    Count(usize),
}

/// What is to be done.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) authority: String,
    pub(crate) bearer: Option<String>,
    pub(crate) targets: Vec<Target>,
    pub(crate) clients: usize,
    pub(crate) per_agent: usize,
    pub(crate) pace: Pace,
}

impl Plan {
    /// The targets of one client; if there are more clients than targets, they share.
    fn share(&self, client: usize) -> Vec<Target> {
        let own: Vec<Target> = self.targets.iter().skip(client).step_by(self.clients).cloned().collect();
        if own.is_empty() { vec![self.targets[client % self.targets.len()].clone()] } else { own }
    }
}

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Microseconds of each answered message, in ascending order.
    pub(crate) micros: Vec<u64>,
    /// Microseconds until the first words of each answer, where there were any, in ascending order.
    pub(crate) first_micros: Vec<u64>,
    pub(crate) errors: usize,
    pub(crate) first_error: Option<String>,
    pub(crate) seconds: f64,
    pub(crate) before: Reading,
    pub(crate) after: Reading,
}

impl Measured {
    /// The time that `share` of the messages stayed within.
    pub(crate) fn quantile(&self, share: f64) -> u64 {
        quantile(&self.micros, share)
    }

    /// The time within which half of the answers had begun.
    pub(crate) fn first_words(&self) -> u64 {
        quantile(&self.first_micros, 0.5)
    }
}

fn quantile(sorted: &[u64], share: f64) -> u64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share) as usize).copied().unwrap_or_default()
}

type Shared = Arc<Mutex<Measured>>;

/// Sends everything that `plan` says and reads the server's use of the machine before and after.
pub(crate) async fn run(plan: Plan, read: impl Fn() -> Result<Reading>) -> Result<Measured> {
    let plan = Rc::new(plan);
    let shared = Shared::default();
    let start = Instant::now();
    let (begin, end) = match plan.pace {
        Pace::Time { warmup, measured } => (start + warmup, Some(start + warmup + measured)),
        Pace::Count(_) => (start, None),
    };
    let local = LocalSet::new();
    let (before, after) = local
        .run_until(async {
            let mut clients = JoinSet::new();
            for number in 0..plan.clients {
                let window = Window { begin, end };
                clients.spawn_local(client(plan.clone(), number, window, shared.clone()));
            }
            tokio::time::sleep_until(begin.into()).await;
            let before = read()?;
            if let Some(end) = end {
                tokio::time::sleep_until(end.into()).await;
            } else {
                finish(&mut clients).await?;
            }
            let after = read()?;
            finish(&mut clients).await?;
            anyhow::Ok((before, after))
        })
        .await?;
    let mut measured = std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner));
    measured.micros.sort_unstable();
    measured.first_micros.sort_unstable();
    measured.seconds = end.unwrap_or_else(Instant::now).duration_since(begin).as_secs_f64();
    (measured.before, measured.after) = (before, after);
    Ok(measured)
}

async fn finish(clients: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
struct Window {
    begin: Instant,
    end: Option<Instant>,
}

async fn client(plan: Rc<Plan>, number: usize, window: Window, shared: Shared) -> Result<()> {
    let targets = plan.share(number);
    let limit = match plan.pace {
        Pace::Count(count) => targets.len() * count,
        Pace::Time { .. } => usize::MAX,
    };
    let mut connection = Connection::open(&plan.authority).await?;
    let mut errors_in_a_row = 0;
    for sent in 0..limit {
        let target = &targets[sent / plan.per_agent % targets.len()];
        let start = Instant::now();
        if window.end.is_some_and(|end| start >= end) {
            return Ok(());
        }
        let outcome = connection.exchange(&plan, target).await;
        let now = Instant::now();
        let error = match outcome {
            Err(error) => error,
            Ok(first) => {
                errors_in_a_row = 0;
                if start >= window.begin && window.end.is_none_or(|end| now <= end) {
                    note_answer(&shared, now - start, first.map(|first| first - start))?;
                }
                continue;
            }
        };
        errors_in_a_row += 1;
        note_error(&shared, &error);
        if errors_in_a_row == ERRORS_IN_A_ROW {
            bail!("{ERRORS_IN_A_ROW} errors in a row, the last one: {error:#}");
        }
        connection = Connection::open(&plan.authority).await?;
    }
    Ok(())
}

fn note_answer(shared: &Shared, whole: Duration, first: Option<Duration>) -> Result<()> {
    let mut measured = shared.lock().unwrap_or_else(PoisonError::into_inner);
    measured.micros.push(u64::try_from(whole.as_micros())?);
    if let Some(first) = first {
        measured.first_micros.push(u64::try_from(first.as_micros())?);
    }
    Ok(())
}

fn note_error(shared: &Shared, error: &anyhow::Error) {
    let mut measured = shared.lock().unwrap_or_else(PoisonError::into_inner);
    measured.errors += 1;
    measured.first_error.get_or_insert_with(|| format!("{error:#}"));
}

/// A keep-alive connection. Dropping it closes it.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    _driver: JoinSet<()>,
}

impl Connection {
    pub(crate) async fn open(authority: &str) -> Result<Self> {
        let socket = TcpStream::connect(authority).await.with_context(|| format!("no server at {authority}"))?;
        socket.set_nodelay(true)?;
        let (sender, driver) = handshake(TokioIo::new(socket)).await?;
        let mut tasks = JoinSet::new();
        // What goes wrong with the connection is seen by the next exchange.
        tasks.spawn_local(async move { drop(driver.await) });
        Ok(Self { sender, _driver: tasks })
    }

    /// One message and its whole answer; the moment when its first words came.
    async fn exchange(&mut self, plan: &Plan, target: &Target) -> Result<Option<Instant>> {
        let mut body = self.send(plan, target, None).await?;
        let mut first = None;
        while let Some(frame) = body.frame().await {
            let frame = frame?;
            if first.is_none() && frame.data_ref().is_some_and(|data| says_something(data)) {
                first = Some(Instant::now());
            }
        }
        Ok(first)
    }

    /// One message, in a session of its own if it is named; its answer up to the first words.
    pub(crate) async fn begin(&mut self, plan: &Plan, target: &Target, session: &str) -> Result<Incoming> {
        let mut body = self.send(plan, target, Some(session)).await?;
        while let Some(frame) = body.frame().await {
            if frame?.data_ref().is_some_and(|data| says_something(data)) {
                return Ok(body);
            }
        }
        bail!("an answer ended before it was held")
    }

    async fn send(&mut self, plan: &Plan, target: &Target, session: Option<&str>) -> Result<Incoming> {
        let mut request =
            Request::post(&target.path).header(HOST, &plan.authority).header(CONTENT_TYPE, "application/json");
        if let Some(bearer) = &plan.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        if let Some(session) = session {
            request = request.header("x-session-id", session);
        }
        self.sender.ready().await?;
        let response = self.sender.send_request(request.body(Full::new(target.body.clone()))?).await?;
        let status = response.status();
        if status != StatusCode::OK {
            let text = response.into_body().collect().await?.to_bytes();
            bail!("{status}: {}", String::from_utf8_lossy(&text[..text.len().min(300)]));
        }
        Ok(response.into_body())
    }
}

/// Whether some piece of an answer holds words.
fn says_something(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    text.match_indices(WORDS).any(|(at, _)| text[at + WORDS.len()..].bytes().next().is_some_and(|next| next != b'"'))
}

#[cfg(test)]
mod tests {
    use testkit::fake_vendor::{FakeVendor, VendorMode, VendorOptions};

    use super::*;

    fn target(path: &str) -> Target {
        Target { path: path.to_owned(), body: Bytes::from_static(b"{}") }
    }

    fn plan(vendor: &FakeVendor, paths: &[&str], pace: Pace) -> Plan {
        Plan {
            authority: vendor.origin().trim_start_matches("http://").to_owned(),
            bearer: None,
            targets: paths.iter().map(|path| target(path)).collect(),
            clients: 2,
            per_agent: 1,
            pace,
        }
    }

    fn measure(plan: Plan) -> Result<Measured> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(run(plan, || Reading::take("self")))
    }

    #[test]
    fn a_count_is_sent_to_each_target_and_errors_are_counted() {
        let vendor = FakeVendor::with(VendorOptions { mode: VendorMode::Plain, ..VendorOptions::default() }).unwrap();
        let chat = "/v1/chat/completions";
        let measured = measure(plan(&vendor, &[chat, "/nowhere", chat], Pace::Count(5))).unwrap();
        assert_eq!((measured.micros.len(), measured.errors), (10, 5));
        assert!(measured.first_error.unwrap().starts_with("404"));
    }

    #[test]
    fn time_ends_a_measurement_and_a_dead_server_fails_it() {
        let vendor = FakeVendor::with(VendorOptions { mode: VendorMode::Plain, ..VendorOptions::default() }).unwrap();
        let pace = Pace::Time { warmup: Duration::ZERO, measured: Duration::from_millis(50) };
        let measured = measure(plan(&vendor, &["/v1/chat/completions"], pace)).unwrap();
        assert!(!measured.micros.is_empty() && measured.errors == 0, "{measured:?}");
        assert!(measure(plan(&vendor, &["/nowhere"], Pace::Count(2 * ERRORS_IN_A_ROW))).is_err());
    }

    #[test]
    fn clients_have_agents_of_their_own() {
        let vendor = FakeVendor::start().unwrap();
        let plan = plan(&vendor, &["a", "b", "c"], Pace::Count(1));
        let paths = |client| plan.share(client).into_iter().map(|target| target.path).collect::<Vec<_>>();
        assert_eq!((paths(0), paths(1)), (vec!["a".to_owned(), "c".to_owned()], vec!["b".to_owned()]));
        assert_eq!(paths(4), ["b"]);
    }

    #[test]
    fn quantiles_are_of_the_sorted_times() {
        let measured = Measured { micros: (1..=101).collect(), ..Measured::default() };
        assert_eq!((measured.quantile(0.5), measured.quantile(0.99)), (51, 100));
        assert_eq!(Measured::default().quantile(0.5), 0);
    }

    #[test]
    fn an_opening_has_no_words() {
        for (data, expected) in [
            (r#"data: {"delta":{"role":"assistant","content":""}}"#, false),
            (r#"data: {"delta":{"content":"a"}}"#, true),
            (r#"data: {"delta":{"content":""}} data: {"delta":{"content":"a"}}"#, true),
            ("data: [DONE]", false),
        ] {
            assert_eq!(says_something(data.as_bytes()), expected, "{data}");
        }
    }
}
