//! Where a client's newest user message stands in its session: behind all that was said, or where we already have one.
//!
//! A client that edits or regenerates sends its history up to that place, and nothing says so. What it has is matched by
//! position against what the session knows. Equal text is never the same message by itself: only its place counts.
//!
//! Pure. It is asked only where the history holds an assistant message; a client without one sends its newest message
//! alone, and that goes on.

use std::cmp::Reverse;

/// Messages of a session that are looked at, from its end.
const MAX_KNOWN: usize = 10_000;
/// Messages of a client's history that are compared at one place, from its end.
const WINDOW: usize = 64;

/// What the newest user message is to the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It goes on behind what is known. So many messages before it, from the end, are not known yet either.
    New { unheard: usize },
    /// The session has a user message there already: the context goes back to just before the one at `to`, counted
    /// from 0.
    Rewind { to: usize },
    /// It goes on, and may be of another chat of the same session.
    Apart,
    /// The history is another's: the session knows nothing yet.
    Unseen,
}

/// Whose chat a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chat {
    /// The client names its chat by an id of its own, so that it alone speaks in this session and sends its history
    /// from the start.
    Named,
    /// Several chats may share the session. So many of its first messages are never gone back to: examples, which every
    /// chat may begin with, and all up to the last one with which another chat may have begun or gone on.
    Nameless { settled: usize },
}

/// Finds the place. `known` are the session's user messages in order, without those that were superseded; `brought` are
/// the client's, without the newest; `chat` says what is known of whose chat it is.
///
/// 1. Nothing known, something brought: unseen.
/// 2. Nothing brought: the newest is the chat's first. In a chat with an id that is the session's first too; elsewhere
///    it may be another chat of the same session, and so may be one that brings nothing but the session's examples or
///    what stands before another chat's messages: going back would take those along.
/// 3. In a chat with an id, a history that is how the session begins stands where it ends.
/// 4. Otherwise its end is laid at every place that holds its last message, and at the session's end after leaving out
///    messages that the session may not have (their requests failed). The longest unbroken stretch backwards wins, then
///    the most equal messages, then the session's end: going on loses nothing, going back hides messages.
/// 5. If nothing fits, it goes on.
pub(crate) fn place<D: PartialEq>(known: &[D], brought: &[D], chat: Chat) -> Place {
    let explicit = chat == Chat::Named;
    if brought.is_empty() {
        return if explicit && !known.is_empty() { Place::Rewind { to: 0 } } else { Place::New { unheard: 0 } };
    }
    if known.is_empty() {
        return Place::Unseen;
    }
    if explicit && known.starts_with(brought) {
        return at(brought.len(), known.len());
    }
    let first = known.len().saturating_sub(MAX_KNOWN);
    let recent = &known[first..];
    let on = (0..brought.len().min(WINDOW))
        .filter_map(|unheard| Some((score(recent, &brought[..brought.len() - unheard])?, Reverse(unheard))))
        .max();
    let back =
        (1..recent.len()).filter_map(|end| score(&recent[..end], brought).map(|score| (score, first + end))).max();
    match (on, back) {
        (on, Some((score, to))) if on.is_none_or(|(other, _)| other < score) => match chat {
            Chat::Nameless { settled } if to <= settled => Place::Apart,
            Chat::Named | Chat::Nameless { .. } => Place::Rewind { to },
        },
        (Some((_, Reverse(unheard))), _) => Place::New { unheard },
        (None, _) => Place::New { unheard: brought.len() },
    }
}

/// A history that ends with the known message before number `to`.
fn at(to: usize, known: usize) -> Place {
    if to < known { Place::Rewind { to } } else { Place::New { unheard: 0 } }
}

/// The unbroken stretch of equal messages from the end backwards, and all equal ones. None where the last ones differ.
fn score<D: PartialEq>(known: &[D], brought: &[D]) -> Option<(usize, usize)> {
    let pairs = || known.iter().rev().zip(brought.iter().rev()).take(WINDOW).map(|(ours, theirs)| ours == theirs);
    let stretch = pairs().take_while(|equal| *equal).count();
    (stretch > 0).then(|| (stretch, pairs().filter(|equal| *equal).count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages are words; their order is that of the chat.
    fn check(known: &str, brought: &str, explicit: bool, expected: Place) {
        check_in(known, brought, if explicit { Chat::Named } else { Chat::Nameless { settled: 0 } }, expected);
    }

    fn check_in(known: &str, brought: &str, chat: Chat, expected: Place) {
        let words = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
        let leak = |text: &str| words(Box::leak(text.to_owned().into_boxed_str()));
        let found = place(&leak(known), &leak(brought), chat);
        assert_eq!(found, expected, "known [{known}], brought [{brought}], {chat:?}");
    }

    const ON: Place = Place::New { unheard: 0 };

    fn both(known: &str, brought: &str, expected: Place) {
        check(known, brought, true, expected);
        check(known, brought, false, expected);
    }

    #[test]
    fn a_chat_goes_on() {
        both("", "", ON);
        both("a", "a", ON);
        both("a b c", "a b c", ON);
    }

    #[test]
    fn a_history_that_nobody_has_seen_is_imported() {
        both("", "a", Place::Unseen);
        both("", "a b c", Place::Unseen);
    }

    #[test]
    fn regenerating_the_last_answer_goes_back_one() {
        both("a b c", "a b", Place::Rewind { to: 2 });
        // The newest message may be worded anew or not: it is not part of what is brought.
        both("a b", "a", Place::Rewind { to: 1 });
    }

    #[test]
    fn an_edit_in_the_middle_goes_back_to_it() {
        both("a b c d e", "a b", Place::Rewind { to: 2 });
        both("a b c d e", "a", Place::Rewind { to: 1 });
    }

    #[test]
    fn an_edit_of_the_first_message_goes_back_to_the_start_of_a_chat_with_an_id() {
        check("a b", "", true, Place::Rewind { to: 0 });
        check("a", "", true, Place::Rewind { to: 0 });
        // Elsewhere it may be a new chat of the same person.
        check("a b", "", false, ON);
    }

    #[test]
    fn a_trimmed_window_is_found_by_its_end() {
        both("a b c d e f", "d e f", ON);
        both("a b c d e f", "f", ON);
        both("a b c d e f", "c d", Place::Rewind { to: 4 });
    }

    #[test]
    fn equal_texts_are_told_apart_by_their_place() {
        // Five times «yes»; the client regenerates its third.
        check("yes yes yes yes yes", "yes yes", true, Place::Rewind { to: 2 });
        // Without an id nobody can tell: it goes on.
        check("yes yes yes yes yes", "yes yes", false, ON);
        both("hi yes b yes", "b yes", ON);
        both("hi yes b yes", "hi yes", Place::Rewind { to: 2 });
        check("hi hi", "hi", true, Place::Rewind { to: 1 });
        check("hi hi", "hi", false, ON);
        both("hi", "hi", ON);
    }

    #[test]
    fn a_changed_middle_does_not_hide_the_place() {
        // Editors write the list of files anew into an old message.
        both("a files1 b", "a files2 b", ON);
        both("a files1 b c", "a files2 b", Place::Rewind { to: 3 });
        both("a files1 yes b yes", "a files2 yes", Place::Rewind { to: 3 });
        both("files1 a", "files2 a", ON);
    }

    #[test]
    fn a_message_whose_request_failed_is_no_reason_to_go_back() {
        both("a b", "a b x", Place::New { unheard: 1 });
        both("a b", "a b x y", Place::New { unheard: 2 });
        both("a b", "x", Place::New { unheard: 1 });
        both("a", "a a", ON);
        // Not even where it was said before.
        both("hi yes b", "hi yes b yes", Place::New { unheard: 1 });
        both("a files b", "a b files", Place::New { unheard: 1 });
    }

    #[test]
    fn a_chat_that_begins_with_the_sessions_examples_sets_nothing_aside() {
        let chat = Chat::Nameless { settled: 2 };
        check_in("e1 e2 a b", "e1 e2", chat, Place::Apart);
        check_in("e1 e2 a b", "e2", chat, Place::Apart);
        check_in("e1 e2 a b c", "e1 e2 a", chat, Place::Rewind { to: 3 });
        check_in("e1 e2 a b", "e1 e2 a b", chat, ON);
        check_in("e1 files a b", "e1 c files", Chat::Nameless { settled: 2 }, Place::Apart);
    }

    #[test]
    fn several_chats_share_a_session() {
        // Chat one said a b, chat two said c d; chat two goes on, then chat one.
        let chat = Chat::Nameless { settled: 2 };
        check_in("a b c d", "c d", chat, ON);
        check_in("a b c d", "a b", chat, Place::Apart);
        check_in("a b c d", "a", chat, Place::Apart);
        // Its own last message can be said again.
        check_in("a b c d", "c", chat, Place::Rewind { to: 3 });
        // Chat one went on with e, so that is not chat two's to take back.
        check_in("a b c d e", "c d", Chat::Nameless { settled: 4 }, Place::Apart);
    }

    #[test]
    fn the_work_is_bounded() {
        let known = vec![7_u8; 50_000];
        let brought = vec![7_u8; 40_000];
        assert_eq!(place(&known, &brought, Chat::Nameless { settled: 0 }), ON);
        assert_eq!(place(&known, &brought, Chat::Named), Place::Rewind { to: 40_000 });
        let nameless = Chat::Nameless { settled: 0 };
        let mut long: Vec<u32> = (0..20_000).collect();
        assert_eq!(place(&long, &[19_000], nameless), Place::Rewind { to: 19_001 });
        // What is further back than is looked at is not found, so it goes on.
        assert_eq!(place(&long, &[5], nameless), Place::New { unheard: 1 });
        long.truncate(100);
        let brought: Vec<u32> = (0..80).collect();
        assert_eq!(place(&long, &brought, nameless), Place::Rewind { to: 80 });
    }
}
