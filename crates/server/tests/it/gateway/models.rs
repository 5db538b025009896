//! Who can be asked: agents and aliases as models, and what a name means.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::Client;

use super::{CHAT, ask, chat, house, last_request, texts};
use crate::house::{VENDOR_MODEL, create_agent};

/// The ids that the list shows, but for the first agent's.
async fn listed(client: &Client) -> Result<Vec<String>> {
    let list = client.get("/v1/models").await?.ok()?;
    ensure!(list["object"] == "list", "{list}");
    let models = list["data"].as_array().context("a list")?;
    for model in models {
        ensure!(model["object"] == "model" && model["created"].is_u64() && model["owned_by"].is_string(), "{model}");
    }
    let ids = models.iter().filter_map(|model| model["id"].as_str()).filter(|id| *id != "librarian");
    Ok(ids.map(str::to_owned).collect())
}

fn ask_for(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "Hello."}]})
}

#[tokio::test]
async fn agents_are_models_from_the_moment_they_are_made() -> Result<()> {
    let (_server, client, _vendor) = house("").await?;
    ensure!(listed(&client).await? == ["ada"]);
    let id = create_agent(&client, "a new one: v2/b", VENDOR_MODEL).await?;
    ensure!(listed(&client).await? == ["ada", "a new one: v2/b"]);
    for name in ["a new one: v2/b", &id] {
        ensure!(client.post(CHAT, &ask_for(name)).await?.ok()?["model"] == name, "{name}");
    }
    client.delete(&format!("/v1/agents/{id}")).await?.ok()?;
    ensure!(listed(&client).await? == ["ada"] && client.post(CHAT, &ask_for(&id)).await?.status == 404);
    Ok(())
}

#[tokio::test]
async fn an_id_may_hold_slashes_and_colons_raw_and_encoded() -> Result<()> {
    let (_server, client, _vendor) = house("[gateway]\npass_through = true\n").await?;
    create_agent(&client, "team/a:b c", VENDOR_MODEL).await?;
    for (path, id) in [
        ("team/a:b%20c", "team/a:b c"),
        ("team%2Fa%3Ab%20c", "team/a:b c"),
        ("team%2fa:b%20c", "team/a:b c"),
        ("openai/gpt-4o-mini", VENDOR_MODEL),
        ("openai%2Fgpt-4o-mini", VENDOR_MODEL),
        ("ada", "ada"),
    ] {
        for prefix in ["/v1", "", "/openai/v1"] {
            let model = client.get(&format!("{prefix}/models/{path}")).await?.ok()?;
            ensure!(model["id"] == id && model["object"] == "model", "{prefix} {path}: {model}");
        }
    }
    for path in ["%FF", "team/a", "ada/", "openai/no-such-model"] {
        let reply = client.get(&format!("/v1/models/{path}")).await?;
        let wanted = if path == "%FF" { 400 } else { 404 };
        ensure!(reply.status == wanted && reply.json()?["error"]["message"].is_string(), "{path}: {}", reply.text());
    }
    Ok(())
}

#[tokio::test]
async fn lettas_list_stays_lettas() -> Result<()> {
    let (_server, client, _vendor) = house("").await?;
    ensure!(client.get("/v1/models").await?.ok()?["object"] == "list");
    for path in ["/v1/models/", "/v1/models/embedding"] {
        ensure!(client.get(path).await?.ok()?.is_array(), "{path}");
    }
    for path in ["/openai/v1/models/", "/models/", "/models", "/openai/v1/models"] {
        ensure!(client.get(path).await?.ok()?["object"] == "list", "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn an_unknown_name_is_told_what_exists() -> Result<()> {
    let (_server, client, vendor) = house("[[alias]]\nname = \"gpt-4o\"\nagent = \"ada\"\n").await?;
    // Nothing is guessed: neither another case, nor a part, nor spaces around.
    for name in ["Ada", "ad", "ada ", "gpt-4", "openai/gpt-4o-mini", "agent-00000000-0000-4000-8000-000000000000"] {
        let reply = client.post(CHAT, &ask_for(name)).await?;
        let error = reply.json()?["error"].clone();
        ensure!(
            reply.status == 404 && error["code"] == "model_not_found" && error["param"] == "model",
            "{name}: {error}"
        );
        ensure!(error["type"] == "invalid_request_error", "{name}: {error}");
        let message = error["message"].as_str().unwrap_or_default();
        ensure!(message.contains("ada") && message.contains("gpt-4o") && message.contains("librarian"), "{message}");
        // Who writes a handle is told what would open it.
        ensure!(message.contains("pass_through") == name.contains('/'), "{message}");
    }
    ensure!(vendor.requests().is_empty());
    Ok(())
}

#[tokio::test]
async fn agents_of_one_name_are_listed_and_asked_by_id() -> Result<()> {
    let config = "[[alias]]\nname = \"gpt-4o\"\nagent = \"twin\"\n";
    let (_server, client, _vendor) = house(config).await?;
    let first = create_agent(&client, "twin", VENDOR_MODEL).await?;
    ensure!(listed(&client).await? == ["ada", "twin", "gpt-4o"]);
    let second = create_agent(&client, "twin", VENDOR_MODEL).await?;
    ensure!(listed(&client).await? == ["ada".to_owned(), first.clone(), second.clone()]);
    for name in ["twin", "gpt-4o"] {
        let get = client.get(&format!("/v1/models/{name}")).await?;
        for reply in [client.post(CHAT, &ask_for(name)).await?, get] {
            let error = reply.json()?["error"].clone();
            ensure!(reply.status == 409 && error["code"] == "ambiguous_model", "{}", reply.text());
            let message = error["message"].as_str().unwrap_or_default();
            ensure!(message.contains("named `twin`") && message.contains(&first) && message.contains(&second));
            // The same request would find the same agents.
            ensure!(reply.header("x-should-retry") == Some("false"));
        }
    }
    ensure!(client.post(CHAT, &ask_for(&second)).await?.status == 200);
    Ok(())
}

#[tokio::test]
async fn agents_that_tend_others_are_not_shown() -> Result<()> {
    let (_server, client, _vendor) = house("").await?;
    for (name, fields) in [("sleeper", json!({"agent_type": "sleeptime_agent"})), ("hermit", json!({"hidden": true}))] {
        let mut body = json!({"name": name, "model": VENDOR_MODEL});
        if let (Some(body), Some(fields)) = (body.as_object_mut(), fields.as_object()) {
            body.extend(fields.clone());
        }
        client.post("/v1/agents/", &body).await?.ok()?;
    }
    ensure!(listed(&client).await? == ["ada"]);
    let error = client.post(CHAT, &ask_for("nobody")).await?.text();
    ensure!(!["sleeper", "hermit"].iter().any(|name| error.contains(name)), "{error}");
    Ok(())
}

#[tokio::test]
async fn models_are_listed_only_where_they_can_be_asked() -> Result<()> {
    let (_server, client, _vendor) = house("").await?;
    ensure!(listed(&client).await? == ["ada"]);
    ensure!(client.get("/v1/models/openai/gpt-4o-mini").await?.status == 404);
    let (_server, client, vendor) = house("[gateway]\npass_through = true\n").await?;
    let shown = listed(&client).await?;
    ensure!(shown[0] == "ada" && shown.iter().any(|id| id == VENDOR_MODEL), "{shown:?}");
    client.post(CHAT, &ask_for(VENDOR_MODEL)).await?.ok()?;
    // Nothing of any agent goes along.
    ensure!(texts(&last_request(&vendor)?, "system").is_empty());
    Ok(())
}

#[tokio::test]
async fn an_alias_answers_as_its_agent() -> Result<()> {
    let config = "[[alias]]\nname = \"gpt-4o\"\nagent = \"ada\"\n\
                  [[alias]]\nname = \"later\"\nagent = \"eve\"\n\
                  [[alias]]\nname = \"librarian\"\nagent = \"ada\"\n";
    let (_server, client, vendor) = house(config).await?;
    // The agent whose name an alias takes is listed by its id; an alias for nobody is not listed.
    let shown = listed(&client).await?;
    let first = shown.first().context("the first agent")?;
    ensure!(first.starts_with("agent-") && shown[1..] == ["ada", "gpt-4o"], "{shown:?}");
    ensure!(client.get("/v1/models/gpt-4o").await?.ok()?["id"] == "gpt-4o");
    let mut body = ask("The word is heron.");
    body["model"] = json!("gpt-4o");
    ensure!(chat(&client, "s", &body).await?.ok()?["model"] == "gpt-4o");
    // The same agent and session under another of its names.
    chat(&client, "s", &ask("And now?")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user") == ["The word is heron.", "And now?"]);
    body["model"] = json!("librarian");
    chat(&client, "s", &body).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user").len() == 3);
    let error = client.post(CHAT, &ask_for("later")).await?;
    ensure!(error.status == 404 && error.text().contains("`eve`"), "{}", error.text());
    create_agent(&client, "eve", VENDOR_MODEL).await?;
    ensure!(client.post(CHAT, &ask_for("later")).await?.status == 200);
    Ok(())
}

#[tokio::test]
async fn a_cache_key_names_a_session_where_an_alias_says_so() -> Result<()> {
    let config = "[[alias]]\nname = \"trusting\"\nagent = \"ada\"\nprompt_cache_key = true\n\
                  [[alias]]\nname = \"wary\"\nagent = \"ada\"\n";
    let (_server, client, vendor) = house(config).await?;
    for (model, seen) in [("trusting", 1), ("wary", 2)] {
        for key in ["one", "two"] {
            let mut body = ask_for(model);
            body["prompt_cache_key"] = json!(key);
            client.post(CHAT, &body).await?.ok()?;
        }
        let last = texts(&last_request(&vendor)?, "user");
        ensure!(last.len() == seen, "{model}: {last:?}");
    }
    Ok(())
}
