//! One connection through the proxy: two sockets and the bytes held back between them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::{Link, Links};

/// How many bytes one direction holds back at most. Beyond that the sender's own buffers fill, as with TCP.
const MAX_BUFFERED: usize = 1 << 20;
const CHUNK: usize = 16 << 10;

/// The result of moving bytes.
pub(super) enum Progress {
    /// The connection is closed on both sides.
    Closed,
    /// There is more to do at this moment, if any, or when a socket is ready.
    Pending(Option<Instant>),
}

/// A connection from one node to another.
pub(super) struct Connection {
    /// The node that connected.
    pub(super) from: usize,
    /// The node that it connected to.
    pub(super) to: usize,
    near: TcpStream,
    far: Option<TcpStream>,
    far_connected: bool,
    forth: Pipe,
    back: Pipe,
}

impl Connection {
    /// A connection that was accepted; its other side is not connected yet.
    pub(super) fn new(near: TcpStream, from: usize, to: usize) -> Self {
        Connection { from, to, near, far: None, far_connected: false, forth: Pipe::default(), back: Pipe::default() }
    }

    /// Whether the other side can be connected now: that needs both directions.
    pub(super) fn needs_far_side(&self, links: &Links) -> bool {
        self.far.is_none() && links.get(self.from, self.to).carries() && links.get(self.to, self.from).carries()
    }

    /// Sets the other side, which is being connected.
    pub(super) fn set_far_side(&mut self, far: TcpStream) {
        self.far = Some(far);
    }

    /// Handles readiness of a socket.
    pub(super) fn handle_ready(&mut self, far_side: bool, writable: bool) {
        if far_side && writable && !self.far_connected {
            // If connecting failed, the first read reports it.
            self.far_connected = true;
            let _ = self.far.as_ref().map(|far| far.set_nodelay(true));
        }
    }

    /// Moves bytes as far as the links and sockets allow.
    pub(super) fn advance(&mut self, forth: Link, back: Link, now: Instant) -> Progress {
        if forth == Link::Closed || back == Link::Closed {
            return Progress::Closed;
        }
        self.forth.fill(&mut self.near, forth, now);
        let Some(far) = self.far.as_mut().filter(|_| self.far_connected) else { return Progress::Pending(None) };
        self.back.fill(far, back, now);
        let closed = [self.forth.drain(far, forth, now), self.back.drain(&mut self.near, back, now)];
        if closed.contains(&true) {
            return Progress::Closed;
        }
        // A direction that was full has room now.
        self.forth.fill(&mut self.near, forth, now);
        self.back.fill(far, back, now);
        Progress::Pending([self.forth.due(forth), self.back.due(back)].into_iter().flatten().min())
    }
}

/// One direction.
#[derive(Default)]
struct Pipe {
    /// Chunks, each with the moment from which it may be written. `written` bytes of the first chunk are gone.
    chunks: VecDeque<(Instant, Vec<u8>)>,
    written: usize,
    bytes: usize,
    /// The sender has closed its side; from when the receiver may see that.
    closed_at: Option<Instant>,
    /// The receiver's socket is full.
    is_blocked: bool,
}

impl Pipe {
    /// Reads from the sender.
    fn fill(&mut self, sender: &mut TcpStream, link: Link, now: Instant) {
        let delay = if let Link::Slow(delay) = link { Duration::from_millis(delay) } else { Duration::ZERO };
        while self.closed_at.is_none() && self.bytes < MAX_BUFFERED {
            let mut chunk = vec![0; CHUNK];
            match sender.read(&mut chunk) {
                Ok(0) => self.closed_at = Some(now + delay),
                Ok(length) => {
                    chunk.truncate(length);
                    self.bytes += length;
                    self.chunks.push_back((now + delay, chunk));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.closed_at = Some(now + delay),
            }
        }
    }

    /// Writes what is due to the receiver; true if the connection is closed and everything was written.
    fn drain(&mut self, receiver: &mut TcpStream, link: Link, now: Instant) -> bool {
        self.is_blocked = false;
        if !link.carries() {
            return false;
        }
        while let Some((due, chunk)) = self.chunks.front()
            && *due <= now
        {
            match receiver.write(&chunk[self.written..]) {
                Ok(length) => {
                    self.written += length;
                    self.bytes -= length;
                    if self.written == chunk.len() {
                        self.chunks.pop_front();
                        self.written = 0;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_blocked = true;
                    return false;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The receiver is gone. Reading from it reports that, after the bytes it still sent.
                Err(_) => {
                    self.chunks.clear();
                    (self.written, self.bytes) = (0, 0);
                    return false;
                }
            }
        }
        self.chunks.is_empty() && self.closed_at.is_some_and(|at| at <= now)
    }

    /// When the next chunk, or the end of the connection, may be passed on.
    fn due(&self, link: Link) -> Option<Instant> {
        let first = self.chunks.front().map(|(due, _)| *due).or(self.closed_at);
        first.filter(|_| link.carries() && !self.is_blocked)
    }
}
