//! Tools that the client runs: calls go out, results come back, and nothing stays behind.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, FakeVendor, VendorReply};

use super::talk::{
    BOTH, EACH_WAY, agent, ask_of, error, message, offered, pairs, result, stream, tool, two_agents, user, with,
};
use super::{chat, content, last_request, texts};

const OSLO: &str = "Weather? [[tool:get_weather {\"city\":\"Oslo\"}]][[say:It is cold.]]";

/// The question, the call and its result, as a client sends its whole history.
fn whole_history(name: &str, question: &str, called: &Value, results: Vec<Value>) -> Value {
    let mut messages = vec![user(question), called.clone()];
    messages.extend(results);
    json!({"model": name, "messages": messages, "tools": [tool("get_weather")]})
}

fn id_of(called: &Value, index: usize) -> Result<String> {
    called["tool_calls"][index]["id"].as_str().map(str::to_owned).context("a call has an id")
}

/// Asks `name` something that it calls the client's tool for; the message with the call.
async fn called(client: &Client, name: &str, session: &str) -> Result<Value> {
    let body = ask_of(name, OSLO, json!({"tools": [tool("get_weather")]}));
    let (called, finish) = message(&chat(client, session, &body).await?)?;
    ensure!(finish == "tool_calls" && called["content"].is_null() && called["role"] == "assistant", "{called}");
    let call = &called["tool_calls"][0];
    ensure!(call["type"] == "function" && call["function"]["name"] == "get_weather", "{call}");
    ensure!(
        serde_json::from_str::<Value>(call["function"]["arguments"].as_str().unwrap_or_default())?["city"] == "Oslo"
    );
    Ok(called)
}

#[tokio::test]
async fn a_call_goes_out_its_result_comes_back_and_nothing_stays() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let before = agent(&client, name).await?;
        let called = called(&client, name, name).await?;
        let asked = last_request(&vendor)?;
        let given =
            asked["tools"].as_array().context("tools")?.iter().find(|it| it["function"]["name"] == "get_weather");
        ensure!(*given.context("it was offered")? == tool("get_weather"), "{given:?}");
        let body = whole_history(name, OSLO, &called, vec![result(&id_of(&called, 0)?, "minus 5")]);
        let (said, finish) = message(&chat(&client, name, &body).await?)?;
        ensure!(said["content"] == "It is cold." && finish == "stop" && said.get("tool_calls").is_none(), "{said}");
        let request = last_request(&vendor)?;
        ensure!(texts(&request, "user").iter().filter(|text| text.contains("Weather?")).count() == 1, "{request}");
        ensure!(pairs(&request)?.contains(&("get_weather".into(), "minus 5".into())), "{request}");
        // Nothing is attached to the agent, and without tools in the request none is offered.
        ensure!(agent(&client, name).await?["tools"] == before["tools"]);
        chat(&client, name, &ask_of(name, "Thanks.", json!({}))).await?.ok()?;
        ensure!(!offered(&last_request(&vendor)?).contains(&"get_weather".to_owned()));
    }
    Ok(())
}

#[tokio::test]
async fn results_may_come_alone_or_as_tool_results() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for (name, is_loose) in EACH_WAY {
        let session = format!("{name}-{is_loose}");
        let called = called(&client, name, &session).await?;
        let id = id_of(&called, 0)?;
        let body = match is_loose {
            false => json!({"model": name, "messages": [result(&id, "minus 6")]}),
            true => with(
                whole_history(name, OSLO, &called, Vec::new()),
                json!({"tool_results": [{"tool_call_id": id, "result": {"degrees": -6}}]}),
            ),
        };
        ensure!(content(&chat(&client, &session, &body).await?)? == "It is cold.");
        let text = if is_loose { "{\"degrees\":-6}" } else { "minus 6" };
        ensure!(pairs(&last_request(&vendor)?)?.contains(&("get_weather".into(), text.into())));
    }
    Ok(())
}

fn two_cities() -> VendorReply {
    VendorReply::call("get_weather", json!({"city": "Oslo"})).and_call("get_weather", json!({"city": "Rome"}))
}

#[tokio::test]
async fn two_calls_of_one_answer_are_streamed_and_answered_together() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let tools = json!({"tools": [tool("get_weather")]});
    for name in BOTH {
        vendor.push(two_cities());
        let streamed = stream(&client, name, &ask_of(name, "Weather?", tools.clone())).await?;
        ensure!(streamed.is_done && streamed.finish()? == "tool_calls" && streamed.content().is_empty());
        let calls = streamed.calls()?;
        ensure!(calls.len() == 2 && calls[0]["id"] != calls[1]["id"], "{calls:?}");
        let arguments = calls[1]["function"]["arguments"].as_str().context("arguments")?;
        ensure!(serde_json::from_str::<Value>(arguments)? == json!({"city": "Rome"}), "{arguments}");
        let called = json!({"role": "assistant", "content": null, "tool_calls": calls});
        // The results come in another order than the calls.
        let results = vec![result(&id_of(&called, 1)?, "hot"), result(&id_of(&called, 0)?, "cold")];
        let body = whole_history(name, "Weather?", &called, results);
        vendor.push(VendorReply::say("Cold and hot."));
        let said = stream(&client, name, &body).await?;
        ensure!(said.content() == "Cold and hot." && said.finish()? == "stop", "{said:?}");
        let seen = pairs(&last_request(&vendor)?)?;
        let weather: Vec<&str> = seen.iter().filter(|(name, _)| name == "get_weather").map(|it| &*it.1).collect();
        ensure!(weather == ["cold", "hot"], "{seen:?}");
    }
    Ok(())
}

#[tokio::test]
async fn own_tools_run_inside_beside_the_clients_in_one_reply() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let (own, note) = ("memory_insert", json!({"label": "human", "new_str": "Likes Oslo."}));
    for (name, own_first) in EACH_WAY {
        let session = format!("{name}-{own_first}");
        let reply = if own_first {
            VendorReply::call(own, note.clone()).and_call("get_weather", json!({"city": "Oslo"}))
        } else {
            VendorReply::call("get_weather", json!({"city": "Oslo"})).and_call(own, note.clone())
        };
        vendor.push(reply);
        let body = ask_of(name, "Weather?", json!({"tools": [tool("get_weather")]}));
        let streamed = stream(&client, &session, &body).await?;
        let calls = streamed.calls()?;
        ensure!(calls.len() == 1 && calls[0]["function"]["name"] == "get_weather", "{calls:?}");
        ensure!(streamed.finish()? == "tool_calls");
        let id = calls[0]["id"].as_str().context("an id")?;
        vendor.push(VendorReply::say("Done."));
        let body = json!({"model": name, "messages": [result(id, "minus 7")], "tools": [tool("get_weather")]});
        ensure!(content(&chat(&client, &session, &body).await?)? == "Done.");
        let seen = pairs(&last_request(&vendor)?)?;
        ensure!(seen.iter().any(|(called, text)| called == own && text.contains("OK")), "{seen:?}");
        ensure!(seen.contains(&("get_weather".into(), "minus 7".into())), "{seen:?}");
        let human = agent(&client, name).await?["memory"]["blocks"].clone();
        ensure!(human.to_string().contains("Likes Oslo."), "{human}");
    }
    Ok(())
}

/// What the runtime asks of its own tools is no business of the client.
#[tokio::test]
async fn thoughts_and_heartbeats_are_taken_out_of_the_clients_arguments() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let written = json!({"thinking": "a secret thought", "city": "Oslo", "request_heartbeat": true});
        vendor.push(VendorReply::call("get_weather", written).verbatim());
        let body = ask_of(name, "Weather?", json!({"tools": [tool("get_weather")]}));
        let (called, _) = message(&chat(&client, name, &body).await?)?;
        ensure!(called["tool_calls"][0]["function"]["arguments"] == "{\"city\":\"Oslo\"}", "{called}");
    }
    // Where the model is asked for thoughts, none is streamed.
    vendor.push(VendorReply::call("get_weather", json!({"thinking": "a secret", "city": "Oslo"})).verbatim());
    let streamed =
        stream(&client, "streamed", &ask_of("sam", "Weather?", json!({"tools": [tool("get_weather")]}))).await?;
    ensure!(!format!("{streamed:?}").contains("secret"));
    Ok(())
}

#[tokio::test]
async fn sessions_with_other_tools_at_the_same_time_do_not_interfere() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let mut at_once = tokio::task::JoinSet::new();
    for number in 0..24 {
        let (client, name) = (client.clone(), BOTH[number % 2]);
        at_once.spawn(async move {
            let own = format!("tool_{number}");
            let question = format!("Go {number}. [[tool:{own} {{\"city\":\"c{number}\"}}]][[say:done {number}]]");
            let body = ask_of(name, &question, json!({"tools": [tool(&own)]}));
            let session = format!("s{number}");
            let (called, _) = message(&chat(&client, &session, &body).await?)?;
            ensure!(called["tool_calls"][0]["function"]["name"] == own, "{called}");
            let id = id_of(&called, 0)?;
            let body = json!({"model": name, "messages": [result(&id, "fine")], "tools": [tool(&own)]});
            ensure!(content(&chat(&client, &session, &body).await?)? == format!("done {number}"));
            Ok(())
        });
    }
    while let Some(done) = at_once.join_next().await {
        done??;
    }
    for request in vendor.requests() {
        let names = offered(&request.body);
        ensure!(names.iter().filter(|name| name.starts_with("tool_")).count() == 1, "{names:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_killed_between_call_and_result_goes_on() -> Result<()> {
    let (mut server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let client = if name == "sam" { client.clone() } else { server.client()? };
        vendor.push(two_cities());
        let body = ask_of(name, "Weather?", json!({"tools": [tool("get_weather")]}));
        let (called, _) = message(&chat(&client, name, &body).await?)?;
        server.kill()?;
        server.restart().await?;
        let results = vec![result(&id_of(&called, 0)?, "cold"), result(&id_of(&called, 1)?, "hot")];
        let body = whole_history(name, "Weather?", &called, results);
        ensure!(!content(&chat(&server.client()?, name, &body).await?)?.is_empty());
        let seen = pairs(&last_request(&vendor)?)?;
        ensure!(seen.iter().filter(|(name, _)| name == "get_weather").count() == 2, "{seen:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_user_message_instead_of_the_result_fails_the_call_and_goes_on() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let call = called(&client, name, name).await?;
        let mut body = whole_history(name, OSLO, &call, vec![user("Never mind. [[say:As you like.]]")]);
        ensure!(content(&chat(&client, name, &body).await?)? == "As you like.");
        let seen = pairs(&last_request(&vendor)?)?;
        let failed = seen.iter().filter(|(name, text)| name == "get_weather" && text.contains("There is no result"));
        ensure!(failed.count() == 1, "{seen:?}");
        // The result that comes late is of no open call any more; the session lives.
        body["messages"] = json!([user(OSLO), call, result(&id_of(&call, 0)?, "late")]);
        let (status, error) = error(&chat(&client, name, &body).await?)?;
        ensure!(status == 400 && error["code"] == "invalid_tool_call_id", "{error}");
        ensure!(content(&chat(&client, name, &ask_of(name, "Still there? [[say:Yes.]]", json!({}))).await?)? == "Yes.");
    }
    Ok(())
}

#[tokio::test]
async fn results_that_fit_no_open_call_are_named_and_change_nothing() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        vendor.push(two_cities());
        let body = ask_of(name, "Weather?", json!({"tools": [tool("get_weather")]}));
        let (called, _) = message(&chat(&client, name, &body).await?)?;
        let (first, second) = (id_of(&called, 0)?, id_of(&called, 1)?);
        let asked = vendor.requests().len();
        let bring = |results: Vec<Value>| {
            let messages: Vec<Value> = std::iter::once(called.clone()).chain(results).collect();
            json!({"model": name, "messages": messages})
        };
        for (results, named, why) in [
            (vec![result(&first, "a"), result("call_nobody", "b")], "call_nobody", "not calls that wait"),
            (vec![result(&first, "a"), result(&first, "b"), result(&second, "c")], &*first, "more than one result"),
            (vec![result(&first, "a")], &*second, "wait for a result"),
        ] {
            // A system text that comes with a refused request is not kept either.
            let mut body = bring(results);
            body["messages"].as_array_mut().context("messages")?.insert(0, json!({"role": "system", "content": "NEW"}));
            let (status, error) = error(&chat(&client, name, &body).await?)?;
            let text = error["message"].as_str().unwrap_or_default();
            ensure!(status == 400 && text.contains(named) && text.contains(why), "{error}");
            ensure!(error["param"] == "messages" && error["code"] == "invalid_tool_call_id", "{error}");
        }
        ensure!(vendor.requests().len() == asked, "a refused request reached the model");
        let body = bring(vec![result(&first, "cold"), result(&second, "hot")]);
        ensure!(!content(&chat(&client, name, &body).await?)?.is_empty());
        let request = last_request(&vendor)?;
        ensure!(!texts(&request, "system").join("").contains("NEW"));
        ensure!(pairs(&request)?.iter().filter(|(name, _)| name == "get_weather").count() == 2);
        // Brought twice, they are of no open call.
        let (status, error) = error(&chat(&client, name, &bring(vec![result(&first, "a")])).await?)?;
        ensure!(status == 400 && error["message"].as_str().unwrap_or_default().contains(&first), "{error}");
    }
    Ok(())
}

/// The vendor's view of one question with this choice.
async fn asked_with(client: &Client, vendor: &FakeVendor, name: &str, more: Value) -> Result<Value> {
    vendor.clear();
    let tools = json!({"tools": [tool("get_weather"), tool("get_time")]});
    let session = format!("{name}{more}");
    chat(client, &session, &ask_of(name, "Hi.", with(tools, more))).await?.ok()?;
    Ok(vendor.requests()[0].body.clone())
}

#[tokio::test]
async fn the_choice_of_tools_is_the_clients() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let clients = |request: &Value| -> Vec<String> {
            offered(request).into_iter().filter(|name| name.starts_with("get_")).collect()
        };
        let none = asked_with(&client, &vendor, name, json!({"tool_choice": "none"})).await?;
        ensure!(clients(&none).is_empty(), "{none}");
        let auto = asked_with(&client, &vendor, name, json!({"tool_choice": "auto"})).await?;
        ensure!(clients(&auto) == ["get_weather", "get_time"] && offered(&auto).len() > 2);
        ensure!(auto["tool_choice"] == if name == "sam" { "required" } else { "auto" }, "{auto}");
        let required = asked_with(&client, &vendor, name, json!({"tool_choice": "required"})).await?;
        ensure!(offered(&required) == ["get_weather", "get_time"] && required["tool_choice"] == "required");
        let one = json!({"type": "function", "function": {"name": "get_time"}});
        let function = asked_with(&client, &vendor, name, json!({"tool_choice": one})).await?;
        ensure!(function["tool_choice"]["function"]["name"] == "get_time", "{function}");
        let allowed = |mode: &str| {
            let tools = json!([{"type": "function", "function": {"name": "get_time"}}]);
            json!({"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}})
        };
        let some = asked_with(&client, &vendor, name, allowed("auto")).await?;
        ensure!(clients(&some) == ["get_time"], "{some}");
        let must = asked_with(&client, &vendor, name, allowed("required")).await?;
        ensure!(offered(&must) == ["get_time"], "{must}");
    }
    Ok(())
}

#[tokio::test]
async fn a_client_that_takes_one_call_is_given_one() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        vendor.push(two_cities());
        let body = ask_of(name, "Weather?", json!({"tools": [tool("get_weather")], "parallel_tool_calls": false}));
        let streamed = stream(&client, name, &body).await?;
        ensure!(last_request(&vendor)?["parallel_tool_calls"] == false);
        let calls = streamed.calls()?;
        ensure!(calls.len() == 1, "{calls:?}");
        // What was not told does not wait.
        let body = json!({"model": name, "messages": [result(calls[0]["id"].as_str().context("id")?, "cold")]});
        ensure!(!content(&chat(&client, name, &body).await?)?.is_empty());
    }
    Ok(())
}

#[tokio::test]
async fn functions_of_the_old_kind_are_answered_in_their_own_words() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    let functions = json!({"functions": [tool("get_weather")["function"]], "function_call": "auto"});
    for name in BOTH {
        vendor.push(two_cities());
        let (called, finish) = message(&chat(&client, name, &ask_of(name, "Weather?", functions.clone())).await?)?;
        ensure!(finish == "function_call" && called.get("tool_calls").is_none(), "{called}");
        ensure!(
            called["function_call"] == json!({"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}),
            "{called}"
        );
        let messages =
            json!([user("Weather?"), called, {"role": "function", "name": "get_weather", "content": "cold"}]);
        let body = with(json!({"model": name, "messages": messages}), functions.clone());
        ensure!(!content(&chat(&client, name, &body).await?)?.is_empty());
        ensure!(pairs(&last_request(&vendor)?)?.contains(&("get_weather".into(), "cold".into())));
        // Streamed, and demanded by name.
        let demand = with(functions.clone(), json!({"function_call": {"name": "get_weather"}}));
        let streamed = stream(&client, "streamed", &ask_of(name, "Weather?", demand)).await?;
        let pieces: Vec<&Value> =
            streamed.chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]["function_call"]).collect();
        let named: Vec<&&Value> = pieces.iter().filter(|piece| piece["name"] == "get_weather").collect();
        ensure!(named.len() == 1 && streamed.finish()? == "function_call", "{streamed:?}");
        let arguments: String = pieces.iter().filter_map(|piece| piece["arguments"].as_str()).collect();
        ensure!(arguments.contains("city"), "{arguments}");
    }
    Ok(())
}

/// A model that calls what it was not offered is told so, and the client hears nothing of it.
#[tokio::test]
async fn a_call_that_was_not_offered_does_not_go_out() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for (name, is_streamed) in [("sam", false), ("sam", true), ("ada", false), ("ada", true)] {
        let session = format!("{name}{is_streamed}");
        vendor.push(VendorReply::call("get_weather", json!({"city": "Oslo"})).verbatim());
        vendor.push(VendorReply::say("Without it, then."));
        let body = ask_of(name, "Weather?", json!({"tools": [tool("get_weather")], "tool_choice": "none"}));
        if is_streamed {
            let streamed = stream(&client, &session, &body).await?;
            ensure!(streamed.calls()?.is_empty() && streamed.finish()? == "stop", "{streamed:?}");
            ensure!(streamed.content() == "Without it, then.");
        } else {
            let (said, finish) = message(&chat(&client, &session, &body).await?)?;
            ensure!(said.get("tool_calls").is_none() && finish == "stop", "{said}");
            ensure!(said["content"] == "Without it, then.");
        }
    }
    Ok(())
}

/// Some clients make ids that vendors don't take.
#[tokio::test]
async fn calls_of_a_chat_from_elsewhere_are_taken_over_and_may_still_wait() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let long = |number: usize| format!("{number}{}", "x".repeat(63));
        let call = |id: &str| {
            let function = json!({"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"});
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
        };
        let messages = json!([
            user("Oslo?"), call(&long(1)), result(&long(1), "cold"), {"role": "assistant", "content": "Cold."},
            user("Rome?"), call(&long(2)), result(&long(2), "hot"),
        ]);
        let body = json!({"model": name, "messages": messages, "tools": [tool("get_weather")]});
        ensure!(!content(&chat(&client, name, &body).await?)?.is_empty());
        let request = last_request(&vendor)?;
        let weather: Vec<(String, String)> =
            pairs(&request)?.into_iter().filter(|(name, _)| name == "get_weather").collect();
        ensure!(weather.iter().map(|(_, text)| &**text).collect::<Vec<_>>() == ["cold", "hot"], "{weather:?}");
        ensure!(texts(&request, "user").iter().filter(|text| text.contains("Oslo?")).count() == 1, "{request}");
    }
    Ok(())
}

#[tokio::test]
async fn a_client_that_lost_the_answer_to_its_results_goes_on() -> Result<()> {
    let (_server, client, vendor) = two_agents().await?;
    for name in BOTH {
        let called = called(&client, name, name).await?;
        let results = vec![result(&id_of(&called, 0)?, "minus 5")];
        let lost = whole_history(name, OSLO, &called, results.clone());
        ensure!(content(&chat(&client, name, &lost).await?)? == "It is cold.");
        // The client never saw that, so its history has the results right before what the user says next.
        for text in ["And Rome? [[say:Warm.]]", "And Rome, really? [[say:Hot.]]"] {
            let body = whole_history(name, OSLO, &called, results.iter().cloned().chain([user(text)]).collect());
            chat(&client, name, &body).await?.ok()?;
            let request = last_request(&vendor)?;
            let seen = pairs(&request)?;
            ensure!(seen.iter().filter(|(name, _)| name == "get_weather").count() == 1, "{seen:?}");
            ensure!(texts(&request, "user").iter().filter(|text| text.contains("Rome")).count() == 1, "{request}");
        }
    }
    Ok(())
}
