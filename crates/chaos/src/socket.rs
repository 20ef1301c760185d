//! A node's socket, from a client's side: one JSON object a line, both ways.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use hustings_cluster::api::{MAX_BYTES_A_LINE, Reply, Request};

/// A client never waits longer than this to say something: its node is frozen, or does not listen.
const PATIENCE: Duration = Duration::from_millis(500);

/// A connection to a node.
pub(crate) struct Socket {
    stream: UnixStream,
    heard: Vec<u8>,
}

impl Socket {
    /// Connects.
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Socket { stream, heard: Vec::new() })
    }

    /// Says something.
    pub(crate) fn say(&mut self, request: &Request) -> io::Result<()> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.stream.write_all(&line)
    }

    /// The next answer; nothing if none comes for so long. The end of the connection is an error.
    pub(crate) fn hear(&mut self, wait: Duration) -> io::Result<Option<Reply>> {
        if let Some(reply) = self.next_heard()? {
            return Ok(Some(reply));
        }
        // A timeout of nothing would be none at all.
        self.stream.set_read_timeout(Some(wait.max(Duration::from_micros(50))))?;
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                self.heard.extend_from_slice(&chunk[..length]);
                self.next_heard()
            }
            Err(error) if is_late(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The next whole line of what was heard.
    fn next_heard(&mut self) -> io::Result<Option<Reply>> {
        let Some(end) = self.heard.iter().position(|&byte| byte == b'\n') else {
            return match self.heard.len() <= MAX_BYTES_A_LINE {
                true => Ok(None),
                false => Err(io::Error::new(io::ErrorKind::InvalidData, "a line without end")),
            };
        };
        let reply = serde_json::from_slice(&self.heard[..end])?;
        self.heard.drain(..=end);
        Ok(Some(reply))
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
