//! Writes Prometheus' text format. Pure, and it knows no metric.

use std::fmt::{Display, Write as _};

use dispatch::tally::Histogram;

/// What the format is called in a header.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A label's name and value.
pub(super) type Label<'a> = (&'static str, &'a str);

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// A family that only grows.
    pub(super) fn counter(&mut self, name: &'static str, meaning: &str) -> Family<'_> {
        self.family(name, "counter", meaning)
    }

    /// A family that goes up and down.
    pub(super) fn gauge(&mut self, name: &'static str, meaning: &str) -> Family<'_> {
        self.family(name, "gauge", meaning)
    }

    /// A family of times sorted into buckets.
    pub(super) fn histogram(&mut self, name: &'static str, meaning: &str) -> Family<'_> {
        self.family(name, "histogram", meaning)
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn family(&mut self, name: &'static str, kind: &str, meaning: &str) -> Family<'_> {
        // Writing to a string never fails.
        let _ = writeln!(self.text, "# HELP {name} {meaning}\n# TYPE {name} {kind}");
        Family { text: &mut self.text, name }
    }
}

/// A metric with all of its rows.
#[derive(Debug)]
pub(super) struct Family<'p> {
    text: &'p mut String,
    name: &'static str,
}

impl Family<'_> {
    /// One row.
    pub(super) fn row(&mut self, labels: &[Label<'_>], value: impl Display) {
        self.line("", labels, None, value);
    }

    /// The rows of one histogram.
    pub(super) fn times(&mut self, labels: &[Label<'_>], times: &Histogram) {
        let mut count = 0;
        for (bound, below) in times.cumulative() {
            count = below;
            self.line("_bucket", labels, Some(("le", &bound.to_string())), below);
        }
        // What is counted meanwhile must not make the last bucket smaller than the one before.
        count = count.max(times.count());
        self.line("_bucket", labels, Some(("le", "+Inf")), count);
        self.line("_sum", labels, None, times.sum());
        self.line("_count", labels, None, count);
    }

    fn line(&mut self, suffix: &str, labels: &[Label<'_>], last: Option<Label<'_>>, value: impl Display) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        for (number, (name, text)) in labels.iter().copied().chain(last).enumerate() {
            self.text.push(if number == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{name}=\"");
            text.chars().for_each(|letter| match letter {
                '\\' => self.text.push_str("\\\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str("\\n"),
                other => self.text.push(other),
            });
            self.text.push('"');
        }
        if !labels.is_empty() || last.is_some() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rows_have_labels_and_strange_letters_are_escaped() {
        let mut page = Page::default();
        let mut family = page.counter("a_total", "Things.");
        family.row(&[], 1);
        family.row(&[("x", "a\\b\"c\nd"), ("y", "")], 2.5);
        let expected =
            "# HELP a_total Things.\n# TYPE a_total counter\na_total 1\na_total{x=\"a\\\\b\\\"c\\nd\",y=\"\"} 2.5\n";
        assert_eq!(page.into_text(), expected);
    }

    #[test]
    fn a_histogram_ends_in_all_of_them() {
        let times = Histogram::default();
        times.observe(Duration::from_millis(2));
        times.observe(Duration::from_secs(1_000));
        let mut page = Page::default();
        page.histogram("t_seconds", "Times.").times(&[("x", "1")], &times);
        let text = page.into_text();
        for line in [
            "t_seconds_bucket{x=\"1\",le=\"0.001\"} 0",
            "t_seconds_bucket{x=\"1\",le=\"0.0025\"} 1",
            "t_seconds_bucket{x=\"1\",le=\"300\"} 1",
            "t_seconds_bucket{x=\"1\",le=\"+Inf\"} 2",
            "t_seconds_sum{x=\"1\"} 1000.002",
            "t_seconds_count{x=\"1\"} 2",
        ] {
            assert!(text.lines().any(|written| written == line), "{line}\n{text}");
        }
    }
}
