//! `conversation_search`: finds what was said, however long ago.

use domain::seams::tool_executor::{ToolInvocation, ToolOutcome};
use domain::{ContentPart, Message, Role};
use retrieval::{Found, Hit, RecallQuery, Relevance, Search, SearchMode, Whose};
use serde_json::{Map, Value, json};

use crate::fields::Fields;
use crate::memory::{ToolError, refuse};
use crate::moments::{self, End};

/// Results that a search gives unless more are asked for.
pub(crate) const USUAL_RESULTS: usize = 5;
/// The most results of one search; more would only fill the context.
pub(crate) const MOST_RESULTS: usize = 50;

/// Runs one search.
pub(crate) async fn conversation_search(search: &Search, call: &ToolInvocation<'_>) -> ToolOutcome {
    let agent = &call.snapshot.agent;
    let query = match recall_query(call) {
        Ok(query) => query,
        Err(error) => return ToolOutcome::error(error.to_string()),
    };
    match search.recall(agent.organization, &query).await {
        Ok(found) => ToolOutcome::success(shown(&found, call).to_string(), Vec::new()),
        Err(error) => failed(&error),
    }
}

/// What the model is told when the store failed; the details are for the log.
pub(crate) fn failed(error: &storage::StoreError) -> ToolOutcome {
    tracing::error!(error = error as &dyn std::error::Error, "a search failed");
    ToolOutcome::error("The search failed inside the server. Go on without it, or try once more.")
}

fn recall_query(call: &ToolInvocation<'_>) -> Result<RecallQuery, ToolError> {
    let agent = &call.snapshot.agent;
    let fields = Fields::new(call.arguments, &["query", "roles", "limit", "start_date", "end_date"])?;
    let text = fields.text("query")?;
    if text.trim().is_empty() {
        return Err(refuse!("The argument `query` is empty. Say what to look for."));
    }
    let mut query = RecallQuery::new(agent.id, text, fields.count("limit", USUAL_RESULTS, MOST_RESULTS)?);
    query.roles = fields.texts("roles")?.into_iter().map(role).collect::<Result<_, _>>()?;
    let moment = |name: &str, end| match fields.given_text(name)? {
        Some(text) => moments::parse(name, text, &agent.timezone, end).map(Some),
        None => Ok(None),
    };
    query.from = moment("start_date", End::Start)?;
    query.until = moment("end_date", End::Finish)?;
    // One person's words never reach another's run.
    query.whose = Whose::Person(call.snapshot.identity);
    query.except_run = Some(call.run);
    query.set_aside = call.set_aside_from.map(|from| (call.snapshot.conversation, from));
    Ok(query)
}

fn role(name: &str) -> Result<Role, ToolError> {
    match Role::parse(name.trim()) {
        Some(role @ (Role::User | Role::Assistant | Role::Tool)) => Ok(role),
        _ => Err(refuse!(
            "`roles` may hold user, assistant and tool, not `{}`.",
            name.chars().take(40).collect::<String>()
        )),
    }
}

fn shown(found: &Found<Message>, call: &ToolInvocation<'_>) -> Value {
    let results: Vec<Value> = found.hits.iter().map(|hit| result(hit, found.mode, call)).collect();
    let message = match results.len() {
        0 => "No results found.".to_owned(),
        1 => "Showing 1 result:".to_owned(),
        count => format!("Showing {count} results:"),
    };
    json!({ "message": message, "results": results })
}

fn result(hit: &Hit<Message>, mode: SearchMode, call: &ToolInvocation<'_>) -> Value {
    let message = &hit.row;
    let zone = &call.snapshot.agent.timezone;
    let mut fields = Map::new();
    fields.insert("timestamp".to_owned(), moments::local(message.created_at, zone).into());
    fields.insert("time_ago".to_owned(), moments::time_ago(message.created_at, call.now).into());
    fields.insert("role".to_owned(), message.role.as_str().into());
    if let Some(name) = &message.name {
        fields.insert("name".to_owned(), (&**name).into());
    }
    let mut why = relevance(&hit.relevance);
    why.shift_insert(0, "search_mode".to_owned(), mode.as_str().into());
    fields.insert("relevance".to_owned(), Value::Object(why));
    let thoughts: Vec<&str> = message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Reasoning { text, .. } => Some(&**text),
            ContentPart::Text { .. } | ContentPart::Image(_) => None,
        })
        .collect();
    if !thoughts.is_empty() {
        fields.insert("thinking".to_owned(), thoughts.join("\n").into());
    }
    fields.insert("content".to_owned(), hit.text.as_str().into());
    Value::Object(fields)
}

/// Why something was found, by the names that clients know.
pub(crate) fn relevance(relevance: &Relevance) -> Map<String, Value> {
    let score = (f64::from(relevance.score) * 10_000.0).round() / 10_000.0;
    let mut fields = Map::new();
    fields.insert("rrf_score".to_owned(), score.into());
    fields.insert("vector_rank".to_owned(), relevance.vector_rank.into());
    fields.insert("fts_rank".to_owned(), relevance.fts_rank.into());
    fields
}
