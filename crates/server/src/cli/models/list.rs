//! `librarian models list`: every model that an agent may be given, and those that could be fetched.

use anyhow::Context;
use retrieval::embed::manifest::{self, Manifest};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::output::{Output, clean};
use crate::config::Config;

/// A model as the server lists it.
#[derive(Debug, Deserialize)]
struct Listed {
    handle: String,
    #[serde(default)]
    context_window: u64,
    #[serde(default)]
    embedding_dim: u64,
}

/// Shows all models.
pub(super) async fn list(config: &Config, as_json: bool, output: &Output) -> anyhow::Result<()> {
    let connection = Connection::demand(config).await?;
    let answers = connection.during(async |connection: &mut Connection<'_>| {
        let chat = connection.ask(&Call::get("/v1/models/")).await?.ok()?;
        let embedding = connection.ask(&Call::get("/v1/models/embedding")).await?.ok()?;
        anyhow::Ok((chat, embedding))
    });
    let (chat, embedding) = answers.await?;
    if as_json {
        output.json(&json!({ "chat": chat, "embedding": embedding }));
        return Ok(());
    }
    for line in lines(&read(chat)?, &read(embedding)?) {
        output.line(&line);
    }
    Ok(())
}

fn read(value: Value) -> anyhow::Result<Vec<Listed>> {
    serde_json::from_value(value).context("the server's list of models can't be read")
}

fn lines(chat: &[Listed], embedding: &[Listed]) -> Vec<String> {
    let handles = chat.iter().chain(embedding).map(|model| clean(&model.handle).chars().count());
    let width = handles.max().unwrap_or(0).max(16);
    let line = |handle: &str, facts: &str| format!("  {:width$}  {facts}", clean(handle));
    let mut lines = vec!["chat".to_owned()];
    lines.extend(chat.iter().map(|model| line(&model.handle, &format!("context of {} tokens", model.context_window))));
    lines.push("embedding".to_owned());
    lines.extend(embedding.iter().map(|model| match model.embedding_dim {
        0 => line(&model.handle, "vectors of a length that its first use tells"),
        count => line(&model.handle, &format!("vectors of {count} numbers")),
    }));
    let is_missing = |model: &&Manifest| embedding.iter().all(|known| known.handle != handle(model));
    lines.extend(manifest::ALL.iter().filter(is_missing).map(|model| {
        let size: u64 = model.files.iter().map(|file| file.size).sum();
        let facts = format!("not here; `librarian models pull {}` fetches {} MB", model.id, size / 1_000_000);
        line(&handle(model), &facts)
    }));
    lines
}

fn handle(model: &Manifest) -> String {
    domain::ModelHandle::builtin(model.model).to_string()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn models_are_told_by_what_they_do() {
        let chat = json!([{ "handle": "builtin/guide", "context_window": 32000 }]);
        let embedding =
            json!([{ "handle": "builtin/embedding", "embedding_dim": 256 }, { "handle": "x/e", "embedding_dim": 0 }]);
        let lines = lines(&read(chat).unwrap(), &read(embedding).unwrap());
        expect![[r#"
            chat
              builtin/guide      context of 32000 tokens
            embedding
              builtin/embedding  vectors of 256 numbers
              x/e                vectors of a length that its first use tells
              builtin/minilm     not here; `librarian models pull minilm` fetches 23 MB"#]]
        .assert_eq(&lines.join("\n"));
    }
}
