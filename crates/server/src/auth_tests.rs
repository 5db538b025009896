//! Tests of the gate: which key opens which door, and for whom.

use domain::ApiKeyId;
use storage::{Change, Commit, Store, StoreConfig, key_digest};

use super::*;

fn gate(policy: KeyPolicy) -> Gate {
    let masters = vec![Secret::new("operator-key").unwrap(), Secret::new("owner-secret").unwrap()];
    let hosts = AllowedHosts::new(IpAddr::from([127, 0, 0, 1]), &[], &[]);
    Gate { policy, masters, clients: LiveKeys::default(), hosts }
}

fn admit(gate: &Gate, path: &str, keys: &[(&'static str, &str)]) -> Result<Admitted, Refusal> {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::HOST, "localhost".parse().unwrap());
    for (name, value) in keys {
        headers.append(*name, value.parse().unwrap());
    }
    gate.admit(&Method::GET, &path.parse().unwrap(), &headers)
}

fn status(gate: &Gate, path: &str, key: Option<(&'static str, &str)>) -> u16 {
    admit(gate, path, key.as_slice()).map_or_else(|refusal| refusal.status().as_u16(), |_| 200)
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
        (Some(("x-api-key", "operator-key")), 200),
        (Some(("api-key", "operator-key")), 200),
        (Some(("authorization", "operator-key")), 401),
        (Some(("authorization", "Basic operator-key")), 401),
        (Some(("authorization", "Bearer ")), 401),
        (Some(("authorization", "Bearer operator-ke")), 401),
        (Some(("x-bare-password", "operator-key")), 401),
        (Some(("api-key", "")), 401),
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

/// A key whose text is `lib-` and its name.
fn api_key(name: &str, scope: KeyScope) -> ApiKey {
    let me = Actor::default_user();
    ApiKey {
        id: ApiKeyId::random(),
        organization: me.organization,
        created_by: me.user,
        name: name.to_owned(),
        digest: key_digest(format!("lib-{name}").as_bytes()),
        beginning: "lib-".to_owned(),
        scope,
        created_at: Timestamp::UNIX_EPOCH,
        revoked_at: None,
        last_used_at: None,
    }
}

/// A gate that knows `keys`, and the store that they are in.
async fn gate_with(policy: KeyPolicy, keys: &[&ApiKey]) -> (Gate, Store, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&StoreConfig::at(directory.path().join("store.db")), Timestamp::UNIX_EPOCH).unwrap();
    let mut commit = Commit::new(Actor::default_user(), Timestamp::UNIX_EPOCH);
    commit.changes.extend(keys.iter().map(|&key| Change::InsertApiKey(Box::new(key.clone()))));
    store.commit(commit).await.unwrap();
    (Gate { clients: store.live_keys().clone(), ..gate(policy) }, store, directory)
}

#[tokio::test]
async fn an_api_key_opens_what_it_was_made_for() {
    let (none, all) = (api_key("none", KeyScope::Agents([].into())), api_key("all", KeyScope::AllAgents));
    let letta = api_key("letta", KeyScope::Letta);
    for policy in [KeyPolicy::Open, KeyPolicy::Required] {
        let (gate, _store, _directory) = gate_with(policy, &[&none, &all, &letta]).await;
        for (name, path, expected) in [
            ("none", "/v1/chat/completions", 200),
            ("all", "/v1/models", 200),
            ("letta", "/v1/models", 200),
            ("none", "/v1/models/", 403),
            ("all", "/v1/agents/", 403),
            ("letta", "/v1/agents/", 200),
            ("all", "/debug/sessions", 403),
            ("none", "/console/v1/keys", 403),
            ("all", "/console/v1/keys", 403),
            ("letta", "/console/v1/keys", 403),
            ("all", "/health", 200),
            ("unknown", "/v1/models", 401),
            ("unknown", "/v1/agents/", 401),
            ("unknown", "/console/v1/keys", 401),
            ("unknown", "/health", 200),
        ] {
            let bearer = format!("Bearer lib-{name}");
            let found = status(&gate, path, Some(("authorization", &bearer)));
            assert_eq!(found, expected, "{policy:?} {name} {path}");
        }
    }
}

#[tokio::test]
async fn whoever_brings_an_api_key_is_its_caller() {
    let agents = KeyScope::Agents([].into());
    let key = api_key("mine", agents.clone());
    let (gate, store, _directory) = gate_with(KeyPolicy::Open, &[&key]).await;
    for header in ["authorization", "x-api-key", "api-key", "x-bare-password"] {
        let word = match header {
            "authorization" => "Bearer ",
            "x-bare-password" => "password ",
            _ => "",
        };
        let admitted = admit(&gate, "/v1/models", &[(header, &format!("{word}lib-mine"))]).unwrap();
        let expected = Caller { key: Some(key.id), agents: agents.agents().cloned() };
        assert_eq!((admitted.actor, admitted.caller), (Actor::default_user(), expected), "{header}");
    }
    assert_eq!(admit(&gate, "/v1/models", &[]).unwrap().caller, Caller::default());
    let revoke = Commit::new(Actor::default_user(), Timestamp::UNIX_EPOCH).with(Change::RevokeApiKey(key.id));
    store.commit(revoke).await.unwrap();
    assert_eq!(admit(&gate, "/v1/models", &[("api-key", "lib-mine")]), Err(Refusal::UnknownKey));
}

#[tokio::test]
async fn a_key_that_is_not_good_is_never_the_operators() {
    let (one, two) = (api_key("one", KeyScope::AllAgents), api_key("two", KeyScope::AllAgents));
    let (gate, _store, _directory) = gate_with(KeyPolicy::Open, &[&one, &two]).await;
    for keys in [
        &[("authorization", "Bearer lib-gone")][..],
        &[("authorization", "lib-one")],
        &[("authorization", "Bearer \"lib-one\"")],
        &[("authorization", "Bearer LIB-one")],
        &[("authorization", "Bearer whatever"), ("api-key", "lib-gone")],
        &[("authorization", "Bearer lib-one"), ("api-key", "lib-gone")],
        &[("authorization", "Bearer lib-one"), ("api-key", "lib-two")],
        &[("authorization", "Bearer lib-one"), ("authorization", "Bearer lib-two")],
    ] {
        assert_eq!(admit(&gate, "/v1/models", keys), Err(Refusal::UnknownKey), "{keys:?}");
    }
    let twice = [("authorization", "Bearer lib-one"), ("x-api-key", "lib-one")];
    assert_eq!(admit(&gate, "/v1/models", &twice).unwrap().caller.key, Some(one.id));
    let with_master = [("authorization", "Bearer operator-key"), ("x-api-key", "lib-gone")];
    assert_eq!(admit(&gate, "/v1/models", &with_master).unwrap().caller, Caller::default());
}
