//! A client's connection to a node: one JSON object a line, in both directions.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use hustings_cluster::api::{MAX_LINE_BYTES, Reply, Request};

/// How long a client waits to send a request: its node may be frozen.
const WRITE_TIMEOUT: Duration = Duration::from_millis(500);

/// A connection to a node.
pub(crate) struct Socket {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Socket {
    /// Connects.
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        Ok(Socket { stream, buffer: Vec::new() })
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, request: &Request) -> io::Result<()> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.stream.write_all(&line)
    }

    /// The next reply; `None` if none arrives within `timeout`. The end of the connection is an error.
    pub(crate) fn receive(&mut self, timeout: Duration) -> io::Result<Option<Reply>> {
        if let Some(reply) = self.next_line()? {
            return Ok(Some(reply));
        }
        // The operating system takes a timeout of zero for no timeout.
        self.stream.set_read_timeout(Some(timeout.max(Duration::from_micros(50))))?;
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                self.buffer.extend_from_slice(&chunk[..length]);
                self.next_line()
            }
            Err(error) if is_timeout(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The next complete line in the buffer.
    fn next_line(&mut self) -> io::Result<Option<Reply>> {
        let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') else {
            return match self.buffer.len() <= MAX_LINE_BYTES {
                true => Ok(None),
                false => Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long")),
            };
        };
        let reply = serde_json::from_slice(&self.buffer[..end])?;
        self.buffer.drain(..=end);
        Ok(Some(reply))
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
