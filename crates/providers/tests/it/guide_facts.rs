//! How well the guide remembers: chats that tell facts, ask for them in other words, and ask for what was never told.
//!
//! The lists stand in `guide_lists/`. Right is an answer that holds the wanted words and none of the outdated ones;
//! invented is any answer to a question about something never told that does not say that it is not known.

use crate::guide_agent::Agent;

pub(crate) const LISTS: [(&str, &str); 18] = [
    ("a_mixed", include_str!("guide_lists/a_mixed.txt")),
    ("b_family", include_str!("guide_lists/b_family.txt")),
    ("c_europe", include_str!("guide_lists/c_europe.txt")),
    ("d_office", include_str!("guide_lists/d_office.txt")),
    ("e_stranger", include_str!("guide_lists/e_stranger.txt")),
    ("f_student", include_str!("guide_lists/f_student.txt")),
    ("g_crisp", include_str!("guide_lists/g_crisp.txt")),
    ("h_letters", include_str!("guide_lists/h_letters.txt")),
    ("i_turns", include_str!("guide_lists/i_turns.txt")),
    ("j_house", include_str!("guide_lists/j_house.txt")),
    ("k_fresh", include_str!("guide_lists/k_fresh.txt")),
    ("l_fresh", include_str!("guide_lists/l_fresh.txt")),
    ("m_fresh", include_str!("guide_lists/m_fresh.txt")),
    ("n_fresh", include_str!("guide_lists/n_fresh.txt")),
    ("o_fresh", include_str!("guide_lists/o_fresh.txt")),
    ("p_fresh", include_str!("guide_lists/p_fresh.txt")),
    ("q_fresh", include_str!("guide_lists/q_fresh.txt")),
    ("r_fresh", include_str!("guide_lists/r_fresh.txt")),
];

/// How "I don't know" begins in the languages that the guide speaks.
pub(crate) const UNKNOWN: [&str; 10] = [
    "I don't know",
    "Das weiß ich nicht",
    "Je ne sais pas",
    "No lo sé",
    "Non lo so",
    "Não sei",
    "Dat weet ik niet",
    "わかりません",
    "我不知道",
    "Я не знаю",
];

#[derive(Debug, Default)]
pub(crate) struct Score {
    pub(crate) asked: usize,
    pub(crate) right: usize,
    pub(crate) invented: usize,
    pub(crate) faults: Vec<String>,
}

async fn play(list: &str, mut agent: Agent, fresh: bool) -> Score {
    let mut score = Score::default();
    for line in list.lines().filter(|line| line.starts_with("tell ")) {
        agent.say(&line["tell ".len()..]).await;
    }
    if fresh {
        agent.new_conversation();
    }
    for line in list.lines() {
        score.line(&mut agent, line).await;
    }
    score
}

impl Score {
    /// One line of a list that asks.
    pub(crate) async fn line(&mut self, agent: &mut Agent, line: &str) {
        if let Some(rest) = line.strip_prefix("ask ") {
            self.ask(agent, rest).await;
        }
        if let Some(question) = line.strip_prefix("never ") {
            let words = agent.say(question).await.words;
            if words.contains('“') {
                self.faults.push(format!("QUOTED {question} -> {words}"));
            }
            if !UNKNOWN.iter().any(|unknown| words.starts_with(unknown)) {
                self.invented += 1;
                self.faults.push(format!("INVENTED {question} -> {words}"));
            }
        }
    }

    async fn ask(&mut self, agent: &mut Agent, line: &str) {
        let (question, wanted) = line.split_once(" => ").expect("an answer stands after =>");
        let (wanted, outdated) = wanted.split_once(" !").unwrap_or((wanted, "\u{0}"));
        let words = agent.say(question).await.words.to_lowercase();
        let has = |choices: &str| choices.split('/').any(|choice| words.contains(&choice.to_lowercase()));
        self.asked += 1;
        if has(wanted) && !has(outdated) {
            self.right += 1;
            if UNKNOWN.iter().any(|unknown| words.starts_with(&unknown.to_lowercase())) {
                self.faults.push(format!("UNSURE {line} -> {words}"));
            }
        } else {
            self.faults.push(format!("WRONG {line} -> {words}"));
        }
    }
}

#[tokio::test]
async fn the_guide_remembers_and_never_invents() {
    let (mut told, mut good) = (Vec::new(), true);
    for (name, list) in LISTS {
        for (policy, agent, fresh) in [("V3", Agent::v3(), true), ("V2", Agent::v2(), false)] {
            let Score { asked, right, invented, faults } = play(list, agent, fresh).await;
            // 27 of 30, and not one invention.
            good &= asked >= 30 && 10 * right >= 9 * asked && invented == 0;
            told.push(format!("{name} {policy}: {right}/{asked} right, {invented} invented"));
            told.extend(faults);
        }
    }
    assert!(good, "{}", told.join("\n"));
}
