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
        self.stream.set_read_timeout(read_timeout(timeout))?;
        if receive_into(&mut self.buffer, &mut self.stream)? { self.next_line() } else { Ok(None) }
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

/// The read timeout of a socket. The operating system takes a timeout of zero for no timeout.
pub(crate) fn read_timeout(timeout: Duration) -> Option<Duration> {
    Some(timeout.max(Duration::from_micros(50)))
}

/// Appends to the buffer what arrives next. Returns whether anything did before the stream's timeout. The end of the
/// connection is an error.
pub(crate) fn receive_into(buffer: &mut Vec<u8>, stream: &mut impl Read) -> io::Result<bool> {
    let mut chunk = [0; 4096];
    match stream.read(&mut chunk) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(length) => {
            buffer.extend_from_slice(&chunk[..length]);
            Ok(true)
        }
        Err(error) if is_timeout(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
