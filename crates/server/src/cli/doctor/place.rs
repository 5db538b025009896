//! What the doctor sees without opening anything: the configuration, the data directory, and who may read them.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::finding::Finding;
use crate::auth::check_exposure;
use crate::config::{CONFIG_FILE, Config};
use crate::config_file::ConfigFile;
use crate::system_prompts;

/// Permissions of everybody but the owner.
const OTHERS: u32 = 0o077;

/// Whether the configuration can be used.
pub(super) fn configuration(config: Result<&Config, &anyhow::Error>) -> Finding {
    match config {
        Ok(Config { file: Some(file), .. }) => Finding::fine("configuration", file.display().to_string()),
        Ok(_) => Finding::fine("configuration", format!("no {CONFIG_FILE}, so defaults and the environment count")),
        Err(error) => Finding::problem(
            "configuration",
            format!("{error:#}"),
            "correct that setting; docs/configuration.md has all",
        ),
    }
}

/// Whether the data directory is there, ours and closed to others.
pub(super) fn data_directory(path: &Path) -> Vec<Finding> {
    let shown = path.display();
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let text = format!("{shown} is not there yet: `librarian chat` or `librarian serve` makes it");
            return vec![Finding::note("data directory", text)];
        }
        Err(error) => {
            let remedy = "check who owns the directories above it, or choose another with --data-dir";
            return vec![Finding::problem("data directory", format!("{shown} can't be looked at: {error}"), remedy)];
        }
    };
    if !metadata.is_dir() {
        let remedy = "move it away, or choose another with --data-dir";
        return vec![Finding::problem("data directory", format!("{shown} is not a directory"), remedy)];
    }
    vec![directory_access(path, &metadata, current_user())]
}

fn directory_access(path: &Path, metadata: &Metadata, user: Option<u32>) -> Finding {
    let (shown, mode) = (path.display(), metadata.mode() & 0o7777);
    if let Some(user) = user.filter(|user| *user != 0 && *user != metadata.uid()) {
        let text = format!("{shown} belongs to the user with id {}, and you have id {user}", metadata.uid());
        return Finding::problem(
            "data directory",
            text,
            "run librarian as that user, or choose another with --data-dir",
        );
    }
    if mode & OTHERS != 0 {
        let text = format!("{shown} has mode {mode:04o}, so other users of this machine may look into its memories");
        return Finding::problem("data directory", text, format!("chmod 700 '{shown}'"));
    }
    let owner = if user == Some(metadata.uid()) { "yours".to_owned() } else { format!("user id {}", metadata.uid()) };
    Finding::fine("data directory", format!("{shown} ({owner}, mode {mode:04o})"))
}

/// The user that this process acts for, where the system tells.
fn current_user() -> Option<u32> {
    std::fs::metadata("/proc/self").ok().map(|process| process.uid())
}

/// Whether others may read keys out of a configuration file that is not inside the data directory.
pub(super) fn secrecy(config: &Config) -> Option<Finding> {
    let file = config.file.as_deref().filter(|file| !file.starts_with(&config.data_dir))?;
    let mode = std::fs::metadata(file).ok()?.mode() & 0o7777;
    let settings = ConfigFile::read(file).ok()?;
    let holds_key = settings.server.api_key.is_some() || settings.providers.iter().any(|one| one.api_key.is_some());
    (holds_key && mode & OTHERS != 0).then(|| {
        let text = format!("{} holds a key and has mode {mode:04o}, so others may read it", file.display());
        Finding::problem("configuration", text, format!("chmod 600 '{}'", file.display()))
    })
}

/// Whether `serve` would listen where the configuration says.
pub(super) fn exposure(config: &Config) -> Option<Finding> {
    let checked = config.listeners().and_then(|listeners| {
        listeners.iter().try_for_each(|listener| check_exposure(listener.address, config.api_key.as_ref()))
    });
    let error = checked.err()?;
    let remedy = "change the address or the key before the next `librarian serve`";
    Some(Finding::problem("address", format!("{error:#}"), remedy))
}

/// Whether the operator's own prompts can be used.
pub(super) fn system_prompts(config: &Config) -> Option<Finding> {
    match system_prompts::read(&config.data_dir) {
        Ok(prompts) if prompts.is_empty() => None,
        Ok(prompts) => {
            let keys: Vec<&str> = prompts.keys().map(String::as_str).collect();
            Some(Finding::fine("system prompts", format!("your own for {}", keys.join(", "))))
        }
        Err(error) => {
            let remedy = format!("correct the file, or move it out of {}", system_prompts::FOLDER);
            Some(Finding::problem("system prompts", format!("{error:#}"), remedy))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn access(mode: u32, user: impl Fn(u32) -> u32) -> Finding {
        let home = tempfile::tempdir().unwrap();
        std::fs::set_permissions(home.path(), Permissions::from_mode(mode)).unwrap();
        let metadata = std::fs::metadata(home.path()).unwrap();
        directory_access(home.path(), &metadata, Some(user(metadata.uid())))
    }

    #[test]
    fn a_directory_must_be_ours_and_closed() {
        assert!(!access(0o700, |owner| owner).is_problem());
        assert!(access(0o750, |owner| owner).is_problem());
        assert!(access(0o704, |owner| owner).is_problem());
        assert!(access(0o700, |owner| owner + 1).is_problem());
    }

    #[test]
    fn a_directory_that_is_not_there_is_no_problem() {
        let home = tempfile::tempdir().unwrap();
        assert!(!data_directory(&home.path().join("new"))[0].is_problem());
        std::fs::write(home.path().join("file"), "").unwrap();
        assert!(data_directory(&home.path().join("file"))[0].is_problem());
    }
}
