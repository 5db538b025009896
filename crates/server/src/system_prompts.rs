//! The operator's own base prompts: `<data dir>/system_prompts/<key>.txt` takes the place of the built-in text.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
use prompt::base_prompts::PromptKey;

/// The folder inside the data directory.
pub(crate) const FOLDER: &str = "system_prompts";
/// Bytes that a prompt file may have.
const MAX_BYTES: u64 = 1024 * 1024;

/// All overrides by key. A file whose name is no key is an error: it would silently do nothing.
pub(crate) fn read(data_dir: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let folder = data_dir.join(FOLDER);
    let mut prompts = BTreeMap::new();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(prompts),
        Err(error) => return Err(error).with_context(|| format!("can't read {}", folder.display())),
    };
    for entry in entries {
        let path = entry.with_context(|| format!("can't read {}", folder.display()))?.path();
        let Some(key) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".txt"))
        else {
            continue;
        };
        if !PromptKey::ALL.iter().any(|known| known.name() == key) {
            let known: Vec<_> = PromptKey::ALL.iter().map(|known| format!("{}.txt", known.name())).collect();
            bail!(
                "{} is the prompt of nothing: rename it to one of {}, or take it away",
                path.display(),
                known.join(", ")
            );
        }
        if std::fs::metadata(&path).is_ok_and(|file| file.len() > MAX_BYTES) {
            bail!("{} is larger than the limit of {MAX_BYTES} bytes", path.display());
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))?;
        prompts.insert(key.to_owned(), text.trim_end().to_owned());
    }
    Ok(prompts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_by_key() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(read(home.path()).unwrap(), BTreeMap::new());
        let folder = home.path().join(FOLDER);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("letta_v1.txt"), "Be brief.\n").unwrap();
        std::fs::write(folder.join("letta_v1.txt~"), "an editor's copy").unwrap();
        assert_eq!(read(home.path()).unwrap(), BTreeMap::from([("letta_v1".to_owned(), "Be brief.".to_owned())]));
        std::fs::write(folder.join("leta_v1.txt"), "misspelt").unwrap();
        assert!(read(home.path()).unwrap_err().to_string().contains("letta_v1"));
    }
}
