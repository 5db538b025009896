//! API keys through the real binary: what they open, in which words they are refused, and that they end at once.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, HttpReply, TestServer};

use crate::house::{VENDOR_MODEL, alone, create_agent, setup, with_vendor};
use crate::terminal::{answer, complaint, said, typed, typed_at};

const CHAT: &str = "/v1/chat/completions";
const KEYS: &str = "/console/v1/keys";

/// Makes a key and gives what the command printed as JSON.
fn create(server: &TestServer, words: &[&str]) -> Result<Value> {
    let words = [&["keys", "create", "--json"], words].concat();
    Ok(serde_json::from_str(&answer(server, &words)?)?)
}

fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str> {
    value[field].as_str().with_context(|| format!("`{field}` of {value}"))
}

/// A client that comes with this key.
fn with_key(server: &TestServer, key: &str) -> Result<Client> {
    server.client()?.with_header("authorization", &format!("Bearer {key}"))
}

async fn status(client: &Client, path: &str) -> Result<u16> {
    Ok(client.get(path).await?.status.as_u16())
}

fn ask(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "hi"}]})
}

/// The error of a refusal in OpenAI's shape.
fn openai_error(reply: &HttpReply, status: u16, code: &str) -> Result<String> {
    let body = reply.json()?;
    let error = body["error"].as_object().context("an error")?;
    let fields: Vec<&str> = error.keys().map(String::as_str).collect();
    ensure!(reply.status == status && fields == ["message", "type", "param", "code"], "{}", reply.text());
    ensure!(error["code"] == code && error["type"] == "invalid_request_error", "{body}");
    Ok(text(&body["error"], "message")?.to_owned())
}

#[tokio::test]
async fn a_key_lets_in_until_it_is_revoked() -> Result<()> {
    let (mut server, _client) = alone().await?;
    let (made, kept) = (create(&server, &["laptop"])?, create(&server, &["phone"])?);
    let (key, kept_key) = (text(&made, "key")?, text(&kept, "key")?);
    ensure!(key.len() == 68 && key.starts_with("lib-") && key != kept_key, "{key}");
    for (name, value) in
        [("authorization", format!("Bearer {key}")), ("x-api-key", key.into()), ("api-key", key.into())]
    {
        let client = server.client()?.with_header(name, &value)?;
        ensure!(status(&client, "/v1/models").await? == 200, "{name}");
        ensure!(client.post(CHAT, &ask("librarian")).await?.status == 200, "{name}");
    }
    let told = answer(&server, &["keys", "revoke", "laptop"])?;
    ensure!(told == format!("Revoked laptop ({}): it opens nothing any more.\n", text(&made, "id")?), "{told}");
    for _ in 0..2 {
        ensure!(status(&with_key(&server, key)?, "/v1/models").await? == 401);
        ensure!(with_key(&server, key)?.post(CHAT, &ask("librarian")).await?.status == 401);
        ensure!(status(&with_key(&server, kept_key)?, "/v1/models").await? == 200);
        server.restart().await?;
    }
    // The operator of this server wants no key, and that is not what a revoked one becomes.
    ensure!(status(&server.client()?, "/v1/models").await? == 200);
    ensure!(complaint(&server, &["keys", "revoke", "laptop"])?.contains("there is phone"));
    // By its id a key can be revoked twice, and its name is free.
    answer(&server, &["keys", "revoke", text(&made, "id")?])?;
    create(&server, &["laptop"])?;
    ensure!(complaint(&server, &["keys", "create", "laptop"])?.contains("named `laptop` already"));
    Ok(())
}

/// Sends one request on a connection that stays open, and gives the status of its answer.
fn on(connection: &mut TcpStream, key: &str) -> Result<String> {
    write!(connection, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n")?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head)?.to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).context("a length")?;
    connection.read_exact(&mut vec![0; length.parse()?])?;
    Ok(head.lines().next().context("a status")?.to_owned())
}

#[tokio::test]
async fn a_revocation_reaches_connections_that_are_open() -> Result<()> {
    let (server, _client) = alone().await?;
    let made = create(&server, &["laptop"])?;
    let key = text(&made, "key")?;
    let mut connection = TcpStream::connect(server.url().trim_start_matches("http://"))?;
    for _ in 0..2 {
        ensure!(on(&mut connection, key)?.starts_with("http/1.1 200"));
    }
    answer(&server, &["keys", "revoke", "laptop"])?;
    ensure!(on(&mut connection, key)?.starts_with("http/1.1 401"));
    Ok(())
}

#[tokio::test]
async fn a_key_is_shown_once_and_never_again() -> Result<()> {
    let (mut server, _client) = alone().await?;
    let made = create(&server, &["laptop"])?;
    let (key, id) = (text(&made, "key")?, text(&made, "id")?);
    ensure!(text(&made, "beginning")? == &key[..12] && made["revoked_at"].is_null() && made["agents"].is_null());
    ensure!(made["last_used_at"].is_null());
    let listed = answer(&server, &["keys", "list"])?;
    ensure!(listed.contains("laptop") && listed.contains(id) && listed.contains("never"), "{listed}");
    ensure!(listed.contains("all agents") && listed.contains(&key[..12]) && !listed.contains(key), "{listed}");
    with_key(&server, key)?.get("/v1/models").await?.ok()?;
    let entry = |server: &TestServer| -> Result<Value> {
        let listed = answer(server, &["keys", "list", "--all", "--json"])?;
        ensure!(!listed.contains(key), "{listed}");
        Ok(serde_json::from_str::<Value>(&listed)?[0].clone())
    };
    let used = entry(&server)?["last_used_at"].clone();
    ensure!(used.is_string(), "the use is not known");
    // What is known of the use outlives the server, and the key.
    server.restart().await?;
    ensure!(entry(&server)?["last_used_at"] == used);
    let revoked = answer(&server, &["keys", "revoke", id, "--json"])?;
    ensure!(!revoked.contains(key) && !serde_json::from_str::<Value>(&revoked)?["revoked_at"].is_null(), "{revoked}");
    ensure!(entry(&server)?["last_used_at"] == used);
    ensure!(answer(&server, &["keys", "list"])?.contains("No keys"));
    ensure!(answer(&server, &["keys", "list", "--all"])?.contains("revoked 2"));
    Ok(())
}

/// Whether any file under `place` holds `text`.
fn holds(place: &Path, text: &str) -> Result<bool> {
    for entry in std::fs::read_dir(place)? {
        let path = entry?.path();
        let found = if path.is_dir() {
            holds(&path, text)?
        } else {
            std::fs::read(&path)?.windows(text.len()).any(|bytes| bytes == text.as_bytes())
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

#[tokio::test]
async fn the_store_and_the_logs_hold_no_key() -> Result<()> {
    let (mut server, _client) = alone().await?;
    let made = create(&server, &["laptop-of-ada"])?;
    let key = text(&made, "key")?;
    let client = with_key(&server, key)?;
    client.post(CHAT, &ask("librarian")).await?.ok()?;
    ensure!(client.get("/v1/agents/").await?.status == 403);
    let backup = server.data_dir().join("backup.db");
    answer(&server, &["backup", backup.to_str().context("a name")?])?;
    // The secret part, whole or in any half, and the bytes that it is written for.
    let secret = &key[12..];
    for part in [secret, &secret[..28], &secret[28..]] {
        ensure!(!holds(&server.data_dir(), part)? && !server.stderr().contains(part), "{part} was kept");
    }
    // The same look finds what is kept, so it would have found the key.
    ensure!(holds(&server.data_dir(), "laptop-of-ada")? && holds(&server.data_dir(), &key[..12])?);
    let bytes: Vec<u8> =
        (4..key.len()).step_by(2).map(|at| u8::from_str_radix(&key[at..at + 2], 16)).collect::<Result<_, _>>()?;
    server.stop().await?;
    let stored = std::fs::read(server.data_dir().join("librarian.db"))?;
    ensure!(!stored.windows(8).any(|window| bytes.windows(8).any(|part| part == window)), "the bytes were kept");
    Ok(())
}

#[tokio::test]
async fn a_limited_key_knows_its_agents_only() -> Result<()> {
    let (mut server, operator, vendor) = with_vendor().await?;
    let ada = create_agent(&operator, "ada", VENDOR_MODEL).await?;
    let bob = create_agent(&operator, "bob", VENDOR_MODEL).await?;
    let made = create(&server, &["laptop", "--agent", "ada"])?;
    ensure!(made["agents"] == json!([ada]), "{made}");
    ensure!(complaint(&server, &["keys", "create", "x", "--agent", "nobody"])?.contains("no agent `nobody`"));
    ensure!(answer(&server, &["keys", "list"])?.contains("  ada  "));
    let key = text(&made, "key")?.to_owned();
    let client = with_key(&server, &key)?;
    let models = async |client: &Client| -> Result<Vec<String>> {
        let listed = client.get("/v1/models").await?.ok()?;
        let listed = listed["data"].as_array().context("a list")?;
        Ok(listed.iter().filter_map(|model| model["id"].as_str().map(str::to_owned)).collect())
    };
    ensure!(models(&client).await? == ["ada"] && models(&operator).await?.len() == 3);
    client.post(CHAT, &ask("ada")).await?.ok()?;
    client.post(CHAT, &ask(&ada)).await?.ok()?;
    ensure!(status(&client, &format!("/v1/models/{ada}")).await? == 200);
    let before = vendor.requests().len();
    for other in ["bob", &bob, "librarian", "openai/gpt-4o-mini"] {
        let told = openai_error(&client.post(CHAT, &ask(other)).await?, 404, "model_not_found")?;
        ensure!(told.ends_with("Agents: ada."), "{told}");
        ensure!(status(&client, &format!("/v1/models/{other}")).await? == 404);
    }
    for path in
        ["/v1/agents/", &format!("/v1/agents/{ada}"), &format!("/v1/agents/{bob}/messages"), "/v1/models/", KEYS]
    {
        ensure!(status(&client, path).await? == 403, "{path}");
    }
    // What is left of its agents is all that a key opens, and that may be nothing.
    operator.delete(&format!("/v1/agents/{ada}")).await?.ok()?;
    for _ in 0..2 {
        let client = with_key(&server, &key)?;
        ensure!(models(&client).await?.is_empty());
        let told = openai_error(&client.post(CHAT, &ask("bob")).await?, 404, "model_not_found")?;
        ensure!(!told.contains("bob,") && !told.contains("librarian"), "{told}");
        ensure!(status(&client, "/v1/agents/").await? == 403);
        ensure!(answer(&server, &["keys", "list"])?.contains("nobody: its agents were deleted"));
        server.restart().await?;
    }
    ensure!(vendor.requests().len() == before, "somebody was asked");
    Ok(())
}

/// Whether every door tells in its own words that it knows no such key.
async fn refused_everywhere(client: &Client) -> Result<()> {
    for reply in [client.get("/v1/models").await?, client.post(CHAT, &ask("librarian")).await?] {
        ensure!(reply.header("www-authenticate") == Some("Bearer"));
        let told = openai_error(&reply, 401, "invalid_api_key")?;
        ensure!(told.contains("Incorrect API key"), "{told}");
    }
    let reply = client.get("/v1/agents/").await?;
    ensure!(reply.status == 401 && reply.json()? == json!({"detail": "Unauthorized"}), "{}", reply.text());
    let reply = client.get(KEYS).await?;
    ensure!(reply.status == 401 && reply.json()?["error"]["code"] == "unauthorized", "{}", reply.text());
    ensure!(status(client, "/health").await? == 200);
    Ok(())
}

#[tokio::test]
async fn each_door_refuses_a_key_in_its_own_words() -> Result<()> {
    let made = |server: &TestServer| create(server, &["laptop"]);
    for operators_key in [None, Some("a-long-key-for-tests")] {
        let setup = operators_key.iter().fold(setup(), |setup, key| setup.env("LIBRARIAN_API_KEY", *key));
        let server = TestServer::start(setup).await?;
        let unknown = with_key(&server, &format!("lib-{}", "0".repeat(64)))?;
        let misplaced = server.client()?.with_header("authorization", text(&made(&server)?, "key")?)?;
        refused_everywhere(&unknown).await?;
        refused_everywhere(&misplaced).await?;
        let known = with_key(&server, text(&create(&server, &["phone"])?, "key")?)?;
        let reply = known.get("/v1/agents/").await?;
        let told = reply.json()?["detail"].as_str().context("words")?.to_owned();
        ensure!(reply.status == 403 && told.contains("keys create --letta"), "{}", reply.text());
        let reply = known.post(KEYS, &json!({"name": "wider"})).await?;
        ensure!(reply.status == 403 && reply.json()?["error"]["code"] == "forbidden", "{}", reply.text());
        ensure!(status(&known, "/v1/models").await? == 200);
        // Another text is no key of ours; whether it will do is for the operator's key to say.
        let other = with_key(&server, "sk-none")?;
        ensure!(status(&other, "/v1/models").await? == if operators_key.is_some() { 401 } else { 200 });
    }
    Ok(())
}

#[tokio::test]
async fn a_letta_key_opens_lettas_door_and_no_console() -> Result<()> {
    let server = TestServer::start(setup().env("LIBRARIAN_API_KEY", "a-long-key-for-tests")).await?;
    let made = create(&server, &["admin", "--letta"])?;
    ensure!(made["letta"] == true && answer(&server, &["keys", "list"])?.contains("all agents, Letta"));
    let client = with_key(&server, text(&made, "key")?)?;
    let agent = create_agent(&client, "ada", "builtin/guide").await?;
    ensure!(status(&client, &format!("/v1/agents/{agent}")).await? == 200);
    ensure!(client.post(CHAT, &ask("ada")).await?.status == 200);
    for path in [KEYS, "/console/v1/backup", "/console/v1/store"] {
        ensure!(status(&client, path).await? == 403, "{path}");
    }
    ensure!(client.post(KEYS, &json!({"name": "more"})).await?.status == 403);
    let both = typed(&server, &["keys", "create", "x", "--letta", "--agent", "ada"])?;
    ensure!(!both.status.success() && String::from_utf8_lossy(&both.stderr).contains("--agent"), "{both:?}");
    Ok(())
}

#[tokio::test]
async fn the_console_says_what_is_wrong_with_a_key() -> Result<()> {
    let server = TestServer::start(setup().env("LIBRARIAN_API_KEY", "a-long-key-for-tests")).await?;
    let operator = with_key(&server, "a-long-key-for-tests")?;
    let agent = create_agent(&operator, "ada", "builtin/guide").await?;
    operator.post(KEYS, &json!({"name": "taken"})).await?.ok()?;
    let unknown = "agent-00000000-0000-4000-8000-0000000000ff";
    for (body, status, words) in [
        (json!({}), 400, "1 to 100 characters"),
        (json!({"name": "x".repeat(101)}), 400, "1 to 100 characters"),
        (json!({"name": "a\nb"}), 400, "control characters"),
        (json!({"name": "lib-0123"}), 400, "can't begin with `lib-`"),
        (json!({"name": "x", "agents": []}), 400, "leave them out for all agents"),
        (json!({"name": "x", "agents": ["ada"]}), 400, "agent-<uuid4>"),
        (json!({"name": "x", "agents": [unknown]}), 404, unknown),
        (json!({"name": "x", "agents": [agent], "letta": true}), 400, "can't be limited"),
        (json!({"name": "x", "scope": "all"}), 400, "unknown field `scope`"),
        (json!({"name": "taken"}), 409, "named `taken` already"),
    ] {
        let reply = operator.post(KEYS, &body).await?;
        let told = reply.json()?["error"]["message"].as_str().context("a message")?.to_owned();
        ensure!(reply.status == status && told.contains(words), "{body}: {}", reply.text());
    }
    for (path, status) in [("nonsense", 400), ("key-00000000-0000-4000-8000-0000000000ff", 404)] {
        let reply = operator.post(&format!("{KEYS}/{path}/revoke"), &json!({})).await?;
        ensure!(reply.status == status, "{path}: {}", reply.text());
    }
    let listed = operator.get(KEYS).await?.ok()?;
    ensure!(listed.as_array().is_some_and(|keys| keys.len() == 1), "{listed}");
    // An agent that is named twice is one.
    let made = operator.post(KEYS, &json!({"name": "x", "agents": [agent, agent]})).await?.ok()?;
    ensure!(made["agents"] == json!([agent]), "{made}");
    Ok(())
}

#[tokio::test]
async fn keys_are_made_where_no_server_runs_and_come_back_with_a_backup() -> Result<()> {
    let (mut server, _client) = alone().await?;
    server.stop().await?;
    let made = create(&server, &["early"])?;
    let key = text(&made, "key")?;
    let folder = tempfile::tempdir()?;
    let (file, fresh) = (folder.path().join("backup.db"), folder.path().join("fresh"));
    let name = file.to_str().context("a name")?;
    answer(&server, &["backup", name])?;
    said(&typed_at(&server, &fresh, &["restore", name])?)?;
    ensure!(said(&typed_at(&server, &fresh, &["keys", "list"])?)?.contains(&key[..12]));
    ensure!(said(&typed_at(&server, &fresh, &["doctor"])?)?.contains("Nothing is wrong."));
    ensure!(answer(&server, &["doctor", "--repair"])?.contains("Nothing is wrong."));
    server.restart().await?;
    ensure!(status(&with_key(&server, key)?, "/v1/models").await? == 200);
    ensure!(answer(&server, &["doctor"])?.contains("Nothing is wrong."));
    // Where there is nothing yet, a list says so and makes nothing.
    let nowhere = folder.path().join("nowhere");
    ensure!(said(&typed_at(&server, &nowhere, &["keys", "list"])?)?.contains("No keys"));
    ensure!(said(&typed_at(&server, &nowhere, &["keys", "list", "--json"])?)?.trim() == "[]" && !nowhere.exists());
    Ok(())
}
