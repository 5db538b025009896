//! `librarian search AGENT QUERY`: what an agent's memory holds about something, and why each hit ranked.

use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::call::Call;
use crate::cli::connection::Connection;
use crate::cli::lookup;
use crate::cli::output::{Output, one_line};
use crate::cli::wire;
use crate::config::Config;

/// Characters of a hit that are shown.
const SHOWN: usize = 300;

/// `librarian search …`
#[derive(Debug, clap::Args)]
pub(crate) struct SearchFlags {
    /// The agent's exact name or its id
    #[arg(value_name = "AGENT")]
    agent: String,
    /// What to look for
    #[arg(value_name = "QUERY")]
    query: String,
    /// Search what the agent archived, not what was said
    #[arg(long)]
    archive: bool,
    /// Only archived texts with this tag; may be given more than once
    #[arg(long = "tag", value_name = "TAG", requires = "archive")]
    tags: Vec<String>,
    /// How many results
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Deserialize)]
struct Report {
    search_mode: String,
    results: Vec<Hit>,
}

#[derive(Debug, Deserialize)]
struct Hit {
    at: String,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    text: String,
    relevance: Why,
}

#[derive(Debug, Deserialize)]
struct Why {
    score: f64,
    fts_rank: Option<u64>,
    vector_rank: Option<u64>,
    cosine: Option<f64>,
    words: Vec<String>,
}

/// Runs the command.
pub(crate) async fn run(config: &Config, flags: &SearchFlags, output: &Output) -> anyhow::Result<ExitCode> {
    let place = if flags.archive { "archive" } else { "conversation" };
    let body = json!({ "query": flags.query, "where": place, "limit": flags.limit, "tags": flags.tags });
    let connection = Connection::demand(config).await?;
    let answer: Value = connection
        .during(async |connection: &mut Connection<'_>| {
            let agent = lookup::find(connection, &flags.agent).await?;
            connection.ask(&Call::post(format!("/console/v1/agents/{}/search", agent.id), body.clone())).await?.ok()
        })
        .await?;
    if flags.json {
        output.json(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let report: Report = wire::read(&answer)?;
    if report.results.is_empty() {
        output.line("Nothing was found.");
    }
    for (number, hit) in report.results.iter().enumerate() {
        print(number + 1, hit, output);
    }
    if report.search_mode == "fts" && !report.results.is_empty() {
        output.line("Searched by words alone: there are no vectors yet, or the embedding model can't be reached.");
    }
    Ok(ExitCode::SUCCESS)
}

fn print(number: usize, hit: &Hit, output: &Output) {
    let style = output.style();
    let who = hit.name.as_deref().or(hit.role.as_deref()).unwrap_or("archived");
    let tags = if hit.tags.is_empty() { String::new() } else { format!(" [{}]", hit.tags.join(", ")) };
    output.line(&style.bold(&format!("{number}. {}  {}{}", hit.at, one_line(who), one_line(&tags))));
    let text = one_line(&hit.text);
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    output.line(&format!("   {shown}{more}"));
    output.line(&style.dim(&format!("   {}", why(&hit.relevance))));
}

/// Why a hit is where it is, in words.
fn why(why: &Why) -> String {
    let mut parts = vec![format!("score {:.3}", why.score)];
    match why.fts_rank {
        Some(rank) if !why.words.is_empty() => {
            parts.push(format!("by words {} ({})", place(rank), why.words.join(", ")));
        }
        Some(rank) => parts.push(format!("by words {} (near in meaning)", place(rank))),
        None => parts.push("no words in common".to_owned()),
    }
    match (why.vector_rank, why.cosine) {
        (Some(rank), Some(cosine)) => parts.push(format!("by meaning {} (cosine {cosine:.2})", place(rank))),
        _ => parts.push("no vector".to_owned()),
    }
    parts.join(", ")
}

fn place(rank: u64) -> String {
    format!("no. {rank}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_says_why_it_is_there() {
        let words = vec!["cat".to_owned(), "name".to_owned()];
        let full = Why { score: 1.25, fts_rank: Some(1), vector_rank: Some(3), cosine: Some(0.614), words };
        assert_eq!(why(&full), "score 1.250, by words no. 1 (cat, name), by meaning no. 3 (cosine 0.61)");
        let bare = Why { score: 0.5, fts_rank: None, vector_rank: None, cosine: None, words: vec![] };
        assert_eq!(why(&bare), "score 0.500, no words in common, no vector");
    }
}
