//! What an alias decides: how the agent answers, what of its reasoning is shown, and whether doubled escapes are undone.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::Client;

use super::{CHAT, ask, content, house, last_request, texts};
use crate::house::{VENDOR_MODEL, create_agent};

/// The words of `text` asked of an alias in the chat `s`.
fn ask_as(alias: &str, text: &str) -> Value {
    json!({"model": alias, "messages": [{"role": "user", "content": text}]})
}

/// All deltas of a streamed answer, joined by the field.
async fn streamed(client: &Client, body: &Value, field: &str) -> Result<String> {
    let mut body = body.clone();
    body["stream"] = json!(true);
    let events = client.post_sse(CHAT, &body).await?.rest().await?;
    ensure!(events.last().is_some_and(|last| last.data == "[DONE]"), "{events:?}");
    let mut joined = String::new();
    for event in &events[..events.len() - 1] {
        joined.push_str(event.json()?["choices"][0]["delta"][field].as_str().unwrap_or_default());
    }
    Ok(joined)
}

#[tokio::test]
async fn a_forced_mode_is_a_block_of_the_session_and_goes_with_the_alias() -> Result<()> {
    let config = "[[alias]]\nname = \"tool\"\nagent = \"ada\"\nmode = \"worker\"\n\
                  [[alias]]\nname = \"friend\"\nagent = \"ada\"\nmode = \"persona\"\n";
    let (_server, client, vendor) = house(config).await?;
    let client = client.with_header("x-session-id", "s")?;
    for (model, worker, persona) in [("tool", true, false), ("friend", false, true), ("ada", false, false)] {
        client.post(CHAT, &ask_as(model, "hi")).await?.ok()?;
        let request = last_request(&vendor)?;
        let system = texts(&request, "system").join("\n");
        ensure!(system.contains("Answer as a worker.") == worker, "{model}: {system}");
        ensure!(system.contains("Answer as yourself") == persona, "{model}: {system}");
        ensure!(system.contains("<answer_mode>") == (worker || persona), "{model}: {system}");
    }
    Ok(())
}

#[tokio::test]
async fn reasoning_is_shown_only_as_the_operator_says() -> Result<()> {
    let mut config = String::new();
    for shown in ["off", "reasoning_content", "reasoning", "think_tags"] {
        config.push_str(&format!("[[alias]]\nname = \"{shown}\"\nagent = \"ada\"\nreasoning = \"{shown}\"\n"));
    }
    let (_server, client, _vendor) = house(&config).await?;
    let asked = "[[think:secret thought]][[say:The answer.]]";
    for shown in ["ada", "off", "reasoning_content", "reasoning", "think_tags"] {
        let body = ask_as(shown, asked);
        let whole = client.post(CHAT, &body).await?.ok()?;
        let message = &whole["choices"][0]["message"];
        let words = message["content"].as_str().unwrap_or_default();
        ensure!(streamed(&client, &body, "content").await? == words, "{shown}: {words}");
        for field in ["reasoning_content", "reasoning"] {
            let thought = message[field].as_str().unwrap_or_default();
            let expected = Some("secret thought").filter(|_| field == shown).unwrap_or_default();
            ensure!(thought == expected, "{shown}: {message}");
            ensure!(streamed(&client, &body, field).await? == thought, "{shown}: {field}");
        }
        let expected = match shown {
            "think_tags" => "<think>\nsecret thought\n</think>\n\nThe answer.",
            _ => "The answer.",
        };
        ensure!(words == expected, "{shown}: {words}");
    }
    Ok(())
}

#[tokio::test]
async fn think_tags_show_what_the_agents_own_tools_did_and_nothing_of_what_they_said() -> Result<()> {
    let config = "[[alias]]\nname = \"open\"\nagent = \"ada\"\nreasoning = \"think_tags\"\n";
    let (_server, client, _vendor) = house(config).await?;
    let insert = json!({"label": "human", "new_str": "Owns a lathe."});
    let body = ask_as("open", &format!("[[tool:memory_insert {insert}]][[say:Noted.]]"));
    let words = content(&client.post(CHAT, &body).await?)?;
    ensure!(words.starts_with("<think>") && words.ends_with("</think>\n\nNoted."), "{words}");
    ensure!(words.contains("memory_insert: success") && !words.contains("lathe"), "{words}");
    Ok(())
}

#[tokio::test]
async fn doubled_escapes_are_undone_where_the_operator_says_and_nowhere_else() -> Result<()> {
    let config = "[[alias]]\nname = \"mended\"\nagent = \"ada\"\nunescape = \"on\"\n\
                  [[alias]]\nname = \"watched\"\nagent = \"ada\"\nunescape = \"auto\"\n\
                  [[alias]]\nname = \"plain\"\nagent = \"ada\"\nunescape = \"off\"\n\
                  [[unescape]]\nmodel = \"openai/gpt-4o-mini\"\nunescape = \"on\"\n";
    let (_server, client, _vendor) = house(config).await?;
    let table = r"| a | b |\n|---|---|\n| 1 | 2 |\n\nSee C:\new and `a\n`.";
    let mended = "| a | b |\n|---|---|\n| 1 | 2 |\n\nSee C:\\new and `a\\n`.";
    for (model, expected) in [("plain", table), ("mended", mended), ("ada", mended)] {
        let body = ask_as(model, &format!("[[say:{table}]]"));
        let whole = content(&client.post(CHAT, &body).await?)?;
        ensure!(whole == expected, "{model}: {whole}");
        let pieces = streamed(&client, &body, "content").await?;
        ensure!(pieces == expected, "{model}, streamed: {pieces}");
    }
    // A stream that is watched shows its first breaks as they came, and mends the rest.
    let watched = streamed(&client, &ask_as("watched", &format!("[[say:{table}]]")), "content").await?;
    ensure!(watched.starts_with(r"| a | b |\n|---|---|\n| 1") && watched.ends_with("`a\\n`."), "{watched}");
    ensure!(watched.contains('\n'), "{watched}");
    Ok(())
}

#[tokio::test]
async fn a_limited_key_is_not_told_what_an_alias_stands_for() -> Result<()> {
    let (server, client, _vendor) = house(
        "[[alias]]\nname = \"gpt-4o\"\nagent = \"hidden-agent\"\n[[alias]]\nname = \"o3\"\nagent = \"gone-agent\"\n",
    )
    .await?;
    create_agent(&client, "hidden-agent", VENDOR_MODEL).await?;
    let made = crate::terminal::answer(&server, &["keys", "create", "x", "--agent", "ada"])?;
    let key = made.split_whitespace().find(|word| word.starts_with("lib-")).context("a key is shown")?;
    let limited = server.client()?.with_header("authorization", &format!("Bearer {key}"))?;
    for alias in ["gpt-4o", "o3"] {
        let mut body = ask("hi");
        body["model"] = json!(alias);
        let reply = limited.post(CHAT, &body).await?;
        ensure!(reply.status == 404 && !reply.text().contains("-agent"), "{}", reply.text());
    }
    // Whoever may use all agents is told what to mend.
    let mut body = ask("hi");
    body["model"] = json!("o3");
    ensure!(client.post(CHAT, &body).await?.text().contains("gone-agent"));
    Ok(())
}
