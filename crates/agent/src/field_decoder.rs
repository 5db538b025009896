//! Reads chosen string fields out of a JSON object while its text is still arriving.
//!
//! A model speaks through `send_message({"message": "…"})`; its words must reach the reader as they are written, not
//! when the call is complete. Escapes and surrogate pairs may be cut anywhere. The decoder is lenient: it never
//! fails, because the complete text is parsed strictly afterwards.

/// A piece of a decoded field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldText {
    /// Position of the field's name in the list given to [`FieldDecoder::new`].
    pub field: usize,
    pub text: String,
}

/// Decodes top-level string fields of one JSON object.
#[derive(Debug)]
pub struct FieldDecoder {
    fields: &'static [&'static str],
    depth: usize,
    place: Place,
    key: String,
    string: StringState,
}

/// Where in the object the next character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Between values, at any depth.
    Outside,
    /// Inside a top-level key.
    Key,
    /// Between a top-level key and its value.
    BeforeValue,
    /// Inside the string value of the wanted field.
    Wanted(usize),
    /// Inside a string that nobody asked for.
    OtherString,
}

/// Escape sequences that are not complete yet.
#[derive(Debug, Default)]
struct StringState {
    escaped: bool,
    /// Digits of `\uXXXX` read so far.
    unicode: Option<String>,
    /// A high surrogate that waits for its other half.
    high: Option<u16>,
}

/// What one character of a string literal means.
enum Decoded {
    Char(char),
    /// Two characters, where a lone surrogate was followed by something else.
    Replaced(char),
    End,
    Nothing,
}

impl FieldDecoder {
    /// A decoder of these top-level fields.
    pub fn new(fields: &'static [&'static str]) -> Self {
        Self { fields, depth: 0, place: Place::Outside, key: String::new(), string: StringState::default() }
    }

    /// Takes the next fragment and gives what it adds to the wanted fields.
    pub fn push(&mut self, fragment: &str) -> Vec<FieldText> {
        let mut found = Vec::new();
        for c in fragment.chars() {
            self.step(c, &mut found);
        }
        found
    }

    fn step(&mut self, c: char, found: &mut Vec<FieldText>) {
        match self.place {
            Place::Outside => self.outside(c),
            Place::BeforeValue => self.before_value(c),
            Place::Key | Place::OtherString | Place::Wanted(_) => self.inside_string(c, found),
        }
    }

    fn outside(&mut self, c: char) {
        match c {
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            '"' if self.depth == 1 => {
                self.key.clear();
                self.place = Place::Key;
            }
            '"' => self.place = Place::OtherString,
            _ => {}
        }
    }

    fn before_value(&mut self, c: char) {
        match c {
            '"' => {
                let wanted = self.fields.iter().position(|field| *field == self.key);
                self.place = wanted.map_or(Place::OtherString, Place::Wanted);
            }
            '{' | '[' => {
                self.depth += 1;
                self.place = Place::Outside;
            }
            '}' => {
                self.depth = self.depth.saturating_sub(1);
                self.place = Place::Outside;
            }
            ',' => self.place = Place::Outside,
            _ => {}
        }
    }

    fn inside_string(&mut self, c: char, found: &mut Vec<FieldText>) {
        match self.string.push(c) {
            Decoded::Nothing => {}
            Decoded::Char(decoded) => self.keep(decoded, found),
            Decoded::Replaced(decoded) => {
                self.keep(char::REPLACEMENT_CHARACTER, found);
                self.keep(decoded, found);
            }
            Decoded::End => {
                if self.string.high.take().is_some() {
                    self.keep(char::REPLACEMENT_CHARACTER, found);
                }
                self.place = if self.place == Place::Key { Place::BeforeValue } else { Place::Outside };
            }
        }
    }

    fn keep(&mut self, c: char, found: &mut Vec<FieldText>) {
        match self.place {
            Place::Key => self.key.push(c),
            Place::Wanted(field) => match found.last_mut() {
                Some(last) if last.field == field => last.text.push(c),
                _ => found.push(FieldText { field, text: c.to_string() }),
            },
            Place::Outside | Place::BeforeValue | Place::OtherString => {}
        }
    }
}

impl StringState {
    fn push(&mut self, c: char) -> Decoded {
        if let Some(digits) = &mut self.unicode {
            digits.push(c);
            if digits.len() < 4 {
                return Decoded::Nothing;
            }
            let unit = u16::from_str_radix(digits, 16).unwrap_or(0xFFFD);
            self.unicode = None;
            return self.unit(unit);
        }
        if self.escaped {
            self.escaped = false;
            return match c {
                'u' => {
                    self.unicode = Some(String::with_capacity(4));
                    Decoded::Nothing
                }
                'n' => self.char('\n'),
                't' => self.char('\t'),
                'r' => self.char('\r'),
                'b' => self.char('\u{8}'),
                'f' => self.char('\u{c}'),
                other => self.char(other),
            };
        }
        match c {
            '\\' => {
                self.escaped = true;
                Decoded::Nothing
            }
            '"' => Decoded::End,
            other => self.char(other),
        }
    }

    /// A character that is not half of a surrogate pair.
    fn char(&mut self, c: char) -> Decoded {
        if self.high.take().is_some() { Decoded::Replaced(c) } else { Decoded::Char(c) }
    }

    /// A code unit of a `\u` escape.
    fn unit(&mut self, unit: u16) -> Decoded {
        match (self.high.take(), unit) {
            (Some(high), 0xDC00..=0xDFFF) => {
                let code = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(unit) - 0xDC00);
                Decoded::Char(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            (before, 0xD800..=0xDBFF) => {
                self.high = Some(unit);
                if before.is_some() { Decoded::Char(char::REPLACEMENT_CHARACTER) } else { Decoded::Nothing }
            }
            (before, _) => {
                let c = char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER);
                if before.is_some() { Decoded::Replaced(c) } else { Decoded::Char(c) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FIELDS: &[&str] = &["thinking", "message"];

    fn decode(fragments: &[&str]) -> [String; 2] {
        let mut decoder = FieldDecoder::new(FIELDS);
        let mut texts = [String::new(), String::new()];
        for fragment in fragments {
            for piece in decoder.push(fragment) {
                texts[piece.field].push_str(&piece.text);
            }
        }
        texts
    }

    #[test]
    fn words_arrive_as_they_are_written() {
        let mut decoder = FieldDecoder::new(FIELDS);
        assert_eq!(decoder.push(r#"{"mess"#), []);
        assert_eq!(decoder.push(r#"age": "Hel"#), [FieldText { field: 1, text: "Hel".into() }]);
        assert_eq!(decoder.push(r#"lo\"#), [FieldText { field: 1, text: "lo".into() }]);
        assert_eq!(decoder.push(r#"n""#), [FieldText { field: 1, text: "\n".into() }]);
        assert_eq!(decoder.push(r#", "request_heartbeat": false}"#), []);
    }

    #[test]
    fn nested_fields_of_the_same_name_are_not_taken() {
        let text = r#"{"extra":{"message":"no"},"list":["message","no"],"message":"yes","n":1}"#;
        assert_eq!(decode(&[text]), ["", "yes"]);
    }

    #[test]
    fn a_field_that_is_no_string_gives_nothing() {
        assert_eq!(decode(&[r#"{"message":{"a":"b"},"thinking":null,"x":"y"}"#]), ["", ""]);
    }

    #[test]
    fn surrogates_cut_anywhere_are_joined_and_lone_ones_replaced() {
        assert_eq!(decode(&[r#"{"message":"\ud83d"#, r"\u", r#"de00!"}"#])[1], "😀!");
        assert_eq!(decode(&[r#"{"message":"\ud83dx\ud83d\n\ude00\ud83d"}"#])[1], "\u{FFFD}x\u{FFFD}\n\u{FFFD}\u{FFFD}");
    }

    proptest! {
        #[test]
        fn any_cut_gives_what_a_strict_parser_gives(message in ".*", thinking in ".*", cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8), ascii: bool) {
            let mut text = serde_json::json!({ "thinking": thinking, "n": [1, {"message": "x"}], "message": message }).to_string();
            if ascii {
                text = text.chars().map(|c| if c.is_ascii() { c.to_string() } else {
                    let mut units = [0; 2];
                    c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
                }).collect();
            }
            let chars: Vec<char> = text.chars().collect();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len())).collect();
            at.extend([0, chars.len()]);
            at.sort_unstable();
            let fragments: Vec<String> = at.windows(2).map(|pair| chars[pair[0]..pair[1]].iter().collect()).collect();
            let fragments: Vec<&str> = fragments.iter().map(String::as_str).collect();
            prop_assert_eq!(decode(&fragments), [thinking, message]);
        }

        #[test]
        fn garbage_never_panics(text in ".*") {
            decode(&[&text]);
        }
    }
}
