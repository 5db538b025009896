//! Dates and times as models write them, and how long ago something was.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use crate::memory::{ToolError, refuse};

/// Which end of a range a date stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A day counts from its beginning.
    Start,
    /// A day counts to its end, and a moment is included.
    Finish,
}

/// The moment that a text names. Without a zone of its own it is one of the agent's zone. For [`End::Finish`] it is the
/// first moment that is not meant any more.
pub fn parse(name: &str, text: &str, zone: &str, end: End) -> Result<Timestamp, ToolError> {
    let text = text.trim();
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    let found = match text.parse::<Timestamp>() {
        Ok(moment) => Some(moment).map(|moment| after(moment, end)),
        Err(_) => day(text, &zone, end).or_else(|| {
            let moment = text.parse::<DateTime>().ok()?.to_zoned(zone.clone()).ok()?.timestamp();
            Some(after(moment, end))
        }),
    };
    found.ok_or_else(|| {
        refuse!("`{name}` must be a date such as 2026-01-31 or a time such as 2026-01-31T14:30, not `{}`.", shown(text))
    })
}

fn day(text: &str, zone: &TimeZone, end: End) -> Option<Timestamp> {
    // A date with a time is a date to the parser too, so only a bare one is taken.
    let date = (text.len() == 10).then(|| text.parse::<Date>().ok())??;
    let date = match end {
        End::Start => date,
        End::Finish => date.tomorrow().ok()?,
    };
    Some(date.to_zoned(zone.clone()).ok()?.timestamp())
}

fn after(moment: Timestamp, end: End) -> Timestamp {
    match end {
        End::Start => moment,
        End::Finish => moment.checked_add(1.microsecond()).unwrap_or(moment),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A moment in the agent's zone, as `2026-01-20T14:12:03-08:00`.
pub(crate) fn local(at: Timestamp, zone: &str) -> String {
    let zoned: Zoned = at.to_zoned(TimeZone::get(zone).unwrap_or(TimeZone::UTC));
    zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// How long ago something was: `just now`, `5m ago`, `3h ago`, `12d ago`.
pub(crate) fn time_ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    match seconds {
        ..1 => "just now".to_owned(),
        1..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, end: End, expected: &str) {
        assert_eq!(parse("start_date", text, "America/New_York", end).unwrap().to_string(), expected, "{text}");
    }

    #[test]
    fn a_naive_date_is_one_of_the_agents_zone() {
        check("2026-01-20", End::Start, "2026-01-20T05:00:00Z");
        check("2026-01-20", End::Finish, "2026-01-21T05:00:00Z");
        check("2026-01-20T10:30", End::Start, "2026-01-20T15:30:00Z");
        check("2026-01-20T10:30:05", End::Finish, "2026-01-20T15:30:05.000001Z");
        check("2026-01-20T10:30:00+02:00", End::Start, "2026-01-20T08:30:00Z");
        check("2026-01-20T10:30:00Z", End::Start, "2026-01-20T10:30:00Z");
        // The day on which summer time begins has 23 hours.
        check("2026-03-08", End::Start, "2026-03-08T05:00:00Z");
        check("2026-03-08", End::Finish, "2026-03-09T04:00:00Z");
    }

    #[test]
    fn what_is_no_date_is_refused_with_an_example() {
        for wrong in ["", "yesterday", "2026-13-01", "20.01.2026", "2026-01"] {
            let error = parse("end_date", wrong, "UTC", End::Finish).unwrap_err().to_string();
            assert!(error.starts_with("`end_date` must be a date such as"), "{error}");
        }
    }

    #[test]
    fn how_long_ago() {
        let now: Timestamp = "2026-01-20T12:00:00Z".parse().unwrap();
        for (at, expected) in [
            ("2026-01-20T12:00:00Z", "just now"),
            ("2026-01-20T12:00:09Z", "just now"),
            ("2026-01-20T11:59:18Z", "42s ago"),
            ("2026-01-20T11:55:00Z", "5m ago"),
            ("2026-01-20T09:00:00Z", "3h ago"),
            ("2026-01-08T11:00:00Z", "12d ago"),
        ] {
            assert_eq!(time_ago(at.parse().unwrap(), now), expected);
        }
    }

    #[test]
    fn times_are_written_in_the_agents_zone() {
        assert_eq!(local("2026-01-20T22:12:03Z".parse().unwrap(), "America/Los_Angeles"), "2026-01-20T14:12:03-08:00");
        assert_eq!(local("2026-01-20T22:12:03Z".parse().unwrap(), "Nowhere"), "2026-01-20T22:12:03+00:00");
    }
}
