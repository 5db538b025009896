//! Times as a model reads them: in the agent's own time zone.
//!
//! The zone rules are compiled in, so the same instant is written the same way on every machine. The clock is never
//! read here.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// `2026-11-18 12:52:39 AM EST-0500`. A zone that nobody knows counts as UTC.
pub fn format_local(at: Timestamp, zone: &str) -> String {
    local(at, zone).strftime("%Y-%m-%d %I:%M:%S %p %Z%z").to_string()
}

/// `November 18, 2026`. A zone that nobody knows counts as UTC.
pub fn format_local_date(at: Timestamp, zone: &str) -> String {
    local(at, zone).strftime("%B %d, %Y").to_string()
}

/// `2026-11-18 00:52`, for lists of many times. A zone that nobody knows counts as UTC.
pub fn format_local_minute(at: Timestamp, zone: &str) -> String {
    local(at, zone).strftime("%Y-%m-%d %H:%M").to_string()
}

fn local(at: Timestamp, zone: &str) -> Zoned {
    at.to_zoned(TimeZone::get(zone).unwrap_or(TimeZone::UTC))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(at: &str, zone: &str, time: &str, date: &str) {
        let at: Timestamp = at.parse().unwrap();
        assert_eq!(format_local(at, zone), time, "{zone}");
        assert_eq!(format_local_date(at, zone), date, "{zone}");
    }

    #[test]
    fn a_time_is_written_in_the_agents_zone() {
        let at = "2026-11-18T05:52:39.4Z";
        check(at, "UTC", "2026-11-18 05:52:39 AM UTC+0000", "November 18, 2026");
        check(at, "America/New_York", "2026-11-18 12:52:39 AM EST-0500", "November 18, 2026");
        check(at, "America/Los_Angeles", "2026-11-17 09:52:39 PM PST-0800", "November 17, 2026");
        check(at, "Asia/Kolkata", "2026-11-18 11:22:39 AM IST+0530", "November 18, 2026");
        check(at, "America/Sao_Paulo", "2026-11-18 02:52:39 AM -03-0300", "November 18, 2026");
    }

    #[test]
    fn summer_time_and_short_days_are_right() {
        check("2026-07-04T12:00:00Z", "Europe/Berlin", "2026-07-04 02:00:00 PM CEST+0200", "July 04, 2026");
        check("2026-07-04T00:00:00Z", "UTC", "2026-07-04 12:00:00 AM UTC+0000", "July 04, 2026");
    }

    #[test]
    fn an_unknown_zone_counts_as_utc() {
        for zone in ["", "Mars/Olympus_Mons", "../../etc/passwd", "\0"] {
            check("2026-11-18T05:52:39Z", zone, "2026-11-18 05:52:39 AM UTC+0000", "November 18, 2026");
        }
    }
}
