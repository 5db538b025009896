//! Vectors through the doors, and models on the command line.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, HttpReply};

use crate::house::{alone, with_vendor};

async fn embed(client: &Client, model: &str, input: Value) -> Result<HttpReply> {
    client.post("/v1/embeddings", &json!({"model": model, "input": input})).await
}

#[tokio::test]
async fn the_built_in_model_needs_nothing() -> Result<()> {
    let (_server, client) = alone().await?;
    let answer = embed(&client, "builtin/embedding", json!(["a", "b"])).await?.ok()?;
    ensure!(answer["data"].as_array().map(Vec::len) == Some(2), "{answer}");
    ensure!(answer["data"][1]["embedding"].as_array().map(Vec::len) == Some(256), "{answer}");
    for model in ["builtin/minilm", "openai/text-embedding-3-small", "nonsense"] {
        let refused = embed(&client, model, json!("a")).await?;
        ensure!(refused.status == 404 && refused.json()?["error"]["code"] == "model_not_found", "{model}");
    }
    let missing = embed(&client, "builtin/minilm", json!("a")).await?.text();
    ensure!(missing.contains("librarian models pull minilm"), "{missing}");
    Ok(())
}

#[tokio::test]
async fn a_vendors_model_is_asked_once_for_the_same_text() -> Result<()> {
    let (_server, client, vendor) = with_vendor().await?;
    let model = "openai/text-embedding-3-small";
    for _ in 0..3 {
        embed(&client, model, json!(["the same", "the same"])).await?.ok()?;
    }
    let asked: Vec<Value> = vendor.embedding_requests().iter().map(|request| request.body["input"].clone()).collect();
    ensure!(
        asked.len() == 2 && asked[1] == json!(["the same"]),
        "one to learn the length, one for the text: {asked:?}"
    );
    let failed = embed(&client, model, json!("[[error:401]]")).await?;
    ensure!(failed.status == 502 && failed.header("x-should-retry") == Some("false"), "{}", failed.text());
    let listed = client.get("/v1/models/embedding").await?.ok()?;
    let handles: Vec<&str> =
        listed.as_array().context("a list")?.iter().filter_map(|one| one["handle"].as_str()).collect();
    ensure!(handles == ["builtin/embedding", model], "{handles:?}");
    Ok(())
}

#[tokio::test]
async fn token_ids_are_the_text_that_they_spell() -> Result<()> {
    let (_server, client, vendor) = with_vendor().await?;
    let vector = async |model: &str, input: Value| -> Result<Value> {
        Ok(embed(&client, model, input).await?.ok()?["data"][0]["embedding"].clone())
    };
    let spelled = vector("builtin/embedding", json!("Hello world")).await?;
    for ids in [json!([9906, 1917]), json!([[9906, 1917]])] {
        ensure!(vector("builtin/embedding", ids.clone()).await? == spelled, "{ids}");
    }
    vector("openai/text-embedding-3-small", json!([[9906], [1917]])).await?;
    let asked = vendor.embedding_requests().pop().context("the vendor was asked")?;
    ensure!(asked.body["input"] == json!(["Hello", " world"]), "{}", asked.body);
    for (input, told) in [
        (json!([100_300]), "cl100k_base"),
        (json!(vec![220; 8_193]), "8192"),
        (json!(" hello".repeat(8_193)), "8192"),
        (json!(vec!["a"; 2_049]), "2048"),
    ] {
        let refused = embed(&client, "builtin/embedding", input).await?;
        let error = refused.json()?["error"].clone();
        ensure!(refused.status == 400 && error["param"] == "input", "{error}");
        ensure!(error["message"].as_str().is_some_and(|text| text.contains(told)), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn models_are_listed_and_fetched_on_the_command_line() -> Result<()> {
    let (server, client) = alone().await?;
    let run = |arguments: &[&str]| server.command(arguments).arg("--data-dir").arg(server.data_dir()).output();
    let listed = run(&["models", "list"])?;
    let text = String::from_utf8(listed.stdout)?;
    ensure!(text.contains("builtin/embedding  vectors of 256 numbers") && text.contains("pull minilm"), "{text}");
    let empty = server.data_dir().join("nothing-here");
    let refused = run(&["models", "pull", "minilm", "--from", &empty.display().to_string()])?;
    let text = String::from_utf8(refused.stderr)?;
    ensure!(!refused.status.success() && text.contains("model.onnx could not be fetched"), "{text}");
    // The server sees at once what lies in its folder, right or wrong.
    let folder = server.data_dir().join("models/minilm");
    for name in ["model.onnx", "vocab.txt"] {
        std::fs::write(folder.join(name), "not a model")?;
    }
    let broken = embed(&client, "builtin/minilm", json!("a")).await?;
    ensure!(broken.status == 502 && broken.text().contains("models pull minilm"), "{}", broken.text());
    Ok(())
}
