//! What the guide finds when it has left the context: every message is in a conversation of its own here, and nobody
//! can write to memory, so that only a search can find what was told.

use crate::guide_agent::{Agent, Policy};
use crate::guide_facts::{LISTS, Score, UNKNOWN};

async fn told(policy: Policy, texts: &[&str]) -> Agent {
    let mut agent = Agent::searching(policy);
    for text in texts {
        agent.say(text).await;
        agent.new_conversation();
        agent.day += 1;
    }
    agent
}

const BOTH: [Policy; 2] = [Policy::V2, Policy::V3];

#[tokio::test]
async fn lists_are_answered_by_searching_alone() {
    let (mut shown, mut good) = (Vec::new(), true);
    for (at, (name, list)) in LISTS.into_iter().enumerate() {
        let facts: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix("tell ")).collect();
        let mut agent = told(BOTH[at % 2], &facts).await;
        let mut score = Score::default();
        for line in list.lines() {
            score.line(&mut agent, line).await;
            agent.new_conversation();
        }
        let Score { asked, right, invented, faults } = score;
        // A little less than from memory, because this search knows no synonyms and no other languages; and not one
        // invention.
        good &= asked >= 30 && 100 * right >= 85 * asked && invented == 0;
        shown.push(format!("{name}: {right}/{asked} right, {invented} invented"));
        shown.extend(faults);
    }
    assert!(good, "{}", shown.join("\n"));
}

#[tokio::test]
async fn an_answer_names_the_day() {
    for policy in BOTH {
        let mut agent =
            told(policy, &["I like rain.", "My dentist is called Dr. Osei.", "The gate code is 4412."]).await;
        agent.day = 70;
        let run = agent.say("What's the name of my dentist?").await;
        assert_eq!(run.words, "On 2 March 2026 you said: “My dentist is called Dr. Osei.”.");
        let searches = run.calls.iter().filter(|call| call.ends_with("search")).count();
        assert_eq!(searches, 1, "{:?}", run.calls);
        // What was found is in the context now.
        let run = agent.say("Who is my dentist?").await;
        assert!(run.words.contains("Osei") && !run.calls.iter().any(|call| call.ends_with("search")), "{run:?}");
        let run = agent.say("Wie lautet der Code? What's the gate code?").await;
        assert!(run.words.contains("4412"), "{run:?}");
    }
}

#[tokio::test]
async fn what_the_context_answers_is_not_searched() {
    for policy in BOTH {
        let mut agent = Agent::searching(policy);
        agent.say("My cat is called Miso.").await;
        let run = agent.say("What is my cat called?").await;
        assert!(run.words.contains("Miso") && !run.calls.iter().any(|call| call.ends_with("search")), "{run:?}");
    }
}

#[tokio::test]
async fn corrections_and_requests_to_forget_hold_for_what_is_found() {
    for policy in BOTH {
        let facts = [
            "My PIN is 9021.",
            "My flight to Madrid is on March 12.",
            "My locker number is 77.",
            "Actually my flight to Madrid is on March 14.",
            "Please forget my PIN.",
            "Change my locker number to 78.",
        ];
        let mut agent = told(policy, &facts).await;
        let words = agent.say("When is my flight to Madrid?").await.words;
        assert!(words.contains("March 14") && !words.contains("March 12"), "{words}");
        agent.new_conversation();
        let words = agent.say("What's my PIN?").await.words;
        assert!(words.starts_with("I don't know") && !words.contains("9021"), "{words}");
        agent.new_conversation();
        let words = agent.say("What's my locker number?").await.words;
        assert!(words.contains("78") && !words.contains("77"), "{words}");
    }
}

#[tokio::test]
async fn questions_are_no_answers_and_each_tool_is_asked_once() {
    for policy in BOTH {
        let asked = ["What is the name of my dog?", "Is my dog called Rex?", "I like rain."];
        let mut agent = told(policy, &asked).await;
        let run = agent.say("What is the name of my dog?").await;
        assert!(UNKNOWN.iter().any(|unknown| run.words.starts_with(unknown)), "{run:?}");
        assert!(!run.words.contains("Rex"), "{run:?}");
        let searches: Vec<&String> = run.calls.iter().filter(|call| call.ends_with("search")).collect();
        assert_eq!(searches, ["conversation_search", "archival_memory_search"]);
        // Many questions at once do not make a run endless.
        agent.new_conversation();
        let many: String = (0..30).map(|number| format!("What is the colour of car {number}? ")).collect();
        let run = agent.say(&many).await;
        assert!(run.words.starts_with("I don't know"), "{run:?}");
    }
}

#[tokio::test]
async fn the_archive_is_searched_after_the_conversation() {
    for policy in BOTH {
        let mut agent = told(policy, &["I like rain."]).await;
        agent.passages.push((3, "The alarm code of the cabin is 5510.\nThe boat is called Selma.".to_owned()));
        let run = agent.say("What's the name of the boat?").await;
        assert_eq!(run.words, "In my archive, from 4 March 2026: “The boat is called Selma.”.");
        agent.new_conversation();
        agent.day = 9;
        agent.say("Forget the name of the boat.").await;
        agent.new_conversation();
        let run = agent.say("What's the name of the boat?").await;
        assert!(run.words.starts_with("I don't know"), "{run:?}");
    }
}

const ALL_TOOLS: [&str; 6] = [
    "send_message",
    "conversation_search",
    "archival_memory_insert",
    "archival_memory_search",
    "core_memory_append",
    "core_memory_replace",
];

fn whole(policy: Policy) -> Agent {
    Agent::new(policy, if policy == Policy::V3 { &ALL_TOOLS[1..] } else { &ALL_TOOLS })
}

#[tokio::test]
async fn the_archive_takes_what_a_block_can_not() {
    for policy in BOTH {
        let mut agent = whole(policy);
        agent.say("My cat is called Miso.").await;
        assert!(agent.passages.is_empty() && agent.blocks[1].value.contains("Miso"));
        for block in &mut agent.blocks {
            block.limit = block.value.chars().count();
        }
        let run = agent.say("My dog is called Rex.").await;
        assert_eq!(run.words, "Put into my archive: “My dog is called Rex.”.");
        assert_eq!(agent.passages.len(), 1);
        agent.new_conversation();
        assert!(agent.say("What is my dog called?").await.words.contains("Rex"));
    }
}

#[tokio::test]
async fn the_archive_takes_what_it_is_asked_to_take() {
    let long = format!("Remember that {} and the end is a lighthouse", "we walked along the shore, ".repeat(30));
    for policy in BOTH {
        let mut agent = whole(policy);
        let before = agent.blocks[1].value.clone();
        let text = "Archive this: The alarm code of the cabin is 5510. The boat is called Selma.";
        let run = agent.say(text).await;
        assert!(run.words.starts_with("Put into my archive"), "{run:?}");
        agent.say(&long).await;
        assert_eq!((agent.passages.len(), &agent.blocks[1].value), (2, &before));
        assert_eq!(agent.passages[0].1, "The alarm code of the cabin is 5510. The boat is called Selma.");
        agent.new_conversation();
        assert!(agent.say("What is the boat called?").await.words.contains("Selma"));
        // Without an archive it goes where everything goes.
        let mut agent = if policy == Policy::V3 { Agent::v3() } else { Agent::v2() };
        agent.say(text).await;
        assert!(agent.blocks[1].value.contains("Selma"));
    }
}
