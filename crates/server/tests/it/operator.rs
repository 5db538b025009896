//! What an operator sees and decides: limits of OpenAI's door, one log line for each call, and figures.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, HttpReply, TestServer};

use crate::gateway::{CHAT, ask};
use crate::house::{VENDOR_MODEL, create_agent, setup};

/// How long something may take to become true.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with the agent `ada`, what the operator wrote into its configuration, and log lines as JSON.
async fn house(config: &str, log: &str) -> Result<(TestServer, Client, FakeVendor)> {
    let vendor = FakeVendor::start()?;
    let folder = tempfile::tempdir()?.keep();
    let file = folder.join("librarian.toml");
    std::fs::write(&file, config)?;
    let setup = setup().vendor(&vendor).env("LIBRARIAN_LOG", log).env("LIBRARIAN_LOG_FORMAT", "json");
    let server = TestServer::start(setup.arg("--config").arg(&file)).await?;
    let client = server.client()?;
    create_agent(&client, "ada", VENDOR_MODEL).await?;
    Ok((server, client, vendor))
}

fn streamed(text: &str) -> Value {
    let mut body = ask(text);
    body["stream"] = json!(true);
    body
}

/// Sends until the answer is a refusal.
async fn exhaust(client: &Client) -> Result<HttpReply> {
    for _ in 0..500 {
        let reply = client.get("/v1/models").await?;
        if reply.status != 200 {
            return Ok(reply);
        }
    }
    bail!("nothing was ever refused")
}

fn number(reply: &HttpReply, header: &str) -> Result<u64> {
    Ok(reply.header(header).with_context(|| format!("{header} is there"))?.parse()?)
}

#[tokio::test]
async fn requests_are_limited_and_come_back() -> Result<()> {
    let (_server, client, _vendor) =
        house("[gateway]\ndebug_sessions = true\n[limits]\nrequests_per_minute = 40\n", "info").await?;
    let first = client.get("/v1/models").await?;
    ensure!(first.status == 200 && number(&first, "x-ratelimit-limit-requests")? == 40);
    ensure!(number(&first, "x-ratelimit-remaining-requests")? == 39);
    let reset = first.header("x-ratelimit-reset-requests").context("told")?;
    ensure!(reset.ends_with('s'), "{reset}");
    ensure!(first.header("x-ratelimit-limit-tokens").is_none());
    let refused = exhaust(&client).await?;
    let error = &refused.json()?["error"];
    ensure!(refused.status == 429 && error["code"] == "rate_limit_exceeded" && error["type"] == "requests", "{error}");
    ensure!(error["message"].as_str().is_some_and(|text| text.contains("40 requests a minute")), "{error}");
    let (seconds, millis) = (number(&refused, "retry-after")?, number(&refused, "retry-after-ms")?);
    ensure!((1..=2).contains(&seconds) && (1..=1_500).contains(&millis), "{seconds} s, {millis} ms");
    ensure!(refused.header("x-should-retry") == Some("true"));
    ensure!(number(&refused, "x-ratelimit-remaining-requests")? == 0);
    ensure!(refused.header("x-request-id").is_some() && refused.header("openai-version").is_some());
    // Other doors have no such limits.
    ensure!(client.get("/v1/agents/").await?.status == 200);
    ensure!(client.get("/debug/sessions").await?.status == 200);
    // Whoever waits as told is let in.
    tokio::time::sleep(Duration::from_millis(millis)).await;
    let again = client.get("/v1/models").await?;
    ensure!(again.status == 200, "{}", again.text());
    Ok(())
}

#[tokio::test]
async fn tokens_are_charged_when_they_are_known() -> Result<()> {
    let (_server, client, _vendor) = house("[limits]\ntokens_per_minute = 1000\n", "info").await?;
    let before = client.get("/v1/models").await?;
    ensure!(number(&before, "x-ratelimit-remaining-tokens")? == 1000);
    // The prompt of an agent is longer than that, so one answer uses up more than a minute's worth.
    let answered = client.post(CHAT, &ask("hello")).await?;
    let used = answered.ok()?["usage"]["total_tokens"].as_u64().context("usage")?;
    ensure!(used > 1000, "{used}");
    ensure!(number(&answered, "x-ratelimit-remaining-tokens")? == 0);
    let refused = client.post(CHAT, &ask("again")).await?;
    let error = &refused.json()?["error"];
    ensure!(refused.status == 429 && error["type"] == "tokens" && error["code"] == "rate_limit_exceeded", "{error}");
    // Everything above the limit is owed, and a thousand come back in a minute.
    let (owed_ms, wait_ms) = ((used - 1000) * 60, number(&refused, "retry-after-ms")?);
    ensure!(wait_ms <= owed_ms + 60 && wait_ms + 10_000 > owed_ms, "{wait_ms} of {owed_ms}");
    Ok(())
}

#[tokio::test]
async fn an_open_stream_counts_until_its_client_leaves() -> Result<()> {
    let (_server, client, _vendor) = house("[limits]\nconcurrent_requests = 2\n", "info").await?;
    // Streams of two sessions that say a word and then nothing more.
    let mut held = Vec::new();
    for session in ["one", "two"] {
        let client = client.clone().with_header("x-session-id", session)?;
        let mut reader = client.post_sse(CHAT, &streamed("[[stall]]")).await?;
        ensure!(reader.status == 200 && reader.next().await?.is_some());
        held.push(reader);
    }
    let refused = client.get("/v1/models").await?;
    let error = &refused.json()?["error"];
    ensure!(refused.status == 429 && refused.header("retry-after") == Some("1"), "{error}");
    ensure!(error["message"].as_str().is_some_and(|text| text.contains("2 requests open at once")), "{error}");
    held.pop();
    until(async || Ok(client.get("/v1/models").await?.status == 200)).await?;
    drop(held);
    // A stream that is read to its end gives its place back too, however often.
    for _ in 0..5 {
        let mut reader = client.post_sse(CHAT, &streamed("[[say:done]]")).await?;
        ensure!(reader.status == 200);
        reader.rest().await?;
    }
    Ok(())
}

#[tokio::test]
async fn clients_that_hang_up_leave_no_place_taken() -> Result<()> {
    const PLACES: usize = 4;
    let (_server, client, _vendor) = house(&format!("[limits]\nconcurrent_requests = {PLACES}\n"), "info").await?;
    for round in 0..40 {
        let client = client.clone().with_header("x-session-id", &format!("{}", round % 8))?;
        // Some leave before there is an answer, some in the middle, some while they wait for their turn.
        let (body, patience) = (streamed("[[delay:20]][[stall]]"), Duration::from_millis(round * 3 % 50));
        let reading = async { client.post_sse(CHAT, &body).await?.rest().await };
        // Refusals are as good as answers here; only those that end too early would say nothing about hang-ups.
        drop(tokio::time::timeout(patience, reading).await);
    }
    until(async || Ok(figure(&client, "librarian_streams_open{door=\"openai\"}").await? == 0.0)).await?;
    until(async || Ok(figure(&client, "librarian_runs_open").await? == 0.0)).await?;
    until(async || Ok(client.get("/v1/models").await?.status == 200)).await?;
    let mut held = Vec::new();
    for place in 0..PLACES {
        let client = client.clone().with_header("x-session-id", &format!("new-{place}"))?;
        let reader = client.post_sse(CHAT, &streamed("[[stall]]")).await?;
        ensure!(reader.status == 200, "place {place} is still taken");
        held.push(reader);
    }
    ensure!(client.get("/v1/models").await?.status == 429);
    Ok(())
}

/// Looks again and again until it is true.
async fn until(mut look: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let begin = Instant::now();
    while !look().await? {
        ensure!(begin.elapsed() < PATIENCE, "it never became true");
        // The connection that was dropped is closed by the same thread.
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[tokio::test]
async fn every_answer_of_the_door_says_who_asked_and_how_long_it_took() -> Result<()> {
    let (_server, client, _vendor) = house("", "info").await?;
    let mut unknown = ask("hello");
    unknown["model"] = json!("nobody");
    let replies = [
        (200, client.get("/v1/models").await?),
        (200, client.post(CHAT, &ask("hello")).await?),
        (404, client.post(CHAT, &unknown).await?),
        (400, client.post(CHAT, &json!({})).await?),
        (404, client.get("/v1/responses").await?),
        (200, client.post("/v1/embeddings", &json!({"model": "builtin/embedding", "input": "x"})).await?),
    ];
    for (status, reply) in replies {
        ensure!(reply.status == status, "{}", reply.text());
        ensure!(reply.header("x-request-id").is_some_and(|id| id.starts_with("req-")));
        ensure!(reply.header("openai-version") == Some("2020-10-01"));
        number(&reply, "openai-processing-ms")?;
        ensure!(reply.header("x-ratelimit-limit-requests").is_none());
    }
    let stream = client.post_sse(CHAT, &streamed("hello")).await?;
    ensure!(stream.headers.contains_key("openai-processing-ms") && stream.headers.contains_key("x-request-id"));
    Ok(())
}

/// The lines that calls wrote, for one path.
fn lines(server: &TestServer, path: &str) -> Result<Vec<Value>> {
    let text = server.stderr();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let all = complete.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
    Ok(all.into_iter().filter(|line| line["target"] == "request" && line["path"] == path).collect())
}

#[tokio::test]
async fn each_call_writes_one_line_without_content() -> Result<()> {
    let (server, client, _vendor) = house("", "info").await?;
    let client = client.with_header("x-client-request-id", "mine-7")?.with_header("x-session-id", "SECRET-session")?;
    let mut body = ask("SECRET-question [[say:SECRET-answer]]");
    body["user"] = json!("SECRET-person");
    client.post(&format!("{CHAT}?SECRET-query"), &body).await?.ok()?;
    body["stream"] = json!(true);
    client.post_sse(CHAT, &body).await?.rest().await?;
    // One that hangs up in the middle.
    body["messages"][0]["content"] = json!("SECRET-question [[say:SECRET]][[stall]]");
    let mut reader = client.post_sse(CHAT, &body).await?;
    ensure!(reader.next().await?.is_some());
    drop(reader);
    until(async || Ok(lines(&server, CHAT)?.len() >= 3)).await?;
    client.post(CHAT, &json!({"model": "nobody", "messages": []})).await?;
    until(async || Ok(lines(&server, CHAT)?.len() >= 4)).await?;
    let written = lines(&server, CHAT)?;
    let ends: Vec<_> = written.iter().map(|line| line["end"].as_str().unwrap_or_default()).collect();
    ensure!(ends == ["complete", "complete", "client_left", "complete"], "{written:?}");
    for line in &written[..3] {
        ensure!(line["level"] == "INFO" && line["method"] == "POST" && line["client_id"] == "mine-7", "{line}");
        ensure!(line["status"] == 200 && line["model"] == "ada" && line["took_ms"].is_u64(), "{line}");
        for id in ["id", "agent", "conversation", "run"] {
            ensure!(line[id].as_str().is_some_and(|id| id.contains('-')), "{id} of {line}");
        }
        ensure!(line["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{line}");
    }
    for line in &written[..2] {
        ensure!(line["tokens_in"].as_u64() > Some(0) && line["tokens_out"].as_u64() > Some(0), "{line}");
        ensure!(line["stop_reason"] == "end_turn", "{line}");
    }
    ensure!(written[0]["streamed"] == false && written[0].get("first_byte_ms").is_none());
    ensure!(written[1]["streamed"] == true && written[1]["first_byte_ms"].is_u64());
    ensure!(written[2].get("tokens_in").is_none(), "{}", written[2]);
    ensure!(written[3]["status"] == 400, "{}", written[3]);
    ensure!(!server.stderr().contains("SECRET"), "{}", server.stderr());
    Ok(())
}

#[tokio::test]
async fn the_lines_can_be_silenced() -> Result<()> {
    let (server, client, _vendor) = house("", "info,request=off").await?;
    client.post(CHAT, &ask("hello")).await?.ok()?;
    // The run's own line comes before the answer does.
    until(async || Ok(server.stderr().contains("stop_reason"))).await?;
    ensure!(lines(&server, CHAT)?.is_empty());
    Ok(())
}

/// A row of the figures, by its name with labels.
async fn figure(client: &Client, row: &str) -> Result<f64> {
    let page = client.get("/metrics").await?;
    ensure!(page.status == 200 && page.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
    let text = page.text();
    let value = text.lines().find_map(|line| line.strip_prefix(row)?.strip_prefix(' '));
    value.map_or(Ok(0.0), |value| Ok(value.parse()?))
}

#[tokio::test]
async fn figures_count_calls_streams_and_those_who_left() -> Result<()> {
    let config = "[limits]\nconcurrent_requests = 1\n";
    let (_server, client, _vendor) = house(config, "info").await?;
    for _ in 0..3 {
        client.post(CHAT, &ask("hello [[say:SECRET-word]]")).await?.ok()?;
    }
    ensure!(client.post(CHAT, &json!({})).await?.status == 400);
    client.post_sse(CHAT, &streamed("hello")).await?.rest().await?;
    let mut left =
        client.clone().with_header("x-session-id", "SECRET-s")?.post_sse(CHAT, &streamed("[[stall]]")).await?;
    ensure!(left.next().await?.is_some());
    ensure!(figure(&client, "librarian_streams_open{door=\"openai\"}").await? == 1.0);
    ensure!(figure(&client, "librarian_runs_open").await? == 1.0);
    ensure!(client.get("/v1/models").await?.status == 429);
    drop(left);
    until(async || Ok(figure(&client, "librarian_streams_open{door=\"openai\"}").await? == 0.0)).await?;
    until(async || Ok(figure(&client, "librarian_runs_total{stop_reason=\"cancelled\"}").await? == 1.0)).await?;
    let chat = "door=\"openai\",route=\"/v1/chat/completions\"";
    let rows = [
        (format!("librarian_requests_total{{{chat},status=\"2xx\"}}"), 5.0),
        (format!("librarian_requests_total{{{chat},status=\"4xx\"}}"), 1.0),
        (format!("librarian_request_seconds_count{{{chat}}}"), 6.0),
        (format!("librarian_stream_first_byte_seconds_count{{{chat}}}"), 2.0),
        ("librarian_streams_total{door=\"openai\",end=\"complete\"}".to_owned(), 1.0),
        ("librarian_streams_total{door=\"openai\",end=\"client_left\"}".to_owned(), 1.0),
        ("librarian_runs_total{stop_reason=\"end_turn\"}".to_owned(), 4.0),
        ("librarian_rate_limit_refusals_total{limit=\"concurrency\"}".to_owned(), 1.0),
        ("librarian_run_wait_seconds_count".to_owned(), 5.0),
        ("librarian_runs_waiting".to_owned(), 0.0),
        ("librarian_runs_open".to_owned(), 0.0),
        ("librarian_sessions_in_memory".to_owned(), 2.0),
    ];
    for (row, expected) in rows {
        let found = figure(&client, &row).await?;
        ensure!(found == expected, "{row}: {found}");
    }
    for direction in ["in", "out"] {
        let row = format!("librarian_tokens_total{{model=\"{VENDOR_MODEL}\",direction=\"{direction}\"}}");
        ensure!(figure(&client, &row).await? > 0.0, "{row}");
    }
    ensure!(figure(&client, "librarian_store_commits_total{result=\"durable\"}").await? > 5.0);
    ensure!(!client.get("/metrics").await?.text().contains("SECRET"));
    Ok(())
}

#[tokio::test]
async fn figures_want_the_key_like_any_door() -> Result<()> {
    let server = TestServer::start(setup().env("LIBRARIAN_API_KEY", "operator-key")).await?;
    let stranger = server.client()?;
    ensure!(stranger.get("/metrics").await?.status == 401);
    let refused = stranger.get("/v1/models").await?;
    ensure!(refused.status == 401 && refused.header("openai-version").is_some());
    let operator = stranger.with_header("authorization", "Bearer operator-key")?;
    ensure!(operator.get("/metrics").await?.status == 200);
    // A refused call is counted as well.
    ensure!(
        figure(&operator, "librarian_requests_total{door=\"openai\",route=\"/v1/models\",status=\"4xx\"}").await?
            == 1.0
    );
    Ok(())
}

/// What its client saw a request take.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Took {
    Tokens(u64, u64),
    /// Events of a stream that told no tokens.
    Events(u64),
}

/// Sends a request and reads its answer to the end.
async fn took(client: &Client, path: &str, body: &Value) -> Result<Took> {
    let told = |usage: &Value| {
        let count = |name: &str| usage[name].as_u64().unwrap_or_default();
        Took::Tokens(count("prompt_tokens"), count("completion_tokens"))
    };
    if body["stream"] != true {
        return Ok(told(&client.post(path, body).await?.ok()?["usage"]));
    }
    let events = client.post_sse(path, body).await?.rest().await?;
    let events = events.iter().filter(|event| event.data != "[DONE]").map(|event| event.json());
    let events = events.collect::<Result<Vec<Value>>>()?;
    let usage = events.iter().map(|event| &event["usage"]).rfind(|usage| usage.is_object());
    Ok(usage.map_or(Took::Events(events.len() as u64), told))
}

#[tokio::test]
async fn what_needs_no_agent_is_counted_too() -> Result<()> {
    let mut whole = ask("hello [[say:one two three]]");
    whole["model"] = json!(VENDOR_MODEL);
    let mut streamed = whole.clone();
    streamed["stream"] = json!(true);
    let mut told = streamed.clone();
    told["stream_options"] = json!({"include_usage": true});
    let older = json!({"model": VENDOR_MODEL, "prompt": "hello"});
    let vectors = json!({"model": "builtin/embedding", "input": "one two three"});
    let config = "[gateway]\npass_through = true\n[limits]\ntokens_per_minute = 2\n";
    for (path, body, tells) in [
        (CHAT, &whole, true),
        (CHAT, &told, true),
        (CHAT, &streamed, false),
        ("/v1/completions", &older, true),
        ("/v1/embeddings", &vectors, true),
    ] {
        let (server, client, _vendor) = house(config, "info").await?;
        let begin = Instant::now();
        let took = took(&client, path, body).await?;
        ensure!(matches!(took, Took::Tokens(..)) == tells, "{body}: {took:?}");
        until(async || Ok(!lines(&server, path)?.is_empty())).await?;
        let line = lines(&server, path)?.remove(0);
        let logged = (line["tokens_in"].as_u64(), line["tokens_out"].as_u64());
        let model = body["model"].as_str().context("a model")?;
        let row = |direction| format!("librarian_tokens_total{{model=\"{model}\",direction=\"{direction}\"}}");
        let counted = (figure(&client, &row("in")).await?, figure(&client, &row("out")).await?);
        let all = match took {
            Took::Tokens(read, written) => {
                ensure!(read > 0 && logged == (Some(read), Some(written)), "{took:?}: {line}");
                ensure!(counted == (read as f64, written as f64), "{took:?}: {counted:?}");
                read + written
            }
            Took::Events(events) => {
                ensure!(logged == (None, None) && counted == (0.0, 0.0), "{line}");
                events
            }
        };
        ensure!((3..100).contains(&all), "{took:?}");
        // One comes back in half a minute, and the key has to own one.
        let refused = client.get("/v1/models").await?;
        ensure!(refused.status == 429 && refused.json()?["error"]["type"] == "tokens", "{}", refused.text());
        let (wait, due) = (number(&refused, "retry-after-ms")?, (all - 1) * 30_000);
        ensure!(wait <= due && wait + begin.elapsed().as_millis() as u64 + 1 >= due, "{took:?}: {wait} of {due}");
    }
    Ok(())
}
