//! The table of docs/origin-faults.md names tests; all of them must be there.

use std::path::Path;

use anyhow::{Context, Result, ensure};

/// The file that a name in the table stands for.
fn file(root: &Path, place: &str) -> std::path::PathBuf {
    if place.starts_with("crates/") {
        root.join(place)
    } else {
        root.join("crates/server/tests/it").join(place).with_extension("rs")
    }
}

/// The tests of the second column of a row, as they are written.
fn named(row: &str) -> Vec<&str> {
    let column = row.split(" | ").nth(1).unwrap_or_default();
    column.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_fault_names_tests_that_exist() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = std::fs::read_to_string(root.join("docs/origin-faults.md"))?;
    let rows: Vec<&str> =
        table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| fault |")).collect();
    ensure!(rows.len() > 60, "the table has only {} rows", rows.len());
    let mut missing = Vec::new();
    for row in rows {
        let tests = named(row);
        ensure!(!tests.is_empty(), "no test is named: {row}");
        for test in tests {
            let (place, name) = test.rsplit_once("::").with_context(|| format!("{test} names no file"))?;
            let text = std::fs::read_to_string(file(&root, place)).unwrap_or_default();
            if !text.contains(&format!("fn {name}()")) {
                missing.push(test.to_owned());
            }
        }
    }
    ensure!(missing.is_empty(), "these tests are not there: {missing:#?}");
    Ok(())
}
