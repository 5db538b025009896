//! A small incremental parser of server-sent events.
//!
//! Pure: bytes in, the text of each event's `data` out, however the bytes are cut. It must never hold more than one
//! event, never do IO, and never guess: what is not UTF-8 is an error, not a replacement character.

/// Bytes of one event unless the caller says otherwise. A whole tool call may come as one event.
pub const EVENT_CAP: usize = 8 * 1024 * 1024;

/// Why a stream of events can't be read on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event of the stream is larger than {cap} bytes")]
    TooLarge { cap: usize },
    #[error("an event of the stream is not UTF-8")]
    NotUtf8,
}

/// Reads events from pieces of a stream.
#[derive(Debug)]
pub struct SseParser {
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    /// The data lines of the event so far, joined by line feeds.
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed right after it belongs to the same line end.
    after_return: bool,
    /// Bytes at the start that may still turn out to be a byte order mark.
    at_start: bool,
    cap: usize,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::with_cap(EVENT_CAP)
    }
}

impl SseParser {
    /// A parser that refuses events of more than `cap` bytes.
    pub fn with_cap(cap: usize) -> Self {
        Self { line: Vec::new(), data: Vec::new(), has_data: false, after_return: false, at_start: true, cap }
    }

    /// Takes the next bytes and calls `on_data` with the data of each event that they complete.
    pub fn feed<E: From<SseError>>(
        &mut self,
        mut bytes: &[u8],
        mut on_data: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(first) = bytes.first() {
            // A return and the line feed behind it end one line, not two.
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.check_room(bytes.len())?;
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            self.after_return = bytes[end] == b'\r';
            let piece = &bytes[..end];
            bytes = &bytes[end + 1..];
            self.check_room(piece.len())?;
            if self.line.is_empty() {
                self.take_line(piece, &mut on_data)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(piece);
                self.take_line(&line, &mut on_data)?;
                line.clear();
                self.line = line;
            }
        }
        Ok(())
    }

    /// Tells that the stream has ended. An event whose closing blank line is missing still counts: some servers leave
    /// it out after the last one, and what was cut in its middle is caught where its text is understood.
    pub fn finish<E: From<SseError>>(&mut self, mut on_data: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, &mut on_data)?;
        }
        self.take_line(b"", &mut on_data)
    }

    fn take_line<E: From<SseError>>(
        &mut self,
        line: &[u8],
        on_data: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let line =
            if std::mem::take(&mut self.at_start) { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
        if line.is_empty() {
            return self.dispatch(on_data);
        }
        // Comments have an empty field name; `event`, `id` and `retry` say nothing in this dialect.
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        if field == b"data" {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        }
        Ok(())
    }

    fn dispatch<E: From<SseError>>(&mut self, on_data: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if !std::mem::take(&mut self.has_data) {
            return Ok(());
        }
        let outcome = match std::str::from_utf8(&self.data) {
            Ok("") => Ok(()),
            Ok(text) => on_data(text),
            Err(_) => Err(SseError::NotUtf8.into()),
        };
        self.data.clear();
        outcome
    }

    fn check_room(&self, more: usize) -> Result<(), SseError> {
        if self.line.len() + self.data.len() + more > self.cap {
            return Err(SseError::TooLarge { cap: self.cap });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, cap: usize) -> Result<Vec<String>, SseError> {
        let mut parser = SseParser::with_cap(cap);
        let mut events = Vec::new();
        for chunk in chunks {
            parser.feed(chunk, |data| {
                events.push(data.to_owned());
                Ok::<_, SseError>(())
            })?;
        }
        parser.finish(|data| {
            events.push(data.to_owned());
            Ok::<_, SseError>(())
        })?;
        Ok(events)
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(parse([text.as_bytes()], 1024).unwrap(), expected, "{text:?}");
        assert_eq!(parse(text.as_bytes().chunks(1), 1024).unwrap(), expected, "{text:?} byte by byte");
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        check("data: one\n\ndata: two\n\n", &["one", "two"]);
        check("data:no space\n\ndata:  two spaces\n\n", &["no space", " two spaces"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]);
        check("\u{feff}data: marked\n\n", &["marked"]);
        check(": keep-alive\n\ndata: x\n: inside\n\n", &["x"]);
        check("event: message\nid: 7\nretry: 10\ndata: named\n\n", &["named"]);
        check("\n\n\ndata\n\ndata:\n\n", &[]);
        check("data: ends with the stream", &["ends with the stream"]);
        check("data: grüße \u{1f431}\n\n", &["grüße \u{1f431}"]);
        check("", &[]);
    }

    #[test]
    fn an_event_over_the_cap_is_refused_by_name() {
        for text in ["data: 0123456789012345", "data: 0123\ndata: 456\n\n", ": 01234567890123456789\n"] {
            let error = parse(text.as_bytes().chunks(3), 12).unwrap_err();
            assert_eq!(error.to_string(), "an event of the stream is larger than 12 bytes", "{text:?}");
        }
        assert_eq!(parse(["data: 012345\n\n".repeat(50).as_bytes()], 12).unwrap().len(), 50);
    }

    #[test]
    fn what_is_not_utf8_is_an_error() {
        assert_eq!(parse([&b"data: \xff\n\n"[..]], 64), Err(SseError::NotUtf8));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            lines in prop::collection::vec(("(data|data:|data: |: |event: |)", "[a-zäß猫🐱:]{0,6}", "(\n|\r\n|\r|\n\n)"), 0..24),
            cuts in prop::collection::vec(0usize..400, 0..24),
            marked in any::<bool>(),
        ) {
            let mut text = String::from(if marked { "\u{feff}" } else { "" });
            for (field, value, end) in &lines {
                text.push_str(field);
                text.push_str(value);
                text.push_str(end);
            }
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < bytes.len()).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(parse(chunks, 4096), parse([bytes], 4096));
        }

        #[test]
        fn no_bytes_make_it_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..300), size in 1usize..40) {
            prop_assert_eq!(parse(bytes.chunks(size), 200).is_ok(), parse(bytes.chunks(1), 200).is_ok());
        }
    }
}
