//! Names for agents whose makers gave none.

use domain::AgentId;

const FIRST: [&str; 32] = [
    "Amber", "Brave", "Calm", "Clever", "Cosy", "Crisp", "Daring", "Dapper", "Eager", "Early", "Fair", "Gentle",
    "Golden", "Happy", "Honest", "Jolly", "Keen", "Kind", "Lively", "Lucky", "Merry", "Mellow", "Noble", "Patient",
    "Plucky", "Quiet", "Rapid", "Steady", "Sunny", "Tidy", "Warm", "Wise",
];
const SECOND: [&str; 32] = [
    "Almanac", "Atlas", "Badger", "Beacon", "Compass", "Cricket", "Dolphin", "Falcon", "Fern", "Finch", "Folio",
    "Harbor", "Heron", "Index", "Kestrel", "Lantern", "Ledger", "Lynx", "Maple", "Meadow", "Otter", "Owl", "Pebble",
    "Quill", "Raven", "River", "Robin", "Scroll", "Sparrow", "Thistle", "Violet", "Willow",
];

/// A pronounceable name that depends on nothing but the id.
pub(crate) fn name_for(agent: AgentId) -> String {
    let bytes = agent.as_bytes();
    let (first, second) = (usize::from(bytes[0]) % FIRST.len(), usize::from(bytes[1]) % SECOND.len());
    format!("{}{}", FIRST[first], SECOND[second])
}
