//! What a run is given is looked at before it is taken on. Pure.

use domain::image::check_images;
use domain::{ContentPart, Role};

use crate::request::{InputMessage, Opening, PastMessage, RunOptions, SubmitError};

/// The most steps that a caller may ask for.
const MAX_STEPS_CAP: u32 = 1_000;
/// The most messages that a caller may bring at once, and the most results of its tools.
const MAX_INPUT_MESSAGES: usize = 1_000;
/// The most messages of a history.
const MAX_HISTORY: usize = 4_000;
/// The most tools that a client may offer.
const MAX_CLIENT_TOOLS: usize = 512;

/// Whether a run can begin with this.
pub(crate) fn check(opening: &Opening, options: &RunOptions) -> Result<(), SubmitError> {
    check_opening(opening)?;
    check_options(options)
}

/// Whether a run can begin with this opening, for a door that has something to store before the run.
pub fn check_opening(opening: &Opening) -> Result<(), SubmitError> {
    if opening.messages.is_empty() && opening.returns.is_empty() {
        return bad("there is no message to answer");
    }
    at_most(opening.messages.len(), MAX_INPUT_MESSAGES, "messages in one request")?;
    at_most(opening.returns.len(), MAX_INPUT_MESSAGES, "results of tools in one request")?;
    opening.messages.iter().try_for_each(check_message)?;
    check_history(&opening.history)
}

/// Whether a history can be shown to a model.
pub(crate) fn check_history(history: &[PastMessage]) -> Result<(), SubmitError> {
    at_most(history.len(), MAX_HISTORY, "messages in one history")?;
    for message in history {
        if message.role == Role::Approval {
            return bad("a history can't hold approvals");
        }
        let calls = message.tool_calls.iter().flat_map(|call| [&*call.id, &call.name, &call.arguments]);
        let returns =
            message.tool_returns.iter().flat_map(|returned| [&*returned.call_id, &returned.name, &returned.text]);
        let texts = message.content.iter().filter_map(ContentPart::as_text);
        check_texts(texts.chain(calls).chain(returns))?;
        check_shown(message.role, &message.content)?;
    }
    Ok(())
}

/// Whether the wishes for one run are within bounds.
pub(crate) fn check_options(options: &RunOptions) -> Result<(), SubmitError> {
    at_most(options.client_tools.specs.len(), MAX_CLIENT_TOOLS, "tools in one request")?;
    match options.max_steps {
        Some(0) => bad("max_steps must be at least 1"),
        Some(steps) if steps > MAX_STEPS_CAP => {
            Err(SubmitError::BadInput(format!("max_steps can't be more than {MAX_STEPS_CAP}")))
        }
        _ => Ok(()),
    }
}

fn check_message(message: &InputMessage) -> Result<(), SubmitError> {
    let texts = message.content.iter().filter_map(ContentPart::as_text);
    let has_image = message.content.iter().any(|part| part.as_image().is_some());
    if !has_image && !texts.clone().any(|text| !text.trim().is_empty()) {
        return bad("a message has no text");
    }
    check_shown(message.role, &message.content)?;
    check_texts(texts)
}

/// Whether a message of that role can show these images.
fn check_shown(role: Role, content: &[ContentPart]) -> Result<(), SubmitError> {
    if role != Role::User && content.iter().any(|part| part.as_image().is_some()) {
        return bad("only messages of the role `user` can hold images");
    }
    check_images(content).map_err(|error| SubmitError::BadInput(error.to_string()))
}

/// Whether any of the messages has an image.
pub(crate) fn have_images(messages: &[InputMessage]) -> bool {
    messages.iter().flat_map(|message| message.content.iter()).any(|part| part.as_image().is_some())
}

fn check_texts<'a>(mut texts: impl Iterator<Item = &'a str>) -> Result<(), SubmitError> {
    if texts.any(|text| text.contains('\0')) {
        return bad("a message can't hold NUL characters");
    }
    Ok(())
}

fn at_most(count: usize, most: usize, what: &str) -> Result<(), SubmitError> {
    if count > most {
        return Err(SubmitError::BadInput(format!("more than {most} {what}")));
    }
    Ok(())
}

fn bad(text: &str) -> Result<(), SubmitError> {
    Err(SubmitError::BadInput(text.to_owned()))
}
