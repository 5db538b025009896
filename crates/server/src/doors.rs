//! Doors that are open: a listener, its connections, and the rooms behind them.
//!
//! The same doors serve `librarian serve` and a command that finds no server running and opens them for itself.

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::auth::{Gate, check_exposure};
use crate::background::Background;
use crate::config::Config;
use crate::data_dir::OwnedDirectory;
use crate::router::router;
use crate::wiring::House;

/// Connections that may be open at once; others wait to be accepted.
const MAX_CONNECTIONS: usize = 4096;
/// How long a client may take to send its headers.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// How long running steps may take when the doors close.
const STEP_PATIENCE: Duration = Duration::from_secs(30);
/// How long answers may take to be sent after the last step.
const ANSWER_PATIENCE: Duration = Duration::from_secs(3);
/// How long to wait where the system can't give us another connection now.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// For whom the doors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Clients, on the address and with the key that the operator chose.
    Clients,
    /// Only the command that opened them, and others of the same person.
    ThisCommand,
}

/// Open doors. Closing them lets running steps finish.
pub(crate) struct Doors {
    pub(crate) house: House,
    pub(crate) address: SocketAddr,
    background: Background,
    directory: OwnedDirectory,
}

impl Doors {
    /// Listens, opens the rooms and begins to answer.
    pub(crate) async fn open(
        config: &Config,
        mut directory: OwnedDirectory,
        audience: Audience,
    ) -> anyhow::Result<Self> {
        let wanted = match audience {
            Audience::Clients => config.address()?,
            Audience::ThisCommand => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        };
        if audience == Audience::Clients {
            check_exposure(wanted, config.api_key.as_ref())?;
        }
        let listener = TcpListener::bind(wanted)
            .await
            .with_context(|| format!("can't listen on {wanted}: choose another address with --host or --port"))?;
        let address = listener.local_addr().context("the listener has no address")?;
        let house = House::open(config, &directory).await?;
        directory.announce(address)?;
        let gate = match audience {
            Audience::Clients => Gate::of_server(config, address.ip(), directory.secret()),
            Audience::ThisCommand => Gate::of_command(address.ip(), directory.secret()),
        };
        let background = Background::default();
        background.spawn(accept(listener, router(&house, gate), background.clone()));
        let models = house.models.clone();
        background.spawn_until_closing(async move { models.discover().await });
        if audience == Audience::Clients {
            let search = house.search.clone();
            background.spawn_until_closing(async move { search.keep_up().await });
        }
        Ok(Self { house, address, background, directory })
    }

    /// The data directory behind the doors.
    pub(crate) fn directory(&self) -> &OwnedDirectory {
        &self.directory
    }

    /// Takes no more requests, finishes running steps, sends the answers and closes the store.
    pub(crate) async fn close(self) {
        self.background.close();
        self.house.dispatcher.shutdown(STEP_PATIENCE).await;
        if !self.background.wait(ANSWER_PATIENCE).await {
            tracing::warn!("some clients did not take their answers in time");
        }
        self.house.store.close().await;
    }
}

/// Accepts connections until the doors close.
async fn accept(listener: TcpListener, router: Router, background: Background) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((listener.accept().await, place))
        };
        match background.closing().run_until_cancelled(next).await {
            None | Some(None) => return,
            Some(Some((Ok((stream, _)), place))) => {
                background.spawn(answer(stream, router.clone(), background.clone(), place));
            }
            Some(Some((Err(error), _))) => {
                tracing::warn!(%error, "can't accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Answers one connection's requests. When the doors close, the request at hand is still answered.
async fn answer(stream: TcpStream, router: Router, background: Background, _place: OwnedSemaphorePermit) {
    // Pieces of an answer are small, and waiting to fill a packet would be seen as stuttering.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection was gone before it was answered");
        return;
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = background.closing().cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
