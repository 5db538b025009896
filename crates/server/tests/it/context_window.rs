//! What fills a context window, through Letta's door and on the command line.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::house::{VENDOR_MODEL, create_agent, say, with_vendor};

#[tokio::test]
async fn the_parts_of_a_context_add_up_and_are_shown() -> Result<()> {
    let (server, client, vendor) = with_vendor().await?;
    let agent = create_agent(&client, "witness", VENDOR_MODEL).await?;
    let insert = json!({"label": "human", "new_str": "Likes oolong tea."});
    say(&client, &agent, &format!("[[tool:memory_insert {insert}]][[say:Noted.]]")).await?.ok()?;
    let shown = client.get(&format!("/v1/agents/{agent}/context")).await?.ok()?;
    let number = |name: &str| shown[name].as_u64().unwrap_or_default();
    let parts = shown.as_object().context("an object")?.iter().filter(|(name, _)| name.starts_with("num_tokens_"));
    let sum: u64 = parts.filter_map(|(_, value)| value.as_u64()).sum();
    ensure!(number("context_window_size_current") == sum && sum > 500, "{sum}");
    ensure!(number("context_window_size_max") == 128_000);
    ensure!(shown["core_memory"].as_str().is_some_and(|text| text.contains("Likes oolong tea.")));
    ensure!(shown["external_memory_summary"].as_str().is_some_and(|text| text.starts_with("<memory_metadata>")));
    // The messages and tools are those that the model is sent.
    let sent = vendor.requests().pop().context("a request")?;
    let names = |list: &Value| -> Vec<String> {
        let tools = list.as_array().into_iter().flatten();
        tools.map(|tool| tool["function"]["name"].to_string()).collect()
    };
    ensure!(names(&shown["functions_definitions"]) == names(&sent.body["tools"]));
    let roles: Vec<&str> =
        shown["messages"].as_array().into_iter().flatten().filter_map(|message| message["role"].as_str()).collect();
    ensure!(roles == ["system", "user", "assistant", "tool", "assistant"], "{roles:?}");

    let command = server.command(&["context", "witness", "--data-dir"]).arg(server.data_dir()).output()?;
    let text = String::from_utf8_lossy(&command.stdout).into_owned();
    ensure!(command.status.success(), "{command:?}");
    ensure!(text.starts_with("witness  ") && text.contains("b memory blocks") && !text.contains('\x1b'), "{text}");
    let command = server.command(&["context", "witness", "--json", "--data-dir"]).arg(server.data_dir()).output()?;
    let told: Value = serde_json::from_slice(&command.stdout)?;
    ensure!(told == shown);
    let missing = client.get("/v1/agents/agent-00000000-0000-4000-8000-000000000009/context").await?;
    ensure!(missing.status == 404);
    Ok(())
}
