//! `librarian keys create`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::KEYS;
use super::view::KeyView;
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::{Output, one_line};
use crate::cli::wire;
use crate::config::Config;

/// What a new key is called and opens.
#[derive(Debug, clap::Args)]
pub(crate) struct CreateFlags {
    /// A name to tell the key by, for example the client's or the person's
    #[arg(value_name = "NAME")]
    name: String,
    /// An agent that the key opens, by its exact name or its id; may be given several times [default: all agents]
    #[arg(long = "agent", value_name = "AGENT")]
    agents: Vec<String>,
    /// Let the key in at Letta's door too, where all agents are shown, changed and deleted
    #[arg(long, conflicts_with = "agents")]
    letta: bool,
    /// Print the key and what it opens as JSON
    #[arg(long)]
    json: bool,
}

/// Makes the key.
pub(crate) async fn run(config: &Config, flags: &CreateFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::open(config).await?;
    let (made, names) = connection
        .during(async |connection: &mut Connection<'_>| {
            let (mut ids, mut names) = (Vec::new(), Vec::new());
            for agent in &flags.agents {
                let agent = lookup::find(connection, agent).await?;
                ids.push(agent.id);
                names.push(agent.name);
            }
            let mut body = json!({ "name": flags.name, "letta": flags.letta });
            if !ids.is_empty() {
                body["agents"] = json!(ids);
            }
            anyhow::Ok((connection.ask(&Call::post(KEYS, body)).await?.ok()?, names))
        })
        .await?;
    if flags.json {
        output.json(&made);
    } else {
        output.line(&told(&made, &names)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn told(made: &Value, names: &[String]) -> anyhow::Result<String> {
    let view: KeyView = wire::read(made)?;
    let opens = match (view.letta, names) {
        (true, _) => "all agents, and Letta's door".to_owned(),
        (false, []) => "all agents".to_owned(),
        (false, names) => one_line(&names.join(", ")),
    };
    let name = one_line(&view.name);
    Ok(format!(
        "Made the key {name}, which opens {opens} ({}).\n\n  {}\n\nThis is the only time that it is shown. Give it to \
         an OpenAI client as its API key; the client's\nbase URL is the address of this server with /v1 behind it. \
         `librarian keys revoke` takes it back.",
        view.id, view.key
    ))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_person_is_told_what_to_do_with_the_key() {
        let made = json!({ "key": "lib-00", "id": "key-1", "name": "lap\ntop", "agents": ["agent-1"], "letta": false });
        expect![[r#"
            Made the key lap top, which opens ada, bob (key-1).

              lib-00

            This is the only time that it is shown. Give it to an OpenAI client as its API key; the client's
            base URL is the address of this server with /v1 behind it. `librarian keys revoke` takes it back."#]]
        .assert_eq(&told(&made, &["ada".to_owned(), "bob".to_owned()]).unwrap());
        let first = |letta: bool| {
            let made = json!({ "key": "lib-00", "id": "key-1", "name": "x", "letta": letta });
            told(&made, &[]).unwrap().lines().next().unwrap().to_owned()
        };
        assert_eq!(first(false), "Made the key x, which opens all agents (key-1).");
        assert_eq!(first(true), "Made the key x, which opens all agents, and Letta's door (key-1).");
    }
}
