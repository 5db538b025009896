//! The meaning of one word in the built-in table.
//!
//! The table knows pieces of words, and an inflected word often falls into pieces that mean something else. Of a word and
//! the forms that it may be inflected from, the one with the fewest pieces stands for it.

use crate::embed::Builtin;
use crate::embed::builtin::DIMENSIONS;

/// The mean of the rows of the word's best known form; not of length 1.
pub(crate) fn meaning(builtin: &Builtin, word: &str) -> Vec<f32> {
    let pieces = |form: &str| builtin.tokens(form).collect::<Vec<u32>>();
    let mut tokens = pieces(word);
    for form in if tokens.len() > 1 { forms(word) } else { Vec::new() } {
        let known = pieces(&form);
        if !known.is_empty() && known.len() < tokens.len() {
            tokens = known;
        }
    }
    let mut mean = vec![0.0; DIMENSIONS];
    for token in &tokens {
        builtin.add(*token, 1.0 / tokens.len() as f32, &mut mean);
    }
    mean
}

/// What a word may be inflected from.
fn forms(word: &str) -> Vec<String> {
    let mut forms = Vec::new();
    if !word.is_ascii() {
        return forms;
    }
    let mut add = |form: &str, end: &str| forms.push(format!("{form}{end}"));
    let length = word.len();
    if let Some(stem) = word.strip_suffix("ies").filter(|_| length > 5) {
        add(stem, "y");
    }
    if word.ends_with("es") && length > 4 {
        add(&word[..length - 1], "");
        add(&word[..length - 2], "");
    } else if word.ends_with('s') && !word.ends_with("ss") && length > 3 {
        add(&word[..length - 1], "");
    }
    for end in ["ing", "ed", "er", "est", "ly"] {
        let Some(stem) = word.strip_suffix(end).filter(|stem| stem.len() >= 3) else { continue };
        add(stem, "");
        add(stem, "e");
        let mut last = stem.bytes().rev();
        if stem.len() > 3 && last.next() == last.next() {
            add(&stem[..stem.len() - 1], "");
        }
    }
    if let Some(stem) = word.strip_suffix("ied").or_else(|| word.strip_suffix("ily")) {
        add(stem, "y");
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: &str) {
        assert_eq!(forms(word).join(" "), expected);
    }

    #[test]
    fn forms_that_a_word_may_come_from() {
        check("dog", "");
        check("dogs", "dog");
        check("glass", "");
        check("cities", "city citie citi");
        check("boxes", "boxe box");
        check("running", "runn runne run");
        check("baked", "bak bake");
        check("carried", "carri carrie carry");
        check("happily", "happi happie happy");
        check("猫s", "");
        check("", "");
    }

    #[test]
    fn an_inflected_word_means_what_its_root_means() {
        let builtin = Builtin::new();
        let alike = |a: &str, b: &str| {
            let (mut a, mut b) = (meaning(&builtin, a), meaning(&builtin, b));
            crate::embed::builtin::normalise(&mut a);
            crate::embed::builtin::normalise(&mut b);
            a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>()
        };
        assert!(alike("bakeries", "bakery") > alike("bakeries", "garden"));
        assert!(alike("doctor", "physician") > alike("doctor", "garden"));
    }
}
