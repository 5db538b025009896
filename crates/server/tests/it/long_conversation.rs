//! Conversations ten times as long as the model's context window, against a vendor that counts for itself and refuses
//! what is too long.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::fake_vendor::{TokenRules, VendorOptions};
use testkit::{Client, FakeVendor, TestServer, VendorReply};

use crate::house::{VENDOR_MODEL, alone, say, setup, words};

const WINDOW: u32 = 8_192;
/// Characters of a conversation that is ten windows long, at five characters a token, which no vendor needs.
const LENGTH: usize = 10 * WINDOW as usize * 5;
const FIRST_FACT: &str = "The key to the boathouse hangs behind the blue door.";

async fn with_counting_vendor(count_factor: f64, reports_usage: bool) -> Result<(TestServer, Client, FakeVendor)> {
    let rules = TokenRules { window: WINDOW, count_factor };
    let vendor = FakeVendor::with(VendorOptions { reports_usage, ..VendorOptions::default() }.counting(rules))?;
    let server = TestServer::start(setup().vendor(&vendor)).await?;
    let client = server.client()?;
    Ok((server, client, vendor))
}

async fn create(client: &Client, kind: &str) -> Result<String> {
    let blocks = json!([{"label": "human", "value": ""}, {"label": "persona", "value": "Kind."}]);
    let body = json!({"name": kind, "agent_type": kind, "model": VENDOR_MODEL, "memory_blocks": blocks});
    let agent = client.post("/v1/agents/", &body).await?.ok()?;
    ensure!(agent["llm_config"]["context_window"] == WINDOW, "{agent}");
    agent["id"].as_str().map(str::to_owned).context("an agent has an id")
}

/// A message of a person: some short, some long, some with memory edits, one at a time and together.
fn turn(number: usize) -> String {
    const WORDS: [&str; 12] = [
        "harbour", "lantern", "Tuesday", "1,204", "quietly", "Größe", "invoice", "the", "if", "gardens", "mended", "猫",
    ];
    let count = match number % 10 {
        3 => 900,
        6 => 20,
        _ => 150 + 37 * (number % 7),
    };
    let text: Vec<&str> = (0..count).map(|index| WORDS[(index * 7 + number) % WORDS.len()]).collect();
    let edit = |fact: String| format!("[[tool:memory_insert {}]]", json!({"label": "human", "new_str": fact}));
    let wishes = match number % 12 {
        2 => edit(format!("Fact {number}.")),
        8 => format!("{}{}[[tools-together]]", edit(format!("A {number}.")), edit(format!("B {number}."))),
        _ => String::new(),
    };
    format!("Turn {number}. {} {wishes}[[say:Noted, that was turn {number}.]]", text.join(" "))
}

/// Talks until the conversation is long enough; every turn must be answered. Gives the number of turns.
async fn talk(client: &Client, agent: &str) -> Result<usize> {
    say(client, agent, FIRST_FACT).await?.ok()?;
    let (mut said, mut number) = (0, 0);
    while said < LENGTH {
        number += 1;
        let text = turn(number);
        said += text.len();
        let answer = say(client, agent, &text).await?.ok().with_context(|| format!("turn {number}"))?;
        ensure!(words(&answer).contains(&format!("that was turn {number}.")), "{number}: {answer}");
        ensure!(answer["stop_reason"]["stop_reason"] == "end_turn", "{number}: {answer}");
    }
    Ok(number)
}

/// Every message of the agent, oldest first.
async fn all_messages(client: &Client, agent: &str) -> Result<Vec<Value>> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after =
            all.last().and_then(|last| last["id"].as_str()).map(|id| format!("&after={id}")).unwrap_or_default();
        let page = client.get(&format!("/v1/agents/{agent}/messages?order=asc&limit=500{after}")).await?.ok()?;
        let page = page.as_array().cloned().context("a list")?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

async fn check_kept(client: &Client, agent: &str, turns: usize) -> Result<()> {
    let kept = all_messages(client, agent).await?;
    let said =
        |text: &str| kept.iter().any(|one| one["content"].as_str().is_some_and(|content| content.contains(text)));
    ensure!(said(FIRST_FACT), "the first fact is still there");
    for number in 1..=turns {
        ensure!(said(&turn(number)), "turn {number} is still there");
        ensure!(said(&format!("Noted, that was turn {number}.")), "its answer is still there");
    }
    check_found(client, agent).await
}

/// The agent itself finds what was said first, long after it left the window.
async fn check_found(client: &Client, agent: &str) -> Result<()> {
    let query = json!({"query": "where is the key of the boathouse?"});
    let text = format!("Look it up. [[tool:conversation_search {query}]][[say:Found.]]");
    let answer = say(client, agent, &text).await?.ok()?;
    let messages = answer["messages"].as_array().context("messages")?;
    let returned = messages.iter().find_map(|one| one["tool_return"].as_str()).context("a tool's return")?;
    let found: Value = serde_json::from_str(returned)?;
    ensure!(found["results"][0]["content"] == FIRST_FACT, "{found}");
    Ok(())
}

/// What the model was shown last: the system message, then one summary and no alert.
fn check_summary(vendor: &FakeVendor) -> Result<()> {
    let requests = vendor.requests();
    let last = requests.iter().rev().find(|request| !request.body["tools"].is_null()).context("a request")?;
    let content = |index: usize| last.body["messages"][index]["content"].as_str().unwrap_or_default().to_owned();
    ensure!(last.body["messages"][0]["role"] == "system");
    ensure!(content(1).contains("The following is a summary of the previous messages"), "{}", content(1));
    ensure!(content(1).contains("They spoke of this:"), "{}", content(1));
    ensure!(!content(2).contains("system_alert"), "{}", content(2));
    let summaries = requests.iter().filter(|request| request.body["tools"].is_null()).count();
    ensure!(summaries >= 10, "{summaries} summaries");
    Ok(())
}

#[tokio::test]
async fn a_conversation_of_ten_windows_is_never_refused() -> Result<()> {
    for kind in ["letta_v1_agent", "memgpt_v2_agent"] {
        let (_server, client, vendor) = with_counting_vendor(1.0, true).await?;
        let agent = create(&client, kind).await?;
        let turns = talk(&client, &agent).await?;
        ensure!(vendor.tally().too_long == 0, "{kind}: {:?}", vendor.tally());
        check_kept(&client, &agent, turns).await?;
        check_summary(&vendor)?;
    }
    Ok(())
}

#[tokio::test]
async fn a_vendor_that_counts_more_and_reports_nothing_is_recovered_from() -> Result<()> {
    for kind in ["letta_v1_agent", "memgpt_v2_agent"] {
        let (_server, client, vendor) = with_counting_vendor(1.2, false).await?;
        let agent = create(&client, kind).await?;
        let turns = talk(&client, &agent).await?;
        let tally = vendor.tally();
        ensure!(tally.too_long < turns / 10, "what was learned is used: {tally:?} in {turns} turns");
        check_kept(&client, &agent, turns).await?;
        check_summary(&vendor)?;
    }
    Ok(())
}

#[tokio::test]
async fn without_a_summariser_an_alert_stands_in_until_there_is_one() -> Result<()> {
    let (_server, client, vendor) = with_counting_vendor(1.0, true).await?;
    let agent = create(&client, "letta_v1_agent").await?;
    vendor.answer_with(|body| body["tools"].is_null().then(|| VendorReply::error(400)));
    let alert = || {
        let last = vendor.requests().pop()?;
        let content = last.body["messages"][1]["content"].as_str()?.to_owned();
        (!last.body["tools"].is_null() && content.contains("system_alert")).then_some(content)
    };
    let mut number = 0;
    let told = loop {
        number += 1;
        ensure!(number < 60, "the context never filled up");
        say(&client, &agent, &turn(number)).await?.ok()?;
        if let Some(told) = alert() {
            break told;
        }
    };
    ensure!(told.contains("could not be summarized yet: "), "{told}");
    let year = told.rsplit_once("messages of ").context(told.clone())?.1;
    ensure!(year.contains(", 20"), "the days are named: {told}");

    vendor.answer_with(|_| None);
    say(&client, &agent, "[[say:Back again.]]").await?.ok()?;
    let told = alert().context("a summary")?;
    ensure!(told.contains("They spoke of this: ") && told.contains("Turn 1."), "{told}");
    Ok(())
}

#[tokio::test]
async fn the_guide_goes_on_with_an_extract() -> Result<()> {
    let (_server, client) = alone().await?;
    let blocks = json!([{"label": "human", "value": "", "limit": 500}]);
    let body = json!({"model": "builtin/guide", "context_window_limit": WINDOW, "memory_blocks": blocks});
    let agent = client.post("/v1/agents/", &body).await?.ok()?;
    let agent = agent["id"].as_str().context("an id")?.to_owned();
    say(&client, &agent, "Remember that my cat is called Miso.").await?.ok()?;
    for number in 0..14 {
        let text = format!("Did it rain in Bergen on day {number}{}?", " and on the quay".repeat(150));
        say(&client, &agent, &text).await?.ok()?;
    }
    let context = client.get(&format!("/v1/agents/{agent}/context")).await?.ok()?;
    let summary = context["summary_memory"].as_str().context("a summary")?;
    ensure!(summary.contains("Extract of earlier messages") && summary.contains("Bergen"), "{summary}");
    ensure!(context["num_messages"].as_u64() < context["num_recall_memory"].as_u64(), "{context}");
    let answer = say(&client, &agent, "What is my cat called?").await?.ok()?;
    ensure!(words(&answer).contains("Miso"), "{answer}");
    Ok(())
}
