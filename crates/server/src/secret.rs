//! Texts that must not be shown: API keys and the secret of a data directory's owner.
//!
//! A secret never reaches a log or an error: its `Debug` says only that it is there.

use std::fmt;

use rand::TryRngCore;
use subtle::{ConstantTimeEq, ConstantTimeLess};

/// Bytes that a key may have.
pub(crate) const MAX_KEY_BYTES: usize = 256;

/// Random bytes of a secret that we make ourselves.
const RANDOM_BYTES: usize = 32;

/// A key of at most [`MAX_KEY_BYTES`] printable ASCII bytes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// Checks that `text` can travel in a header. The error says what is wrong and not what was given.
    pub(crate) fn new(text: impl Into<String>) -> Result<Self, &'static str> {
        let text = text.into();
        if text.is_empty() {
            return Err("is empty");
        }
        if text.len() > MAX_KEY_BYTES {
            return Err("is longer than 256 bytes");
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("holds spaces or characters that can't stand in an HTTP header");
        }
        Ok(Self(text))
    }

    /// A secret that nobody can guess, from the operating system's random numbers.
    pub(crate) fn random() -> anyhow::Result<Self> {
        let mut bytes = [0_u8; RANDOM_BYTES];
        rand::rngs::OsRng.try_fill_bytes(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The text itself, for the header or the file that must hold it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `candidate` is this secret.
    ///
    /// Both are copied into buffers of one fixed size and compared whole, so the time taken depends neither on where
    /// they first differ nor on how long the secret is. It does depend on how long the candidate is, which whoever
    /// sent it knows already.
    pub(crate) fn matches(&self, candidate: &[u8]) -> bool {
        let Some(given) = padded(candidate) else { return false };
        let Some(wanted) = padded(self.0.as_bytes()) else { return false };
        let not_empty = 0_u64.ct_lt(&(candidate.len() as u64));
        bool::from(given.ct_eq(&wanted) & not_empty)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// `text` with zeroes behind it, which no key holds; nothing where it is too long to be a key.
fn padded(text: &[u8]) -> Option<[u8; MAX_KEY_BYTES]> {
    if text.contains(&0) {
        return None;
    }
    let mut buffer = [0; MAX_KEY_BYTES];
    buffer.get_mut(..text.len())?.copy_from_slice(text);
    Some(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_text_matches() {
        let secret = Secret::new("correct-horse").unwrap();
        assert!(secret.matches(b"correct-horse"));
        for wrong in ["", "correct", "correct-horse ", "correct-horse\0", "correct-hors3", &"x".repeat(300)] {
            assert!(!secret.matches(wrong.as_bytes()), "{wrong:?}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::random().unwrap();
        assert_eq!(format!("{secret:?}"), "[redacted]");
        assert_eq!(secret.reveal().len(), 64);
        assert_ne!(secret, Secret::random().unwrap());
    }

    #[test]
    fn what_can_not_be_a_key_is_refused() {
        for wrong in ["", "two words", "tab\t", "schlüssel", &"x".repeat(257)] {
            assert!(Secret::new(wrong).is_err(), "{wrong:?}");
        }
    }
}
