//! Which address opens which door, under which prefix, for which pages, and how large a request may be.

use anyhow::{Context, Result, ensure};
use http::Method;
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, HttpReply, TestServer};

use super::{ask, content, house};
use crate::house::{VENDOR_MODEL, create_agent, setup};

const KEY: &str = "a-long-key-for-tests";
const PAGE: &str = "https://ui.example";

/// A server that listens where `config` says.
async fn listening(config: &str) -> Result<TestServer> {
    let file = tempfile::tempdir()?.keep().join("librarian.toml");
    std::fs::write(&file, config)?;
    TestServer::start(setup().listens_as_configured().arg("--config").arg(&file)).await
}

/// Why a server with this configuration does not start.
async fn refused(config: &str) -> Result<String> {
    match listening(config).await {
        Ok(_) => anyhow::bail!("the server started with {config}"),
        Err(error) => Ok(format!("{error:#}")),
    }
}

fn listen(address: &str, doors: &[&str]) -> String {
    format!("[[listen]]\naddress = \"{address}\"\ndoors = {doors:?}\n")
}

/// The code of an error in OpenAI's shape.
fn code(reply: &HttpReply) -> Result<String> {
    let body = reply.json()?;
    for field in ["message", "type", "param", "code"] {
        ensure!(body["error"].get(field).is_some(), "{field} is missing: {body}");
    }
    ensure!(body["error"]["message"].is_string() && body["error"]["type"].is_string(), "{body}");
    Ok(body["error"]["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn every_route_is_there_under_every_prefix() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    for (number, prefix) in ["/v1", "", "/openai/v1"].into_iter().enumerate() {
        let answer = client.post(&format!("{prefix}/chat/completions"), &ask("Hello.")).await?;
        ensure!(!content(&answer)?.is_empty() && vendor.requests().len() == number + 1, "{prefix}");
        let vectors = client
            .post(&format!("{prefix}/embeddings"), &json!({"model": "builtin/embedding", "input": "a"}))
            .await?
            .ok()?;
        ensure!(vectors["object"] == "list", "{prefix}");
        ensure!(client.get(&format!("{prefix}/models")).await?.ok()?["object"] == "list", "{prefix}");
        ensure!(client.get(&format!("{prefix}/models/ada")).await?.ok()?["id"] == "ada", "{prefix}");
        // What goes wrong is told in OpenAI's shape, whether a door or the house tells it.
        for (reply, status, wanted) in [
            (client.get(&format!("{prefix}/models/nobody")).await?, 404, "model_not_found"),
            (client.get(&format!("{prefix}/chat/nothing")).await?, 404, "unknown_url"),
            (client.get(&format!("{prefix}/chat/completions")).await?, 405, "method_not_supported"),
            (client.post(&format!("{prefix}/responses"), &json!({})).await?, 404, "unknown_url"),
        ] {
            ensure!(reply.status == status && code(&reply)? == wanted, "{prefix}: {}", reply.text());
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_is_not_offered_says_what_is() -> Result<()> {
    let (_server, client, _vendor) = house("").await?;
    let message = |reply: &HttpReply| -> Result<String> {
        ensure!(reply.status == 404 && code(reply)? == "unknown_url", "{}", reply.text());
        Ok(reply.json()?["error"]["message"].as_str().unwrap_or_default().to_owned())
    };
    for prefix in ["/v1", "", "/openai/v1"] {
        for (method, path) in [(Method::POST, "/responses"), (Method::GET, "/responses/resp_1/input_items")] {
            let told = message(&client.send(method, &format!("{prefix}{path}"), Some(&json!({}))).await?)?;
            ensure!(told.contains("no Responses API: it answers POST /v1/chat/completions"), "{told}");
            ensure!(told.contains("`client.chat.completions.create`"), "{told}");
        }
        for path in ["files", "audio/speech", "images/edits", "batches", "fine_tuning/jobs", "realtime", "chat/x"] {
            let told = message(&client.post(&format!("{prefix}/{path}"), &json!({})).await?)?;
            ensure!(told.contains("this server answers POST /v1/chat/completions, "), "{told}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn every_prefix_wants_the_key() -> Result<()> {
    let server = TestServer::start(setup().env("LIBRARIAN_API_KEY", KEY)).await?;
    let stranger = server.client()?;
    for prefix in ["/v1", "", "/openai/v1"] {
        for path in ["/models", "/models/librarian", "/nothing/of/openai"] {
            let reply = stranger.get(&format!("{prefix}{path}")).await?;
            ensure!(reply.status == 401, "{prefix}{path}: {}", reply.text());
        }
        let reply = stranger.post(&format!("{prefix}/chat/completions"), &ask("Hello.")).await?;
        ensure!(reply.status == 401 && code(&reply)? == "invalid_api_key", "{prefix}: {}", reply.text());
    }
    Ok(())
}

#[tokio::test]
async fn an_address_opens_the_doors_it_names() -> Result<()> {
    let all = ["openai", "letta", "console", "health", "metrics", "debug"];
    let config = listen("127.0.0.1:0", &all) + &listen("127.0.0.1:0", &["openai"]) + &listen("127.0.0.1:0", &["letta"]);
    let server = listening(&(config + "[gateway]\ndebug_sessions = true\n")).await?;
    let urls = server.urls();
    ensure!(server.stdout().contains("(openai)") && server.stdout().contains("(letta)"), "{}", server.stdout());
    let clients: Vec<Client> = urls.iter().take(3).map(|url| Client::new(url)).collect::<Result<_>>()?;
    let [full, openai, letta] = clients.as_slice() else { anyhow::bail!("three addresses in {urls:?}") };
    for path in ["/v1/agents/", "/v1/models/", "/v1/models/embedding", "/v1/health/", "/health", "/debug/sessions"] {
        ensure!(full.get(path).await?.status == 200, "{path}");
        let reply = openai.get(path).await?;
        ensure!(reply.status == 404 && code(&reply)? == "unknown_url", "{path}: {}", reply.text());
    }
    let agent = full.get("/v1/agents/").await?.ok()?[0]["id"].as_str().context("the first agent")?.to_owned();
    let messages = format!("/v1/agents/{agent}/messages");
    for path in ["/", "/console/v1/store", "/metrics", "/v1/nothing", "/v1/archives/", "/docs", &messages] {
        let reply = openai.get(path).await?;
        ensure!(reply.status == 404 && code(&reply)? == "unknown_url", "{path}: {}", reply.text());
    }
    for (method, path) in [(Method::POST, "/v1/agents/"), (Method::DELETE, "/health"), (Method::OPTIONS, "/v1/agents/")]
    {
        let reply = openai.send(method.clone(), path, Some(&json!({"name": "x"}))).await?;
        ensure!(reply.status == 404 && code(&reply)? == "unknown_url", "{method} {path}: {}", reply.text());
    }
    for prefix in ["/v1", "", "/openai/v1"] {
        ensure!(openai.get(&format!("{prefix}/models")).await?.status == 200, "{prefix}");
        ensure!(letta.get(&format!("{prefix}/models")).await?.json()?["detail"] == "Not Found", "{prefix}");
    }
    ensure!(letta.get("/v1/agents/").await?.status == 200 && letta.get("/health").await?.status == 404);
    ensure!(openai.post("/v1/chat/completions", &guide("Hello.")).await?.ok()?["object"] == "chat.completion");
    ensure!(letta.post("/v1/chat/completions", &guide("Hello.")).await?.status == 404);
    Ok(())
}

fn guide(text: &str) -> Value {
    json!({"model": "librarian", "messages": [{"role": "user", "content": text}]})
}

/// A closed door is no way to find out what the key would open.
#[tokio::test]
async fn a_closed_door_is_not_there_with_or_without_the_key() -> Result<()> {
    let config = listen("127.0.0.1:0", &["health"]) + &listen("127.0.0.1:0", &["openai"]);
    let server = listening(&format!("[server]\napi_key = \"{KEY}\"\n{config}")).await?;
    let stranger = Client::new(&server.urls()[1])?;
    let known = stranger.clone().with_header("authorization", &format!("Bearer {KEY}"))?;
    for path in ["/v1/agents/", "/console/v1/store", "/health"] {
        for client in [&stranger, &known] {
            ensure!(client.get(path).await?.status == 404, "{path}");
        }
    }
    ensure!(stranger.get("/v1/models").await?.status == 401 && known.get("/v1/models").await?.status == 200);
    Ok(())
}

/// Sessions are one and the same whichever address a request comes in by.
#[tokio::test]
async fn addresses_share_what_is_behind_them() -> Result<()> {
    let vendor = FakeVendor::start()?;
    let file = tempfile::tempdir()?.keep().join("librarian.toml");
    let config = listen("127.0.0.1:0", &["openai", "letta", "health"]) + &listen("127.0.0.1:0", &["openai"]);
    std::fs::write(&file, config)?;
    let setup = setup().vendor(&vendor).listens_as_configured().arg("--config").arg(&file);
    let server = TestServer::start(setup).await?;
    create_agent(&server.client()?, "ada", VENDOR_MODEL).await?;
    for (number, url) in server.urls().iter().take(2).enumerate() {
        let body = super::ask_under(&format!("PROMPT-{number}"), &format!("word-{number}"));
        super::chat(&Client::new(url)?, "s", &body).await?.ok()?;
    }
    // The first address has to notice that the second one changed what it had stored itself.
    super::chat(&server.client()?, "s", &super::ask_under("PROMPT-0", "again")).await?.ok()?;
    let last = super::last_request(&vendor)?;
    ensure!(super::texts(&last, "user") == ["word-0", "word-1", "again"]);
    let system = super::texts(&last, "system").concat();
    ensure!(system.contains("PROMPT-0") && !system.contains("PROMPT-1"), "{system}");
    Ok(())
}

#[tokio::test]
async fn commands_find_a_way_in_where_no_address_has_the_console() -> Result<()> {
    let server =
        listening(&(listen("127.0.0.1:0", &["health"]) + &listen("127.0.0.1:0", &["openai", "console"]))).await?;
    let said = server.stdout();
    ensure!(said.contains("for this user's own `librarian` commands"), "{said}");
    let listed = server.command(&["agents", "list", "--data-dir"]).arg(server.data_dir()).output()?;
    let text = String::from_utf8(listed.stdout)?;
    ensure!(listed.status.success() && text.contains("librarian"), "{text}");
    // Their address is for nobody else.
    let own = server.urls().get(2).context("an address of their own")?.clone();
    for path in ["/v1/agents/", "/v1/models", "/console/v1/store"] {
        ensure!(Client::new(&own)?.get(path).await?.status == 401, "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn commands_use_a_configured_address_that_serves_them() -> Result<()> {
    let config = listen("127.0.0.1:0", &["health"]) + &listen("127.0.0.1:0", &["letta", "console"]);
    let server = listening(&config).await?;
    ensure!(!server.stdout().contains("  commands"), "{}", server.stdout());
    let lock: Value = serde_json::from_str(&std::fs::read_to_string(server.data_dir().join("owner.lock"))?)?;
    ensure!(lock["address"].as_str().map(|address| format!("http://{address}")).as_ref() == server.urls().get(1));
    Ok(())
}

#[tokio::test]
async fn wrong_addresses_stop_the_start() -> Result<()> {
    for (config, told) in [
        (listen("0.0.0.0:0", &["openai"]), "LIBRARIAN_API_KEY"),
        (listen("127.0.0.1:0", &["health"]) + &listen("[::]:0", &["openai"]), "LIBRARIAN_API_KEY"),
        (listen("127.0.0.1:0", &[]), "doors is empty"),
        (listen("127.0.0.1:0", &["openia"]), "unknown variant `openia`"),
        (listen("nowhere", &["openai"]), "write one as 127.0.0.1:8080"),
        (format!("[server]\nport = 0\n{}", listen("127.0.0.1:0", &["openai"])), "[server] port and [[listen]] both"),
        ("[gateway]\nsessions = 1\n".to_owned(), "unknown field `sessions`"),
        ("[[alias]]\nname = \"openai/gpt-4o\"\nagent = \"ada\"\n".to_owned(), "reads as the model handle"),
        ("[[alias]]\nname = \"a\"\nagent = \"ada\"\n".repeat(2), "two [[alias]] are named `a`"),
        ("[limits]\nbody_mib = 0\n".to_owned(), "body_mib must be 1 to 256"),
        ("[server]\nallowed_origins = [\"*\"]\n".to_owned(), "which is no origin"),
    ] {
        let said = refused(&config).await?;
        ensure!(said.contains(told), "{config}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn several_addresses_may_be_open_to_the_network_with_a_key() -> Result<()> {
    let config = listen("127.0.0.1:0", &["health"]) + &listen("0.0.0.0:0", &["openai"]);
    let server = listening(&format!("[server]\napi_key = \"{KEY}\"\n{config}")).await?;
    let port = server.urls()[1].rsplit(':').next().context("a port")?.to_owned();
    let client = Client::new(&format!("http://127.0.0.1:{port}"))?;
    ensure!(client.get("/v1/models").await?.status == 401 && client.get("/health").await?.status == 404);
    Ok(())
}

fn cors_header<'a>(reply: &'a HttpReply, name: &str) -> Option<&'a str> {
    reply.header(&format!("access-control-{name}"))
}

/// Every value of `vary`, which may be told in several lines.
fn varies(reply: &HttpReply, by: &str) -> bool {
    let values = reply.headers.get_all("vary").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|name| name.trim() == by)
}

#[tokio::test]
async fn allowed_pages_are_answered_and_others_are_not() -> Result<()> {
    let config = format!("[server]\napi_key = \"{KEY}\"\nallowed_origins = [\"{PAGE}\"]\n");
    let (file, setup) = (tempfile::tempdir()?.keep().join("librarian.toml"), setup());
    std::fs::write(&file, config)?;
    let server = TestServer::start(setup.arg("--config").arg(&file)).await?;
    let page = server.client()?.with_header("origin", PAGE)?;
    let asks = |client: Client| -> Result<Client> {
        let client = client.with_header("access-control-request-method", "POST")?;
        client.with_header("access-control-request-headers", "authorization, content-type, x-stainless-os")
    };
    for path in ["/v1/chat/completions", "/chat/completions", "/openai/v1/models", "/v1/agents/"] {
        // A browser sends no key with a preflight.
        let reply = asks(page.clone())?.send(Method::OPTIONS, path, None).await?;
        ensure!(reply.status == 204 && reply.body.is_empty(), "{path}: {}", reply.text());
        ensure!(cors_header(&reply, "allow-origin") == Some(PAGE), "{path}");
        ensure!(cors_header(&reply, "allow-methods").is_some_and(|methods| methods.contains("POST")), "{path}");
        let headers = cors_header(&reply, "allow-headers");
        ensure!(headers == Some("authorization, content-type, x-stainless-os"), "{path}: {headers:?}");
        ensure!(cors_header(&reply, "max-age").and_then(|age| age.parse::<u32>().ok()).is_some_and(|age| age > 0));
        ensure!(varies(&reply, "origin") && cors_header(&reply, "allow-credentials").is_none());
    }
    // The answer itself, and also a refusal, may be read by the page; the key decides as ever.
    let known = page.clone().with_header("authorization", &format!("Bearer {KEY}"))?;
    for (client, status) in [(&known, 200), (&page, 401)] {
        let reply = client.get("/v1/models").await?;
        ensure!(reply.status == status && cors_header(&reply, "allow-origin") == Some(PAGE), "{}", reply.text());
        ensure!(varies(&reply, "origin"));
        let exposed = cors_header(&reply, "expose-headers").context("what a page may read")?;
        for name in ["x-request-id", "retry-after", "x-ratelimit-remaining-requests", "openai-processing-ms"] {
            ensure!(exposed.split(", ").any(|one| one == name), "{name} in {exposed}");
        }
    }
    let events = known
        .post_sse(
            "/v1/chat/completions",
            &json!({"model": "librarian", "stream": true,
        "messages": [{"role": "user", "content": "Hello."}]}),
        )
        .await?;
    ensure!(events.headers["access-control-allow-origin"] == PAGE, "{:?}", events.headers);
    // Foreign pages, requests without a page, and hosts that are not ours get nothing of it.
    let foreign = server.client()?.with_header("origin", "https://evil.example")?;
    let bare = server.client()?.with_header("authorization", &format!("Bearer {KEY}"))?;
    for (reply, status) in [
        (asks(foreign.clone())?.send(Method::OPTIONS, "/v1/models", None).await?, 403),
        (foreign.get("/v1/models").await?, 403),
        (bare.get("/v1/models").await?, 200),
        (asks(server.client()?)?.send(Method::OPTIONS, "/v1/models", None).await?, 401),
    ] {
        ensure!(reply.status == status && cors_header(&reply, "allow-origin").is_none(), "{}", reply.text());
        ensure!(varies(&reply, "origin"));
    }
    let misled = asks(page)?.with_header("host", "evil.example")?.send(Method::OPTIONS, "/v1/models", None).await?;
    ensure!(misled.status == 421, "{}", misled.text());
    Ok(())
}

#[tokio::test]
async fn without_allowed_pages_nothing_is_said_about_them() -> Result<()> {
    let (server, client, _vendor) = house("").await?;
    let same = client.clone().with_header("origin", server.url())?;
    let reply = same.get("/v1/models").await?;
    ensure!(reply.status == 200 && cors_header(&reply, "allow-origin").is_none() && reply.header("vary").is_none());
    let asks = client.with_header("origin", PAGE)?.with_header("access-control-request-method", "POST")?;
    ensure!(asks.send(Method::OPTIONS, "/v1/models", None).await?.status == 403);
    Ok(())
}

#[tokio::test]
async fn the_limit_of_a_body_is_the_operators() -> Result<()> {
    let (_server, client, vendor) = house("[limits]\nbody_mib = 1\n").await?;
    let padded = |bytes: usize| {
        let mut body = ask("Hello.");
        body["padding"] = json!("x".repeat(bytes));
        body
    };
    client.post("/v1/chat/completions", &padded(1_000_000)).await?.ok()?;
    let reply = client.post("/v1/chat/completions", &padded(1_048_576)).await?;
    ensure!(reply.status == 413 && code(&reply)? == "request_too_large", "{}", reply.text());
    ensure!(reply.text().contains("the limit of 1 MiB") && reply.text().contains("body_mib"), "{}", reply.text());
    let letta = client.post("/v1/agents/", &padded(1_048_576)).await?;
    ensure!(letta.status == 413 && letta.json()?["detail"].as_str().is_some_and(|text| text.contains("1 MiB")));
    ensure!(vendor.requests().len() == 1);
    let (_server, client, vendor) = house("").await?;
    // What is inline in a history is sent again and again, so more than a few pictures fit.
    client.post("/v1/chat/completions", &padded(9 * 1_048_576)).await?.ok()?;
    ensure!(vendor.requests().len() == 1);
    Ok(())
}

#[tokio::test]
async fn sessions_are_shown_where_the_operator_wants_it() -> Result<()> {
    let (_server, client, _vendor) = house("").await?;
    let reply = client.get("/debug/sessions").await?;
    ensure!(reply.status == 404 && code(&reply)? == "unknown_url", "{}", reply.text());
    let (_server, client, _vendor) = house("[gateway]\ndebug_sessions = true\n").await?;
    super::chat(&client, "shown", &ask("Hello.")).await?.ok()?;
    let listed = client.get("/debug/sessions").await?.ok()?;
    ensure!(listed["sessions"][0]["name"] == "shown" && listed["in_memory"] == 1, "{listed}");
    let server = TestServer::start(setup().env("PROXY_DEBUG_SESSIONS", "1")).await?;
    ensure!(server.client()?.get("/debug/sessions").await?.ok()?["sessions"] == json!([]));
    Ok(())
}
