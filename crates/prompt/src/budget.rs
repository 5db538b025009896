//! How much may be shown: the context window, what the answer needs of it, and how far our counting is from the
//! vendor's.
//!
//! Pure arithmetic. Nothing here counts a text ([`crate::tokens`] does) or remembers anything between two calls.

use domain::compaction::Clip;

/// What a ratio may be. A vendor that reports something else counts something else, for example only what it had not
/// cached.
const LEAST_RATIO: f64 = 0.5;
const MOST_RATIO: f64 = 3.0;
/// What is added to an estimate, before and after the vendor's own count was seen.
const UNSURE: f64 = 1.10;
const SURE: f64 = 1.02;
/// How fast a ratio falls. It rises at once: an estimate that is too low costs a rejected call.
const FALL: f64 = 0.2;
/// Of the room for messages, what they have at most after a compaction. The rest is for those to come, so that the
/// next compaction is not due at once.
const FULL_AT_MOST: f64 = 0.7;
/// Characters of a token of a summary, which is prose.
const CHARS_PER_TOKEN: u64 = 4;
/// Characters of a usual summary, at least.
const USUAL_CLIP: u64 = 2_000;

/// The vendor's count for one of ours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    value: f64,
    /// What a refusal has shown that it is at least.
    floor: f64,
    observed: bool,
}

impl Default for Ratio {
    fn default() -> Self {
        Self { value: 1.0, floor: LEAST_RATIO, observed: false }
    }
}

impl Ratio {
    /// What the vendor will count, with a margin.
    pub fn estimate(self, counted: u64) -> u64 {
        let margin = if self.observed { SURE } else { UNSURE };
        (counted as f64 * self.value * margin).ceil() as u64
    }

    /// How many of our tokens the vendor will take for at most `estimated`.
    pub fn counted(self, estimated: u64) -> u64 {
        let margin = if self.observed { SURE } else { UNSURE };
        (estimated as f64 / (self.value * margin)).floor() as u64
    }

    /// The vendor reported `reported` tokens for what we counted as `counted`.
    #[must_use]
    pub fn after_report(self, counted: u64, reported: u64) -> Self {
        let seen = reported as f64 / counted.max(1) as f64;
        if counted == 0 || !(LEAST_RATIO..=MOST_RATIO).contains(&seen) {
            return self;
        }
        let value = if !self.observed || seen > self.value { seen } else { self.value + (seen - self.value) * FALL };
        Self { value: value.clamp(self.floor, MOST_RATIO), observed: true, ..self }
    }

    /// The vendor refused what we counted as `counted`, because it had `least` tokens or more.
    #[must_use]
    pub fn after_refusal(self, counted: u64, least: u64) -> Self {
        let seen = least as f64 / counted.max(1) as f64;
        // A refusal says that the estimate was too low, so it always rises.
        let value = seen.max(self.value * 1.05).min(MOST_RATIO);
        Self { value, floor: self.floor.max(seen.min(MOST_RATIO)), ..self }
    }
}

/// The context window of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    window: u64,
    /// What is left free for the answer.
    answer: u64,
}

impl Budget {
    /// A window with room for an answer of so many tokens, where somebody has said how many.
    pub fn new(window: u32, max_output_tokens: Option<u32>) -> Self {
        let window = u64::from(window);
        let usual = (window / 16).clamp(256, 4_096);
        // An answer may be allowed more than the window has; then the request still gets half of it.
        let answer = max_output_tokens.map_or(usual, u64::from).min(window / 2);
        Self { window, answer }
    }

    pub fn window(self) -> u64 {
        self.window
    }

    /// The most that a request may have. More, and the context is compacted first.
    pub fn trigger(self) -> u64 {
        self.window - self.answer
    }

    /// Tokens that a summary may have.
    pub fn summary_tokens(self, clip: Clip) -> u64 {
        let most = self.window / 8;
        let wanted = match clip {
            Clip::Unlimited => most,
            Clip::Usual => (self.window / 32).max(USUAL_CLIP / CHARS_PER_TOKEN),
            Clip::Chars(chars) => u64::from(chars).div_ceil(CHARS_PER_TOKEN),
        };
        wanted.min(most)
    }

    /// Characters that a summary may have.
    pub fn summary_chars(self, clip: Clip) -> usize {
        let most = self.summary_tokens(clip) * CHARS_PER_TOKEN;
        let chars = match clip {
            Clip::Chars(chars) => most.min(u64::from(chars)),
            Clip::Usual | Clip::Unlimited => most,
        };
        usize::try_from(chars).unwrap_or(usize::MAX)
    }

    /// Tokens of messages to keep in a compaction, beside `fixed` tokens that always stay and a summary. `keep` is the
    /// share of the window; `tightness` counts the tries that were still too long.
    pub fn keep_tokens(self, fixed: u64, summary: u64, keep: f64, tightness: u32) -> u64 {
        let room = self.trigger().saturating_sub(fixed + summary) as f64;
        let kept = (self.window as f64 * keep).min(room * FULL_AT_MOST);
        (kept * 0.5_f64.powi(i32::try_from(tightness).unwrap_or(i32::MAX))) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_ratio_rises_at_once_and_falls_slowly() {
        let ratio = Ratio::default();
        assert_eq!(ratio.estimate(1_000), 1_100);
        let high = ratio.after_report(1_000, 1_200);
        assert_eq!(high.estimate(1_000), 1_224);
        let lower = high.after_report(1_000, 1_000);
        assert_eq!(lower.estimate(1_000), 1_184);
        assert_eq!(lower.after_report(1_000, 1_300).estimate(1_000), 1_326);
        assert_eq!(ratio.after_report(1_000, 800).estimate(1_000), 816);
    }

    #[test]
    fn nonsense_is_not_learned() {
        let ratio = Ratio::default();
        assert_eq!(ratio.after_report(1_000, 0), ratio);
        assert_eq!(ratio.after_report(0, 1_000), ratio);
        assert_eq!(ratio.after_report(1_000, 1), ratio);
        assert_eq!(ratio.after_report(1, 1_000), ratio);
    }

    #[test]
    fn a_refusal_always_raises_the_estimate() {
        let ratio = Ratio::default().after_report(1_000, 1_300);
        assert!(ratio.after_refusal(1_000, 0).estimate(1_000) > ratio.estimate(1_000));
        assert!((1_650..1_652).contains(&Ratio::default().after_refusal(1_000, 1_500).estimate(1_000)));
        let refused = Ratio::default().after_refusal(1_000, 1_500).after_report(1_000, 1_000);
        assert_eq!(refused.estimate(1_000), 1_530, "what a refusal has shown is not forgotten");
        let most = (0..50).fold(ratio, |ratio, _| ratio.after_refusal(1_000, 0));
        assert_eq!(most.estimate(1_000), 3_060);
    }

    #[test]
    fn an_answer_has_its_room() {
        for (window, answer, trigger) in [
            (8_192, None, 7_680),
            (128_000, None, 123_904),
            (4_096, None, 3_840),
            (8_192, Some(1_000), 7_192),
            (8_192, Some(100_000), 4_096),
        ] {
            assert_eq!(Budget::new(window, answer).trigger(), trigger, "{window} {answer:?}");
        }
    }

    #[test]
    fn a_summary_is_as_long_as_asked_for_and_as_the_window_bears() {
        let (small, large) = (Budget::new(8_192, None), Budget::new(128_000, None));
        assert_eq!((small.summary_chars(Clip::Usual), large.summary_chars(Clip::Usual)), (2_000, 16_000));
        assert_eq!((small.summary_chars(Clip::Chars(300)), large.summary_chars(Clip::Chars(301))), (300, 301));
        assert_eq!((small.summary_chars(Clip::Unlimited), large.summary_chars(Clip::Unlimited)), (4_096, 64_000));
        assert_eq!(small.summary_chars(Clip::Chars(50_000)), 4_096);
    }

    proptest! {
        /// After a compaction there is room for a third of what messages may have, so the next one is not due at once.
        #[test]
        fn compaction_leaves_room(
            window in 4_096_u32..2_000_000, answer in prop::option::of(1_u32..200_000),
            fixed in 0_u64..100_000, keep in 0.01_f64..1.0, tightness in 0_u32..6,
        ) {
            let budget = Budget::new(window, answer);
            let summary = budget.summary_tokens(Clip::Unlimited);
            let kept = budget.keep_tokens(fixed, summary, keep, tightness);
            let room = budget.trigger().saturating_sub(fixed + summary);
            prop_assert!(kept as f64 <= room as f64 * FULL_AT_MOST);
            prop_assert!(kept <= (f64::from(window) * keep) as u64);
            prop_assert!(budget.keep_tokens(fixed, summary, keep, tightness + 1) <= kept);
        }

        #[test]
        fn an_estimate_and_its_inverse_agree(counted in 0_u64..3_000_000, reported in 1_u64..3_000_000) {
            let ratio = Ratio::default().after_report(counted, reported);
            let back = ratio.counted(ratio.estimate(counted));
            prop_assert!(back.abs_diff(counted) <= 3, "{back} {counted}");
            prop_assert!(ratio.estimate(ratio.counted(reported)) <= reported + 1);
        }
    }
}
