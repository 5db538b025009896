//! A block as clients see and change it.

use domain::{Block, BlockError, BlockId, Label};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::body::Fields;
use crate::error::ApiError;

/// A block.
#[derive(Debug, Serialize)]
pub(crate) struct BlockState<'a> {
    value: &'a str,
    limit: u32,
    project_id: (),
    template_name: (),
    is_template: bool,
    template_id: (),
    base_template_id: (),
    deployment_id: (),
    entity_id: (),
    preserve_on_migration: bool,
    label: &'a str,
    read_only: bool,
    description: Option<&'a str>,
    metadata: &'a Map<String, Value>,
    hidden: (),
    id: BlockId,
    created_by_id: (),
    last_updated_by_id: (),
}

impl<'a> From<&'a Block> for BlockState<'a> {
    fn from(block: &'a Block) -> Self {
        Self {
            value: block.value(),
            limit: block.limit(),
            project_id: (),
            template_name: (),
            is_template: false,
            template_id: (),
            base_template_id: (),
            deployment_id: (),
            entity_id: (),
            preserve_on_migration: false,
            label: block.label.as_str(),
            read_only: block.read_only,
            description: block.description.as_deref(),
            metadata: &block.metadata,
            hidden: (),
            id: block.id,
            created_by_id: (),
            last_updated_by_id: (),
        }
    }
}

/// What a client wants changed; what it left out stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BlockUpdate {
    value: Option<String>,
    limit: Option<u32>,
    label: Option<String>,
    read_only: Option<bool>,
    description: Option<Option<String>>,
    metadata: Option<Map<String, Value>>,
}

impl BlockUpdate {
    /// Reads the body of a PATCH.
    pub(crate) fn read(mut fields: Fields) -> Result<Self, ApiError> {
        Ok(Self {
            value: fields.take("value")?,
            limit: fields.take("limit")?,
            label: fields.take("label")?,
            read_only: fields.take("read_only")?,
            description: fields.take_nullable("description")?,
            metadata: fields.take("metadata")?,
        })
    }

    /// `block` as it should be.
    pub(crate) fn applied_to(&self, block: &Block) -> Result<Block, BlockError> {
        let mut block = block.clone();
        let value = self.value.as_deref().unwrap_or(block.value()).to_owned();
        block.set_value_and_limit(value, self.limit.unwrap_or(block.limit()))?;
        if let Some(label) = &self.label {
            block.label = Label::new(label.as_str())?;
        }
        block.read_only = self.read_only.unwrap_or(block.read_only);
        if let Some(description) = &self.description {
            block.description.clone_from(description);
        }
        if let Some(metadata) = &self.metadata {
            block.metadata.clone_from(metadata);
        }
        Ok(block)
    }
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
