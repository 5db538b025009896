//! When a session was, in the ways in which sets of conversations write it.

use domain::Timestamp;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Reads `1:56 pm on 8 May, 2023`, `May 8, 2023`, `2025-12-15 (Monday)` and `2025/12/15 10:30`; none if there is no day.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| c.is_whitespace() || ",()".contains(c)).filter(|word| !word.is_empty()).collect();
    let (year, month, day) = words.iter().find_map(|word| numeric(word)).or_else(|| named(&words))?;
    let (hour, minute) = time_of_day(&words).unwrap_or((12, 0));
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00Z").parse().ok()
}

fn numeric(word: &str) -> Option<(u16, u8, u8)> {
    let date = word.split('t').next()?;
    let mut parts = date.split(['-', '/']).map(str::parse::<u16>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    (year >= 1_000 && parts.next().is_none()).then_some((year, u8::try_from(month).ok()?, u8::try_from(day).ok()?))
}

fn named(words: &[&str]) -> Option<(u16, u8, u8)> {
    let place = words.iter().position(|word| month(word).is_some())?;
    let month = month(words[place])?;
    let number = |word: &&str| word.trim_end_matches(|c: char| c.is_alphabetic()).parse::<u16>().ok();
    let year = words.iter().filter_map(number).find(|number| *number >= 1_000)?;
    let near = [place.checked_sub(1), Some(place + 1)];
    let day =
        near.into_iter().flatten().filter_map(|place| words.get(place)).filter_map(number).find(|day| *day <= 31)?;
    Some((year, month, u8::try_from(day).ok()?))
}

fn month(word: &str) -> Option<u8> {
    let start = word.get(..3)?;
    (1..)
        .zip(MONTHS)
        .find_map(|(number, name)| (name == start && word.chars().all(char::is_alphabetic)).then_some(number))
}

fn time_of_day(words: &[&str]) -> Option<(u8, u8)> {
    let place = words.iter().position(|word| word.contains(':'))?;
    let word = words[place].rsplit('t').next()?;
    let digits = word.trim_end_matches(|c: char| c.is_alphabetic());
    let mut parts = digits.split(':');
    let (hour, minute) = (parts.next()?.parse::<u8>().ok()?, parts.next()?.parse::<u8>().ok()?);
    let half = words.get(place + 1).copied().unwrap_or_default();
    let is = |wanted: &str| word.ends_with(wanted) || half == wanted;
    let hour = match hour {
        12 if is("am") => 0,
        1..12 if is("pm") => hour + 12,
        _ => hour,
    };
    (hour < 24 && minute < 60).then_some((hour, minute))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_read() {
        for (text, expected) in [
            ("1:56 pm on 8 May, 2023", Some("2023-05-08T13:56:00Z")),
            ("12:05 am on 13 January, 2024", Some("2024-01-13T00:05:00Z")),
            ("2025-12-15 (Monday)", Some("2025-12-15T12:00:00Z")),
            ("2023/05/20 (Sat) 02:21", Some("2023-05-20T02:21:00Z")),
            ("2023-05-20T14:21:00", Some("2023-05-20T14:21:00Z")),
            ("May 8th, 2023", Some("2023-05-08T12:00:00Z")),
            ("some day", None),
            ("", None),
            ("31 February, 2023", None),
        ] {
            assert_eq!(parse(text).map(|at| at.to_string()).as_deref(), expected, "{text}");
        }
    }
}
