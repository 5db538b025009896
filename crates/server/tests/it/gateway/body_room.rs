//! How much memory the bodies of requests take together.

use std::io::ErrorKind;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{CHAT, ask, house};

const MIB: usize = 1024 * 1024;
/// Bodies of the largest size for which there is room at once.
const ROOM_FOR: usize = 16;

/// A request that says how long its body is, and sends none of it before it is told to.
async fn announce(url: &str, bytes: usize) -> Result<TcpStream> {
    let address = url.strip_prefix("http://").context("an address")?.trim_end_matches('/');
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n\
         content-length: {bytes}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    Ok(stream)
}

/// The status line and the headers of the next answer.
async fn head(stream: &mut TcpStream) -> Result<String> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8(read)?)
}

#[tokio::test]
async fn large_bodies_wait_for_room_and_small_ones_are_answered() -> Result<()> {
    let (server, client, _vendor) = house("").await?;
    let url = server.urls().first().context("an address")?.clone();
    let mut body = ask("Hello.");
    body["padding"] = json!("x".repeat(MIB));
    let body = body.to_string();
    let mut held = Vec::new();
    for number in 0..ROOM_FOR {
        let mut stream = announce(&url, 32 * MIB).await?;
        let told = head(&mut stream).await?;
        ensure!(told.starts_with("HTTP/1.1 100 "), "{number}: {told}");
        held.push(stream);
    }
    let mut late = announce(&url, body.len()).await?;
    client.post(CHAT, &ask("Hello.")).await?.ok()?;
    let early = late.try_read(&mut [0; 64]);
    ensure!(early.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "{early:?}");
    // One that hangs up makes room.
    held.pop();
    ensure!(head(&mut late).await?.starts_with("HTTP/1.1 100 "));
    late.write_all(body.as_bytes()).await?;
    let answer = head(&mut late).await?;
    ensure!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // Once it is answered, its place is free: the largest body fits again.
    let mut next = announce(&url, 32 * MIB).await?;
    ensure!(head(&mut next).await?.starts_with("HTTP/1.1 100 "));
    Ok(())
}
