//! Under which names and with which schemas a model sees the client's tools, and what the client sees of that.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::VendorReply;

use super::talk::{BOTH, ask_of, error, message, offered, pairs, result, told, tool, two_agents};
use super::{chat, content, last_request};

#[tokio::test]
async fn names_that_collide_are_long_or_odd_are_mapped_there_and_back() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let long = format!("mcp__{}__search", "very_long_server_name".repeat(3));
    let odd = "files.read";
    for (number, asked) in ["core_memory_append", "memory_insert", "send_message", &long[..64], odd].iter().enumerate()
    {
        for name in BOTH {
            let session = format!("{name}{number}");
            let tools = json!({"tools": [tool(asked)], "tool_choice": "required"});
            // Only the client's tools are offered where one is demanded, so this shows the mapped name.
            chat(&client, &format!("{session}-look"), &ask_of(name, "Hi.", tools)).await?.ok()?;
            let shown = offered(&last_request(&vendor)?).pop().context("it is offered")?;
            ensure!(shown.len() <= 48 && !shown.contains('.'), "{shown}");
            ensure!(shown != "send_message", "words of the agent and calls of the client can't be told apart");
            vendor.push(VendorReply::call(&shown, json!({"city": "Oslo"})).verbatim());
            let body = ask_of(name, "Go.", json!({"tools": [tool(asked)]}));
            let names = |request: &Value| offered(request).iter().filter(|name| **name == shown).count();
            let (_, calls, _) = told(&client, &session, &body, number % 2 == 0).await?;
            ensure!(names(&last_request(&vendor)?) == 1, "{:?}", offered(&last_request(&vendor)?));
            ensure!(calls[0]["function"]["name"] == **asked, "{calls:?} for {asked}");
            let id = calls[0]["id"].as_str().context("an id")?;
            let body = json!({"model": name, "messages": [result(id, "read")], "tools": [tool(asked)]});
            ensure!(!content(&chat(&client, &session, &body).await?)?.is_empty());
            ensure!(pairs(&last_request(&vendor)?)?.contains(&(shown.clone(), "read".into())), "{shown}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn two_tools_that_are_alike_after_mapping_stay_two() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let tools: Vec<Value> =
        ["a.b", "a_b", "client_send_message", "send_message"].iter().map(|name| tool(name)).collect();
    let body = ask_of("ada", "Hi.", json!({"tools": tools, "tool_choice": "required"}));
    chat(&client, "s", &body).await?.ok()?;
    let names = offered(&last_request(&vendor)?);
    let mut unique = names.clone();
    unique.sort();
    unique.dedup();
    ensure!(names.len() == 4 && unique.len() == 4, "{names:?}");
    // Each leads back to its own.
    for (shown, own) in names.iter().zip(["a.b", "a_b", "client_send_message", "send_message"]) {
        vendor.push(VendorReply::call(shown, json!({"city": "Oslo"})).verbatim());
        let (called, _) = message(&chat(&client, own, &body).await?)?;
        ensure!(called["tool_calls"][0]["function"]["name"] == own, "{called}");
    }
    Ok(())
}

#[tokio::test]
async fn schemas_reach_the_model_as_the_client_wrote_them() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["filter", "class"],
        "properties": {
            "filter": {"$ref": "#/$defs/filter"},
            "class": {"type": "string", "enum": ["a", "b"], "x-own": {"deep": [1, null]}},
            "where-to": {"type": ["string", "null"], "default": null},
            "thinking": {"type": "boolean"}, "request_heartbeat": {"type": "integer"},
        },
        "$defs": {"filter": {"type": "object", "properties": {"next": {"$ref": "#/$defs/filter"}}}},
    });
    let function = json!({"name": "find", "description": "Finds.", "parameters": schema, "strict": true});
    let given = json!({"type": "function", "function": function});
    for name in BOTH {
        let arguments = json!({"filter": {}, "class": "a", "thinking": true, "request_heartbeat": 3});
        vendor.push(VendorReply::call("find", arguments.clone()).verbatim());
        let (called, _) = message(&chat(&client, name, &ask_of(name, "Find.", json!({"tools": [given]}))).await?)?;
        let request = last_request(&vendor)?;
        let seen = request["tools"].as_array().context("tools")?.iter().find(|tool| tool["function"]["name"] == "find");
        // As text, because the order of fields counts for vendors' caches.
        let (seen, wanted) = (seen.context("it is offered")?.to_string(), given.to_string());
        ensure!(seen == wanted, "{seen}");
        // Arguments that the client's own schema has stay, whatever the runtime calls so.
        let text = called["tool_calls"][0]["function"]["arguments"].as_str().context("arguments")?;
        ensure!(serde_json::from_str::<Value>(text)? == arguments, "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn tools_that_can_not_be_offered_are_refused_by_name() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let many: Vec<Value> = (0..600).map(|number| tool(&format!("t{number}"))).collect();
    for (more, param, part) in [
        (json!({"tools": [tool(&"x".repeat(300))]}), "tools", "needs a name"),
        (json!({"tools": [tool("a b")]}), "tools", "needs a name"),
        (json!({"tools": [tool("a"), tool("a")]}), "tools", "Two of the"),
        (json!({"tools": [{"type": "custom", "custom": {"name": "x"}}]}), "tools", "custom"),
        (json!({"tools": [{"type": "function"}]}), "tools", "has no `function`"),
        (json!({"tools": many}), "tools", "more than"),
        (json!({"tools": "all"}), "tools", "must be an array"),
        (
            json!({"tools": [tool("a")], "tool_choice": {"type": "function", "function": {"name": "b"}}}),
            "tool_choice",
            "`b`",
        ),
        (json!({"tool_choice": "required"}), "tool_choice", "no tools"),
        (json!({"tools": [tool("a")], "tool_choice": "maybe"}), "tool_choice", "none, auto, required"),
        (json!({"tools": [tool("a")], "functions": [{"name": "b"}]}), "functions", "not both"),
        (json!({"tools": [tool("a")], "parallel_tool_calls": "no"}), "parallel_tool_calls", "true or false"),
    ] {
        let (status, error) = error(&chat(&client, "s", &ask_of("sam", "Hi.", more)).await?)?;
        let text = error["message"].as_str().unwrap_or_default();
        ensure!(status == 400 && error["param"] == param && text.contains(part), "{error} for {param} {part}");
        ensure!(error["type"] == "invalid_request_error");
    }
    let long = json!({"role": "tool", "tool_call_id": "x".repeat(300), "content": "r"});
    let (status, error) = error(&chat(&client, "s", &json!({"model": "sam", "messages": [long]})).await?)?;
    ensure!(status == 400 && error["message"].as_str().unwrap_or_default().contains("256"), "{error}");
    ensure!(vendor.requests().is_empty());
    Ok(())
}
