//! What a person typed before, kept in the data directory for the next chat.
//!
//! One entry is one line of the file. It may hold anything that people tell their agents, so only they may read it.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file inside the data directory.
const FILE: &str = "chat_history";
/// Entries that are kept, and bytes of each.
pub(crate) const MAX_ENTRIES: usize = 1000;
const MAX_ENTRY_BYTES: usize = 4096;
/// The file may hold this many entries before it is cut.
const SLACK: usize = 500;

/// The file of entries.
pub(crate) struct History {
    path: PathBuf,
}

impl History {
    /// The history inside `data_dir`.
    pub(crate) fn inside(data_dir: &Path) -> Self {
        Self { path: data_dir.join(FILE) }
    }

    /// The newest entries, oldest first. A chat without a past is better than no chat.
    pub(crate) fn load(&self) -> Vec<String> {
        let text = std::fs::read(&self.path).unwrap_or_default();
        let entries: Vec<String> = String::from_utf8_lossy(&text).lines().map(from_line).collect();
        let newest = &entries[entries.len().saturating_sub(MAX_ENTRIES)..];
        if entries.len() > MAX_ENTRIES + SLACK {
            self.write(newest, false);
        }
        newest.to_vec()
    }

    /// Keeps one more entry.
    pub(crate) fn add(&self, entry: &str) {
        if entry.len() <= MAX_ENTRY_BYTES {
            self.write(&[entry.to_owned()], true);
        }
    }

    fn write(&self, entries: &[String], append: bool) {
        let text: String = entries.iter().map(|entry| to_line(entry) + "\n").collect();
        let file =
            OpenOptions::new().create(true).write(true).append(append).truncate(!append).mode(0o600).open(&self.path);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            tracing::warn!(%error, "the chat's history can't be kept");
        }
    }
}

/// Line ends inside an entry must not end it.
fn to_line(entry: &str) -> String {
    entry.replace('\\', "\\\\").replace('\n', "\\n")
}

fn from_line(line: &str) -> String {
    let mut entry = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        entry.push(match (c == '\\').then(|| chars.next()) {
            None => c,
            Some(None) => '\\',
            Some(Some('n')) => '\n',
            Some(Some(other)) => other,
        });
    }
    entry
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn entries_come_back_as_they_were() {
        let home = tempfile::tempdir().unwrap();
        let history = History::inside(home.path());
        assert_eq!(history.load(), Vec::<String>::new());
        let entries = ["hello", "two\nlines", r"back\slash \n", "ünï"];
        for entry in entries {
            history.add(entry);
        }
        assert_eq!(history.load(), entries);
        let mode = std::fs::metadata(home.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_file_does_not_grow_for_ever() {
        let home = tempfile::tempdir().unwrap();
        let history = History::inside(home.path());
        let many: Vec<String> = (0..=MAX_ENTRIES + SLACK).map(|number| number.to_string()).collect();
        history.write(&many, false);
        history.add(&"x".repeat(MAX_ENTRY_BYTES + 1));
        let kept = history.load();
        assert_eq!((kept.len(), kept.last()), (MAX_ENTRIES, many.last()));
        assert_eq!(std::fs::read_to_string(home.path().join(FILE)).unwrap().lines().count(), MAX_ENTRIES);
    }
}
