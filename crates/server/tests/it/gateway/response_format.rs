//! Answers in a shape that the client wants: sent to vendors that hold to it, checked here for all others.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, TestServer, VendorReply};

use super::talk::{agent, agent_of_kind, ask_of, error, message, told, two_agents};
use super::{chat, house, last_request};

fn schema() -> Value {
    let schema = json!({
        "type": "object", "required": ["age"], "additionalProperties": false,
        "properties": {"age": {"type": "integer", "minimum": 0}},
    });
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "person", "strict": true, "schema": schema}}})
}

/// Agents on a vendor that can't enforce a shape: `sam` by tool, `ada` plainly.
async fn lax_vendor() -> Result<(TestServer, Client, FakeVendor)> {
    let vendor = FakeVendor::start()?;
    let config =
        format!("[[providers]]\nname = \"lax\"\nbase_url = \"{}\"\ndefault_model = \"gpt-4o-mini\"\n", vendor.url());
    let (server, client, _) = house(&config).await?;
    agent_of_kind(&client, "sam", "memgpt_v2_agent", "lax/gpt-4o-mini").await?;
    agent_of_kind(&client, "plain", "letta_v1_agent", "lax/gpt-4o-mini").await?;
    Ok((server, client, vendor))
}

#[tokio::test]
async fn a_vendor_that_enforces_is_asked_to_and_only_in_that_run() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let before = agent(&client, "ada").await?;
    for more in [schema(), json!({"response_format": {"type": "json_object"}})] {
        vendor.push(VendorReply::say("{\"age\": 3}"));
        let (said, _) = message(&chat(&client, "s", &ask_of("ada", "Who?", more.clone())).await?)?;
        ensure!(said["content"] == "{\"age\": 3}");
        ensure!(last_request(&vendor)?["response_format"] == more["response_format"]);
        chat(&client, "s", &ask_of("ada", "And now?", json!({}))).await?.ok()?;
        ensure!(last_request(&vendor)?.get("response_format").is_none());
    }
    ensure!(agent(&client, "ada").await?["response_format"] == before["response_format"]);
    Ok(())
}

/// What is said by a tool is no vendor's business, so it is checked here.
#[tokio::test]
async fn words_that_travel_in_a_tool_are_held_to_the_shape_too() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    vendor.push(VendorReply::say("I am three years old."));
    vendor.push(VendorReply::call("send_message", json!({"message": {"age": 3}})));
    let (said, _) = message(&chat(&client, "s", &ask_of("sam", "Age?", schema())).await?)?;
    ensure!(said["content"] == "{\"age\":3}" && vendor.remaining() == 0, "{said}");
    Ok(())
}

#[tokio::test]
async fn an_answer_is_held_until_it_fits_and_asked_for_again_twice_at_most() -> Result<()> {
    let (_server, client, vendor) = lax_vendor().await?;
    for name in ["plain", "sam"] {
        for is_streamed in [false, true] {
            let session = format!("{name}{is_streamed}");
            vendor.push(VendorReply::say("Sure! It is 3."));
            vendor.push(VendorReply::say("{\"age\": -3}"));
            vendor.push(VendorReply::say("```json\n{\"age\": 3}\n```"));
            let body = ask_of(name, "Age?", schema());
            let (content, _, finish) = told(&client, &session, &body, is_streamed).await?;
            ensure!(finish == "stop");
            let bare = content.trim_start_matches("```json").trim_matches(['`', '\n']);
            ensure!(serde_json::from_str::<Value>(bare)? == json!({"age": 3}), "{content}");
            ensure!(name == "sam" || content == "{\"age\": 3}", "{content}");
            ensure!(!content.contains("Sure") && vendor.remaining() == 0, "{content}");
            // The model was told what was wrong; neither that nor the misfits are part of the session.
            let last = last_request(&vendor)?.to_string();
            ensure!(last.contains("can't be used") && last.contains("Sure! It is 3."), "{last}");
            chat(&client, &session, &ask_of(name, "Thanks.", json!({}))).await?.ok()?;
            let later = last_request(&vendor)?.to_string();
            ensure!(!later.contains("can't be used") && !later.contains("Sure!") && !later.contains("JSON Schema"));
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_that_never_fits_is_an_error_and_leaves_nothing() -> Result<()> {
    let (_server, client, vendor) = lax_vendor().await?;
    for (name, is_streamed) in [("plain", false), ("plain", true), ("sam", false), ("sam", true)] {
        let session = format!("{name}{is_streamed}");
        vendor.clear();
        (0..3).for_each(|_| vendor.push(VendorReply::say("never")));
        let body = super::talk::with(ask_of(name, "Age?", schema()), json!({"stream": is_streamed}));
        let (status, error) = error(&chat(&client, &session, &body).await?)?;
        ensure!(status == 502 && error["code"] == "invalid_response_format", "{status} {error}");
        ensure!(error["param"] == "response_format" && vendor.requests().len() == 3);
        chat(&client, &session, &ask_of(name, "Hi.", json!({}))).await?.ok()?;
        ensure!(!last_request(&vendor)?.to_string().contains("Age?"));
    }
    let bad =
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "nope"}}}});
    let (status, error) = error(&chat(&client, "bad", &ask_of("plain", "Age?", bad)).await?)?;
    ensure!(status == 400 && error["code"] == "invalid_json_schema", "{error}");
    Ok(())
}
