//! A tool as an agent's state shows it.

use domain::{Tool, ToolId, UserId};
use serde::Serialize;
use serde_json::{Map, Value};

/// A tool.
#[derive(Debug, Serialize)]
pub(crate) struct ToolState<'a> {
    id: ToolId,
    tool_type: &'static str,
    description: &'a str,
    source_type: &'static str,
    name: &'a str,
    tags: &'a [String],
    source_code: (),
    json_schema: JsonSchema<'a>,
    args_json_schema: (),
    return_char_limit: u32,
    pip_requirements: (),
    npm_requirements: (),
    default_requires_approval: Option<bool>,
    enable_parallel_execution: bool,
    created_by_id: UserId,
    last_updated_by_id: UserId,
    metadata_: Map<String, Value>,
    project_id: (),
}

#[derive(Debug, Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> From<&'a Tool> for ToolState<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self {
            id: tool.id,
            tool_type: tool.kind.as_str(),
            description: &tool.description,
            source_type: "python",
            name: &tool.name,
            tags: &tool.tags,
            source_code: (),
            json_schema: JsonSchema { name: &tool.name, description: &tool.description, parameters: &tool.parameters },
            args_json_schema: (),
            return_char_limit: tool.return_char_limit,
            pip_requirements: (),
            npm_requirements: (),
            default_requires_approval: tool.default_requires_approval.then_some(true),
            enable_parallel_execution: tool.enable_parallel_execution,
            created_by_id: tool.created_by,
            last_updated_by_id: tool.created_by,
            metadata_: Map::new(),
            project_id: (),
        }
    }
}
