//! Cuts of small histories by hand, and of random ones by what must always hold.

use domain::{
    Actor, AgentId, ContentPart, ConversationId, MessageId, StepId, Timestamp, ToolCall, ToolReturn, ToolStatus,
};
use proptest::prelude::*;

use super::*;
use crate::history::{HistoryOptions, chat_messages};
use crate::packaging::{Evicted, evicted_alert, heartbeat, summary_alert};

/// A message in one letter: `s`ystem, `u`ser, `a`ssistant, `c`all, several `C`alls, `r`eturn of the last calls,
/// `h`eartbeat, request for `A`pproval, its answer (`y`es), the `S`ummary and the alert (`E`victed).
fn history(letters: &str) -> Vec<Arc<Message>> {
    let mut calls: Vec<ToolCall> = Vec::new();
    let mut number = 0;
    let mut made = Vec::new();
    for letter in letters.chars() {
        number += 1;
        let mut message = blank(number);
        match letter {
            's' => message.role = Role::System,
            'u' => message.role = Role::User,
            'a' => message.role = Role::Assistant,
            'c' | 'C' | 'A' => {
                message.role = if letter == 'A' { Role::Approval } else { Role::Assistant };
                let count = if letter == 'C' { 3 } else { 1 };
                // Some vendors number the calls of each answer anew.
                calls = (0..count).map(|index| call(&format!("call_{index}"))).collect();
                message.tool_calls = calls.clone().into();
            }
            'r' => {
                message.role = Role::Tool;
                message.tool_returns = calls.iter().map(returned).collect();
                message.content = calls.iter().map(|_| ContentPart::text("done")).collect();
            }
            'y' => message.role = Role::Approval,
            'h' => message.content = text(heartbeat("again", Timestamp::UNIX_EPOCH, "UTC")),
            'S' => {
                message.step = None;
                message.content = text(summary_alert("They met.", Timestamp::UNIX_EPOCH, "UTC"));
            }
            'E' => {
                message.step = None;
                let at = Timestamp::UNIX_EPOCH;
                let evicted = Evicted { count: 7, first: at, last: at, search_tool: None };
                message.content = text(evicted_alert(&evicted, at, "UTC"));
            }
            other => panic!("{other}"),
        }
        made.push(Arc::new(message));
    }
    made
}

fn blank(number: u64) -> Message {
    Message {
        id: MessageId::random(),
        organization: Actor::default_user().organization,
        agent: AgentId::from_bytes([2; 16]),
        conversation: ConversationId::from_bytes([3; 16]),
        identity: None,
        sequence_id: number,
        role: Role::User,
        content: text(format!("message {number}")),
        tool_calls: Arc::default(),
        tool_returns: Arc::default(),
        name: None,
        model: None,
        otid: None,
        run: None,
        step: Some(StepId::from_bytes([4; 16])),
        standing: domain::Standing::Kept,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

fn text(text: String) -> Arc<[ContentPart]> {
    Arc::new([ContentPart::text(text)])
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "tool".into(), arguments: "{}".into() }
}

fn returned(call: &ToolCall) -> ToolReturn {
    ToolReturn { call_id: call.id.clone(), name: call.name.clone(), status: ToolStatus::Success, text: "done".into() }
}

fn cut(letters: &str, mode: CompactionMode, keep_tokens: u64, pinned: usize) -> String {
    let context = history(letters);
    let tokens = vec![10; context.len()];
    let cut = plan_cut(&context, &tokens, &CutGoal { mode, keep_tokens, pinned });
    let mut shown: Vec<char> = letters.chars().collect();
    cut.evicted.iter().for_each(|index| shown[*index] = '-');
    cut.notes.iter().for_each(|index| shown[*index] = '=');
    shown.into_iter().collect()
}

fn sliding(letters: &str, keep_messages: u64, expected: &str) {
    assert_eq!(cut(letters, CompactionMode::SlidingWindow, keep_messages * 10, 0), expected, "{letters}");
}

#[test]
fn the_newest_stay_as_far_as_they_fit() {
    sliding("suauauau", 3, "s----uau");
    sliding("suauauau", 4, "s----uau");
    sliding("suauauau", 5, "s--uauau");
    sliding("suauauau", 99, "suauauau");
    sliding("suauauau", 0, "s------u");
    sliding("suaua", 0, "s---a");
    sliding("s", 0, "s");
    sliding("", 0, "");
    sliding("uaua", 2, "--ua");
}

#[test]
fn a_call_and_what_belongs_to_it_stay_together() {
    sliding("sucrhcrau", 7, "s-crhcrau");
    sliding("sucrhcrau", 6, "s----crau");
    sliding("sucrau", 3, "s---au");
    sliding("suCrau", 4, "s-Crau");
    sliding("sucrhcrhcr", 2, "s-------cr");
    sliding("sucrhcrhcr", 1, "s-------cr");
    sliding("suAyrau", 3, "s----au");
    sliding("suaAy", 1, "s--Ay");
    sliding("suauc", 1, "s---c");
}

#[test]
fn a_long_run_keeps_its_question_if_there_is_room() {
    sliding("suaucrcrcr", 5, "s--u--crcr");
    sliding("suaucrcrcr", 4, "s-----crcr");
    assert_eq!(cut("sucrcrcr", CompactionMode::All, 50, 0), "su--crcr");
}

#[test]
fn notes_of_earlier_compactions_are_taken_up() {
    sliding("sSuauau", 3, "s=--uau");
    sliding("sSEuauau", 3, "s==--uau");
    let context = history("sSEua");
    let cut = plan_cut(&context, &[1; 5], &CutGoal { mode: CompactionMode::All, keep_tokens: 0, pinned: 0 });
    let notes = notes_of(&context, &cut);
    assert_eq!(notes.summary.unwrap().1, "They met.");
    assert_eq!(notes.unsummarised.unwrap().1, 7);
}

#[test]
fn nobody_but_the_runtime_writes_notes() {
    let mut said = Message::clone(&history("S")[0]);
    said.step = Some(StepId::random());
    assert_eq!(packaging::read_alert(&said), None);
}

#[test]
fn all_keeps_the_open_exchange() {
    let all = |letters, keep: u64, pinned| cut(letters, CompactionMode::All, keep * 10, pinned);
    assert_eq!(all("suauau", 99, 1), "s----u");
    assert_eq!(all("suaucrcr", 99, 0), "s--ucrcr");
    assert_eq!(all("suauuu", 99, 2), "s---uu");
    assert_eq!(all("sSua", 99, 0), "s=ua");
}

#[test]
fn what_is_not_stored_yet_stays_whatever_its_size() {
    assert_eq!(cut("suaucruuu", CompactionMode::SlidingWindow, 0, 3), "s-----uuu");
    assert_eq!(cut("suau", CompactionMode::SlidingWindow, 0, 9), "suau");
}

/// What runs leave behind: exchanges of one or more inputs, steps with calls, heartbeats and approvals.
fn letters() -> impl Strategy<Value = String> {
    let step = prop::sample::select(vec!["a", "cr", "Cr", "crh", "Crh", "Ayr", "Ayrh", "rr", "h"]);
    let exchange = (prop::sample::select(vec!["u", "uu", ""]), prop::collection::vec(step, 0..6))
        .prop_map(|(inputs, steps)| format!("{inputs}{}", steps.concat()));
    let start = prop::sample::select(vec!["s", "sS", "sSE", "sE", ""]);
    let end = prop::sample::select(vec!["", "A", "Ay", "c", "u"]);
    (start, prop::collection::vec(exchange, 0..8), end)
        .prop_map(|(start, exchanges, end)| format!("{start}{}{end}", exchanges.concat()))
}

/// Returns that a model would be shown.
fn shown_returns(context: &[Arc<Message>]) -> usize {
    let options = HistoryOptions { inner_thoughts: false, max_return_chars: None, images: true };
    chat_messages(context, &options).iter().filter(|message| message.role == Role::Tool).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_cut_is_sound(
        letters in letters(), sizes in prop::collection::vec(1_u64..400, 64..65), keep_tokens in 0_u64..4_000,
        all: bool, pinned in 0_usize..3,
    ) {
        let context = history(&letters);
        // Only inputs are pinned: they are what a run brings.
        let inputs = context.iter().rev().take_while(|message| is_input(message) && message.step.is_some());
        let inputs = inputs.filter(|message| message.role == Role::User).count();
        let mut tokens = sizes;
        tokens.resize(context.len(), 50);
        let mode = if all { CompactionMode::All } else { CompactionMode::SlidingWindow };
        let goal = CutGoal { mode, keep_tokens, pinned: pinned.min(inputs) };
        let cut = plan_cut(&context, &tokens, &goal);

        // Every message is in one list, and each list is in order.
        let mut places: Vec<usize> =
            cut.system.iter().chain(&cut.notes).chain(&cut.evicted).chain(&cut.kept).copied().collect();
        places.sort_unstable();
        prop_assert_eq!(places, (0..context.len()).collect::<Vec<_>>());
        for list in [&cut.notes, &cut.evicted, &cut.kept] {
            prop_assert!(list.is_sorted());
        }
        // The system message and the newest stay.
        prop_assert_eq!(cut.system.is_some(), letters.starts_with('s'));
        let pinned = context.len() - goal.pinned..context.len();
        prop_assert!(pinned.into_iter().all(|index| cut.kept.contains(&index)));
        let has_history = context.len() > cut.notes.len() + usize::from(cut.system.is_some());
        prop_assert_eq!(cut.kept.last() == Some(&(context.len().saturating_sub(1))), has_history);
        // Nothing that stays loses its other half, and nothing that goes had one that stays.
        let part = |list: &[usize]| list.iter().map(|index| context[*index].clone()).collect::<Vec<_>>();
        let (kept, evicted) = (part(&cut.kept), part(&cut.evicted));
        prop_assert_eq!(shown_returns(&kept) + shown_returns(&evicted), shown_returns(&context));
        if let Some(first) = kept.first().filter(|_| !evicted.is_empty()) {
            prop_assert!(begins_something(first), "{}", letters);
        }
    }

    /// What is kept fits, unless it is the least that can be kept.
    #[test]
    fn what_stays_is_small_enough(letters in letters(), keep_tokens in 0_u64..1_000) {
        let context = history(&letters);
        let tokens = vec![10; context.len()];
        let size = |keep_tokens| {
            let goal = CutGoal { mode: CompactionMode::SlidingWindow, keep_tokens, pinned: 0 };
            plan_cut(&context, &tokens, &goal).kept.len() as u64 * 10
        };
        prop_assert!(size(keep_tokens) <= keep_tokens.max(size(0)));
    }

    /// A compaction leaves so much room that the next message, unless it is huge, does not need another.
    #[test]
    fn compaction_is_not_due_again_at_once(
        sizes in prop::collection::vec(1_u64..900, 30..60), window in 4_096_u32..16_000, fixed in 100_u64..2_000,
        keep in 0.05_f64..1.0,
    ) {
        let letters: String = (0..sizes.len()).map(|index| if index % 2 == 0 { 'u' } else { 'a' }).collect();
        let context = history(&letters);
        let budget = crate::budget::Budget::new(window, None);
        let summary = budget.summary_tokens(domain::compaction::Clip::Usual);
        let keep_tokens = budget.keep_tokens(fixed, summary, keep, 0);
        let goal = CutGoal { mode: CompactionMode::SlidingWindow, keep_tokens, pinned: 0 };
        let cut = plan_cut(&context, &sizes, &goal);
        let kept: u64 = cut.kept.iter().map(|index| sizes[*index]).sum();
        let newest = *sizes.last().unwrap();
        prop_assert!(kept <= keep_tokens.max(newest));
        let room = budget.trigger().saturating_sub(fixed + summary);
        let next = room * 3 / 10;
        if newest <= keep_tokens {
            prop_assert!(fixed + summary + kept + next <= budget.trigger() + 1);
        }
    }
}
