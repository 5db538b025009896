//! Whether a request is a task that a client sets for itself, such as a title for a chat. Pure.
//!
//! Most clients mark such requests with nothing, so they are known by the fixed words with which their applications
//! begin them. What a person says must never be taken for a task: a rule asks for all of its marks, each of them at its
//! place, and a request that only looks like one goes to the agent. The rules are told in docs/gateway-tasks.md.

use serde_json::Value;

use crate::wire::chat_messages::{ClientMessage, ClientRole};
use crate::wire::chat_request::ChatRequest;

/// How Open WebUI begins most of its tasks, and how it marks the chat that they speak about.
const OPEN_WEBUI: &str = "### Task:";
const OPEN_WEBUI_CHAT: [&str; 3] = ["<chat_history>", "</chat_history>", "### Output:"];
/// How Open WebUI asks for a sign for a message.
const OPEN_WEBUI_EMOJI: &str =
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji.";
/// How LibreChat asks for a title.
const LIBRE_CHAT: &str = "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. \
                          Only return the title itself. Conversation:";
/// How Continue asks for one.
const CONTINUE: &str = "Given the following... please reply with a title for the chat that is 3-4 words in length, all \
                        words used should be directly related to the content of the chat,";
/// How Zed asks for one, behind the whole chat.
const ZED: &str = "Generate a concise 3-7 word title for this conversation, omitting punctuation. Go straight to the \
                   title, without any preamble and prefix like";

/// Whether `request` is about a chat and no part of it.
pub(crate) fn is_task(request: &ChatRequest) -> bool {
    is_named(request.metadata.get("task")) || is_question_alone(request) || is_question_behind_a_chat(request)
}

/// `metadata.task` with one of Open WebUI's names. Other applications keep notes of their own under that key.
fn is_named(task: Option<&Value>) -> bool {
    let name = task.and_then(Value::as_str).unwrap_or_default();
    name.ends_with("_generation") || name == "function_calling"
}

/// A request of one message, without tools, that holds what it is about.
fn is_question_alone(request: &ChatRequest) -> bool {
    let [message] = request.messages.as_slice() else { return false };
    if message.role != ClientRole::User || !request.tools.tools.is_empty() {
        return false;
    }
    let text = message.text();
    let text = text.trim_start();
    // Open WebUI asks a person's questions as a stream, and begins those with documents in the same way.
    let of_open_webui = !request.stream
        && (text.starts_with(OPEN_WEBUI) && in_order(text, &OPEN_WEBUI_CHAT)
            || text.starts_with(OPEN_WEBUI_EMOJI) && text.contains("Message:"));
    of_open_webui || begins(text, LIBRE_CHAT) || begins(text, CONTINUE)
}

/// The last message of a chat that asks for its title.
fn is_question_behind_a_chat(request: &ChatRequest) -> bool {
    let answered = request.messages.iter().any(|message| message.role == ClientRole::Assistant);
    let last = request.messages.last().filter(|message| message.role == ClientRole::User);
    answered && last.map(ClientMessage::text).is_some_and(|text| begins(&text, ZED))
}

/// Whether the marks are all there. The output's form may stand before the chat or behind it.
fn in_order(text: &str, [open, close, output]: &[&str; 3]) -> bool {
    let opened = text.find(open);
    opened.is_some_and(|at| text[at..].contains(close)) && text.contains(output)
}

/// Whether a text begins with these words, however its lines are broken.
fn begins(text: &str, words: &str) -> bool {
    let mut said = text.split_whitespace();
    words.split_whitespace().all(|word| said.next() == Some(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task(body: &Value) -> bool {
        let mut body = body.clone();
        body["model"] = json!("ada");
        is_task(&ChatRequest::parse(body.to_string().as_bytes()).unwrap_or_else(|_| panic!("{body}")))
    }

    fn alone(text: &str) -> Value {
        json!({"messages": [{"role": "user", "content": text}]})
    }

    const TITLE: &str = "### Task:\nName this chat.\n### Output:\nJSON\n### Chat History:\n\
                         <chat_history>\nUSER: hi\nASSISTANT: hello\n</chat_history>";

    #[test]
    fn tasks_are_known_by_their_applications_words() {
        let zed = "Generate a concise 3-7 word title for this conversation, omitting punctuation.\nGo straight to the \
                   title, without any preamble and prefix like `Title:`.";
        for (name, body) in [
            (
                "named",
                json!({"messages": [{"role": "user", "content": "x"}], "metadata": {"task": "title_generation"}}),
            ),
            ("open webui", alone(TITLE)),
            (
                "its autocompletion",
                alone(
                    "### Task:\nGo on.\n<context>\n<chat_history>\nUSER: a\n</chat_history>\n</context>\n<text>My</text>\n#### Output:\n",
                ),
            ),
            ("its emoji", alone(&format!("{OPEN_WEBUI_EMOJI} Use one.\n\nMessage: ```hi```"))),
            (
                "librechat",
                alone(
                    "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.\n\nConversation:\nUser: hi",
                ),
            ),
            ("continue", alone(&format!("{CONTINUE} avoid verbs.\n\nhi"))),
            (
                "zed",
                json!({"stream": true, "messages": [
                {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"},
                {"role": "user", "content": zed}]}),
            ),
        ] {
            assert!(task(&body), "{name}");
        }
    }

    #[test]
    fn what_a_person_says_is_no_task() {
        let with = |body: &Value, field: &str, value: Value| {
            let mut body = body.clone();
            body[field] = value;
            body
        };
        let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
        for (name, body) in [
            ("a note of an application", with(&alone("hi"), "metadata", json!({"task": "write code"}))),
            ("a note that is no text", with(&alone("hi"), "metadata", json!({"task": 7}))),
            ("a heading", alone("### Task:\nWrite a poem.")),
            ("a heading with an output", alone("### Task:\nWrite a poem.\n### Output:\na poem")),
            ("documents", alone("### Task:\nAnswer.\n\n<context>\n<source id=\"1\">x</source>\n</context>\n\nWhere?")),
            ("documents, streamed", with(&alone(TITLE), "stream", json!(true))),
            ("a question about a task", alone(&format!("What does this do?\n{TITLE}"))),
            ("marks in the wrong order", alone("### Task:\n</chat_history><chat_history> ### Output:")),
            ("a task with tools", with(&alone(TITLE), "tools", tools)),
            (
                "a task in a chat",
                json!({"messages": [{"role": "user", "content": "hi"},
                {"role": "assistant", "content": "hello"}, {"role": "user", "content": TITLE}]}),
            ),
            (
                "a task under a prompt",
                json!({"messages": [{"role": "system", "content": "Be kind."},
                {"role": "user", "content": TITLE}]}),
            ),
            ("a wish for a title", alone("Provide a concise title for the conversation, please.")),
            ("a wish for a short title", alone("Provide a concise, 5-word-or-less title for the conversation")),
            ("zed's words without a chat", alone(ZED)),
            (
                "zed's words in a sentence",
                json!({"messages": [{"role": "user", "content": "hi"},
                {"role": "assistant", "content": "hello"},
                {"role": "user", "content": format!("Why did you say: {ZED}")}]}),
            ),
            (
                "a title for a book",
                json!({"messages": [{"role": "user", "content": "hi"},
                {"role": "assistant", "content": "hello"},
                {"role": "user", "content": "Generate a concise 3-7 word title for this conversation, please."}]}),
            ),
            ("a face", alone("Your task is to reflect on the speaker.")),
        ] {
            assert!(!task(&body), "{name}");
        }
    }
}
