//! The three ways that Letta writes times.

use domain::Timestamp;
use serde::{Serialize, Serializer};

/// `2026-11-18T05:53:21+00:00`, as messages carry it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageDate(pub(crate) Timestamp);

/// `2026-11-18T05:52:39.295430Z`, as resources carry it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceTime(pub(crate) Timestamp);

/// `2026-11-18T00:53:29.113955-05:00`, in the zone of an agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalTime<'a> {
    pub(crate) at: Timestamp,
    pub(crate) zone: &'a str,
}

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

impl Serialize for LocalTime<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.at.in_tz(self.zone) {
            Ok(local) => serializer.collect_str(&local.strftime("%Y-%m-%dT%H:%M:%S%.6f%:z")),
            Err(_) => serializer.collect_str(&self.at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms() {
        let at: Timestamp = "2026-11-18T05:52:39.29543Z".parse().expect("a time");
        let json = serde_json::to_string(&(MessageDate(at), ResourceTime(at))).expect("JSON");
        assert_eq!(json, r#"["2026-11-18T05:52:39+00:00","2026-11-18T05:52:39.295430Z"]"#);
        let local = |zone| serde_json::to_string(&LocalTime { at, zone }).expect("JSON");
        assert_eq!(local("America/New_York"), r#""2026-11-18T00:52:39.295430-05:00""#);
        assert_eq!(local("Nowhere"), r#""2026-11-18T05:52:39.295430+00:00""#);
        let whole: Timestamp = "2026-11-18T05:52:39Z".parse().expect("a time");
        assert_eq!(serde_json::to_string(&ResourceTime(whole)).expect("JSON"), r#""2026-11-18T05:52:39.000000Z""#);
    }
}
