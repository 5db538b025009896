//! The data directory and its one owner.
//!
//! Whoever holds the lock of `owner.lock` owns the directory; the file says where to reach the owner and with which
//! secret. The lock is the operating system's and dies with its process, so a file left behind by a crash stops nobody.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Seek, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// The lock file inside the data directory.
pub(crate) const LOCK_FILE: &str = "owner.lock";
/// The database inside the data directory.
const STORE_FILE: &str = "librarian.db";
/// The folder of fetched models inside the data directory.
const MODELS_FOLDER: &str = "models";
/// How long an owner may take from its lock to its address.
const ADDRESS_WAIT: Duration = Duration::from_secs(3);
const ADDRESS_POLL: Duration = Duration::from_millis(20);

/// What the lock file says.
#[derive(Serialize, Deserialize)]
struct LockText {
    pid: u32,
    address: SocketAddr,
    secret: String,
}

/// Who owns a directory, and how to speak to it.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    pub(crate) address: SocketAddr,
    pub(crate) secret: Secret,
}

/// A data directory that belongs to this process for as long as this value lives.
#[derive(Debug)]
pub(crate) struct OwnedDirectory {
    path: PathBuf,
    secret: Secret,
    lock: File,
}

/// Either it is ours now, or somebody else's.
#[derive(Debug)]
pub(crate) enum Ownership {
    Ours(OwnedDirectory),
    Theirs(Owner),
}

/// The database inside the directory at `path`.
pub(crate) fn store_file(path: &Path) -> PathBuf {
    path.join(STORE_FILE)
}

/// Where fetched models lie in the directory at `path`.
pub(crate) fn models_folder(path: &Path) -> PathBuf {
    path.join(MODELS_FOLDER)
}

/// Tries to become the owner of the directory at `path`, which is made if it is not there.
pub(crate) fn claim(path: &Path) -> anyhow::Result<Ownership> {
    // Memory is private: nobody else on the machine may look in.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("can't make the data directory {}: choose another with --data-dir", path.display()))?;
    let file = path.join(LOCK_FILE);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&file);
    let lock = opened.with_context(|| {
        format!(
            "can't write in the data directory {}: check who owns it or choose another with --data-dir",
            path.display()
        )
    })?;
    match lock.try_lock() {
        Ok(()) => {
            // A copy or a restored backup may have lost the mode that it was made with.
            lock.set_permissions(Permissions::from_mode(0o600)).context("can't protect the lock file")?;
            lock.set_len(0).context("can't write the lock file")?;
            Ok(Ownership::Ours(OwnedDirectory { path: path.to_owned(), secret: Secret::random()?, lock }))
        }
        Err(TryLockError::WouldBlock) => read_owner(&file).map(Ownership::Theirs),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("can't lock {}", file.display())),
    }
}

impl OwnedDirectory {
    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The database inside it.
    pub(crate) fn store_path(&self) -> PathBuf {
        store_file(&self.path)
    }

    /// Where fetched models lie in it.
    pub(crate) fn models_path(&self) -> PathBuf {
        models_folder(&self.path)
    }

    /// What opens our doors to other commands of the same person.
    pub(crate) fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Tells other commands where we listen.
    pub(crate) fn announce(&mut self, bound: SocketAddr) -> anyhow::Result<()> {
        let text =
            LockText { pid: std::process::id(), address: reachable(bound), secret: self.secret.reveal().to_owned() };
        self.rewrite(&serde_json::to_vec(&text)?).context("can't write the lock file")
    }

    fn rewrite(&mut self, text: &[u8]) -> std::io::Result<()> {
        self.lock.set_len(0)?;
        self.lock.rewind()?;
        self.lock.write_all(text)
    }
}

impl Drop for OwnedDirectory {
    fn drop(&mut self) {
        // The file itself stays: removing it would let two processes lock two files of one name.
        let _emptied = self.lock.set_len(0);
    }
}

/// What the owner wrote. It may be between taking the lock and writing, so an empty file is given a moment.
fn read_owner(file: &Path) -> anyhow::Result<Owner> {
    let deadline = Instant::now() + ADDRESS_WAIT;
    loop {
        let mut text = String::new();
        File::open(file)
            .and_then(|mut file| file.read_to_string(&mut text))
            .with_context(|| format!("{} belongs to another user's process", file.display()))?;
        if let Ok(LockText { pid, address, secret }) = serde_json::from_str(&text)
            && let Ok(secret) = Secret::new(secret)
        {
            return Ok(Owner { pid, address, secret });
        }
        if Instant::now() >= deadline {
            anyhow::bail!("another process is starting or stopping with this data directory: try again in a moment");
        }
        std::thread::sleep(ADDRESS_POLL);
    }
}

/// An address that a client on this machine can connect to.
pub(crate) fn reachable(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    SocketAddr::new(ip, bound.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn ours(path: &Path) -> OwnedDirectory {
        match claim(path).unwrap() {
            Ownership::Ours(directory) => directory,
            Ownership::Theirs(owner) => panic!("owned by {owner:?}"),
        }
    }

    #[test]
    fn a_directory_has_one_owner() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("deep/inside");
        let mut first = ours(&path);
        first.announce("0.0.0.0:4711".parse().unwrap()).unwrap();
        let Ownership::Theirs(owner) = claim(&path).unwrap() else { panic!("two owners") };
        assert_eq!(owner.pid, std::process::id());
        assert_eq!(owner.address.to_string(), "127.0.0.1:4711");
        assert_eq!(&owner.secret, first.secret());
        drop(first);
        drop(ours(&path));
    }

    #[test]
    fn others_can_not_look_in() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let _owned = ours(&path);
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&path.join(LOCK_FILE)), 0o600);
    }

    #[test]
    fn a_file_left_by_a_crash_is_no_obstacle() {
        let home = tempfile::tempdir().unwrap();
        let left = r#"{"pid":1,"address":"127.0.0.1:1","secret":"old"}"#;
        std::fs::write(home.path().join(LOCK_FILE), left).unwrap();
        let owned = ours(home.path());
        assert_eq!(mode(&home.path().join(LOCK_FILE)), 0o600);
        assert_ne!(owned.secret().reveal(), "old");
    }
}
