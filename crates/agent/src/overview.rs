//! What fills the context of an agent's next request.

use domain::AgentSnapshot;
use prompt::context_overview::{ContextOverview, overview};
use tools::rules::RuleSolver;

use crate::input::RunOptions;
use crate::render::{history_options, model_request, system_input};
use crate::step_loop::{Next, StepLoop};

/// Takes the context apart as the first step of a run would show it to a model that `sees` images or doesn't. `None`
/// means that counting was given up.
pub async fn context_overview(snapshot: AgentSnapshot, sees: bool) -> Option<ContextOverview> {
    // Tokens of a long context take milliseconds, so they are counted on a thread of their own.
    tokio::task::spawn_blocking(move || take_apart(&snapshot, sees)).await.ok()
}

fn take_apart(snapshot: &AgentSnapshot, sees: bool) -> ContextOverview {
    let agent = &snapshot.agent;
    let history = history_options(&agent.llm_config, sees);
    let rules = RuleSolver::new(agent.tool_rules.clone());
    let mut steps = StepLoop::new(agent.kind.loop_policy(), rules, 1);
    let tools = match steps.decide(&snapshot.tools) {
        Next::CallModel(ask) => {
            model_request(snapshot, (&[], &history), &ask, (&steps, &RunOptions::default()), domain::StepId::random())
                .tools
        }
        Next::RunTools(_) | Next::AskClient(_) | Next::CloseStep(_) | Next::Finish(_) => std::sync::Arc::default(),
    };
    overview(snapshot, &system_input(snapshot), tools, &history)
}
