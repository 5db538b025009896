//! A copy of the whole database while others go on writing.
//!
//! The copy is made from one read transaction on a connection of its own: it is the database of one moment, the writer
//! never waits for it, and no write makes it begin again. It grows beside the database and loses its name before the
//! first byte is handed out, so that nothing is left behind by a reader that goes away or a process that is killed.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::dialect::{Db, beside, file_error};
use crate::error::StoreError;
use crate::store::{Store, start};

/// Bytes that are handed out at once, and how many such pieces a slow reader may be behind.
const PIECE_BYTES: usize = 256 * 1024;
const PIECES_WAITING: usize = 4;

/// What is done beside reading and writing, on threads and connections of their own.
pub(crate) struct SideWork {
    pub(crate) path: PathBuf,
    /// One at a time: each needs as much of the disk as the database.
    backups: Arc<Semaphore>,
    /// One at a time: each reads the whole database.
    pub(crate) checks: Arc<Semaphore>,
    closing: Arc<AtomicBool>,
}

impl SideWork {
    pub(crate) fn new(path: &Path) -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { path: path.to_owned(), backups: one(), checks: one(), closing: Arc::default() }
    }

    /// Ends a copy that is being made.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    /// That somebody else is at it.
    pub(crate) fn taken(&self, what: &str) -> StoreError {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        StoreError::conflict("store", name, format!("is being {what} already: wait until that is done"))
    }
}

/// A copy of the database as it was at one moment: one file, to be written down piece by piece.
pub struct Backup {
    /// Bytes of the whole file.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub sha256: String,
    pieces: mpsc::Receiver<Result<Vec<u8>, StoreError>>,
}

impl Backup {
    /// The next piece; nothing after the last.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, StoreError>> {
        self.pieces.recv().await
    }
}

impl Store {
    /// Copies the database. Everything that was committed before this call is in the copy. Whoever drops the future or
    /// the copy ends the work.
    pub async fn back_up(&self) -> Result<Backup, StoreError> {
        let room = self.side_work();
        let place = Arc::clone(&room.backups).try_acquire_owned().map_err(|_| room.taken("backed up"))?;
        let (reply, answer) = oneshot::channel();
        let (copied, copying) = oneshot::channel();
        let work = Work { path: room.path.clone(), closing: room.closing.clone(), reply, copying: copied, place };
        // In this order, because whoever closes the store says so first and then waits for what it finds.
        self.wait_for(copying);
        if room.closing.load(Ordering::SeqCst) {
            return Err(StoreError::Closed);
        }
        start("store-backup", move || work.run())?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

/// One backup, on its own thread.
struct Work {
    path: PathBuf,
    closing: Arc<AtomicBool>,
    reply: oneshot::Sender<Result<Backup, StoreError>>,
    /// Dropped as soon as the database is no longer needed.
    copying: oneshot::Sender<()>,
    place: OwnedSemaphorePermit,
}

impl Work {
    fn run(self) {
        let wanted = || !self.reply.is_closed() && !self.closing.load(Ordering::SeqCst);
        let copied = copy(&self.path, &wanted);
        drop(self.copying);
        let (file, bytes, sha256) = match copied {
            Ok(copied) => copied,
            Err(error) => return self.reply.send(Err(error)).map_err(drop).unwrap_or_default(),
        };
        let (sender, pieces) = mpsc::channel(PIECES_WAITING);
        if self.reply.send(Ok(Backup { bytes, sha256, pieces })).is_ok() {
            hand_out(file, bytes, self.place, &sender);
        }
    }
}

/// Hands the file out until its end, or until nobody wants more. The place is free before the last piece goes: whoever
/// has got that may ask for the next backup.
fn hand_out(
    mut file: File,
    bytes: u64,
    place: OwnedSemaphorePermit,
    pieces: &mpsc::Sender<Result<Vec<u8>, StoreError>>,
) {
    let (mut left, mut place) = (bytes, Some(place));
    while left > 0 {
        let piece = match read_piece(&mut file) {
            Ok(piece) if piece.is_empty() => Err(StoreError::Corrupt("a copy of the database was cut".to_owned())),
            other => other.map_err(|error| file_error(&error)),
        };
        left = left.saturating_sub(piece.as_ref().map_or(left, |piece| piece.len() as u64));
        if left == 0 {
            place.take();
        }
        if pieces.blocking_send(piece).is_err() {
            return;
        }
    }
}

fn read_piece(file: &mut File) -> io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    file.take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
    Ok(piece)
}

/// Where a copy grows.
fn growing(path: &Path) -> PathBuf {
    beside(path, ".backup")
}

/// Removes what a killed process left of a copy.
pub(crate) fn remove_leftovers(path: &Path) -> Result<(), StoreError> {
    let growing = growing(path);
    remove(&growing)?;
    Db::side_files(&growing).iter().try_for_each(|file| remove(file))
}

/// Removes a file that may not be there.
pub(crate) fn remove(file: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(&error)),
        _ => Ok(()),
    }
}

/// A file without a name that holds the whole database, its size and its hash.
fn copy(path: &Path, wanted: &dyn Fn() -> bool) -> Result<(File, u64, String), StoreError> {
    let target = growing(path);
    remove_leftovers(path)?;
    let copied = Db::open_reader(path)?.copy_into(&target, wanted).and_then(|()| {
        let file = File::open(&target);
        file.map_err(|error| file_error(&error))
    });
    remove_leftovers(path)?;
    let mut file = copied?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    loop {
        let piece = read_piece(&mut file).map_err(|error| file_error(&error))?;
        if piece.is_empty() {
            break;
        }
        if !wanted() {
            return Err(StoreError::Closed);
        }
        hash.update(&piece);
        bytes += piece.len() as u64;
    }
    file.rewind().map_err(|error| file_error(&error))?;
    Ok((file, bytes, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}
