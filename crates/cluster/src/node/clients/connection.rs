//! The connection of one program: its requests, and the replies that it has not read yet.

use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::time::Duration;

use mio::Registry;
use mio::net::UnixStream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::ClientEvent;
use super::descriptors::{Disposer, MAX_PASSED};
use crate::api::{Effort, MAX_LINE_BYTES, Reply, Request, RequestError};
use crate::clock::Timestamp;
use crate::core::ClientId;
use crate::node::peer_credentials::{PeerCredentials, SocketGroup, who_has};

/// The longest request, in bytes.
pub(super) const MAX_REQUEST_BYTES: usize = 64 * 1024;
/// The most work for one program in one pass, counted in small requests, so that it cannot starve the others.
pub(super) const MAX_WORK_PER_CLIENT: usize = 16;
/// The most work for all programs in one pass: renewals wait for the pass to end.
pub(super) const MAX_WORK_PER_PASS: usize = 64;
/// The most bytes that are read from one program in one pass. A line without an end is no request, and costs time as
/// well.
pub(super) const MAX_BYTES_PER_PASS: usize = 2 * MAX_REQUEST_BYTES;
/// The node reads no further requests of a program that has this many bytes unread.
pub(super) const UNREAD_SOFT_LIMIT: usize = 256 * 1024;
/// A program with more bytes unread is disconnected. There is room for updates of ten thousand offices at once.
pub(super) const MAX_UNREAD: usize = 4 << 20;

/// A connected program.
pub(super) struct Client {
    pub(super) id: ClientId,
    pub(super) stream: UnixStream,
    pub(super) peer: PeerCredentials,
    pub(super) has_campaigned: bool,
    /// How long the connection lives without a word from the client; forever if it did not say.
    pub(super) ttl: Option<Duration>,
    /// When something last arrived.
    pub(super) heard_at: Timestamp,
    /// The descriptor that came last, if any.
    pub(super) descriptor: Option<OwnedFd>,
    /// Bytes that were received but not handled yet.
    pub(super) input: Vec<u8>,
    /// Whether the rest of an overlong line is being skipped.
    pub(super) skipping_line: bool,
    pub(super) output: Vec<u8>,
    pub(super) written: usize,
    /// Whether there may be more to read although no event will announce it.
    pub(super) readable: bool,
    /// Whether the client has finished sending.
    pub(super) ended: bool,
    /// Whether it uses a reserved connection, and must neither campaign nor watch.
    pub(super) is_restricted: bool,
    /// Whether it is a thread of the node's own process, within its budget.
    pub(super) is_own: bool,
}

impl Client {
    pub(super) fn unread(&self) -> usize {
        self.output.len() - self.written
    }

    /// When the connection ends, unless something arrives.
    pub(super) fn silent_at(&self) -> Timestamp {
        self.ttl.map_or(Timestamp::NEVER, |ttl| self.heard_at + ttl)
    }

    /// Tells a client that was silent for too long why its connection ends.
    pub(super) fn reject_silence(&mut self, ttl: Duration) {
        let message = format!("nothing arrived for {}, the connection's time to live", humantime::format_duration(ttl));
        let _ = self.queue_reply(&error_reply("silent", message));
        // It may not read any more.
        let _ = self.write();
    }

    /// Reads a few requests, no more than `budget` allows. Returns how much of it is left.
    pub(super) fn read_requests(
        &mut self,
        now: Timestamp,
        mut budget: usize,
        (max_unrestricted, group): (usize, Option<&SocketGroup>),
        disposer: &Disposer,
        events: &mut Vec<ClientEvent>,
    ) -> usize {
        let reserved = budget.saturating_sub(MAX_WORK_PER_CLIENT);
        let mut allowance = MAX_BYTES_PER_PASS;
        while budget > reserved {
            if self.unread() >= UNREAD_SOFT_LIMIT {
                break;
            }
            let Some(line) = self.next_line(&mut allowance, disposer) else { break };
            // Whoever waits no longer may have done something else meanwhile: a node that was frozen must not carry out
            // an old `pause` after a `resume` elsewhere.
            if self.is_gone() {
                self.input.clear();
                (self.ended, self.readable) = (true, false);
                break;
            }
            self.heard_at = now;
            let request = read_request(&line);
            budget = budget.saturating_sub(request.as_ref().map_or(1, |request| work_of(request.effort())));
            match request {
                // The connection ends, so that programs that try again and again leave the reserved ones free.
                Ok(Request::Campaign { .. } | Request::Watch { .. }) if self.is_restricted => {
                    let _ = self.queue_reply(&Reply::Error(too_many_connections(max_unrestricted)));
                    (self.ended, self.readable) = (true, false);
                    break;
                }
                Ok(request) if !self.peer.rights.allow(request.right()) => {
                    let needed = request.right();
                    let refusal = RequestError::not_permitted(needed, &who_has(needed, group));
                    let _ = self.queue_reply(&Reply::Error(refusal));
                    events.push(ClientEvent::NotPermitted(self.id, request));
                }
                Ok(request) => events.push(ClientEvent::Request(self.id, request)),
                // The reply is small, so it fits.
                Err(problem) => drop(self.queue_reply(&error_reply("bad-request", problem))),
            }
        }
        // Who sends that much has had its share, whatever it was.
        if allowance == 0 { budget.min(reserved) } else { budget }
    }

    /// Whether nobody can read a reply any more. A program that has only finished sending still can.
    fn is_gone(&self) -> bool {
        let mut polled = [PollFd::new(&self.stream, PollFlags::empty())];
        poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().contains(PollFlags::HUP)
    }

    /// The next complete line, without its end. Reads no more than `allowance` for it.
    fn next_line(&mut self, allowance: &mut usize, disposer: &Disposer) -> Option<Vec<u8>> {
        let mut scanned = 0;
        loop {
            if let Some(end) = self.input[scanned..].iter().position(|byte| *byte == b'\n') {
                let rest = self.input.split_off(scanned + end + 1);
                let mut line = std::mem::replace(&mut self.input, rest);
                line.pop();
                if std::mem::take(&mut self.skipping_line) {
                    scanned = 0;
                    continue;
                }
                return Some(line);
            }
            if self.skipping_line {
                self.input.clear();
            }
            scanned = self.input.len();
            if scanned > MAX_REQUEST_BYTES {
                self.input.clear();
                self.skipping_line = true;
                // The content of the line does not matter for the error.
                return Some(vec![b' '; MAX_REQUEST_BYTES + 1]);
            }
            if *allowance == 0 || !self.read(disposer) {
                return None;
            }
            *allowance = allowance.saturating_sub(self.input.len() - scanned);
        }
    }

    /// Reads once. Returns false if there is nothing to read, or if the client has finished sending.
    fn read(&mut self, disposer: &Disposer) -> bool {
        let mut chunk = [0; 4096];
        loop {
            match self.receive(&mut chunk, disposer) {
                Ok(0) => break self.ended = true,
                Ok(count) => {
                    self.input.extend_from_slice(&chunk[..count]);
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => break self.ended = true,
            }
        }
        self.readable = false;
        false
    }

    /// Reads bytes, and the descriptors that come with them: all that there may be, because the kernel closes the
    /// others in this thread. Of those of an operator, the last one counts.
    fn receive(&mut self, chunk: &mut [u8], disposer: &Disposer) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PASSED))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut chunk = [IoSliceMut::new(chunk)];
        let received = recvmsg(&self.stream, &mut chunk, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            let RecvAncillaryMessage::ScmRights(passed) = message else { continue };
            for descriptor in passed {
                let unwanted =
                    if self.peer.rights.operate { self.descriptor.replace(descriptor) } else { Some(descriptor) };
                unwanted.into_iter().for_each(|descriptor| disposer.close(descriptor));
            }
        }
        Ok(received.bytes)
    }

    /// Ends the connection. The other side learns it at once.
    pub(super) fn close(mut self, registry: &Registry, disposer: &Disposer) {
        // It stays open for a while, and nothing of it must be taken for the next client's.
        let _ = registry.deregister(&mut self.stream);
        self.descriptor.into_iter().for_each(|descriptor| disposer.close(descriptor));
        close(self.stream, disposer);
    }

    /// Queues a reply. Returns false if the client leaves too much unread.
    pub(super) fn queue_reply(&mut self, reply: &Reply) -> bool {
        let start = self.output.len();
        serde_json::to_writer(&mut self.output, reply).expect("a reply is plain data");
        if self.output.len() - start >= MAX_LINE_BYTES {
            self.output.truncate(start);
            let message = format!("the reply is longer than {MAX_LINE_BYTES} bytes");
            serde_json::to_writer(&mut self.output, &error_reply("too-long", message)).expect("a reply is plain data");
        }
        self.output.push(b'\n');
        self.unread() <= MAX_UNREAD
    }

    /// Writes as much as possible. Fails if the client is gone.
    pub(super) fn write(&mut self) -> io::Result<()> {
        while self.unread() > 0 {
            match self.stream.write(&self.output[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.unread() == 0 {
            self.output.clear();
            // Release the memory of a large reply.
            self.output.shrink_to(4096);
            self.written = 0;
        } else if self.written > self.output.len() / 2 {
            self.output.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }
}

/// Ends a connection, in which descriptors may wait.
pub(super) fn close(stream: UnixStream, disposer: &Disposer) {
    // If the other side has closed it already, nothing is left to do.
    let _ = stream.shutdown(Shutdown::Both);
    disposer.close(stream);
}

/// All connections are in use.
pub(super) fn too_many_connections(limit: usize) -> RequestError {
    let message = format!("{limit} programs are connected already, the maximum (`limits.connections`)");
    RequestError { code: "too-many".to_string(), message }
}

fn error_reply(code: &str, message: String) -> Reply {
    Reply::Error(RequestError { code: code.to_string(), message })
}

/// How much work a request is, counted in small ones.
fn work_of(effort: Effort) -> usize {
    match effort {
        Effort::Small => 1,
        Effort::Bytes => MAX_WORK_PER_CLIENT / 4,
        Effort::Offices => MAX_WORK_PER_CLIENT,
        Effort::Everything => MAX_WORK_PER_PASS,
    }
}

/// Parses a request.
pub(crate) fn read_request(line: &[u8]) -> Result<Request, String> {
    if line.len() > MAX_REQUEST_BYTES {
        return Err(format!("a request is longer than {MAX_REQUEST_BYTES} bytes, the maximum"));
    }
    serde_json::from_slice(line).map_err(|error| {
        let problem: String = error.to_string().chars().take(300).collect();
        format!("invalid request: {problem}")
    })
}
