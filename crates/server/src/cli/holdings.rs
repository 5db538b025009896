//! What a store holds, in words. Pure.

use std::fmt;

use serde::Deserialize;
use storage::StoreReport;

/// How much of what there is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Holdings {
    agents: u64,
    messages: u64,
    blocks: u64,
    schema_version: u32,
    bytes: u64,
}

impl From<&StoreReport> for Holdings {
    fn from(report: &StoreReport) -> Self {
        let StoreReport { agents, messages, blocks, schema_version, bytes, .. } = *report;
        Self { agents, messages, blocks, schema_version, bytes }
    }
}

impl fmt::Display for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [agents, messages, blocks] = [(self.agents, "agent"), (self.messages, "message"), (self.blocks, "block")]
            .map(|(count, noun)| counted(count, noun));
        let kib = self.bytes.div_ceil(1024);
        write!(f, "{agents}, {messages}, {blocks}; schema {}, {kib} KiB", self.schema_version)
    }
}

/// So many of a noun.
fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let holdings = Holdings { agents: 1, messages: 3, blocks: 0, schema_version: 2, bytes: 4097 };
        assert_eq!(holdings.to_string(), "1 agent, 3 messages, 0 blocks; schema 2, 5 KiB");
    }
}
