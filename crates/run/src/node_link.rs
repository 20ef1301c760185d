//! The guardian's connection to the node, without blocking.

use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use hustings_cluster::api::{MAX_LINE_BYTES, Reply, Request};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// A connection to a node.
///
/// Since Linux 6.16, a node takes descriptors only once it has accepted a connection and knows who made it. What the
/// kernel refuses before, waits for the node's first reply.
#[derive(Debug)]
pub(crate) struct NodeLink {
    stream: UnixStream,
    lines: LineBuffer,
    waiting: Option<Waiting>,
}

/// Lines that wait, and the descriptor that is sent with them.
#[derive(Debug)]
struct Waiting {
    lines: Vec<u8>,
    descriptor: OwnedFd,
}

impl NodeLink {
    pub(crate) fn connect(socket: &Path) -> io::Result<NodeLink> {
        let stream = UnixStream::connect(socket)?;
        stream.set_nonblocking(true)?;
        Ok(NodeLink { stream, lines: LineBuffer::default(), waiting: None })
    }

    /// Sends a request. A node that does not read for so long that its buffer is full counts as gone.
    pub(crate) fn send(&mut self, request: &Request) -> io::Result<()> {
        if let Some(waiting) = &mut self.waiting {
            waiting.lines.extend(line_of(request)?);
            return Ok(());
        }
        write_line(&mut self.stream, request)
    }

    /// Sends a request for an office, and a descriptor with it.
    pub(crate) fn send_with(&mut self, request: &Request, office: &str, descriptor: OwnedFd) -> io::Result<()> {
        let lines = line_of(request)?;
        if self.waiting.is_some() {
            return self.send(request);
        }
        if self.pass(&lines, descriptor.as_fd())? {
            return Ok(());
        }
        // The node answers this at once, whatever it knows.
        write_line(&mut self.stream, &Request::Terms { office: office.to_string() })?;
        self.waiting = Some(Waiting { lines, descriptor });
        Ok(())
    }

    /// Sends bytes and a descriptor. Returns false if the kernel refuses the descriptor; then nothing is sent.
    fn pass(&mut self, bytes: &[u8], descriptor: BorrowedFd<'_>) -> io::Result<bool> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let passed = [descriptor];
        // The space is for one.
        control.push(SendAncillaryMessage::ScmRights(&passed));
        match sendmsg(&self.stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Ok(sent) => self.stream.write_all(&bytes[sent..]).map(|()| true),
            Err(Errno::PERM) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends what waits. A node that still takes no descriptor from us gets the request without.
    fn send_waiting(&mut self) -> io::Result<()> {
        let Some(Waiting { lines, descriptor }) = self.waiting.take() else { return Ok(()) };
        if self.pass(&lines, descriptor.as_fd())? { Ok(()) } else { self.stream.write_all(&lines) }
    }

    /// Reads what has arrived, and appends the replies. An error means that the connection is of no more use.
    pub(crate) fn receive(&mut self, replies: &mut Vec<Reply>) -> io::Result<()> {
        let mut ended = self.lines.fill(&mut self.stream);
        while let Some(line) = self.lines.next_line() {
            replies.push(serde_json::from_slice(&line).map_err(io::Error::other)?);
            ended = ended.and(self.send_waiting());
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
    use std::io::IoSliceMut;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;

    use hustings_cluster::api::RequestError;
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

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

    /// Decides whether descriptors may be sent to a socket. False before Linux 6.16, where they always may.
    fn allow_descriptors(socket: impl AsFd, is_allowed: bool) -> bool {
        const SO_PASSRIGHTS: libc::c_int = 83;
        let value = libc::c_int::from(is_allowed);
        let length = size_of_val(&value) as libc::socklen_t;
        // SAFETY: the pointer is valid for the call, and `length` is the size of what it points to.
        let result = unsafe {
            let socket = socket.as_fd().as_raw_fd();
            libc::setsockopt(socket, libc::SOL_SOCKET, SO_PASSRIGHTS, (&raw const value).cast(), length)
        };
        result == 0
    }

    /// Reads lines, and counts the descriptors that come with them.
    fn read(stream: &UnixStream) -> (String, usize) {
        let (mut bytes, mut count) = ([0; 4096], 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(stream, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC);
        let received = received.expect("something was sent").bytes;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(passed) = message {
                count += passed.count();
            }
        }
        (String::from_utf8(bytes[..received].to_vec()).expect("it is JSON"), count)
    }

    #[test]
    fn a_descriptor_waits_until_the_node_takes_it_and_what_follows_waits_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let office = || "a".to_string();
        let campaign = Request::Campaign { office: office(), mode: None, guard: None };
        let terms = "{\"type\":\"terms\"";
        for is_operator in [true, false] {
            let _ = std::fs::remove_file(&path);
            let listener = UnixListener::bind(&path).expect("the folder is ours");
            let is_refused = allow_descriptors(&listener, false);
            let mut link = NodeLink::connect(&path).expect("somebody listens");
            let (mut replies, file) = (Vec::new(), tempfile::tempfile().expect("a file"));
            link.send_with(&campaign, "a", file.into()).expect("it waits");
            link.send(&Request::Withdraw { office: office() }).expect("it waits");
            let (mut node, _) = listener.accept().expect("it has connected");
            if is_refused {
                assert!(read(&node).0.starts_with(terms), "that is answered at once");
                assert!(!is_operator || allow_descriptors(&node, true));
                link.receive(&mut replies).expect("nothing has arrived");
                write_line(&mut node, &Reply::Done).expect("it fits");
                link.receive(&mut replies).expect("the node is there");
            }
            let (lines, count) = read(&node);
            assert!(lines.starts_with("{\"type\":\"campaign\""), "{lines}");
            assert_eq!(count, usize::from(is_operator || !is_refused));
            let rest = if lines.lines().count() == 1 { read(&node).0 } else { lines };
            assert!(rest.contains("withdraw"), "{rest}");
        }
    }

    #[test]
    fn a_refusal_that_ends_the_connection_reaches_the_caller() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("the folder is ours");
        let _ = allow_descriptors(&listener, false);
        let mut link = NodeLink::connect(&path).expect("somebody listens");
        let campaign = Request::Campaign { office: "a".to_string(), mode: None, guard: None };
        link.send_with(&campaign, "a", tempfile::tempfile().expect("a file").into()).expect("it waits");
        let (mut node, _) = listener.accept().expect("it has connected");
        let refusal = RequestError { code: "too-many".to_string(), message: String::new() };
        write_line(&mut node, &Reply::Error(refusal)).expect("it fits");
        drop(node);
        let mut replies = Vec::new();
        link.receive(&mut replies).expect_err("it has ended");
        assert!(matches!(&replies[..], [Reply::Error(error)] if error.code == "too-many"), "{replies:?}");
    }
}
