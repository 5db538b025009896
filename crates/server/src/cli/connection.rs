//! The way of a command to the owner of its data directory.
//!
//! A server that runs is spoken to over HTTP with the directory's secret. Where none runs, the same doors are opened
//! inside this process for as long as the command takes, and spoken to in the same way: there is one code path, and
//! never two processes that write one store.

use std::time::Duration;

use anyhow::{Context, anyhow};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;

use crate::cli::call::{Answer, Call, reason};
use crate::cli::replies::{CUT_OFF, Replies};
use crate::config::Config;
use crate::data_dir::{self, Owner, Ownership};
use crate::doors::{Audience, Doors};

/// How long one answer may take. Making an agent may have to wait for a provider.
const ANSWER_TIME: Duration = Duration::from_secs(60);
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// An owner may stop just when it is called; then another is looked for, this often and with this pause.
const SEARCHES: u32 = 30;
const SEARCH_PAUSE: Duration = Duration::from_millis(100);

/// A way to the owner of the data directory.
pub(crate) struct Connection<'a> {
    config: &'a Config,
    reached: Reached,
    http: Client,
}

/// Who owns the directory.
enum Reached {
    Theirs(Owner),
    Ours(Box<Doors>),
}

impl<'a> Connection<'a> {
    /// Finds the owner or becomes it; a directory that is not there is made.
    pub(crate) async fn open(config: &'a Config) -> anyhow::Result<Self> {
        Ok(Self { config, reached: reach(config).await?, http: http_client()? })
    }

    /// The same for commands that only look or change: nothing where there is nothing yet.
    pub(crate) async fn open_existing(config: &'a Config) -> anyhow::Result<Option<Self>> {
        let is_there = data_dir::store_file(&config.data_dir).try_exists().with_context(|| {
            let shown = config.data_dir.display();
            format!("can't look into the data directory {shown}: check who owns it or choose another with --data-dir")
        });
        if is_there? { Self::open(config).await.map(Some) } else { Ok(None) }
    }

    /// The same for commands that name an agent, which can't be there where nothing is.
    pub(crate) async fn demand(config: &'a Config) -> anyhow::Result<Self> {
        Self::open_existing(config).await?.ok_or_else(|| anyhow!(nothing_yet(config)))
    }

    /// The doors that this process opened itself.
    pub(crate) fn doors(&self) -> Option<&Doors> {
        match &self.reached {
            Reached::Theirs(_) => None,
            Reached::Ours(doors) => Some(doors),
        }
    }

    /// Does `work`, then closes what this process opened, however the work ended.
    pub(crate) async fn during<T>(
        mut self,
        work: impl AsyncFnOnce(&mut Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let outcome = work(&mut self).await;
        self.close().await;
        outcome
    }

    /// Finishes running steps and closes the store, if it is ours.
    pub(crate) async fn close(self) {
        if let Reached::Ours(doors) = self.reached {
            doors.close().await;
        }
    }

    /// Sends a call and reads its whole answer.
    pub(crate) async fn ask(&mut self, call: &Call) -> anyhow::Result<Answer> {
        let response = self.send(call, |request| request.timeout(ANSWER_TIME)).await?;
        let status = response.status();
        let body = response.bytes().await.map_err(reqwest::Error::without_url).context(CUT_OFF)?;
        let body = if body.is_empty() { Value::Null } else { read_json(&body)? };
        Ok(Answer { status, body })
    }

    /// Sends a call whose answer comes in events.
    pub(crate) async fn listen(&mut self, call: &Call) -> anyhow::Result<Replies> {
        Ok(Replies::new(self.open_answer(call).await?))
    }

    /// Sends a call whose answer may take long and be large; a refusal is an error.
    pub(crate) async fn open_answer(&mut self, call: &Call) -> anyhow::Result<Response> {
        let response = self.send(call, |request| request).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(reqwest::Error::without_url).context(CUT_OFF)?;
        Err(anyhow!(reason(status, &serde_json::from_slice(&body).unwrap_or_default())))
    }

    /// Sends a call whose answer may take as long as it takes.
    pub(crate) async fn ask_patiently(&mut self, call: &Call) -> anyhow::Result<Value> {
        let body = self.open_answer(call).await?.bytes().await.map_err(reqwest::Error::without_url).context(CUT_OFF)?;
        read_json(&body)
    }

    async fn send(
        &mut self,
        call: &Call,
        limits: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> anyhow::Result<Response> {
        let mut searches = SEARCHES;
        loop {
            match limits(self.request(call)?).send().await {
                Ok(response) => return Ok(response),
                Err(error) if searches > 0 && self.doors().is_none() && may_repeat(call, &error) => {
                    searches -= 1;
                    tokio::time::sleep(SEARCH_PAUSE).await;
                    self.reached = reach(self.config).await?;
                }
                Err(error) => return Err(error.without_url()).with_context(|| self.silence()),
            }
        }
    }

    fn request(&self, call: &Call) -> anyhow::Result<RequestBuilder> {
        let (address, secret) = match &self.reached {
            Reached::Theirs(owner) => (owner.address, &owner.secret),
            Reached::Ours(doors) => (doors.address, doors.directory().secret()),
        };
        let request = self.http.request(call.method.clone(), call.url(address)?).bearer_auth(secret.reveal());
        Ok(match &call.body {
            Some(body) => request.json(body),
            None => request,
        })
    }

    fn silence(&self) -> String {
        match &self.reached {
            Reached::Theirs(owner) => format!(
                "process {} owns {} but does not answer at http://{}: wait for it, or stop it and try again",
                owner.pid,
                self.config.data_dir.display(),
                owner.address
            ),
            Reached::Ours(_) => CUT_OFF.to_owned(),
        }
    }
}

/// Whether somebody else may be called: nothing was sent, or it may be done twice.
fn may_repeat(call: &Call, error: &reqwest::Error) -> bool {
    error.is_connect() || (call.method == Method::GET && !error.is_timeout())
}

/// What to say where there is nothing yet.
pub(crate) fn nothing_yet(config: &Config) -> String {
    format!(
        "there is nothing in {} yet: `librarian chat` or `librarian serve` makes it, with a first agent to talk to",
        config.data_dir.display()
    )
}

async fn reach(config: &Config) -> anyhow::Result<Reached> {
    match data_dir::claim(&config.data_dir)? {
        Ownership::Theirs(owner) => Ok(Reached::Theirs(owner)),
        Ownership::Ours(directory) => {
            let doors = Doors::open(config, directory, Audience::ThisCommand).await?;
            // A server has had time to find models on this machine; a command needs them at once.
            doors.house.models.discover().await;
            Ok(Reached::Ours(Box::new(doors)))
        }
    }
}

/// A client for plain HTTP to this machine: no proxy, no certificates, no redirects.
fn http_client() -> anyhow::Result<Client> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let no_tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("TLS can't be set up")?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let builder = Client::builder().tls_backend_preconfigured(no_tls).no_proxy();
    let builder = builder.redirect(reqwest::redirect::Policy::none()).connect_timeout(CONNECT_TIME).tcp_nodelay(true);
    builder.build().context("the HTTP client can't be made")
}

fn read_json(body: &[u8]) -> anyhow::Result<Value> {
    serde_json::from_slice(body).context("the answer is not JSON: does another program use this address?")
}
