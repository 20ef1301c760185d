//! One connection through the proxy: two sockets and what waits between them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::{Link, Links};

/// As much as one direction holds back; then the sender's own buffers fill, as with TCP.
const MAX_HELD: usize = 1 << 20;
const CHUNK: usize = 16 << 10;

/// What came of moving bytes.
pub(super) enum Progress {
    /// The connection is over on both sides.
    Over,
    /// There is more to do at this moment at the latest, or when a socket is ready.
    Waits(Option<Instant>),
}

/// A connection from one node to another.
pub(super) struct Connection {
    /// Who called.
    pub(super) from: usize,
    /// Who was called.
    pub(super) to: usize,
    near: TcpStream,
    far: Option<TcpStream>,
    far_connected: bool,
    forth: Pipe,
    back: Pipe,
}

impl Connection {
    /// A call that was taken, and not yet put through.
    pub(super) fn new(near: TcpStream, from: usize, to: usize) -> Self {
        Connection { from, to, near, far: None, far_connected: false, forth: Pipe::default(), back: Pipe::default() }
    }

    /// Whether it is time to put the call through: the way there and the way back are needed for it.
    pub(super) fn needs_far_side(&self, links: &Links) -> bool {
        self.far.is_none() && links.get(self.from, self.to).carries() && links.get(self.to, self.from).carries()
    }

    /// The call is being put through.
    pub(super) fn set_far_side(&mut self, far: TcpStream) {
        self.far = Some(far);
    }

    /// A socket is ready.
    pub(super) fn ready(&mut self, far_side: bool, writable: bool) {
        if far_side && writable && !self.far_connected {
            // Errors show when it is read.
            self.far_connected = true;
            let _ = self.far.as_ref().map(|far| far.set_nodelay(true));
        }
    }

    /// Moves what can be moved.
    pub(super) fn advance(&mut self, forth: Link, back: Link, now: Instant) -> Progress {
        if forth == Link::Closed || back == Link::Closed {
            return Progress::Over;
        }
        self.forth.fill(&mut self.near, forth, now);
        let Some(far) = self.far.as_mut().filter(|_| self.far_connected) else { return Progress::Waits(None) };
        self.back.fill(far, back, now);
        let over = [self.forth.empty(far, forth, now), self.back.empty(&mut self.near, back, now)];
        if over.contains(&true) {
            return Progress::Over;
        }
        // Whoever was too full to be read has room now.
        self.forth.fill(&mut self.near, forth, now);
        self.back.fill(far, back, now);
        Progress::Waits([self.forth.due(forth), self.back.due(back)].into_iter().flatten().min())
    }
}

/// One direction.
#[derive(Default)]
struct Pipe {
    /// What waits, and until when at least; of the first so many bytes have gone.
    held: VecDeque<(Instant, Vec<u8>)>,
    gone: usize,
    bytes: usize,
    /// The sender has ended; since when that may be known.
    ended: Option<Instant>,
    /// The socket would not take more.
    stuck: bool,
}

impl Pipe {
    /// Takes what the sender says.
    fn fill(&mut self, sender: &mut TcpStream, link: Link, now: Instant) {
        let delay = if let Link::Slow(delay) = link { Duration::from_millis(delay) } else { Duration::ZERO };
        while self.ended.is_none() && self.bytes < MAX_HELD {
            let mut chunk = vec![0; CHUNK];
            match sender.read(&mut chunk) {
                Ok(0) => self.ended = Some(now + delay),
                Ok(length) => {
                    chunk.truncate(length);
                    self.bytes += length;
                    self.held.push_back((now + delay, chunk));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.ended = Some(now + delay),
            }
        }
    }

    /// Gives out what is due; true if the connection is over.
    fn empty(&mut self, receiver: &mut TcpStream, link: Link, now: Instant) -> bool {
        self.stuck = false;
        if !link.carries() {
            return false;
        }
        while let Some((due, chunk)) = self.held.front()
            && *due <= now
        {
            match receiver.write(&chunk[self.gone..]) {
                Ok(length) => {
                    self.gone += length;
                    self.bytes -= length;
                    if self.gone == chunk.len() {
                        self.held.pop_front();
                        self.gone = 0;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stuck = true;
                    return false;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The receiver has ended; that shows when it is read, after what it still said.
                Err(_) => {
                    self.held.clear();
                    (self.gone, self.bytes) = (0, 0);
                    return false;
                }
            }
        }
        self.held.is_empty() && self.ended.is_some_and(|ended| ended <= now)
    }

    /// When there is something to give out.
    fn due(&self, link: Link) -> Option<Instant> {
        let first = self.held.front().map(|(due, _)| *due).or(self.ended);
        first.filter(|_| link.carries() && !self.stuck)
    }
}
