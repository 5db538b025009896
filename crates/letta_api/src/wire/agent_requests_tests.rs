//! What clients may say about agents.

use super::*;

fn spec(body: &str) -> Result<AgentSpec, String> {
    read_spec(Fields::parse(body.as_bytes()).expect("JSON")).map_err(|error| error.to_string())
}

#[test]
fn the_usual_body_is_read() {
    let spec = spec(
        r#"{"name": "n", "agent_type": "memgpt_v2_agent", "model": "openai/gpt-4o-mini", "tags": ["a"], "unknown": 1,
            "memory_blocks": [{"label": "human", "value": "Sam", "limit": 50}, {"label": "empty"}],
            "tool_rules": [{"type": "exit_loop", "tool_name": "send_message"}],
            "timezone": "Europe/Berlin", "metadata": {"k": "v"}, "include_base_tools": false}"#,
    )
    .expect("a spec");
    assert_eq!(spec.kind, Some(AgentType::MemgptV2));
    assert_eq!(spec.model.as_deref(), Some("openai/gpt-4o-mini"));
    let blocks: Vec<_> = spec.memory_blocks.iter().map(|b| (b.label.as_str(), b.value.as_str(), b.limit)).collect();
    assert_eq!(blocks, [("human", "Sam", Some(50)), ("empty", "", None)]);
    assert_eq!(spec.tool_rules.map(|rules| rules.len()), Some(1));
    assert_eq!(spec.include_base_tools, Some(false));
}

#[test]
fn a_model_may_be_named_in_three_ways() {
    for (body, model) in [
        (r#"{"model": "a/b"}"#, Some("a/b")),
        (r#"{"llm_config": {"handle": "a/b", "model": "c", "model_endpoint_type": "openai"}}"#, Some("a/b")),
        (r#"{"llm_config": {"model": "c", "model_endpoint_type": "openai"}}"#, Some("openai/c")),
        (r#"{"llm_config": {"model": "c", "model_endpoint_type": "openai", "provider_name": "p"}}"#, Some("p/c")),
        ("{}", None),
    ] {
        assert_eq!(spec(body).expect(body).model.as_deref(), model, "{body}");
    }
}

#[test]
fn settings_come_from_both_shapes() {
    let settings = spec(
        r#"{"llm_config": {"handle": "a/b", "context_window": 8000, "put_inner_thoughts_in_kwargs": true, "temperature": 1},
            "model_settings": {"temperature": 0.2, "max_output_tokens": 100, "reasoning": {"reasoning_effort": "low"}},
            "context_window_limit": 9000}"#,
    )
    .expect("a spec")
    .model_settings;
    assert_eq!(settings.context_window, Some(9000));
    assert_eq!(settings.temperature, Some(0.2));
    assert_eq!(settings.max_tokens, Some(100));
    assert_eq!(settings.put_inner_thoughts_in_kwargs, Some(true));
    assert_eq!(settings.reasoning_effort.as_deref(), Some("low"));
}

#[test]
fn a_wrong_body_is_refused_with_its_place() {
    for (body, place) in [
        (r#"{"agent_type": "nope"}"#, "('body', 'agent_type')"),
        (r#"{"memory_blocks": "nope"}"#, "('body', 'memory_blocks')"),
        (r#"{"memory_blocks": [{"value": "x"}]}"#, "('body', 'memory_blocks')"),
        (r#"{"tags": [1]}"#, "('body', 'tags')"),
        (r#"{"tool_ids": ["nope"]}"#, "('body', 'tool_ids')"),
        (r#"{"tool_rules": [{"type": "nope", "tool_name": "x"}]}"#, "('body', 'tool_rules')"),
        (r#"{"initial_message_sequence": [{"role": "tool", "content": "x"}]}"#, "('body', 'initial_message_sequence')"),
        (r#"{"secrets": {"KEY": "x"}}"#, "`secrets` is not offered"),
        (r#"{"source_ids": ["source-1"]}"#, "`source_ids` is not offered"),
    ] {
        let error = spec(body).expect_err(body);
        assert!(error.contains(place), "{body}: {error}");
    }
}

#[test]
fn a_patch_tells_null_from_left_out() {
    let read =
        |body: &str| read_patch(Fields::parse(body.as_bytes()).expect("JSON")).map_err(|error| error.to_string());
    let patch = read(r#"{"description": null, "name": "new"}"#).expect("a patch");
    assert_eq!((patch.description, patch.name.as_deref()), (Some(None), Some("new")));
    let patch = read("{}").expect("a patch");
    assert!(patch.description.is_none() && patch.tags.is_none() && patch.response_format.is_none());
    assert!(read(r#"{"message_ids": ["message-1"]}"#).is_err());
}

#[test]
fn compaction_settings_are_kept_as_written_if_they_make_sense() {
    let body = |text: &str| Fields::parse(text.as_bytes()).unwrap();
    let spec = read_spec(body(r#"{"compaction_settings": {"mode": "all", "clip_chars": null, "own": 1}}"#)).unwrap();
    assert_eq!(spec.compaction_settings.unwrap().to_string(), r#"{"mode":"all","clip_chars":null,"own":1}"#);
    let patch = read_patch(body(r#"{"compaction_settings": null}"#)).unwrap();
    assert_eq!(patch.compaction_settings, Some(None));
    let error = read_patch(body(r#"{"compaction_settings": {"sliding_window_percentage": 30}}"#)).unwrap_err();
    assert_eq!(error.status(), 422);
    assert!(error.to_string().contains("sliding_window_percentage"), "{error}");
}
