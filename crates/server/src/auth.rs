//! Who may come in: the address that the server may listen on, and the keys that open its doors.
//!
//! There is one path for authentication and this is it; it leaves an [`Actor`] behind, which every door demands.
//! Doors must never look at keys themselves.
//!
//! The console shows and changes the memory of every agent, so it is open to nobody without a key, also where the
//! other doors want none. Two keys open it: the secret of the data directory's owner, which only this user of the
//! machine can read, and the operator's own key, which is an admin key for as long as a server has only that one.

use std::net::{IpAddr, SocketAddr};

use domain::Actor;
use http::{HeaderMap, Method, header};

use crate::config::Config;
use crate::dialect::Refusal;
use crate::door::Door;
use crate::hosts::AllowedHosts;
use crate::secret::Secret;

/// Letta's own header for the key.
const BARE_PASSWORD: &str = "x-bare-password";

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
    keys: Vec<Secret>,
    hosts: AllowedHosts,
}

impl Gate {
    /// The gate of a server that listens on `bound` and was configured by its operator.
    pub(crate) fn of_server(config: &Config, bound: IpAddr, owner: &Secret) -> Self {
        let policy = if config.api_key.is_some() { KeyPolicy::Required } else { KeyPolicy::Open };
        let keys = config.api_key.iter().chain([owner]).cloned().collect();
        Self { policy, keys, hosts: AllowedHosts::new(bound, &config.allowed_hosts, &config.allowed_origins) }
    }

    /// The gate of doors that one command opened for itself: other people of the machine can reach the port, so
    /// only the owner's secret opens them.
    pub(crate) fn of_command(bound: IpAddr, owner: &Secret) -> Self {
        Self { policy: KeyPolicy::Required, keys: vec![owner.clone()], hosts: AllowedHosts::new(bound, &[], &[]) }
    }

    /// On whose behalf the request comes, or why it stays outside.
    pub(crate) fn admit(&self, method: &Method, uri: &http::Uri, headers: &HeaderMap) -> Result<Actor, Refusal> {
        self.hosts.check(uri, headers)?;
        let only_looks = matches!(*method, Method::GET | Method::HEAD);
        let open = match Door::of_path(uri.path()) {
            Door::Console => false,
            // A watchdog needs no key: health says only that the server is up.
            Door::Health => self.policy == KeyPolicy::Open || only_looks,
            Door::OpenAi | Door::Letta | Door::Metrics | Door::Debug => self.policy == KeyPolicy::Open,
        };
        if open || self.holds_key(headers) { Ok(Actor::default_user()) } else { Err(Refusal::Unauthorized) }
    }

    /// Whether the request is meant for this server and comes from no foreign page, whoever sent it.
    pub(crate) fn check_sender(&self, uri: &http::Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        self.hosts.check(uri, headers)
    }

    fn holds_key(&self, headers: &HeaderMap) -> bool {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| after_word(value.as_bytes(), b"bearer"));
        let bare = headers.get(BARE_PASSWORD).and_then(|value| after_word(value.as_bytes(), b"password"));
        // All keys are tried, so that the time taken does not tell which one was meant.
        [bearer, bare]
            .into_iter()
            .flatten()
            .fold(false, |held, candidate| self.keys.iter().fold(held, |held, key| key.matches(candidate) | held))
    }
}

/// What follows `word` and a space; the case of the word does not matter.
fn after_word<'a>(value: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (first, rest) = value.split_at_checked(word.len())?;
    let rest = rest.strip_prefix(b" ")?;
    first.eq_ignore_ascii_case(word).then(|| rest.trim_ascii())
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
mod tests {
    use super::*;

    fn gate(policy: KeyPolicy) -> Gate {
        let keys = vec![Secret::new("operator-key").unwrap(), Secret::new("owner-secret").unwrap()];
        Gate { policy, keys, hosts: AllowedHosts::new(IpAddr::from([127, 0, 0, 1]), &[], &[]) }
    }

    fn status(gate: &Gate, path: &str, key: Option<(&'static str, &str)>) -> u16 {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost".parse().unwrap());
        if let Some((name, value)) = key {
            headers.insert(name, value.parse().unwrap());
        }
        let admitted = gate.admit(&Method::GET, &path.parse().unwrap(), &headers);
        admitted.map_or_else(|refusal| refusal.status().as_u16(), |_| 200)
    }

    #[test]
    fn a_key_opens_every_door() {
        let gate = gate(KeyPolicy::Required);
        for (key, expected) in [
            (None, 401),
            (Some(("authorization", "Bearer operator-key")), 200),
            (Some(("authorization", "bearer operator-key ")), 200),
            (Some(("authorization", "Bearer owner-secret")), 200),
            (Some(("x-bare-password", "password operator-key")), 200),
            (Some(("authorization", "operator-key")), 401),
            (Some(("authorization", "Basic operator-key")), 401),
            (Some(("authorization", "Bearer ")), 401),
            (Some(("authorization", "Bearer operator-ke")), 401),
            (Some(("x-bare-password", "operator-key")), 401),
        ] {
            assert_eq!(status(&gate, "/v1/agents/", key), expected, "{key:?}");
        }
    }

    #[test]
    fn health_needs_no_key() {
        let gate = gate(KeyPolicy::Required);
        assert_eq!(status(&gate, "/health", None), 200);
        assert_eq!(status(&gate, "/v1/health/", None), 200);
        assert_eq!(status(&gate, "/healthy", None), 401);
    }

    #[test]
    fn without_a_key_everybody_on_the_machine_may_come_in() {
        let gate = gate(KeyPolicy::Open);
        assert_eq!(status(&gate, "/v1/agents/", None), 200);
        assert_eq!(status(&gate, "/v1/agents/", Some(("authorization", "Bearer whatever"))), 200);
    }

    #[test]
    fn the_console_always_wants_a_key() {
        for policy in [KeyPolicy::Open, KeyPolicy::Required] {
            let gate = gate(policy);
            for (key, expected) in [
                (None, 401),
                (Some(("authorization", "Bearer whatever")), 401),
                (Some(("authorization", "Bearer owner-secret")), 200),
                (Some(("authorization", "Bearer operator-key")), 200),
            ] {
                assert_eq!(status(&gate, "/console/v1/backup", key), expected, "{policy:?} {key:?}");
            }
        }
    }

    #[test]
    fn strangers_need_a_key() {
        let key = Secret::new("k").unwrap();
        for (address, with_key, fine) in [
            ("127.0.0.1:1", false, true),
            ("[::1]:1", false, true),
            ("0.0.0.0:1", false, false),
            ("[::]:1", false, false),
            ("192.168.0.7:1", false, false),
            ("0.0.0.0:1", true, true),
        ] {
            let key = with_key.then_some(&key);
            assert_eq!(check_exposure(address.parse().unwrap(), key).is_ok(), fine, "{address}");
        }
    }
}
