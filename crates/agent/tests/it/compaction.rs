//! Contexts that grow too long: what is cut, what is said of it, and what happens where that fails.

use std::sync::{Arc, Mutex};

use agent::Summariser;
use agent::events::{Finished, RunEvent, RunFailure};
use domain::seams::chat_model::{ChatMessage, ModelError, ModelRequest};
use domain::{LlmConfig, Message, ModelHandle, Role, StopReason, ToolCall, Usage};
use prompt::packaging::{Alert, read_alert};
use prompt::tokens::Family;
use serde_json::json;
use testkit::{Gate, Reply, ScriptedModel};
use tokio::sync::mpsc;

use crate::house::{House, days_pass};

const WINDOW: u32 = 4_096;

/// What a vendor with that window would count: independent of how the runtime counts.
fn counted(request: &ModelRequest) -> u64 {
    let family = Family::of_model("gpt-4");
    let text = |message: &ChatMessage| -> u64 {
        let words: u64 = message.content.iter().filter_map(|part| part.as_text()).map(|text| family.count(text)).sum();
        let call = |call: &ToolCall| family.count(&call.arguments) + family.count(&call.name) + 6;
        words + message.tool_calls.iter().map(call).sum::<u64>() + 3
    };
    let tools = request.tools.iter().map(|tool| {
        family.count(&tool.description) + family.count(&tool.name) + family.count(&tool.parameters.to_string())
    });
    request.messages.iter().map(text).sum::<u64>() + tools.sum::<u64>()
}

/// A summariser that says what it was given begins with, and one that can be made to fail.
#[derive(Clone)]
struct Summaries {
    model: ScriptedModel,
    /// Handles that were asked for.
    asked: Arc<Mutex<Vec<String>>>,
    failing: Arc<Mutex<bool>>,
}

impl Summaries {
    fn of(house: &mut House, window: u32) -> Self {
        let failing = Arc::new(Mutex::new(false));
        let fails = failing.clone();
        let model = ScriptedModel::answering(move |request| {
            if *fails.lock().unwrap() {
                return Reply::fail(ModelError::Rejected { detail: "no".to_owned() });
            }
            let last = request.messages.last().unwrap().content[0].as_text().unwrap().to_owned();
            let lines = last.lines().filter(|line| line.starts_with('[') || line.starts_with("Summary"));
            let words: Vec<&str> = lines.flat_map(str::split_whitespace).take(12).collect();
            Reply::say(format!("Summary: {}.", words.join(" ")))
        });
        let summaries = Self { model, asked: Arc::default(), failing };
        let (model, asked) = (summaries.model.clone(), summaries.asked.clone());
        house.summarisers = Arc::new(move |handle: ModelHandle| {
            asked.lock().unwrap().push(handle.to_string());
            let config = LlmConfig::new(handle, "openai", window);
            let found = Summariser::Model { model: Arc::new(model.clone()), config, prompt: "Sum up.".into() };
            Box::pin(async move { Ok(found) })
        });
        summaries
    }

    fn fail(&self, fails: bool) {
        *self.failing.lock().unwrap() = fails;
    }
}

/// One run that begins with `words`.
async fn say(house: &House, model: &ScriptedModel, words: &str) -> (Finished, Vec<RunEvent>) {
    let (sender, mut events) = mpsc::channel(64);
    let heard = async {
        let mut heard = Vec::new();
        while let Some(event) = events.recv().await {
            heard.push(event);
        }
        heard
    };
    let driven = house.drive_saying(words, Arc::new(model.clone()), sender);
    Box::pin(async { tokio::join!(driven, heard) }).await
}

async fn small(tools: &[&str]) -> (House, Summaries) {
    let mut house = House::v3(tools, json!([])).await;
    house.adjust(|agent| agent.llm_config.context_window = WINDOW).await;
    let summaries = Summaries::of(&mut house, 32_000);
    (house, summaries)
}

/// A model that answers at length, calls a tool where it is told to, and refuses what is over its window.
fn vendor(window: u64, factor: f64, reports: bool) -> (ScriptedModel, Arc<Mutex<usize>>) {
    let refused = Arc::new(Mutex::new(0));
    let refusals = refused.clone();
    let model = ScriptedModel::answering(move |request| {
        check_pairs(&request.messages);
        let tokens = (counted(request) as f64 * factor) as u64;
        if tokens > window {
            *refusals.lock().unwrap() += 1;
            return Reply::fail(ModelError::ContextTooLong { detail: "too long".to_owned() });
        }
        let last = request.messages.last().unwrap();
        let words = last.content.first().and_then(|part| part.as_text()).unwrap_or_default();
        let reply = if last.role == Role::User && words.contains("remember") {
            Reply::call("memory_insert", &json!({"label": "persona", "new_str": "A fact."}))
        } else {
            Reply::say("An answer of some length. ".repeat(12))
        };
        let usage =
            Usage { prompt_tokens: tokens, completion_tokens: 10, total_tokens: tokens + 10, ..Usage::default() };
        reply.using(if reports { usage } else { Usage::default() })
    });
    (model, refused)
}

/// Calls and returns are paired, in every request.
fn check_pairs(messages: &[ChatMessage]) {
    assert_eq!(messages[0].role, Role::System);
    let mut open: Vec<Arc<str>> = Vec::new();
    for message in messages {
        match &message.tool_call_id {
            Some(id) => {
                let place = open.iter().position(|waiting| waiting == id).expect("a return without its call");
                open.remove(place);
            }
            None => assert!(open.is_empty(), "a call without its return"),
        }
        open.extend(message.tool_calls.iter().map(|call| call.id.clone()));
    }
    assert!(open.is_empty());
}

async fn notes(house: &House) -> Vec<Alert> {
    house.snapshot().await.context.iter().filter_map(|message| read_alert(message)).collect()
}

fn turn(number: usize) -> String {
    let wish = if number.is_multiple_of(3) { "Please remember this. " } else { "" };
    format!("{wish}Turn {number}: {}", "the quick brown fox jumps over the lazy dog. ".repeat(5 + number % 17))
}

#[tokio::test]
async fn a_conversation_many_times_the_window_is_never_refused() {
    let (house, summaries) = small(&["memory_insert"]).await;
    let (model, refused) = vendor(u64::from(WINDOW), 1.0, true);
    let mut said = 0;
    for number in 0..120 {
        let (finished, events) = say(&house, &model, &turn(number)).await;
        assert_eq!(finished.stop_reason, StopReason::EndTurn, "{number}: {:?}", finished.failure);
        said += 2 + 2 * usize::from(number % 3 == 0);
        let shown = |message: &Arc<Message>| matches!(message.role, Role::Assistant | Role::Tool);
        let told = events.iter().all(|event| match event {
            RunEvent::StepCommitted { messages, .. } => messages.iter().all(shown),
            RunEvent::Piece(_) | RunEvent::Finished(_) => true,
        });
        assert!(told, "watchers see no summary");
    }
    assert_eq!(*refused.lock().unwrap(), 0);
    let kept = house.store.messages(house.me.organization, &storage::MessageFilter::newest(house.agent, 10_000)).await;
    let (mut compactions, mut others) = (0, 0);
    for message in kept.unwrap() {
        if read_alert(&message).is_some() { compactions += 1 } else { others += 1 }
    }
    assert_eq!(others, said + 1, "every message is still there, and the system message");
    assert!((5..60).contains(&compactions), "{compactions}");
    assert_eq!(summaries.model.requests().len(), compactions, "one part each");
    assert_eq!(notes(&house).await.len(), 1, "an older summary goes into the newer one");
    let total: u64 = model.requests().iter().map(|request| counted(request)).max().unwrap();
    assert!(total > u64::from(WINDOW) * 6 / 10, "the window is used: {total}");
    assert_eq!(
        house.fresh().context_ids(house.me.organization, house.conversation).await.unwrap().len(),
        house.snapshot().await.context.len()
    );
}

#[tokio::test]
async fn compaction_is_never_due_twice_in_a_row() {
    let (house, summaries) = small(&["memory_insert"]).await;
    let (model, _) = vendor(u64::from(WINDOW), 1.0, true);
    let mut last = None;
    for number in 0..80 {
        let before = summaries.model.requests().len();
        say(&house, &model, &turn(number)).await;
        let now = summaries.model.requests().len();
        assert!(now - before <= 1, "once a run at most");
        if now > before {
            assert!(last.is_none_or(|last| number - last >= 2), "{last:?} {number}");
            last = Some(number);
        }
    }
    assert!(last.is_some());
}

#[tokio::test]
async fn a_vendor_that_counts_more_and_tells_nothing_is_learned_from_its_refusals() {
    let (house, _) = small(&["memory_insert"]).await;
    let (model, refused) = vendor(u64::from(WINDOW), 1.35, false);
    for number in 0..80 {
        let (finished, _) = say(&house, &model, &turn(number)).await;
        assert_eq!(finished.stop_reason, StopReason::EndTurn, "{number}: {:?}", finished.failure);
    }
    let refused = *refused.lock().unwrap();
    assert!((1..=8).contains(&refused), "learned once, it is known: {refused}");
}

#[tokio::test]
async fn a_window_smaller_than_told_is_learned_from_the_vendors_words() {
    let (house, _) = small(&[]).await;
    house.adjust(|agent| agent.llm_config.context_window = 32_000).await;
    let refused = Arc::new(Mutex::new(0));
    let refusals = refused.clone();
    let model = ScriptedModel::answering(move |request| {
        if counted(request) > 4_096 {
            *refusals.lock().unwrap() += 1;
            let detail = "400: the request exceeds the available context size (4096 tokens)".to_owned();
            return Reply::fail(ModelError::ContextTooLong { detail });
        }
        Reply::say("An answer. ".repeat(40)).using(Usage::default())
    });
    for number in 0..60 {
        let (finished, _) = say(&house, &model, &turn(number)).await;
        assert_eq!(finished.stop_reason, StopReason::EndTurn, "{number}: {:?}", finished.failure);
    }
    assert_eq!(*refused.lock().unwrap(), 1);
}

#[tokio::test]
async fn what_can_not_fit_fails_honestly_and_leaves_nothing() {
    let (house, _) = small(&[]).await;
    let (model, refused) = vendor(u64::from(WINDOW), 1.0, true);
    say(&house, &model, "Hello").await;
    let (finished, _) = say(&house, &model, &"far too long ".repeat(3_000)).await;
    assert_eq!(finished.stop_reason, StopReason::LlmApiError);
    assert!(matches!(finished.failure, Some(RunFailure::Model(ModelError::ContextTooLong { .. }))));
    assert!(*refused.lock().unwrap() <= 5);
    let (finished, _) = say(&house, &model, "Still there?").await;
    assert_eq!(finished.stop_reason, StopReason::EndTurn);

    house.adjust(|agent| agent.system = "Rules and more rules. ".repeat(2_000)).await;
    let (finished, _) = say(&house, &model, "Hello").await;
    assert_eq!(finished.stop_reason, StopReason::ContextWindowOverflowInSystemPrompt);
    assert!(matches!(finished.failure, Some(RunFailure::SystemTooLong(_))));
}

#[tokio::test]
async fn without_a_summary_messages_leave_with_an_alert_and_the_next_run_tries_again() {
    let (house, summaries) = small(&["memory_insert"]).await;
    let (model, _) = vendor(u64::from(WINDOW), 1.0, true);
    summaries.fail(true);
    let mut number = 0;
    while notes(&house).await.is_empty() {
        say(&house, &model, &turn(number)).await;
        number += 1;
        days_pass(1);
        assert!(number < 60);
    }
    let context = house.snapshot().await.context;
    let [Alert::Evicted(count)] = notes(&house).await[..] else { panic!("an alert") };
    let all = house.messages().await;
    assert_eq!(all.len(), context.len() + count, "{count} messages left the context, and none the store");
    let alert = context[1].first_text();
    assert!(alert.contains(&format!("{count} messages from January 15, 2027 to January")), "{alert}");
    assert!(alert.contains("they can be searched"), "{alert}");

    // Still no summariser: the alert stays as it is.
    say(&house, &model, "Anybody there?").await;
    assert!(matches!(notes(&house).await[..], [Alert::Evicted(_)]));

    summaries.fail(false);
    say(&house, &model, "And now?").await;
    let [Alert::Summary(summary)] = &notes(&house).await[..] else { panic!("a summary") };
    assert!(summary.contains("Turn 0:"), "what had left without a summary is in it: {summary}");
    assert_eq!(house.snapshot().await.context[0].role, Role::System);
}

#[tokio::test]
async fn an_older_summary_outlives_a_summariser_that_fails() {
    let (house, summaries) = small(&["memory_insert"]).await;
    let (model, _) = vendor(u64::from(WINDOW), 1.0, true);
    let mut number = 0;
    let mut go_on_until = async |wanted: fn(&[Alert]) -> bool| {
        while !wanted(&notes(&house).await) {
            say(&house, &model, &turn(number)).await;
            number += 1;
            assert!(number < 200);
        }
        notes(&house).await
    };
    go_on_until(|notes| matches!(notes, [Alert::Summary(_)])).await;
    summaries.fail(true);
    let both = go_on_until(|notes| matches!(notes, [Alert::Summary(_), Alert::Evicted(_)])).await;
    let Alert::Evicted(first) = both[1] else { panic!() };
    let more = go_on_until(|notes| notes.len() > 2 || matches!(notes, [_, Alert::Evicted(count)] if *count > 40)).await;
    assert!(matches!(more[..], [Alert::Summary(_), Alert::Evicted(count)] if count > first), "{more:?}");
    summaries.fail(false);
    say(&house, &model, "And now?").await;
    assert!(matches!(notes(&house).await[..], [Alert::Summary(_)]));
}

#[tokio::test]
async fn the_summariser_is_asked_as_the_settings_say() {
    let (house, summaries) = small(&["memory_insert"]).await;
    let settings = json!({
        "mode": "all", "model": "other/small", "prompt": "In one line.", "prompt_acknowledgement": true,
        "clip_chars": 40, "model_settings": {"temperature": 0.1, "max_output_tokens": 99},
    });
    house.adjust(|agent| agent.compaction_settings = Some(settings)).await;
    let (model, _) = vendor(u64::from(WINDOW), 1.0, true);
    let mut number = 0;
    while notes(&house).await.is_empty() {
        say(&house, &model, &turn(number)).await;
        number += 1;
    }
    let [Alert::Summary(summary)] = &notes(&house).await[..] else { panic!("a summary") };
    assert!(summary.chars().count() <= 40, "{summary}");
    assert_eq!(*summaries.asked.lock().unwrap(), ["other/small"]);
    let request = &summaries.model.requests()[0];
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::User]);
    assert_eq!(request.messages[0].content[0].as_text(), Some("In one line."));
    assert_eq!((request.sampling.temperature, request.sampling.max_output_tokens), (Some(0.1), Some(99)));
    assert!(request.tools.is_empty());
    let roles: Vec<Role> = house.snapshot().await.context.iter().map(|message| message.role).collect();
    assert_eq!(&roles[..3], [Role::System, Role::User, Role::User], "only the open exchange is left");
}

#[tokio::test]
async fn a_summariser_with_a_small_window_works_in_parts() {
    let (mut house, _) = small(&[]).await;
    let summaries = Summaries::of(&mut house, 1_536);
    let (model, _) = vendor(u64::from(WINDOW), 1.0, true);
    let mut number = 0;
    while notes(&house).await.is_empty() {
        say(&house, &model, &turn(number)).await;
        number += 1;
    }
    let requests = summaries.model.requests();
    assert!(requests.len() > 2, "{}", requests.len());
    assert!(requests.iter().all(|request| counted(request) < 1_536));
    let second = requests[1].messages.last().unwrap().content[0].as_text().unwrap();
    assert!(second.contains("<summary_so_far>\nSummary: [2027-01-15"), "{second}");
}

#[tokio::test]
async fn a_client_that_leaves_during_a_summary_changes_nothing() {
    let (mut house, _) = small(&[]).await;
    let (model, _) = vendor(u64::from(WINDOW), 1.0, true);
    let gate = Gate::new();
    let held = ScriptedModel::playing([Reply::held_by(&gate).and_say("never")]);
    house.summarisers = Arc::new(move |handle: ModelHandle| {
        let config = LlmConfig::new(handle, "openai", WINDOW);
        let found = Summariser::Model { model: Arc::new(held.clone()), config, prompt: "Sum up.".into() };
        Box::pin(async move { Ok(found) })
    });
    let leave = async {
        gate.reached().await;
        house.cancel.cancel();
    };
    let talk = async {
        let (mut before, mut finished, mut number) = (0, StopReason::EndTurn, 0);
        while finished == StopReason::EndTurn {
            before = house.snapshot().await.context.len();
            finished = say(&house, &model, &turn(number)).await.0.stop_reason;
            number += 1;
        }
        assert_eq!((finished, house.snapshot().await.context.len()), (StopReason::Cancelled, before));
    };
    Box::pin(async { tokio::join!(leave, talk) }).await;
    assert!(notes(&house).await.is_empty());
}

#[tokio::test]
async fn one_long_run_keeps_its_question_and_an_agent_that_clears_its_buffer_is_compacted_too() {
    for autoclear in [false, true] {
        let (house, summaries) = small(&["memory_insert"]).await;
        house.adjust(|agent| agent.message_buffer_autoclear = autoclear).await;
        let calls = Arc::new(Mutex::new(0));
        let model = ScriptedModel::answering(move |request| {
            check_pairs(&request.messages);
            assert!(counted(request) <= u64::from(WINDOW));
            let mut calls = calls.lock().unwrap();
            *calls += 1;
            match *calls % 40 {
                0 => Reply::say("Done."),
                number => Reply::call("no_such_tool", &json!({"number": number, "text": "some words ".repeat(40)})),
            }
        });
        for _ in 0..2 {
            let (finished, _) = say(&house, &model, "What was the question?").await;
            assert_eq!(finished.stop_reason, StopReason::EndTurn, "{:?}", finished.failure);
        }
        assert!(summaries.model.requests().len() > 2);
        let last = model.requests().pop().unwrap();
        let question = |message: &&ChatMessage| {
            message.content[..].first().and_then(|part| part.as_text()) == Some("What was the question?")
        };
        assert_eq!(last.messages.iter().filter(question).count(), 1);
        assert_eq!(notes(&house).await.len(), 1);
    }
}

#[tokio::test]
async fn the_guide_keeps_extracts_instead_of_summaries() {
    let (mut house, _) = small(&[]).await;
    house.summarisers = Arc::new(|_| Box::pin(async { Ok(Summariser::Extract) }));
    let (model, _) = vendor(u64::from(WINDOW), 1.0, true);
    let mut number = 0;
    while notes(&house).await.is_empty() {
        say(&house, &model, &turn(number)).await;
        number += 1;
    }
    let [Alert::Summary(summary)] = &notes(&house).await[..] else { panic!("an extract") };
    assert!(summary.starts_with("Extract of earlier messages"), "{summary}");
    assert!(summary.contains("- January 15, 2027: "), "{summary}");
}

#[tokio::test]
async fn the_system_message_says_how_much_is_out_of_view() {
    let (house, _) = small(&[]).await;
    let (model, _) = vendor(u64::from(WINDOW), 1.0, true);
    let mut number = 0;
    while notes(&house).await.is_empty() {
        say(&house, &model, &turn(number)).await;
        number += 1;
    }
    let context = house.snapshot().await.context;
    let system = context[0].first_text().to_owned();
    assert!(!system.contains("- 0 previous messages"), "{system}");
}
