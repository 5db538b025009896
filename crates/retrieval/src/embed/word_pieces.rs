//! The tokenizer of MiniLM: words without case and accents, cut into the longest pieces that its vocabulary has.
//!
//! Pure. It gives the same tokens as the model's own tokenizer, but for one thing: a text that spells a control token
//! such as `[SEP]` is text.

use std::collections::HashMap;

use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

/// A word with more characters than this is not looked up.
const LONGEST_WORD: usize = 100;
/// What marks a piece that goes on with a word.
const CONTINUED: &str = "##";

/// The vocabulary.
pub(super) struct WordPieces {
    /// Pieces that begin a word, and pieces that go on with one.
    first: HashMap<Box<str>, i32>,
    further: HashMap<Box<str>, i32>,
    unknown: i32,
    start: i32,
    end: i32,
}

impl WordPieces {
    /// Reads a vocabulary with one piece in each line; nothing if it lacks what every text needs.
    pub(super) fn read(vocabulary: &str) -> Option<Self> {
        let (mut first, mut further) = (HashMap::new(), HashMap::new());
        for (token, line) in vocabulary.lines().enumerate() {
            let token = i32::try_from(token).ok()?;
            match line.strip_prefix(CONTINUED) {
                Some(rest) if !rest.is_empty() => further.insert(rest.into(), token),
                _ => first.insert(line.into(), token),
            };
        }
        let control = |name: &str| first.get(name).copied();
        let (unknown, start, end) = (control("[UNK]")?, control("[CLS]")?, control("[SEP]")?);
        Some(Self { first, further, unknown, start, end })
    }

    /// The tokens of a text between those that begin and end every text, `most` in all.
    pub(super) fn tokens(&self, text: &str, most: usize) -> Vec<i32> {
        let mut tokens = vec![self.start];
        let mut word = String::new();
        for letter in Letters::of(text) {
            match letter {
                Letter::OfWord(letter) => word.push(letter),
                Letter::Alone(letter) => {
                    self.add(&word, &mut tokens);
                    word.clear();
                    word.push(letter);
                    self.add(&word, &mut tokens);
                    word.clear();
                }
                Letter::Space => {
                    self.add(&word, &mut tokens);
                    word.clear();
                }
            }
            if tokens.len() >= most {
                break;
            }
        }
        self.add(&word, &mut tokens);
        tokens.truncate(most.saturating_sub(1));
        tokens.push(self.end);
        tokens
    }

    /// Appends the tokens of one word. A word that can't be put together is unknown as a whole.
    fn add(&self, word: &str, tokens: &mut Vec<i32>) {
        if word.is_empty() {
            return;
        }
        let before = tokens.len();
        let mut rest = word;
        while !rest.is_empty() && word.chars().nth(LONGEST_WORD).is_none() {
            let pieces = if rest.len() == word.len() { &self.first } else { &self.further };
            let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8()).rev();
            let Some((end, token)) = ends.into_iter().find_map(|end| Some((end, *pieces.get(&rest[..end])?))) else {
                break;
            };
            tokens.push(token);
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            tokens.truncate(before);
            tokens.push(self.unknown);
        }
    }
}

/// A character as the vocabulary knows it.
enum Letter {
    OfWord(char),
    /// A word by itself: punctuation, and signs of languages that write without spaces.
    Alone(char),
    Space,
}

struct Letters;

impl Letters {
    fn of(text: &str) -> impl Iterator<Item = Letter> {
        let spelled = text.chars().filter(|letter| !is_dropped(*letter)).nfd();
        let plain = spelled.filter(|letter| !letter.is_mark_nonspacing()).flat_map(char::to_lowercase);
        plain.map(|letter| {
            if letter.is_whitespace() {
                Letter::Space
            } else if letter.is_ascii_punctuation() || letter.is_punctuation() || is_ideograph(letter) {
                Letter::Alone(letter)
            } else {
                Letter::OfWord(letter)
            }
        })
    }
}

/// Control characters and the sign for what could not be decoded.
fn is_dropped(letter: char) -> bool {
    !matches!(letter, '\t' | '\n' | '\r') && (letter.is_other() || letter == '\u{FFFD}')
}

/// Chinese characters; Korean and Japanese letters are not among them.
fn is_ideograph(letter: char) -> bool {
    matches!(
        letter,
        '\u{4E00}'..='\u{9FFF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{20000}'..='\u{2A6DF}'
            | '\u{2A700}'..='\u{2B73F}'
            | '\u{2B740}'..='\u{2B81F}'
            | '\u{2B920}'..='\u{2CEAF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{2F800}'..='\u{2FA1F}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOCABULARY: &str =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##believ\n##able\ncafe\n,\n東\nit\n'\ns\nа\n##б\n[\n]\nsep";

    fn pieces(text: &str, most: usize) -> String {
        let names: Vec<&str> = VOCABULARY.lines().collect();
        let tokens = WordPieces::read(VOCABULARY).unwrap().tokens(text, most);
        tokens.iter().map(|token| names[*token as usize]).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_cut_into_the_longest_pieces() {
        for (text, expected) in [
            ("", "[CLS] [SEP]"),
            ("Unbelievable, CAFÉ", "[CLS] un ##believ ##able , cafe [SEP]"),
            ("it's\tit\u{0}", "[CLS] it ' s it [SEP]"),
            ("unx it", "[CLS] [UNK] it [SEP]"),
            ("東東it", "[CLS] 東 東 it [SEP]"),
            ("Аб", "[CLS] а ##б [SEP]"),
            ("[SEP]", "[CLS] [ sep ] [SEP]"),
            (&"s".repeat(101), "[CLS] [UNK] [SEP]"),
        ] {
            assert_eq!(pieces(text, 20), expected, "{text:?}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(pieces("it it it it", 4), "[CLS] it it [SEP]");
        assert_eq!(pieces("unbelievable", 3), "[CLS] un [SEP]");
    }

    #[test]
    fn a_vocabulary_without_controls_is_none() {
        assert!(WordPieces::read("a\nb").is_none());
    }
}
