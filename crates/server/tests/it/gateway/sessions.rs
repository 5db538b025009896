//! Which chat a request belongs to, and that chats don't mix.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{CHAT, ask, ask_after, ask_under, chat, content, house, last_request, texts};

#[tokio::test]
async fn a_session_remembers_what_was_said_in_it_and_others_do_not() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    chat(&client, "one", &ask("The word is heron.")).await?.ok()?;
    chat(&client, "two", &ask("Hello.")).await?.ok()?;
    ensure!(!last_request(&vendor)?.to_string().contains("heron"));
    chat(&client, "one", &ask("And now?")).await?.ok()?;
    ensure!(texts(&last_request(&vendor)?, "user") == ["The word is heron.", "And now?"]);
    Ok(())
}

#[tokio::test]
async fn chats_without_a_name_take_nothing_back_from_each_other() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let send = async |past: &[(&str, &str)], text: &str| client.post(CHAT, &ask_after(past, text)).await?.ok();
    send(&[], "My cat is Tom. [[say:Nice.]]").await?;
    let one = [("My cat is Tom. [[say:Nice.]]", "Nice.")];
    send(&[], "My boat is Ida. [[say:Fine.]]").await?;
    let two = [("My boat is Ida. [[say:Fine.]]", "Fine.")];
    send(&two, "She is blue. [[say:Lovely.]]").await?;
    // The first chat goes on, and then the second: each shows a history that the other's turns are not in.
    send(&one, "He is grey. [[say:I see.]]").await?;
    let two = [two[0], ("She is blue. [[say:Lovely.]]", "Lovely.")];
    send(&two, "She is old. [[say:Oh.]]").await?;
    let request = last_request(&vendor)?;
    ensure!(texts(&request, "user").len() == 5, "{:?}", texts(&request, "user"));
    ensure!(texts(&request, "assistant") == ["Nice.", "Fine.", "Lovely.", "I see."], "{request}");
    // What a chat said last it can say again.
    let two = [two[0], two[1], ("She is old. [[say:Oh.]]", "Oh.")];
    for text in ["And small. [[say:A.]]", "And small. [[say:B.]]"] {
        send(&two, text).await?;
        ensure!(texts(&last_request(&vendor)?, "user").len() == 6, "{:?}", last_request(&vendor)?);
    }
    Ok(())
}

#[tokio::test]
async fn every_name_of_a_session_counts_in_its_order() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let named = |headers: &[(&str, &str)]| -> Result<testkit::Client> {
        headers.iter().try_fold(client.clone(), |client, (name, value)| client.with_header(name, value))
    };
    let with = |fields: serde_json::Value, text: &str| {
        let mut body = ask(text);
        if let (Some(body), Some(fields)) = (body.as_object_mut(), fields.as_object()) {
            body.extend(fields.clone());
        }
        body
    };
    let (all, none) = (json!({"metadata": {"session_id": "m"}, "user": "u", "prompt_cache_key": "p"}), json!({}));
    // The first that is there names the session, whatever else comes with it.
    for (first, again) in [
        (
            (vec![("x-session-id", "s"), ("x-letta-chat-key", "l"), ("x-openwebui-chat-id", "o")], all.clone()),
            (vec![("x-session-id", "s")], json!({"user": "u"})),
        ),
        (
            (vec![("x-letta-chat-key", "l"), ("x-openwebui-chat-id", "o")], all.clone()),
            (vec![("x-letta-chat-key", "l")], json!({"user": "u"})),
        ),
        ((vec![("x-openwebui-chat-id", "o")], all.clone()), (vec![("x-openwebui-chat-id", "o")], json!({"user": "u"}))),
        ((vec![], all.clone()), (vec![], json!({"metadata": {"session_id": "m"}, "user": "u"}))),
        (
            (vec![], json!({"user": "u", "prompt_cache_key": "p"})),
            (vec![], json!({"safety_identifier": "u", "prompt_cache_key": "p"})),
        ),
        ((vec![], json!({"user": "u"})), (vec![("x-openwebui-user-id", "u")], none.clone())),
        // Without a person, a cache key is no name.
        ((vec![], json!({"prompt_cache_key": "p"})), (vec![], none.clone())),
    ] {
        let word = format!("word-{}", rand::random::<u32>());
        named(&first.0)?.post(CHAT, &with(first.1.clone(), &word)).await?.ok()?;
        named(&again.0)?.post(CHAT, &with(again.1.clone(), "again")).await?.ok()?;
        let seen = texts(&last_request(&vendor)?, "user");
        ensure!(seen.contains(&word), "{first:?} and {again:?} are not one session: {seen:?}");
    }
    Ok(())
}

#[tokio::test]
async fn sessions_with_different_prompts_never_see_each_others() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    let prompts = [("red", "PROMPT-RED"), ("blue", "PROMPT-BLUE")];
    for number in 0..100 {
        for (session, prompt) in prompts {
            let text = format!("{session} {number}");
            chat(&client, session, &ask_under(prompt, &text)).await?.ok()?;
        }
    }
    let mut at_once = tokio::task::JoinSet::new();
    for (number, (session, prompt)) in (100..150).flat_map(|number| prompts.map(|prompt| (number, prompt))) {
        let (client, text) = (client.clone(), format!("{session} {number}"));
        at_once.spawn(async move { chat(&client, session, &ask_under(prompt, &text)).await?.ok() });
    }
    while let Some(answered) = at_once.join_next().await {
        answered??;
    }
    ensure!(vendor.requests().len() == 300);
    for request in vendor.requests() {
        let newest = texts(&request.body, "user").pop().unwrap_or_default();
        let all = request.body["messages"].to_string();
        let (own, other) = if newest.starts_with("red") { ("RED", "blue") } else { ("BLUE", "red") };
        ensure!(all.contains(&format!("PROMPT-{own}")), "{newest} ran without its prompt");
        ensure!(!all.contains(&format!("PROMPT-{}", other.to_uppercase())), "{newest} saw the other prompt");
        ensure!(
            !texts(&request.body, "user").iter().any(|text| text.starts_with(other)),
            "{newest} saw the other chat"
        );
    }
    Ok(())
}

#[tokio::test]
async fn sessions_survive_a_restart() -> Result<()> {
    let (mut server, client, vendor) = house("[gateway]\nsession_capacity = 2\n").await?;
    for session in ["a", "b", "c", "d"] {
        chat(&client, session, &ask_under(&format!("PROMPT-{session}"), &format!("word-{session}"))).await?.ok()?;
    }
    server.restart().await?;
    let client = server.client()?;
    for session in ["a", "b", "c", "d"] {
        // The system text stays although this request brings none.
        chat(&client, session, &ask("Still there?")).await?.ok()?;
        let request = last_request(&vendor)?;
        ensure!(texts(&request, "user") == [format!("word-{session}"), "Still there?".to_owned()]);
        ensure!(texts(&request, "system")[0].contains(&format!("PROMPT-{session}")));
    }
    Ok(())
}

#[tokio::test]
async fn nothing_new_is_answered_without_a_model() -> Result<()> {
    let (_server, client, vendor) = house("").await?;
    for messages in [
        json!([{"role": "system", "content": "only this"}]),
        json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]),
    ] {
        let mut body = json!({"model": "ada", "messages": messages});
        let reply = chat(&client, "s", &body).await?;
        ensure!(content(&reply)?.is_empty());
        body["stream"] = json!(true);
        let events = client.clone().with_header("x-session-id", "s")?.post_sse(CHAT, &body).await?.rest().await?;
        let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
        ensure!(data.len() == 3 && data[2] == "[DONE]", "{data:?}");
        ensure!(data[0].contains("\"role\":\"assistant\"") && data[1].contains("\"finish_reason\":\"stop\""));
    }
    ensure!(vendor.requests().is_empty());
    Ok(())
}
