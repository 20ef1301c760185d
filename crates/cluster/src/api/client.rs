//! A blocking client for the node's socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{MAX_LINE_BYTES, Reply, Request, RequestError};

/// The pause between two attempts to connect: at first, and at most.
const FIRST_RETRY: Duration = Duration::from_millis(5);
const MAX_RETRY: Duration = Duration::from_millis(50);

/// Why a conversation with a node failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No node accepts connections on the socket, or not from this user.
    #[error("cannot connect to {}{}: {error}; {}", path.display(), after_waiting(*waited), advice(error))]
    Connect {
        /// The path of the socket.
        path: PathBuf,
        /// How long the client waited for the node to come up; zero if it did not wait.
        waited: Duration,
        /// The error of the last attempt.
        error: io::Error,
    },
    /// Reading or writing failed.
    #[error("the connection to {} failed: {error}; is the node running?", path.display())]
    Io {
        /// The path of the socket.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The node closed the connection: it stopped, or this program read too slowly.
    #[error("the node closed the connection to {}; is the node running?", path.display())]
    Closed {
        /// The path of the socket.
        path: PathBuf,
    },
    /// No reply arrived in time. The connection is still usable, and the reply may still arrive.
    #[error("no reply from {} within {}", path.display(), humantime::format_duration(*after))]
    Timeout {
        /// The path of the socket.
        path: PathBuf,
        /// The timeout.
        after: Duration,
    },
    /// The node did not carry out the request.
    #[error(transparent)]
    Rejected(RequestError),
    /// The node sent a reply that does not belong to the request.
    #[error("the node sent a reply that does not belong to the request")]
    UnexpectedReply,
    /// The node sent a line that is not a valid reply.
    #[error("invalid reply from {}: {problem}; does the node run the same version of hustings?", path.display())]
    InvalidReply {
        /// The path of the socket.
        path: PathBuf,
        /// What is wrong with the line.
        problem: String,
    },
}

/// What may be wrong if the connection fails.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "only root, the node's user and members of its `socket-group` may connect (does this process have the group?)"
        }
        _ => "is the node running?",
    }
}

fn after_waiting(waited: Duration) -> String {
    if waited.is_zero() { String::new() } else { format!(" after {}", humantime::format_duration(waited)) }
}

/// A connection to the node on this host.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
    /// The beginning of a line whose end has not arrived yet.
    line: Vec<u8>,
}

impl Client {
    /// Connects to the socket of a node.
    ///
    /// A node that is starting has no socket yet, and the socket of a node that crashed refuses connections. In both
    /// cases the client tries again until `wait` has passed; with [`Duration::ZERO`] it tries only once.
    pub fn connect(path: impl AsRef<Path>, wait: Duration) -> Result<Client, ClientError> {
        let path = path.as_ref().to_path_buf();
        let start = Instant::now();
        let mut pause = FIRST_RETRY;
        loop {
            let error = match UnixStream::connect(&path) {
                Ok(stream) => return Ok(Client { path, stream: BufReader::new(stream), line: Vec::new() }),
                Err(error) => error,
            };
            let left = wait.saturating_sub(start.elapsed());
            if left.is_zero() || !is_retryable(&error) {
                let waited = if is_retryable(&error) { wait } else { Duration::ZERO };
                return Err(ClientError::Connect { path, waited, error });
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(MAX_RETRY);
        }
    }

    /// The underlying stream, for callers that poll several sources.
    ///
    /// Only [`Client::recv`] may read from it. Because it reads ahead, call it until it times out before polling.
    pub fn stream(&self) -> &UnixStream {
        self.stream.get_ref()
    }

    /// Sends a request.
    pub fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(request).expect("a request is plain data");
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(|error| self.io_error(error))
    }

    /// Receives the next reply. Without a timeout it waits until the connection ends.
    pub fn recv(&mut self, timeout: Option<Duration>) -> Result<Reply, ClientError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if self.read_line(deadline, timeout.unwrap_or_default())? {
                let line = std::mem::take(&mut self.line);
                return serde_json::from_slice(&line).map_err(|error| self.invalid_reply(error.to_string()));
            }
        }
    }

    /// Sends a request and receives the next reply. Use it on connections without a campaign or watch.
    pub fn call(&mut self, request: &Request, timeout: Option<Duration>) -> Result<Reply, ClientError> {
        let sent = self.send(request);
        let reply = self.recv(timeout);
        match (sent, reply) {
            // A node that rejects a connection says why and closes it, perhaps before the request arrives.
            (Err(error), reply) => reply.ok().filter(|reply| matches!(reply, Reply::Error(_))).ok_or(error),
            (Ok(()), reply) => reply,
        }
    }

    /// Reads once. Returns true if `self.line` is complete.
    fn read_line(&mut self, deadline: Option<Instant>, timeout: Duration) -> Result<bool, ClientError> {
        if self.stream.buffer().is_empty() {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            // A socket timeout of zero would mean to wait without limit.
            let left = left.map(|left| left.max(Duration::from_micros(1)));
            self.stream.get_ref().set_read_timeout(left).map_err(|error| self.io_error(error))?;
        }
        let buffer = match self.stream.fill_buf() {
            Ok([]) => return Err(ClientError::Closed { path: self.path.clone() }),
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(ClientError::Timeout { path: self.path.clone(), after: timeout });
            }
            Err(error) => return Err(self.io_error(error)),
        };
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(buffer.len());
        if self.line.len() + length > MAX_LINE_BYTES {
            return Err(self.invalid_reply(format!("a line is longer than {MAX_LINE_BYTES} bytes")));
        }
        self.line.extend_from_slice(&buffer[..length]);
        self.stream.consume(end.map_or(length, |end| end + 1));
        Ok(end.is_some())
    }

    fn io_error(&self, error: io::Error) -> ClientError {
        ClientError::Io { path: self.path.clone(), error }
    }

    fn invalid_reply(&self, problem: String) -> ClientError {
        ClientError::InvalidReply { path: self.path.clone(), problem }
    }
}

/// Whether a node that is about to start would explain the error.
fn is_retryable(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, NotFound, WouldBlock};
    matches!(error.kind(), NotFound | ConnectionRefused | WouldBlock | Interrupted)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    /// A client of a fake node that reads one line, sends these bytes and then waits for the client to disconnect.
    /// The thread returns the line.
    fn connected_client(reply: Vec<u8>) -> (tempfile::TempDir, Client, thread::JoinHandle<String>) {
        let folder = tempfile::tempdir().expect("create a temporary folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("bind the socket");
        let node = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accept the client");
            let mut request = String::new();
            let mut lines = BufReader::new(stream.try_clone().expect("clone the stream"));
            lines.read_line(&mut request).expect("read the request");
            // The client may disconnect before it has read everything.
            let _ = stream.write_all(&reply);
            let _ = lines.read_line(&mut String::new());
            request
        });
        let client = Client::connect(&path, Duration::ZERO).expect("connect to the fake node");
        (folder, client, node)
    }

    #[test]
    fn sends_one_line_per_request_and_receives_one_reply_per_line() {
        let (_folder, mut client, node) =
            connected_client(b"{\"type\":\"done\"}\n{\"type\":\"history\",\"changes\":[]}\n".to_vec());
        assert_eq!(client.call(&Request::Pause, Some(TIMEOUT)).expect("a reply"), Reply::Done);
        assert_eq!(client.recv(Some(TIMEOUT)).expect("a second reply"), Reply::History { changes: Vec::new() });
        let late = client.recv(Some(Duration::from_millis(5))).expect_err("there is no third reply");
        assert!(matches!(late, ClientError::Timeout { .. }), "{late}");
        drop(client);
        assert_eq!(node.join().expect("the fake node does not panic"), "{\"type\":\"pause\"}\n");
    }

    #[test]
    fn rejects_invalid_replies_and_overlong_lines() {
        for (reply, problem) in
            [(b"hello\n".to_vec(), "invalid reply from"), (vec![b'x'; MAX_LINE_BYTES + 1], "longer than 1048576 bytes")]
        {
            let (_folder, mut client, node) = connected_client(reply);
            let error = client.call(&Request::Status, Some(TIMEOUT)).expect_err("an invalid reply").to_string();
            assert!(error.contains(problem), "{error}");
            drop(client);
            node.join().expect("the fake node does not panic");
        }
    }

    #[test]
    fn fails_at_once_without_a_wait() {
        let error = Client::connect("/nowhere/at/all.sock", Duration::ZERO).expect_err("no such socket").to_string();
        let expected = "cannot connect to /nowhere/at/all.sock: No such file or directory";
        assert!(error.starts_with(expected) && error.ends_with("is the node running?"), "{error}");
    }

    #[test]
    fn reports_how_long_it_waited() {
        let start = Instant::now();
        let wait = Duration::from_millis(120);
        let error = Client::connect("/nowhere/at/all.sock", wait).expect_err("no such socket").to_string();
        assert!(error.starts_with("cannot connect to /nowhere/at/all.sock after 120ms: "), "{error}");
        assert!(start.elapsed() >= wait, "{:?}", start.elapsed());
    }

    #[test]
    fn waits_for_a_socket_that_appears_or_comes_back_to_life() {
        let folder = tempfile::tempdir().expect("create a temporary folder");
        let path = folder.path().join("socket");
        for stale in [false, true] {
            if stale {
                // A dropped listener leaves a socket file that refuses connections.
                assert!(path.exists());
            }
            let client = thread::spawn({
                let path = path.clone();
                move || Client::connect(path, TIMEOUT)
            });
            // The client has failed at least once when the same attempts with a short wait have.
            assert!(Client::connect(&path, Duration::from_millis(100)).is_err(), "there is nothing to connect to yet");
            assert!(!client.is_finished(), "the client still waits");
            let _ = std::fs::remove_file(&path);
            let listener = UnixListener::bind(&path).expect("bind the socket");
            client.join().expect("the client does not panic").expect("the client connects");
            drop(listener);
        }
    }
}
