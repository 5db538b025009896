//! When a request is counted and when not, and what is learned.

use domain::{Actor, AgentId, ContentPart, Timestamp};

use super::*;

const OPTIONS: HistoryOptions = HistoryOptions { inner_thoughts: false, max_return_chars: None, images: true };

fn said(role: Role, text: &str) -> Arc<Message> {
    Arc::new(Message {
        id: MessageId::random(),
        organization: Actor::default_user().organization,
        agent: AgentId::from_bytes([2; 16]),
        conversation: ConversationId::from_bytes([3; 16]),
        identity: None,
        sequence_id: 0,
        role,
        content: Arc::new([ContentPart::text(text)]),
        tool_calls: Arc::default(),
        tool_returns: Arc::default(),
        name: None,
        model: None,
        otid: None,
        run: None,
        step: None,
        standing: domain::Standing::Kept,
        created_at: Timestamp::UNIX_EPOCH,
    })
}

fn handle() -> ModelHandle {
    ModelHandle::parse("openai/gpt-4o").unwrap()
}

fn load<'a>(model: &'a ModelHandle, context: &'a [Arc<Message>]) -> Load<'a> {
    Load { conversation: ConversationId::from_bytes([3; 16]), model, context, tools: &[], options: &OPTIONS }
}

async fn measure(meter: &TokenMeter, load: Load<'_>) -> Measured {
    meter.measure(load, TokenMeter::weigh(load)).await
}

#[tokio::test]
async fn a_count_of_ours_spares_the_next_one() {
    let (meter, model, budget) = (TokenMeter::default(), handle(), Budget::new(4_096, None));
    let mut context = vec![said(Role::System, "You keep books."), said(Role::User, &"a few words ".repeat(500))];
    let before = meter.ratio(&model);
    for _ in 0..3 {
        measure(&meter, load(&model, &context)).await;
    }
    assert_eq!(meter.ratio(&model), before, "our own count teaches nothing");
    context.push(said(Role::Assistant, &"b".repeat(1_500)));
    let load = load(&model, &context);
    assert!(meter.surely_fits(load, TokenMeter::weigh(load), budget));
}

#[tokio::test]
async fn a_report_spares_the_counting_of_what_it_covers() {
    let (meter, model, budget) = (TokenMeter::default(), handle(), Budget::new(4_096, None));
    let mut context = vec![said(Role::System, "You keep books."), said(Role::User, &"a few words ".repeat(500))];
    let fits = |context: &[Arc<Message>]| {
        let load = load(&model, context);
        meter.surely_fits(load, TokenMeter::weigh(load), budget)
    };
    assert!(!fits(&context), "6,000 bytes could be as many tokens");
    let (first, weight) = (load(&model, &context), TokenMeter::weigh(load(&model, &context)));
    meter.reported(first, weight, None, 10);
    assert!(!fits(&context), "so few tokens are not believed");
    meter.reported(first, weight, None, 1_510);
    context.push(said(Role::Assistant, &"b".repeat(2_000)));
    assert!(fits(&context), "1,510 tokens and 2,000 bytes fit");
    context.push(said(Role::User, &"b".repeat(400)));
    assert!(!fits(&context), "and 400 more may not");
    let measured = measure(&meter, load(&model, &context)).await;
    let estimate = meter.ratio(&model).estimate(1_000);
    assert!((1_000..1_040).contains(&estimate), "the report says how the first two are counted: {estimate}");
    assert!(measured.total() < 2_500, "{measured:?}");
    let other = vec![context[0].clone(), said(Role::User, &"a few words ".repeat(500))];
    assert!(!fits(&other), "another context is not covered");
    let mut rewritten = context[..2].to_vec();
    rewritten[0] = said(Role::System, &"You keep many books. ".repeat(200));
    assert!(!fits(&rewritten), "a longer system message counts by its bytes");
}

#[tokio::test]
async fn a_message_is_counted_once_and_a_rewritten_system_message_again() {
    let (meter, model) = (TokenMeter::default(), handle());
    let mut context = vec![said(Role::System, "You keep books."), said(Role::User, "Hello")];
    let first = measure(&meter, load(&model, &context)).await;
    assert_eq!(first, measure(&meter, load(&model, &context)).await);
    assert_eq!(lock(&meter.counts).messages.young.len(), 2);
    let mut system = Message::clone(&context[0]);
    system.content = Arc::new([ContentPart::text("zqxj zqxj zqxj.")]);
    context[0] = Arc::new(system);
    let second = measure(&meter, load(&model, &context)).await;
    assert!(second.messages[0] > first.messages[0] && second.messages[1] == first.messages[1]);
    assert_eq!(lock(&meter.counts).messages.young.len(), 3);
}

#[test]
fn a_refusal_teaches_the_ratio_or_the_window() {
    let (meter, model, budget) = (TokenMeter::default(), handle(), Budget::new(32_000, None));
    let measured = Measured { messages: vec![9_000], rest: 0 };
    meter.refused(&model, &measured, budget, "exceeds the available context size (4096 tokens)");
    assert_eq!(meter.window(&model, 32_000), 4_096);
    assert_eq!(meter.window(&model, 2_000), 2_000);
    assert_eq!(meter.ratio(&model), Ratio::default(), "the window explains it");
    meter.refused(&model, &measured, Budget::new(4_096, None), "maximum context length is 4096 tokens, you sent 10800");
    assert!((11_880..11_882).contains(&meter.ratio(&model).estimate(9_000)));
}

#[test]
fn what_was_not_used_for_long_is_forgotten() {
    let mut kept: Generations<u32, u32> = Generations::default();
    for key in 0..10 {
        kept.keep(key, key, 4);
        assert_eq!(kept.get(&0, 4), Some(0), "what is used stays");
    }
    assert_eq!((kept.get(&9, 4), kept.get(&1, 4)), (Some(9), None));
    assert!(kept.young.len() + kept.old.len() <= 8);
}
