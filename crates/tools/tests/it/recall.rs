//! `conversation_search`: its shape, its filters, and what it never finds.

use domain::{Role, ToolStatus};
use expect_test::expect;
use serde_json::{Value, json};

use crate::house::{House, Said, this_run, tool_call};

fn contents(found: &Value) -> Vec<String> {
    let results = found["results"].as_array().unwrap();
    results.iter().map(|result| result["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_result_has_the_shape_that_clients_know() {
    let house = House::new();
    let ada = house.agent().await;
    let mut answer = Said::by(Role::Assistant, "Miso is a fine name for a cat.", "2026-01-20T14:00:00Z");
    answer.thought = Some("They like soup.");
    house.say(&ada, vec![answer]).await;
    let mut found = house.ask(&ada, "conversation_search", json!({"query": "cat name"})).await;
    assert!(found["results"][0]["relevance"]["rrf_score"].take().as_f64().unwrap() > 0.0);
    expect![[r#"{"message":"Showing 1 result:","results":[{"timestamp":"2026-01-20T09:00:00-05:00","time_ago":"3h ago","role":"assistant","relevance":{"search_mode":"hybrid","rrf_score":null,"vector_rank":1,"fts_rank":1},"thinking":"They like soup.","content":"Miso is a fine name for a cat."}]}"#]]
    .assert_eq(&found.to_string());
    let empty = house.agent().await;
    let nothing = house.ask(&empty, "conversation_search", json!({"query": "cat"})).await;
    assert_eq!(nothing, json!({"message": "No results found.", "results": []}));
}

#[tokio::test]
async fn searches_tools_events_and_the_question_itself_are_left_out() {
    let house = House::new();
    let ada = house.agent().await;
    let at = "2026-01-19T12:00:00Z";
    let mut spoken = Said::by(Role::Assistant, "", at);
    spoken.calls = vec![tool_call("send_message", &json!({"message": "The cat sleeps."}))];
    let mut searched = Said::by(Role::Assistant, "I look for the cat.", at);
    searched.calls = vec![tool_call("conversation_search", &json!({"query": "cat"}))];
    let mut asked = Said::by(Role::User, "Where is the cat?", at);
    asked.run = Some(this_run());
    house
        .say(
            &ada,
            vec![
                spoken,
                searched,
                asked,
                Said::by(Role::Tool, "cat cat cat", at),
                Said::by(Role::System, "You know a cat.", at),
                Said::by(Role::User, r#"{"type": "heartbeat", "reason": "cat"}"#, at),
                Said::by(Role::User, r#"{"type": "system_alert", "message": "summary of the cat"}"#, at),
                Said::by(Role::User, "My cat is grey.", at),
            ],
        )
        .await;
    let found = house.ask(&ada, "conversation_search", json!({"query": "cat", "limit": 50})).await;
    let mut found = contents(&found);
    found.sort();
    assert_eq!(found, ["My cat is grey.", "The cat sleeps."]);
    let tools = house.ask(&ada, "conversation_search", json!({"query": "cat", "roles": ["tool"]})).await;
    assert_eq!(contents(&tools), Vec::<String>::new());
    let users = house.ask(&ada, "conversation_search", json!({"query": "cat", "roles": ["user"]})).await;
    assert_eq!(contents(&users), ["My cat is grey."]);
}

#[tokio::test]
async fn naive_dates_are_days_of_the_agents_zone() {
    let house = House::new();
    let ada = house.agent().await;
    // Half past eleven in the evening of the 14th, and half past midnight on the 15th, in New York.
    let said = [("late cat", "2026-01-15T04:30:00Z"), ("early cat", "2026-01-15T05:30:00Z")];
    house.say(&ada, said.map(|(text, at)| Said::by(Role::User, text, at)).to_vec()).await;
    let find = async |arguments: Value| contents(&house.ask(&ada, "conversation_search", arguments).await);
    assert_eq!(find(json!({"query": "cat", "end_date": "2026-01-14"})).await, ["late cat"]);
    assert_eq!(find(json!({"query": "cat", "start_date": "2026-01-15"})).await, ["early cat"]);
    let both = find(json!({"query": "cat", "start_date": "2026-01-14", "end_date": "2026-01-15"})).await;
    assert_eq!(both.len(), 2);
    assert_eq!(find(json!({"query": "cat", "start_date": "2026-01-15T05:00:00Z"})).await, ["early cat"]);
}

#[tokio::test]
async fn wrong_arguments_are_told() {
    let house = House::new();
    let ada = house.agent().await;
    let mut told = String::new();
    for arguments in [
        json!({}),
        json!({"query": " "}),
        json!({"query": "cat", "limit": 0}),
        json!({"query": "cat", "roles": ["robot"]}),
        json!({"query": "cat", "roles": 3}),
        json!({"query": "cat", "start_date": "yesterday"}),
        json!({"query": "cat", "page": 2}),
    ] {
        let outcome = house.call(&ada, "conversation_search", arguments).await;
        assert_eq!(outcome.status, ToolStatus::Error);
        told.push_str(&outcome.text);
        told.push('\n');
    }
    expect![[r#"
        The argument `query` is missing: give it as a string.
        The argument `query` is empty. Say what to look for.
        The argument `limit` must be at least 1, not 0.
        `roles` may hold user, assistant and tool, not `robot`.
        The argument `roles` must be a list of strings, not a number.
        `start_date` must be a date such as 2026-01-31 or a time such as 2026-01-31T14:30, not `yesterday`.
        There is no argument `page`. The arguments of this tool are: query, roles, limit, start_date, end_date.
    "#]]
    .assert_eq(&told);
}
