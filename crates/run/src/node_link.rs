//! The guardian's connection to the node, without blocking.

use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use hustings_cluster::api::{MAX_LINE_BYTES, Reply, Request};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// A connection to a node.
#[derive(Debug)]
pub(crate) struct NodeLink {
    stream: UnixStream,
    lines: LineBuffer,
}

impl NodeLink {
    pub(crate) fn connect(socket: &Path) -> io::Result<NodeLink> {
        let stream = UnixStream::connect(socket)?;
        stream.set_nonblocking(true)?;
        Ok(NodeLink { stream, lines: LineBuffer::default() })
    }

    /// Sends a request. A node that does not read for so long that its buffer is full counts as gone.
    pub(crate) fn send(&mut self, request: &Request) -> io::Result<()> {
        write_line(&mut self.stream, request)
    }

    /// Sends a request, and a descriptor with it.
    pub(crate) fn send_with(&mut self, request: &Request, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let line = line_of(request)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let passed = [descriptor];
        // The space is for one.
        control.push(SendAncillaryMessage::ScmRights(&passed));
        let sent = sendmsg(&self.stream, &[IoSlice::new(&line)], &mut control, SendFlags::NOSIGNAL)?;
        self.stream.write_all(&line[sent..])
    }

    /// Reads what has arrived, and appends the replies. An error means that the connection is of no more use.
    pub(crate) fn receive(&mut self, replies: &mut Vec<Reply>) -> io::Result<()> {
        let ended = self.lines.fill(&mut self.stream);
        while let Some(line) = self.lines.next_line() {
            replies.push(serde_json::from_slice(&line).map_err(io::Error::other)?);
        }
        ended
    }
}

impl AsFd for NodeLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Writes a value as one line. The stream does not block: a line that does not fit is an error.
pub(crate) fn write_line(stream: &mut UnixStream, value: &impl serde::Serialize) -> io::Result<()> {
    stream.write_all(&line_of(value)?)
}

fn line_of(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok(line)
}

/// Bytes that were read, cut into lines.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
    /// How many bytes are known to contain no end of line.
    scanned: usize,
}

impl LineBuffer {
    /// Reads until there is nothing more to read. The end of the stream is an error.
    pub(crate) fn fill(&mut self, stream: &mut impl Read) -> io::Result<()> {
        let mut chunk = [0; 4096];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.bytes.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.bytes.len() > 4 * MAX_LINE_BYTES {
                return Err(io::Error::other("the other side sends without end"));
            }
        }
    }

    /// The next complete line, without its end.
    pub(crate) fn next_line(&mut self) -> Option<Vec<u8>> {
        let Some(end) = self.bytes[self.scanned..].iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.bytes.len();
            return None;
        };
        let rest = self.bytes.split_off(self.scanned + end + 1);
        self.scanned = 0;
        let mut line = std::mem::replace(&mut self.bytes, rest);
        line.pop();
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_wherever_they_are_torn() {
        let (mut writer, mut reader) = UnixStream::pair().expect("there are descriptors");
        reader.set_nonblocking(true).expect("it is a socket");
        let mut lines = LineBuffer::default();
        writer.write_all(b"one\ntw").expect("it fits");
        lines.fill(&mut reader).expect("it is open");
        assert_eq!(lines.next_line().as_deref(), Some(&b"one"[..]));
        assert_eq!(lines.next_line(), None);
        writer.write_all(b"o\n\n").expect("it fits");
        lines.fill(&mut reader).expect("it is open");
        assert_eq!(lines.next_line().as_deref(), Some(&b"two"[..]));
        assert_eq!(lines.next_line().as_deref(), Some(&b""[..]));
        drop(writer);
        assert_eq!(lines.fill(&mut reader).map_err(|error| error.kind()), Err(io::ErrorKind::UnexpectedEof));
    }
}
