//! Doors that are open: the listeners, their connections, and the rooms behind them.
//!
//! The same doors serve `librarian serve` and a command that finds no server running and opens them for itself.

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use domain::Timestamp;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use storage::Store;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::auth::{Gate, check_exposure};
use crate::background::Background;
use crate::config::Config;
use crate::cors::Cors;
use crate::data_dir::{OwnedDirectory, reachable};
use crate::door::OpenDoors;
use crate::listen::Listener;
use crate::reading_client::ReadingClient;
use crate::router::{Counts, Entrance, behind, doors};
use crate::wiring::House;

/// Connections that may be open at once at one address; others wait to be accepted.
const MAX_CONNECTIONS: usize = 4096;
/// How long a client may take to send its headers.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// How long running steps may take when the doors close.
const STEP_PATIENCE: Duration = Duration::from_secs(30);
/// How long answers may take to be sent after the last step.
const ANSWER_PATIENCE: Duration = Duration::from_secs(3);
/// How long the last use of an API key is known in memory only.
const KEY_USES_PAUSE: Duration = Duration::from_secs(60);
/// How long to wait where the system can't give us another connection now.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// For whom the doors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Clients, on the addresses and with the key that the operator chose.
    Clients,
    /// Only the command that opened them, and others of the same person.
    ThisCommand,
}

/// Open doors. Closing them lets running steps finish.
pub(crate) struct Doors {
    pub(crate) house: House,
    /// Where clients come in.
    pub(crate) listeners: Vec<Listener>,
    /// Where commands of the same person come in: at one of the listeners, or at an address of their own.
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
        let mut bound = Vec::new();
        if audience == Audience::Clients {
            for listener in config.listeners()? {
                check_exposure(listener.address, config.api_key.as_ref())?;
                bound.push(bind(listener).await?);
            }
        }
        let own = if commands_address(&bound).is_some() {
            None
        } else {
            let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            Some(bind(Listener { address: loopback, doors: OpenDoors::all() }).await?)
        };
        let address = commands_address(&bound).or(own.as_ref().map(|(_, listener)| listener.address));
        let address = address.context("no listener is open to commands")?;
        let house = House::open(config, &directory).await?;
        directory.announce(address)?;
        let background = Background::default();
        let counts = Counts::new(config.rate_limits);
        let rooms = doors(&house, config.gateway.clone(), &counts);
        let listeners: Vec<Listener> = bound.iter().map(|(_, listener)| listener.clone()).collect();
        for (socket, Listener { address, doors }) in bound {
            let gate = Gate::of_server(config, address.ip(), directory.secret(), house.store.live_keys().clone());
            let cors = Cors::new(&config.allowed_origins);
            let (body_limit, counts) = (config.body_limit, counts.clone());
            let entrance = Entrance { gate, doors, cors, body_limit, counts };
            background.spawn(accept(socket, behind(rooms.clone(), entrance), background.clone()));
        }
        if let Some((socket, Listener { address, doors })) = own {
            let gate = Gate::of_command(address.ip(), directory.secret());
            let entrance = Entrance { gate, doors, cors: Cors::default(), body_limit: config.body_limit, counts };
            background.spawn(accept(socket, behind(rooms, entrance), background.clone()));
        }
        let models = house.models.clone();
        background.spawn_until_closing(async move { models.discover().await });
        if audience == Audience::Clients {
            let search = house.search.clone();
            background.spawn_until_closing(async move { search.keep_up().await });
            let store = house.store.clone();
            background.spawn_until_closing(async move { keep_key_uses(&store).await });
        }
        Ok(Self { house, listeners, address, background, directory })
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
        note_key_uses(&self.house.store).await;
        self.house.store.close().await;
    }
}

/// Listens where it was wanted; a port of 0 is a real one afterwards.
async fn bind(wanted: Listener) -> anyhow::Result<(TcpListener, Listener)> {
    let socket = TcpListener::bind(wanted.address).await.with_context(|| {
        format!(
            "can't listen on {}: choose another address with --host or --port, or in [[listen]] of librarian.toml",
            wanted.address
        )
    })?;
    let address = socket.local_addr().context("the listener has no address")?;
    Ok((socket, Listener { address, ..wanted }))
}

/// Where commands of this machine are served, if anywhere; what stays inside the machine is preferred.
fn commands_address(bound: &[(TcpListener, Listener)]) -> Option<SocketAddr> {
    let fit = || bound.iter().map(|(_, listener)| listener).filter(|listener| listener.doors.serve_commands());
    let inside = fit().find(|listener| reachable(listener.address).ip().is_loopback());
    inside.or(fit().next()).map(|listener| listener.address)
}

/// Writes down now and then when API keys were used, so that no request waits for that.
async fn keep_key_uses(store: &Store) {
    loop {
        tokio::time::sleep(KEY_USES_PAUSE).await;
        note_key_uses(store).await;
    }
}

async fn note_key_uses(store: &Store) {
    if let Err(error) = store.write_key_uses(Timestamp::now()).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "the last use of API keys could not be written down");
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
        .serve_connection(TokioIo::new(ReadingClient::new(stream)), TowerToHyperService::new(router));
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
