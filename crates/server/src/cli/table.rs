//! Lists as tables: columns as wide as their widest cell, the last one as it comes.

use crate::cli::output::{Style, clean};

/// A table with a dimmed head, ending in a line break.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]], style: Style) -> String {
    let head = head.map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&head]).map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(|column| if column + 1 < N { width(column) } else { 0 });
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ")
    };
    let mut text = style.dim(&line(&head));
    for row in rows {
        text.push('\n');
        text.push_str(&clean(&line(row)));
    }
    text.push('\n');
    text
}
