//! Typed ids in Letta's format, `<noun>-<uuid4>`.
//!
//! Each noun has its own type, so that an id of one kind can't be passed for another. Parsing is strict: clients of
//! the Letta dialect are told exactly which pattern was expected.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use uuid::Uuid;

/// Why a text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{input}` is not an id of the form `{prefix}-<uuid4>`")]
pub struct IdError {
    /// The noun that the id should begin with.
    pub prefix: &'static str,
    /// What was given, cut to a printable length.
    pub input: String,
}

macro_rules! typed_ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The noun before the dash.
            pub const PREFIX: &'static str = $prefix;

            /// A fresh random id.
            #[expect(clippy::disallowed_methods, reason = "this is the typed constructor that the lint asks for")]
            pub fn random() -> Self {
                Self(Uuid::new_v4())
            }

            /// A fresh id that begins with `time` in milliseconds; the other 74 bits are random. Ids that were made one
            /// after the other are neighbours, so that an index over millions of them is written at one place only.
            pub fn at(time: Timestamp) -> Self {
                let mut bytes = *Self::random().as_bytes();
                let millis = u64::try_from(time.as_millisecond()).unwrap_or_default().to_be_bytes();
                bytes[..6].copy_from_slice(&millis[2..]);
                Self::from_bytes(bytes)
            }

            /// The id with these 16 bytes, as a store keeps it.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The 16 bytes that a store keeps.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// The bare uuid, without the noun.
            pub fn uuid(&self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "-{}"), self.0.hyphenated())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                parse_uuid(text, $prefix).map(Self).ok_or_else(|| IdError {
                    prefix: $prefix,
                    input: text.chars().take(80).collect(),
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

typed_ids! {
    /// An agent.
    AgentId = "agent";
    /// A key that opens doors.
    ApiKeyId = "key";
    /// An archive of passages.
    ArchiveId = "archive";
    /// A memory block.
    BlockId = "block";
    /// A conversation of an agent.
    ConversationId = "conv";
    /// A person or system that talks to agents.
    IdentityId = "identity";
    /// A message.
    MessageId = "message";
    /// An organisation, the owner of rows.
    OrganizationId = "org";
    /// A passage of an archive.
    PassageId = "passage";
    /// A run.
    RunId = "run";
    /// A step of a run.
    StepId = "step";
    /// A tool.
    ToolId = "tool";
    /// A user of an organisation.
    UserId = "user";
}

/// The uuid of `text` if it is `<prefix>-<uuid4>` in lower-case hyphenated form.
fn parse_uuid(text: &str, prefix: &str) -> Option<Uuid> {
    let uuid = text.strip_prefix(prefix)?.strip_prefix('-')?;
    if uuid.len() != 36 || uuid.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let uuid = Uuid::try_parse(uuid).ok()?;
    (uuid.get_version_num() == 4).then_some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_it_is_written() {
        let id = AgentId::random();
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!(id.to_string().starts_with("agent-"));
    }

    #[test]
    fn an_id_with_a_time_is_a_uuid4_like_any_other_and_sorts_by_it() {
        let early = MessageId::at("2026-11-18T05:52:39.295Z".parse().unwrap());
        let late = MessageId::at("2026-11-18T05:52:39.296Z".parse().unwrap());
        assert!(early < late && early != MessageId::at("2026-11-18T05:52:39.295Z".parse().unwrap()));
        assert_eq!(late.to_string().parse(), Ok(late));
        assert_eq!(late.uuid().get_version_num(), 4);
        assert_eq!(late.uuid().get_variant(), uuid::Variant::RFC4122);
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for wrong in [
            "",
            "agent-",
            "agent-123",
            "block-123e4567-e89b-42d3-8456-426614174000",
            "agent-123E4567-E89B-42D3-8456-426614174000",
            "agent-123e4567e89b42d38456426614174000",
            "agent-123e4567-e89b-12d3-8456-426614174000",
        ] {
            assert!(wrong.parse::<AgentId>().is_err(), "{wrong}");
        }
    }
}
