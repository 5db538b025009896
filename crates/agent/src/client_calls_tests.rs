//! Calls of the client's tools beside the agent's own: what is offered, what runs, what goes out.

use domain::seams::chat_model::ToolSpec;
use domain::{OrganizationId, Timestamp, ToolId, ToolRule, ToolType, UserId};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;

fn tool(name: &str) -> Arc<Tool> {
    Arc::new(Tool {
        id: ToolId::random(),
        organization: OrganizationId::random(),
        created_by: UserId::random(),
        name: name.into(),
        description: "".into(),
        kind: ToolType::Custom,
        parameters: Arc::new(json!({"type": "object", "properties": {}})),
        tags: Vec::new(),
        return_char_limit: domain::tool::DEFAULT_RETURN_CHAR_LIMIT,
        default_requires_approval: false,
        enable_parallel_execution: false,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    })
}

/// The client's tools `weather` and `clock`, one of which may be demanded.
fn client(choice: ClientToolChoice, parallel: Option<bool>) -> ClientTools {
    let spec = |name: &str| ToolSpec {
        name: name.into(),
        description: "".into(),
        parameters: Arc::new(json!({"type": "object", "properties": {"city": {"type": "string"}}})),
        strict: None,
    };
    ClientTools { specs: [spec("weather"), spec("clock")].into(), choice, parallel }
}

/// One step of an agent with the tools `note` and `send_message`.
fn check(policy: LoopPolicy, rules: Value, client: ClientTools, calls: &[&str], expected: Expect) {
    let tools = [tool("note"), tool("send_message")];
    let rules = RuleSolver::new(serde_json::from_value::<Vec<ToolRule>>(rules).unwrap());
    let mut steps = StepLoop::new(policy, rules, 50).with_client_tools(client);
    let Next::CallModel(ask) = steps.decide(&tools) else { panic!("a run begins with a call") };
    let mut log = format!("{:?} {:?} client: {}\n", ask.choice, ask.allowed, ask.offers_client);
    let raw = calls.iter().enumerate().map(|(index, call)| {
        let (name, arguments) = call.split_once(' ').unwrap_or((call, "{}"));
        RawCall { id: format!("call_{index}"), name: name.into(), arguments: arguments.into() }
    });
    let planned = steps.model_replied(Reply { calls: raw.collect(), finish: FinishReason::ToolCalls }, &tools);
    for call in &planned {
        let kind = match &call.verdict {
            Verdict::Refused(_) => "refused",
            Verdict::Run => "run",
            Verdict::ForClient => "client",
            Verdict::NeedsApproval => "approval",
        };
        log += &format!("  {} {} {kind}\n", call.call.name, call.call.arguments);
    }
    let returned = || Returned { status: ToolStatus::Success, text: "done".into() };
    steps.tools_returned(planned.iter().filter(|call| call.is_own()).map(|_| returned()).collect());
    let Next::CloseStep(close) = steps.decide(&tools) else { panic!("a step ends") };
    log += &format!("{:?} {:?}", close.stop, close.heartbeat);
    expected.assert_eq(&log);
}

fn auto() -> ClientTools {
    client(ClientToolChoice::Auto, None)
}

#[test]
fn both_kinds_in_one_reply() {
    let mixed = ["note", "weather {\"city\":\"Oslo\",\"thinking\":\"hm\"}", "clock", "note"];
    check(
        LoopPolicy::V3,
        json!([]),
        auto(),
        &mixed,
        expect![[r#"
            Auto ["note", "send_message"] client: true
              note {} run
              weather {"city":"Oslo"} client
              clock {} client
              note {} run
            Some(RequiresApproval) None"#]],
    );
    // One own call runs, whichever stands first; the client's all go out.
    check(
        LoopPolicy::V2,
        json!([]),
        auto(),
        &mixed,
        expect![[r#"
            Required ["note", "send_message"] client: true
              note {} run
              weather {"city":"Oslo"} client
              clock {} client
            Some(RequiresApproval) None"#]],
    );
    check(
        LoopPolicy::V2,
        json!([{"type": "exit_loop", "tool_name": "send_message"}]),
        client(ClientToolChoice::Auto, Some(false)),
        &["weather", "clock", "send_message {\"message\":\"Wait.\"}"],
        expect![[r#"
            Required ["note", "send_message"] client: true
              weather {} client
              send_message {"message":"Wait."} run
            Some(RequiresApproval) None"#]],
    );
}

#[test]
fn rules_come_before_the_clients_wishes() {
    check(
        LoopPolicy::V3,
        json!([{"type": "run_first", "tool_name": "note"}]),
        client(ClientToolChoice::Required, None),
        &["weather"],
        expect![[r#"
            Function("note") ["note"] client: false
              weather {} refused
            None None"#]],
    );
    check(
        LoopPolicy::V3,
        json!([]),
        client(ClientToolChoice::Function("clock".into()), None),
        &["clock"],
        expect![[r#"
            Function("clock") [] client: true
              clock {} client
            Some(RequiresApproval) None"#]],
    );
    check(
        LoopPolicy::V3,
        json!([]),
        client(ClientToolChoice::None, None),
        &["clock"],
        expect![[r#"
            Auto ["note", "send_message"] client: false
              clock {} refused
            None None"#]],
    );
}
