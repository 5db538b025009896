//! Rules of the house that no compiler checks: walls between rooms, owners of libraries, sizes and names of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Lines that a file may have, its tests not counted.
const MAX_LINES: usize = 500;
/// Words that say nothing about what a thing is.
const BANNED_WORDS: [&str; 8] = ["Manager", "Service", "Helper", "Util", "Base", "Data", "Info", "Handler"];
const BANNED_FILES: [&str; 4] = ["utils", "helpers", "common", "misc"];

/// Which rooms a room may use.
const ROOMS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("prompt", &["domain"]),
    ("storage", &["domain"]),
    ("providers", &["domain"]),
    ("retrieval", &["domain", "storage"]),
    ("tools", &["domain", "storage", "retrieval"]),
    ("agent", &["domain", "prompt", "storage", "tools"]),
    ("dispatch", &["domain", "prompt", "storage", "providers", "retrieval", "tools", "agent"]),
    ("letta_api", &["domain", "storage", "retrieval", "dispatch", "prompt", "providers"]),
    ("openai_gateway", &["domain", "storage", "retrieval", "dispatch", "prompt", "providers"]),
    ("console_api", &["domain", "storage", "retrieval", "dispatch", "prompt", "providers"]),
    (
        "server",
        &[
            "domain",
            "prompt",
            "storage",
            "providers",
            "retrieval",
            "tools",
            "agent",
            "dispatch",
            "letta_api",
            "openai_gateway",
            "console_api",
        ],
    ),
    ("testkit", &["domain"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Each room with the names of what it is built from; what only its tests use is left out.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    packages
        .map(|package| {
            let all = package["dependencies"].as_array().expect("dependencies").iter();
            let built = all.filter(|one| one["kind"].is_null()).map(|one| text(&one["name"])).collect();
            (text(&package["name"]), built)
        })
        .collect()
}

#[test]
fn rooms_use_only_what_their_walls_allow() {
    for (room, used) in dependencies() {
        let row = ROOMS.iter().find(|(name, _)| **name == *room);
        let (_, allowed) =
            row.unwrap_or_else(|| panic!("`{room}` is a new room: it needs a decision record and a row"));
        for other in used.iter().filter(|name| ROOMS.iter().any(|(room, _)| *room == name.as_str())) {
            assert!(allowed.contains(&other.as_str()), "{room} may not use {other}");
        }
    }
}

#[test]
fn libraries_stay_with_their_owners() {
    let owners: BTreeMap<String, Vec<String>> = toml::from_str(include_str!("owners.toml")).expect("owners");
    for (room, used) in dependencies() {
        for library in used.iter().filter(|name| !ROOMS.iter().any(|(room, _)| *room == name.as_str())) {
            let owner = owners.get(library).unwrap_or_else(|| panic!("`{library}` has no row in owners.toml"));
            assert!(owner.contains(&room), "{room} may not use {library}: see owners.toml");
        }
    }
}

#[test]
fn no_library_brings_openssl() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("the lock file");
    assert!(!lock.contains("name = \"openssl-sys\""), "rustls only");
}

/// Every Rust file of the workspace with its text.
fn files() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates"), root.join("testkit")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(&root).expect("inside").display().to_string();
                found.push((name, std::fs::read_to_string(&path).expect("text")));
            }
        }
    }
    assert!(found.len() > 100, "the files were not found");
    found
}

#[test]
fn every_file_says_what_it_is_for() {
    for (name, text) in files() {
        assert!(text.starts_with("//! "), "{name} does not begin with a module doc");
    }
}

#[test]
fn files_are_small() {
    for (name, text) in files() {
        let is_test = name.ends_with("_tests.rs") || name.contains("/tests/");
        let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
        assert!(is_test || lines <= MAX_LINES, "{name} has {lines} lines: is there a shelf missing?");
    }
}

#[test]
fn names_say_something() {
    for (name, text) in files() {
        let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        assert!(!BANNED_FILES.contains(&stem), "{name} says nothing about what is in it");
        for declared in text.lines().filter_map(declared_type) {
            let banned = BANNED_WORDS.iter().find(|word| words(declared).any(|one| one == **word));
            assert!(banned.is_none(), "{name}: `{declared}` holds a word that says nothing");
        }
    }
}

/// The type that a line declares.
fn declared_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub(super) ")).unwrap_or(line);
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| line.strip_prefix(word))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The words of a name in camel case.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = name.char_indices().filter(|(_, c)| c.is_uppercase()).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([name.len()]).collect::<Vec<_>>();
    starts.into_iter().zip(ends).map(move |(start, end)| &name[start..end])
}

#[test]
fn lints_are_silenced_with_a_reason() {
    for (name, text) in files().into_iter().filter(|(name, _)| !name.ends_with("tidy.rs")) {
        assert!(!text.contains("#[allow(") && !text.contains("#[ignore"), "{name} silences a lint or a test");
    }
}

#[test]
fn documents_name_no_machine() {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().expect("git");
    let home = std::env::var_os("HOME").map(|home| format!("{}/", home.to_string_lossy())).unwrap_or_default();
    let parent = format!("{}/", root().parent().expect("a parent").display());
    for name in String::from_utf8_lossy(&output.stdout).split('\0').filter(|name| !name.is_empty()) {
        let Ok(text) = std::fs::read_to_string(root().join(name)) else { continue };
        for path in [&home, &parent].into_iter().filter(|path| path.len() > 3) {
            assert!(!text.contains(path.as_str()), "{name} names a path of this machine");
        }
    }
}
