//! The two ways that Letta writes times.

use domain::Timestamp;
use serde::{Serialize, Serializer};

/// `2026-11-18T05:53:21+00:00`, as messages carry it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageDate(pub(crate) Timestamp);

/// `2026-11-18T05:52:39.295430Z`, as resources carry it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceTime(pub(crate) Timestamp);

impl Serialize for MessageDate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.strftime("%Y-%m-%dT%H:%M:%S+00:00"))
    }
}

impl Serialize for ResourceTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.strftime("%Y-%m-%dT%H:%M:%S%.6fZ"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        let at: Timestamp = "2026-11-18T05:52:39.29543Z".parse().expect("a time");
        let json = serde_json::to_string(&(MessageDate(at), ResourceTime(at))).expect("JSON");
        assert_eq!(json, r#"["2026-11-18T05:52:39+00:00","2026-11-18T05:52:39.295430Z"]"#);
        let whole: Timestamp = "2026-11-18T05:52:39Z".parse().expect("a time");
        assert_eq!(serde_json::to_string(&ResourceTime(whole)).expect("JSON"), r#""2026-11-18T05:52:39.000000Z""#);
    }
}
