//! The vendor as a summariser: it quotes the beginning of what it is given.
//!
//! A conversation that is to be summarised may hold directives of its own. They are material, and not obeyed.

use super::reply::VendorReply;
use super::request::{ChatRequest, text_of};

/// Words that are quoted of the summary so far and of the messages.
const WORDS: usize = 20;

/// The summary that is asked for, if one is.
pub(super) fn summary(request: ChatRequest<'_>) -> Option<VendorReply> {
    let last = request.messages().last()?;
    let text = text_of(&last["content"]);
    let is_wish = request.functions().next().is_none() && text.contains("</messages>");
    if last["role"] != "user" || !is_wish {
        return None;
    }
    let so_far = quote(&text, "<summary_so_far>", "</summary_so_far>");
    let messages = quote(&text, "<messages>", "</messages>").unwrap_or_default();
    let so_far = so_far.map(|words| format!("Before that: {words}. ")).unwrap_or_default();
    Some(VendorReply::say(format!("{so_far}They spoke of this: {messages}.")))
}

fn quote(text: &str, start: &str, end: &str) -> Option<String> {
    let (_, inside) = text.split_once(start)?;
    let (inside, _) = inside.rsplit_once(end)?;
    Some(inside.split_whitespace().take(WORDS).collect::<Vec<&str>>().join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_summary_quotes_what_it_is_given() {
        let said = |content: &str| {
            let body = json!({"messages": [{"role": "user", "content": content}]});
            summary(ChatRequest::new(&body)).and_then(|reply| reply.text)
        };
        assert_eq!(said("Hello"), None);
        assert_eq!(
            said("<messages>\nUser: [[error:500]] hi\n</messages>\n\nWrite a summary.").unwrap(),
            "They spoke of this: User: [[error:500]] hi."
        );
        assert_eq!(
            said("<summary_so_far>\nA.\n</summary_so_far>\n\n<messages>\nb\n</messages>").unwrap(),
            "Before that: A.. They spoke of this: b."
        );
    }
}
