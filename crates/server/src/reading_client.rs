//! A connection whose client takes its answer in.
//!
//! A client that stays connected and reads nothing would hold its run for ever, and with it the turn of its
//! conversation and a place among the open runs. So a write that makes no progress for too long ends the connection.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long a client may take nothing of what is ready for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that ends where its client takes nothing.
pub(crate) struct ReadingClient<S> {
    stream: S,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> ReadingClient<S> {
    /// Watches over `stream`.
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, waiting: None }
    }

    /// What a write came to, or that it waited for too long.
    fn watched<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        waiting
            .as_mut()
            .poll(context)
            .map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing of its answer")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadingClient<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        pin!(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadingClient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = pin!(&mut self.stream).poll_write(context, bytes);
        self.watched(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = pin!(&mut self.stream).poll_write_vectored(context, bytes);
        self.watched(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = pin!(&mut self.stream).poll_flush(context);
        self.watched(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = pin!(&mut self.stream).poll_shutdown(context);
        self.watched(shut, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::*;

    /// Takes a little, each time just before it would be given up.
    async fn read_slowly(from: &mut DuplexStream, wanted: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < wanted {
            sleep(PATIENCE.saturating_sub(Duration::from_secs(1))).await;
            from.read_buf(&mut all).await.unwrap();
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_left() {
        let (ours, _theirs) = duplex(16);
        let mut ours = ReadingClient::new(ours);
        let begin = Instant::now();
        let error = ours.write_all(&[7; 64]).await.unwrap_err();
        assert_eq!((error.kind(), begin.elapsed().as_secs()), (io::ErrorKind::TimedOut, PATIENCE.as_secs()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_gets_all_of_it() {
        let (ours, mut theirs) = duplex(16);
        let mut ours = ReadingClient::new(ours);
        let sent = [7; 160];
        let (written, read) = tokio::join!(ours.write_all(&sent), read_slowly(&mut theirs, sent.len()));
        written.unwrap();
        assert_eq!(read, sent);
    }
}
