//! Connections to the node's own Unix socket, without blocking.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hustings_cluster::api::{MAX_LINE_BYTES, Reply, Request};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::{ApiError, Code};

/// How long a request to the node may take, waiting for a free connection included. The node itself gives up earlier.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long it may take to store a state.
const STATE_TIMEOUT: Duration = Duration::from_secs(30);
/// How many reads are with the node at the same time.
const MAX_READS: usize = 16;
/// How many of those a read takes whose reply is a list.
const LIST_WEIGHT: u32 = 4;
/// How many operations are with the node at the same time. A transfer takes long, and must not keep reads waiting.
const MAX_OPERATIONS: usize = 8;
/// Small: most replies are. What is longer is read in pieces.
const READ_BUFFER: usize = 1024;

/// The receiving half of a connection.
pub(crate) struct Replies<R = OwnedReadHalf> {
    stream: BufReader<R>,
    /// The beginning of a line whose end has not arrived yet.
    line: Vec<u8>,
}

impl<R: tokio::io::AsyncRead + Unpin> Replies<R> {
    fn new(stream: R) -> Self {
        Replies { stream: BufReader::with_capacity(READ_BUFFER, stream), line: Vec::new() }
    }

    /// The next reply. Nothing is lost if the future is dropped before it is done.
    pub(crate) async fn recv(&mut self) -> io::Result<Reply> {
        read_line(&mut self.stream, &mut self.line).await?;
        let reply = serde_json::from_slice(&self.line).map_err(io::Error::from);
        self.line.clear();
        self.line.shrink_to(READ_BUFFER);
        reply
    }
}

/// Completes the line, without its end.
async fn read_line(stream: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let buffer = stream.fill_buf().await?;
        if buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(buffer.len());
        if line.len() + length > MAX_LINE_BYTES {
            return Err(io::Error::other("a reply of the node is too long"));
        }
        line.extend_from_slice(&buffer[..length]);
        stream.consume(end.map_or(length, |end| end + 1));
        if end.is_some() {
            return Ok(());
        }
    }
}

/// The sending half of a connection.
pub(crate) struct Requests<W = OwnedWriteHalf>(W);

impl<W: AsyncWrite + Unpin> Requests<W> {
    pub(crate) async fn send(&mut self, request: &Request) -> io::Result<()> {
        let mut line = serde_json::to_vec(request).expect("a request is plain data");
        line.push(b'\n');
        self.0.write_all(&line).await
    }
}

/// Connects to the node.
pub(crate) async fn connect(socket: &Path) -> io::Result<(Requests, Replies)> {
    let (read, write) = UnixStream::connect(socket).await?.into_split();
    Ok((Requests(write), Replies::new(read)))
}

/// The node, as the handlers of requests see it.
///
/// The node answers the requests of one connection as soon as it can, not in order, so each connection has one request
/// at a time.
pub(crate) struct Link {
    socket: PathBuf,
    idle: Mutex<Vec<(Requests, Replies)>>,
    reads: Semaphore,
    operations: Semaphore,
}

impl Link {
    pub(crate) fn new(socket: PathBuf) -> Link {
        let (reads, operations) = (Semaphore::new(MAX_READS), Semaphore::new(MAX_OPERATIONS));
        Link { socket, idle: Mutex::default(), reads, operations }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Sends a request to the node and waits for its reply. A reply that is an error becomes one of ours.
    pub(crate) async fn call(&self, request: &Request) -> Result<Reply, ApiError> {
        self.call_within(request, REQUEST_TIMEOUT).await
    }

    /// Like [`Link::call`], with another timeout.
    pub(crate) async fn call_within(&self, request: &Request, limit: Duration) -> Result<Reply, ApiError> {
        match timeout(limit, self.exchange(request)).await {
            Ok(Ok(Reply::Error(error))) => Err(error.into()),
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(ApiError::unavailable(error)),
            Err(_) if request.right().is_some() => {
                let message = format!("the node did not answer within {limit:?}; the request may still take effect");
                Err(ApiError::new(Code::TimedOut, message))
            }
            Err(_) => Err(ApiError::unavailable(format_args!("no reply within {limit:?}"))),
        }
    }

    /// Sends requests one after the other, each on the same connection and after the reply to the one before it. Every
    /// reply must be [`Reply::Done`].
    pub(crate) async fn call_in_order(&self, requests: impl IntoIterator<Item = Request>) -> Result<(), ApiError> {
        let work = async {
            let _permit = self.operations.acquire().await.map_err(ApiError::unavailable)?;
            let (mut sender, mut replies) = connect(&self.socket).await.map_err(ApiError::unavailable)?;
            for request in requests {
                sender.send(&request).await.map_err(ApiError::unavailable)?;
                match replies.recv().await.map_err(ApiError::unavailable)? {
                    Reply::Done => {}
                    Reply::Error(error) => return Err(error.into()),
                    _ => return Err(unexpected()),
                }
            }
            Ok(())
        };
        let late = |_| {
            let message =
                format!("the node did not answer within {STATE_TIMEOUT:?}; the request may still take effect");
            ApiError::new(Code::TimedOut, message)
        };
        timeout(STATE_TIMEOUT, work).await.map_err(late)?
    }

    async fn exchange(&self, request: &Request) -> io::Result<Reply> {
        let permits = if request.right().is_some() { &self.operations } else { &self.reads };
        let _permit = permits.acquire_many(weight(request)).await.map_err(io::Error::other)?;
        let idle = self.idle().pop();
        let (mut requests, mut replies) = match idle {
            Some(connection) => connection,
            None => connect(&self.socket).await?,
        };
        requests.send(request).await?;
        let reply = replies.recv().await?;
        // A connection whose request failed or was abandoned is dropped: its reply may still come.
        self.idle().push((requests, replies));
        Ok(reply)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(Requests, Replies)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many places of [`MAX_READS`] a request takes. The node must not spend long on lists in one turn.
fn weight(request: &Request) -> u32 {
    match request {
        Request::Status | Request::Offices { .. } | Request::States { .. } | Request::History { .. } => LIST_WEIGHT,
        _ => 1,
    }
}

/// The node sent a reply that does not belong to the request.
pub(crate) fn unexpected() -> ApiError {
    ApiError::unavailable("its reply does not belong to the request")
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::UnixListener;

    use super::*;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(work)
    }

    #[test]
    fn a_reply_survives_a_reader_that_gives_up_in_the_middle() {
        block_on(async {
            let (mut node, own) = tokio::io::duplex(64);
            let mut replies = Replies::new(own);
            node.write_all(b"{\"type\":").await.expect("there is room");
            assert!(timeout(Duration::from_millis(5), replies.recv()).await.is_err(), "the line is not complete");
            node.write_all(b"\"done\"}\n{\"type\":\"done\"}\n").await.expect("there is room");
            assert_eq!(replies.recv().await.expect("it is complete now"), Reply::Done);
            assert_eq!(replies.recv().await.expect("one more"), Reply::Done);
            drop(node);
            assert!(replies.recv().await.is_err());
        });
    }

    #[test]
    fn refuses_an_endless_line() {
        block_on(async {
            let (mut node, own) = tokio::io::duplex(1 << 16);
            let writer = tokio::spawn(async move { node.write_all(&vec![b'x'; MAX_LINE_BYTES + 1]).await });
            let error = Replies::new(own).recv().await.expect_err("it is too long");
            assert!(error.to_string().contains("too long"), "{error}");
            let _ = writer.await;
        });
    }

    /// An abandoned request must not leave its reply for the next one.
    #[test]
    fn a_connection_whose_request_was_abandoned_is_not_used_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("node.sock");
        block_on(async {
            let listener = UnixListener::bind(&socket).expect("the folder is ours");
            let link = Link::new(socket.clone());
            let node = tokio::spawn(async move {
                let (mut first, _) = listener.accept().await.expect("the first request");
                let (mut second, _) = listener.accept().await.expect("another connection");
                second.write_all(b"{\"type\":\"done\"}\n").await.expect("it is there");
                let mut asked = vec![0; 18];
                first.read_exact(&mut asked).await.expect("it was asked");
                asked
            });
            let request = Request::Status;
            let given_up = link.call_within(&request, Duration::from_millis(20)).await.expect_err("nobody answers");
            assert_eq!(given_up.code, Code::NodeUnavailable);
            assert_eq!(link.call(&request).await.expect("a reply"), Reply::Done);
            assert_eq!(node.await.expect("no panic"), b"{\"type\":\"status\"}\n");
        });
    }
}
