//! What a store holds, in words. Pure.

use storage::StoreReport;

/// How much of what there is.
pub(crate) fn holdings(report: &StoreReport) -> String {
    let StoreReport { agents, messages, blocks, schema_version, bytes, .. } = report;
    let [agents, messages, blocks] =
        [(*agents, "agent"), (*messages, "message"), (*blocks, "block")].map(|(count, noun)| counted(count, noun));
    format!("{agents}, {messages}, {blocks}; schema {schema_version}, {} KiB", bytes.div_ceil(1024))
}

/// So many of a noun.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let report = StoreReport {
            problems: Vec::new(),
            schema_version: 2,
            bytes: 4097,
            agents: 1,
            conversations: 1,
            messages: 3,
            blocks: 0,
            tools: 9,
            runs: 1,
        };
        assert_eq!(holdings(&report), "1 agent, 3 messages, 0 blocks; schema 2, 5 KiB");
    }
}
