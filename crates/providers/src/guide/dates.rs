//! Days as search results give them, written the way that each language writes them.

use super::languages::Language;

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day {
    year: u16,
    month: usize,
    day: u8,
}

impl Day {
    /// The day of a time such as `2026-05-03T14:12:03+02:00`.
    pub(super) fn of(timestamp: &str) -> Option<Self> {
        let mut parts = timestamp.get(..10)?.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let (year, month, day) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(Self { year, month, day })
    }

    /// The day in words of `language`.
    pub(super) fn shown(self, language: Language) -> String {
        let Self { year, month, day } = self;
        let name = months(language).split(' ').nth(month - 1).unwrap_or_default();
        match language {
            Language::German => format!("{day}. {name} {year}"),
            Language::Spanish | Language::Portuguese => format!("{day} de {name} de {year}"),
            Language::Japanese | Language::Chinese => format!("{year}年{month}月{day}日"),
            Language::Russian => format!("{day} {name} {year} года"),
            Language::French if day == 1 => format!("1er {name} {year}"),
            _ => format!("{day} {name} {year}"),
        }
    }
}

fn months(language: Language) -> &'static str {
    match language {
        Language::German => "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        Language::French => "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        Language::Spanish => "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        Language::Italian => {
            "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"
        }
        Language::Portuguese => {
            "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
        }
        Language::Dutch => "januari februari maart april mei juni juli augustus september oktober november december",
        Language::Russian => "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        Language::English | Language::Japanese | Language::Chinese | Language::Other => {
            "January February March April May June July August September October November December"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_as_people_write_them() {
        let day = Day::of("2026-05-03T14:12:03+02:00").unwrap();
        for (language, shown) in [
            (Language::English, "3 May 2026"),
            (Language::German, "3. Mai 2026"),
            (Language::Spanish, "3 de mayo de 2026"),
            (Language::Japanese, "2026年5月3日"),
            (Language::Russian, "3 мая 2026 года"),
        ] {
            assert_eq!(day.shown(language), shown);
        }
        for strange in ["", "yesterday", "2026-13-01T00:00", "２０２６-05-03"] {
            assert_eq!(Day::of(strange), None, "{strange}");
        }
    }
}
