//! Who may come in: the address that the server may listen on, and the keys that open its doors.
//!
//! There is one path for authentication and this is it; it leaves an [`Actor`] and a [`Caller`] behind, which every
//! door demands. Doors must never look at keys themselves.
//!
//! Three kinds of keys open doors. The operator's own key and the secret of the data directory's owner, which only this
//! user of the machine can read, open all of them. API keys (`lib-…`) are for clients: each opens OpenAI's door, some
//! for a few agents only, and those that were made for it open Letta's, which shows and changes every agent. None
//! opens the console, which makes keys and shows everybody's memory; without a key it is open to nobody.
//!
//! Where the operator has set no key, whoever reaches the address is the operator. That is meant for whoever brings no
//! key of ours: a request with an API key that is unknown or was revoked is refused, and never the operator's.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use domain::{Actor, ApiKey, Caller, KeyScope, Timestamp};
use http::{HeaderMap, Method};
use storage::LiveKeys;

use crate::brought_keys::{brought, is_api_key, misplaces_api_key};
use crate::config::Config;
use crate::dialect::Refusal;
use crate::door::Door;
use crate::hosts::AllowedHosts;
use crate::secret::Secret;

/// Whether requests without a key are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPolicy {
    /// Everybody who can reach the address may come in.
    Open,
    /// Every door wants a key.
    Required,
}

/// Decides which requests are let in.
#[derive(Debug)]
pub(crate) struct Gate {
    policy: KeyPolicy,
    /// The operator's key and the owner's secret.
    masters: Vec<Secret>,
    clients: LiveKeys,
    hosts: AllowedHosts,
}

/// On whose behalf a request comes that was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Admitted {
    pub(crate) actor: Actor,
    pub(crate) caller: Caller,
}

/// Who a request says it comes from.
enum Visitor {
    Operator,
    Client(Arc<ApiKey>),
    /// It brings no key that we know, and none that was meant to be one of ours.
    Nobody,
}

impl Gate {
    /// The gate of a server that listens on `bound` and was configured by its operator.
    pub(crate) fn of_server(config: &Config, bound: IpAddr, owner: &Secret, clients: LiveKeys) -> Self {
        let policy = if config.api_key.is_some() { KeyPolicy::Required } else { KeyPolicy::Open };
        let masters = config.api_key.iter().chain([owner]).cloned().collect();
        let hosts = AllowedHosts::new(bound, &config.allowed_hosts, &config.allowed_origins);
        Self { policy, masters, clients, hosts }
    }

    /// The gate of doors that one command opened for itself: other people of the machine can reach the port, so
    /// only the owner's secret opens them.
    pub(crate) fn of_command(bound: IpAddr, owner: &Secret) -> Self {
        let hosts = AllowedHosts::new(bound, &[], &[]);
        Self { policy: KeyPolicy::Required, masters: vec![owner.clone()], clients: LiveKeys::default(), hosts }
    }

    /// On whose behalf the request comes, or why it stays outside.
    pub(crate) fn admit(&self, method: &Method, uri: &http::Uri, headers: &HeaderMap) -> Result<Admitted, Refusal> {
        self.hosts.check(uri, headers)?;
        let only_looks = matches!(*method, Method::GET | Method::HEAD);
        let door = Door::of_path(uri.path());
        // A watchdog needs no key: health says only that the server is up.
        if only_looks && door == Door::Health {
            return Ok(Admitted::operator());
        }
        match self.visitor(headers)? {
            Visitor::Operator => Ok(Admitted::operator()),
            Visitor::Client(key) if opens(&key.scope, door) => {
                Ok(Admitted { actor: key.actor(), caller: key.caller() })
            }
            Visitor::Client(_) => Err(Refusal::WrongDoor),
            Visitor::Nobody if self.policy == KeyPolicy::Open && door != Door::Console => Ok(Admitted::operator()),
            Visitor::Nobody => Err(Refusal::Unauthorized),
        }
    }

    /// Whether the request is meant for this server and comes from no foreign page, whoever sent it.
    pub(crate) fn check_sender(&self, uri: &http::Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        self.hosts.check(uri, headers)
    }

    fn visitor(&self, headers: &HeaderMap) -> Result<Visitor, Refusal> {
        // All keys are tried, so that the time taken does not tell which one was meant.
        let is_master = brought(headers)
            .fold(false, |held, candidate| self.masters.iter().fold(held, |held, key| key.matches(candidate) | held));
        if is_master {
            return Ok(Visitor::Operator);
        }
        let mut visitor = Visitor::Nobody;
        for candidate in brought(headers).filter(|candidate| is_api_key(candidate)) {
            let key = self.clients.find(candidate, Timestamp::now()).ok_or(Refusal::UnknownKey)?;
            visitor = match visitor {
                // Two keys at once may open different things, and nobody knows which of them was meant.
                Visitor::Client(other) if other.id != key.id => return Err(Refusal::UnknownKey),
                _ => Visitor::Client(key),
            };
        }
        if misplaces_api_key(headers) { Err(Refusal::UnknownKey) } else { Ok(visitor) }
    }
}

impl Admitted {
    fn operator() -> Self {
        Self { actor: Actor::default_user(), caller: Caller::default() }
    }
}

/// Whether an API key opens a door. What is for the operator alone takes none.
fn opens(scope: &KeyScope, door: Door) -> bool {
    match door {
        Door::OpenAi | Door::Health => true,
        Door::Letta => *scope == KeyScope::Letta,
        Door::Console | Door::Metrics | Door::Debug => false,
    }
}

/// Refuses to listen where strangers can reach doors that want no key.
pub(crate) fn check_exposure(address: SocketAddr, api_key: Option<&Secret>) -> anyhow::Result<()> {
    if address.ip().to_canonical().is_loopback() || api_key.is_some() {
        return Ok(());
    }
    anyhow::bail!(
        "listening on {} would let anybody on the network in: set LIBRARIAN_API_KEY to a long random text, or listen \
         on 127.0.0.1 only",
        address.ip()
    )
}

#[cfg(test)]
#[path = "auth_tests.rs"]
mod tests;
