//! A program's end of the socket: one connection, requests out, replies in, each call waits.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{MAX_BYTES_A_LINE, Reply, Request};

/// Why a node could not be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is nobody at the socket.
    #[error("cannot connect to {}: {error}; is the node running?", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// What the operating system said.
        error: io::Error,
    },
    /// The connection broke.
    #[error("the connection to {} broke: {error}; is the node running?", path.display())]
    Broken {
        /// The socket.
        path: PathBuf,
        /// What the operating system said.
        error: io::Error,
    },
    /// The node ended the connection: it has stopped, or this program read too slowly.
    #[error("the node ended the connection to {}; is the node running?", path.display())]
    Ended {
        /// The socket.
        path: PathBuf,
    },
    /// Nothing came in time. The connection is as before: the reply may still come.
    #[error("nothing came from {} within {}", path.display(), humantime::format_duration(*after))]
    TimedOut {
        /// The socket.
        path: PathBuf,
        /// How long it was waited.
        after: Duration,
    },
    /// What came is no reply of this version.
    #[error("what came from {} is no reply of this version of hustings: {problem}", path.display())]
    Garbled {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// A connection to the node on this host.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
    /// What has come of a line.
    line: Vec<u8>,
}

impl Client {
    /// Connects to the socket of a node.
    pub fn connect(path: impl AsRef<Path>) -> Result<Client, ClientError> {
        let path = path.as_ref().to_path_buf();
        match UnixStream::connect(&path) {
            Ok(stream) => Ok(Client { path, stream: BufReader::new(stream), line: Vec::new() }),
            Err(error) => Err(ClientError::Connect { path, error }),
        }
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The connection itself, for those who wait for several things at once. Only [`Client::next`] may read from it,
    /// and until it says that nothing has come: it may have read ahead.
    pub fn stream(&self) -> &UnixStream {
        self.stream.get_ref()
    }

    /// Sends a request.
    pub fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(request).expect("a request is plain data");
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(|error| self.broken(error))
    }

    /// The next reply. Without a limit it is waited for until the node or the connection ends.
    pub fn next(&mut self, limit: Option<Duration>) -> Result<Reply, ClientError> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            if self.take_line(until, limit.unwrap_or_default())? {
                let line = std::mem::take(&mut self.line);
                return serde_json::from_slice(&line).map_err(|error| self.garbled(error.to_string()));
            }
        }
    }

    /// Sends a request and waits for the next reply: for connections on which nothing else is going on.
    pub fn ask(&mut self, request: &Request, limit: Option<Duration>) -> Result<Reply, ClientError> {
        self.send(request)?;
        self.next(limit)
    }

    /// Reads on; true if there is a whole line.
    fn take_line(&mut self, until: Option<Instant>, limit: Duration) -> Result<bool, ClientError> {
        if self.stream.buffer().is_empty() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            // A time-out of nothing would mean for ever.
            let left = left.map(|left| left.max(Duration::from_micros(1)));
            self.stream.get_ref().set_read_timeout(left).map_err(|error| self.broken(error))?;
        }
        let buffer = match self.stream.fill_buf() {
            Ok([]) => return Err(ClientError::Ended { path: self.path.clone() }),
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(ClientError::TimedOut { path: self.path.clone(), after: limit });
            }
            Err(error) => return Err(self.broken(error)),
        };
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = end.unwrap_or(buffer.len());
        if self.line.len() + part > MAX_BYTES_A_LINE {
            return Err(self.garbled(format!("a line is longer than {MAX_BYTES_A_LINE} bytes")));
        }
        self.line.extend_from_slice(&buffer[..part]);
        self.stream.consume(end.map_or(part, |end| end + 1));
        Ok(end.is_some())
    }

    fn broken(&self, error: io::Error) -> ClientError {
        ClientError::Broken { path: self.path.clone(), error }
    }

    fn garbled(&self, problem: String) -> ClientError {
        ClientError::Garbled { path: self.path.clone(), problem }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// A client whose node says these bytes after it has read a line, and then waits for the client to go.
    fn against(says: Vec<u8>) -> (tempfile::TempDir, Client, thread::JoinHandle<String>) {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("the folder is ours");
        let node = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client connects");
            let mut heard = String::new();
            let mut lines = BufReader::new(stream.try_clone().expect("descriptors are there"));
            lines.read_line(&mut heard).expect("the client writes");
            // The client may be gone before it has read everything.
            let _ = stream.write_all(&says);
            let _ = lines.read_line(&mut String::new());
            heard
        });
        let client = Client::connect(&path).expect("the node listens");
        (folder, client, node)
    }

    #[test]
    fn a_request_is_a_line_and_replies_are_told_apart() {
        let (_folder, mut client, node) = against(b"{\"is\":\"done\"}\n{\"is\":\"history\",\"changes\":[]}\n".to_vec());
        let first = client.ask(&Request::Pause, Some(Duration::from_secs(10))).expect("an answer");
        assert_eq!(first, Reply::Done);
        let second = client.next(Some(Duration::from_secs(10))).expect("a second answer");
        assert_eq!(second, Reply::History { changes: Vec::new() });
        let late = client.next(Some(Duration::from_millis(5))).expect_err("no third answer");
        assert!(matches!(late, ClientError::TimedOut { .. }), "{late}");
        drop(client);
        assert_eq!(node.join().expect("it does not panic"), "{\"do\":\"pause\"}\n");
    }

    #[test]
    fn nonsense_is_told_and_a_line_without_an_end_is_bounded() {
        for (says, trouble) in [
            (b"hello\n".to_vec(), "no reply of this version"),
            (vec![b'x'; MAX_BYTES_A_LINE + 1], "longer than 1048576 bytes"),
        ] {
            let (_folder, mut client, node) = against(says);
            let said = client.ask(&Request::Status, Some(Duration::from_secs(10))).expect_err("no reply").to_string();
            assert!(said.contains(trouble), "{said}");
            drop(client);
            node.join().expect("it does not panic");
        }
    }

    #[test]
    fn nobody_there_is_told_with_the_path() {
        let said = Client::connect("/nowhere/at/all.sock").expect_err("there is no such socket").to_string();
        assert!(said.contains("/nowhere/at/all.sock") && said.ends_with("is the node running?"), "{said}");
    }
}
