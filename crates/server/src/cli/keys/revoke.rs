//! `librarian keys revoke`.

use std::process::ExitCode;

use anyhow::bail;
use domain::ApiKeyId;
use serde_json::json;

use super::KEYS;
use super::view::KeyView;
use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::output::{Output, one_line};
use crate::cli::wire;
use crate::config::Config;

/// Names that an error lists.
const LISTED: usize = 50;

/// Which key to revoke.
#[derive(Debug, clap::Args)]
pub(crate) struct RevokeFlags {
    /// The key's id or its exact name
    #[arg(value_name = "KEY")]
    key: String,
    /// Print the key's entry as JSON
    #[arg(long)]
    json: bool,
}

/// Revokes the key.
pub(crate) async fn run(config: &Config, flags: &RevokeFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let connection = Connection::demand(config).await?;
    let revoked = connection
        .during(async |connection: &mut Connection<'_>| {
            let id = find(connection, &flags.key).await?;
            connection.ask(&Call::post(format!("{KEYS}/{id}/revoke"), json!({}))).await?.ok()
        })
        .await?;
    if flags.json {
        output.json(&revoked);
    } else {
        let key: KeyView = wire::read(&revoked)?;
        output.line(&format!("Revoked {} ({}): it opens nothing any more.", one_line(&key.name), key.id));
    }
    Ok(ExitCode::SUCCESS)
}

/// The id of the key that is meant. The name of a revoked key may be another's by now, so only live ones are found by
/// their name.
async fn find(connection: &mut Connection<'_>, wanted: &str) -> anyhow::Result<String> {
    if wanted.parse::<ApiKeyId>().is_ok() {
        return Ok(wanted.to_owned());
    }
    let keys: Vec<KeyView> = wire::read(&connection.ask(&Call::get(KEYS)).await?.ok()?)?;
    let live: Vec<KeyView> = keys.into_iter().filter(|key| key.revoked_at.is_none()).collect();
    if let Some(key) = live.iter().find(|key| key.name == wanted) {
        return Ok(key.id.clone());
    }
    let names: Vec<String> = live.into_iter().map(|key| key.name).collect();
    bail!(unknown(wanted, &names))
}

fn unknown(wanted: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("there is no key `{wanted}` to revoke: there are none");
    }
    let listed: Vec<String> = names.iter().take(LISTED).map(|name| one_line(name)).collect();
    let more = if names.len() > LISTED { " and others" } else { "" };
    format!("there is no key `{wanted}` to revoke; there is {}{more}", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let names = |count: usize| vec!["a".to_owned(); count];
        assert_eq!(unknown("x", &names(2)), "there is no key `x` to revoke; there is a, a");
        assert_eq!(unknown("x", &[]), "there is no key `x` to revoke: there are none");
        assert!(unknown("x", &names(LISTED + 1)).ends_with("a and others"));
    }
}
