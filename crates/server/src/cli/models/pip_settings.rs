//! What pip is set up with: which indexes, and which folders of wheels. Read from where pip reads it.
//!
//! No index is named here: which one to use is the user's choice, made when pip was set up.

use std::path::PathBuf;

use crate::config::Environment;

/// Where pip looks for packages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PipSettings {
    /// Addresses of indexes, the preferred one first.
    pub(super) indexes: Vec<String>,
    /// Folders that hold wheels.
    pub(super) folders: Vec<PathBuf>,
}

impl PipSettings {
    /// What the environment says, else the configuration files. `read` gives a file's text.
    pub(super) fn find(environment: Environment<'_>, read: &dyn Fn(&PathBuf) -> Option<String>) -> Self {
        let texts: Vec<String> = files(environment).iter().filter_map(read).collect();
        let setting = |variable: &str, key: &str| {
            let written = || texts.iter().find_map(|text| value(text, key));
            environment(variable).or_else(written).unwrap_or_default()
        };
        let main = setting("PIP_INDEX_URL", "index-url");
        let extra = setting("PIP_EXTRA_INDEX_URL", "extra-index-url");
        let links = setting("PIP_FIND_LINKS", "find-links");
        let is_off = matches!(setting("PIP_NO_INDEX", "no-index").as_str(), "1" | "true" | "yes" | "on");
        let indexes = main.split_whitespace().chain(extra.split_whitespace());
        Self {
            indexes: if is_off { Vec::new() } else { indexes.map(str::to_owned).collect() },
            folders: links.split_whitespace().map(|link| link.strip_prefix("file://").unwrap_or(link).into()).collect(),
        }
    }
}

/// Where pip keeps its configuration, what counts most first.
fn files(environment: Environment<'_>) -> Vec<PathBuf> {
    let under = |variable: &str, rest: &str| environment(variable).map(|parent| PathBuf::from(parent).join(rest));
    let user = under("XDG_CONFIG_HOME", "pip/pip.conf").or_else(|| under("HOME", ".config/pip/pip.conf"));
    let places = [
        environment("PIP_CONFIG_FILE").map(PathBuf::from),
        under("VIRTUAL_ENV", "pip.conf"),
        user,
        under("HOME", ".pip/pip.conf"),
        under("HOME", "Library/Application Support/pip/pip.conf"),
        Some("/etc/xdg/pip/pip.conf".into()),
        Some("/etc/pip.conf".into()),
    ];
    places.into_iter().flatten().collect()
}

/// The value of a key that concerns every command. A value may go on in indented lines.
fn value(text: &str, key: &str) -> Option<String> {
    let mut section = "";
    let mut found: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let goes_on = line.starts_with([' ', '\t']);
        match (&mut found, goes_on) {
            (Some(value), true) => value.push_str(&format!(" {trimmed}")),
            (Some(_), false) => break,
            (None, _) if trimmed.starts_with('[') => section = trimmed.trim_matches(['[', ']']),
            (None, _) => found = setting(trimmed, key).filter(|_| matches!(section, "global" | "install" | "download")),
        }
    }
    found.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn setting(line: &str, key: &str) -> Option<String> {
    let (name, value) = line.split_once(['=', ':'])?;
    (name.trim().replace('_', "-") == key).then(|| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_comes_before_files_and_near_files_before_far_ones() {
        let user = "[global]\n# mine\nindex-url = https://user.example/simple\ntimeout = 9\n";
        let system = "[global]\nindex-url=https://far.example\nextra-index-url =\n  https://a.example/simple\n  https://b.example\n\
                      [list]\nfind-links = /no\n[install]\nfind_links: /opt/wheels file:///srv/w\n";
        let read = |path: &PathBuf| match path.to_str() {
            Some("/home/me/.config/pip/pip.conf") => Some(user.to_owned()),
            Some("/etc/pip.conf") => Some(system.to_owned()),
            _ => None,
        };
        let home = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
        let settings = PipSettings::find(&home, &read);
        assert_eq!(settings.indexes, ["https://user.example/simple", "https://a.example/simple", "https://b.example"]);
        assert_eq!(settings.folders, [PathBuf::from("/opt/wheels"), PathBuf::from("/srv/w")]);

        let set = |name: &str| match name {
            "PIP_INDEX_URL" => Some("https://env.example/simple".to_owned()),
            "PIP_EXTRA_INDEX_URL" => Some("https://x.example https://y.example".to_owned()),
            _ => home(name),
        };
        let settings = PipSettings::find(&set, &read);
        assert_eq!(settings.indexes, ["https://env.example/simple", "https://x.example", "https://y.example"]);
    }

    #[test]
    fn nothing_is_assumed() {
        assert_eq!(PipSettings::find(&|_| None, &|_| None), PipSettings::default());
        let off = |name: &str| match name {
            "PIP_INDEX_URL" => Some("https://x.example".to_owned()),
            "PIP_NO_INDEX" => Some("1".to_owned()),
            _ => None,
        };
        assert!(PipSettings::find(&off, &|_| None).indexes.is_empty());
    }
}
