//! Days from moments, fast enough for every document of a large scope.

const DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// Year, month and day of a moment in UTC, given in microseconds since 1970.
pub(crate) fn civil(micros: i64) -> (i16, i8, i8) {
    // Days are counted from the first of March of the year 0, so that a leap day is the last of its year.
    let days = micros.div_euclid(DAY) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (i16::try_from(year).unwrap_or(i16::MAX), i8::try_from(month).unwrap_or(1), i8::try_from(day).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for text in ["1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2100-03-01T00:00:00Z", "1969-12-31T23:00:00Z"] {
            let moment: Timestamp = text.parse().unwrap();
            let (year, month, day) = civil(moment.as_microsecond());
            assert_eq!(format!("{year:04}-{month:02}-{day:02}"), text[..10]);
        }
    }

    #[test]
    fn every_day_of_two_centuries_follows_the_one_before() {
        let mut before = civil(-36_525 * DAY);
        for number in -36_524..36_525 {
            let day = civil(number * DAY);
            assert!(day > before, "{before:?} {day:?}");
            before = day;
        }
    }
}
