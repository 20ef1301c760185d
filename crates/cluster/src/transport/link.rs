//! One connection: a socket, TLS on it, frames inside. It knows nothing about members.

use std::collections::VecDeque;
use std::io::{self, BufRead, Write};
use std::net::IpAddr;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::time::Duration;

use hustings_protocol::Id;
use mio::net::TcpStream;
use rustls::pki_types::CertificateDer;
use rustls::{AlertDescription, CertificateError, Connection, Error};

use super::counters::{CloseReason, Counters};
use super::frame::{self, Decoder, FrameError, HEADER_BYTES};
use super::hello::MAX_HELLO_BYTES;
use super::token_bucket::TokenBucket;
use super::traffic::{self, SentTraffic};
use crate::clock::Timestamp;

/// How many bytes the kernel may hold that it cannot send yet.
const MAX_UNSENT_BYTES: libc::c_int = 64 * 1024;

/// The stage of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Dialled, not yet connected.
    Connecting,
    /// Connected; waiting for TLS and the peer's Hello.
    Greeting,
    /// The peer sent its Hello. This node has a better connection in progress and does not answer yet.
    Parked,
    /// Both sides sent their Hello.
    Established,
}

/// The result of reading.
pub(super) enum Next {
    /// The payload of a frame, for [`Link::payload`].
    Frame(Range<usize>),
    /// Nothing to read; an event will announce more.
    Blocked,
    /// The budget of this pass is spent.
    BudgetSpent,
}

/// A connection.
pub(super) struct Link {
    socket: TcpStream,
    tls: Connection,
    decoder: Decoder,
    /// Frames that are written next. The first `sent` bytes are.
    queue: Vec<u8>,
    sent: usize,
    /// Frames that wait until `queue` is empty, so that a heartbeat overtakes them.
    bulk: VecDeque<Vec<u8>>,
    bulk_bytes: usize,
    /// Why no more bytes will arrive. Frames received before are returned first.
    read_end: Option<CloseReason>,
    write_end: Option<CloseReason>,
    pub(super) stage: Stage,
    /// Whether this node dialled.
    pub(super) dialled: bool,
    /// The address of the peer.
    pub(super) host: IpAddr,
    /// The member at the other end: known from the start if dialled, else after the Hello.
    pub(super) peer: Option<Id>,
    /// The peer's, from its Hello.
    pub(super) incarnation: u64,
    /// The peer's, from its Hello.
    pub(super) sequence: u64,
    /// That of this node's own Hello; 0 before it is sent.
    pub(super) own_sequence: u64,
    /// When it was created; once established, when that happened.
    pub(super) since: Timestamp,
    /// Whether there may be more to read although no event will announce it.
    pub(super) readable: bool,
    /// Whether it waits for its turn to go on with its handshake.
    pub(super) waits: bool,
    /// Throttled until this time.
    pub(super) throttled: Option<Timestamp>,
    /// Since when the peer has exceeded its rate without interruption.
    pub(super) overloaded_since: Option<Timestamp>,
    pub(super) token_bucket: TokenBucket,
}

impl Link {
    pub(super) fn new(
        socket: TcpStream,
        tls: Connection,
        host: IpAddr,
        token_bucket: TokenBucket,
        now: Timestamp,
    ) -> Self {
        let dialled = matches!(tls, Connection::Client(_));
        Link {
            socket,
            tls,
            decoder: Decoder::new(MAX_HELLO_BYTES),
            queue: Vec::new(),
            sent: 0,
            bulk: VecDeque::new(),
            bulk_bytes: 0,
            read_end: None,
            write_end: None,
            stage: if dialled { Stage::Connecting } else { Stage::Greeting },
            dialled,
            host,
            peer: None,
            incarnation: 0,
            sequence: 0,
            own_sequence: 0,
            since: now,
            readable: false,
            waits: false,
            throttled: None,
            overloaded_since: None,
            token_bucket,
        }
    }

    /// When it must be established.
    pub(super) fn overdue(&self, handshake: Duration) -> Timestamp {
        if self.stage == Stage::Established { Timestamp::NEVER } else { self.since + handshake }
    }

    /// When to read although no event announces data.
    pub(super) fn due(&self) -> Timestamp {
        match self.throttled {
            Some(until) => until,
            None if self.readable && !self.waits => Timestamp::ZERO,
            None => Timestamp::NEVER,
        }
    }

    /// Whether TLS is not established yet, so that what arrives next costs signatures.
    pub(super) fn is_handshaking(&self) -> bool {
        self.stage == Stage::Greeting && self.tls.is_handshaking()
    }

    pub(super) fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// The traffic it has sent.
    pub(super) fn wire(&self) -> SentTraffic {
        traffic::sent(&self.socket)
    }

    /// Whether a dialled connection is established; an error if it failed.
    pub(super) fn connected(&self) -> Result<bool, CloseReason> {
        if let Ok(Some(error)) | Err(error) = self.socket.take_error() {
            return Err(io_reason(&error));
        }
        match self.socket.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(io_reason(&error)),
        }
    }

    /// The peer's certificate, once TLS has verified it.
    pub(super) fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.tls.peer_certificates().and_then(|chain| chain.first())
    }

    /// Changes the limit for frames.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.decoder.set_limit(limit);
    }

    /// Queues a frame. Returns false if the queue is full.
    pub(super) fn queue(&mut self, payload: &[u8], most: usize) -> bool {
        if self.queued() + HEADER_BYTES + payload.len() > most {
            return false;
        }
        frame::encode(payload, &mut self.queue);
        true
    }

    /// Queues a frame that others may overtake. Returns false if the queue is full.
    pub(super) fn queue_bulk(&mut self, payload: &[u8], most: usize) -> bool {
        if self.queued() + HEADER_BYTES + payload.len() > most {
            return false;
        }
        let mut frame = Vec::new();
        frame::encode(payload, &mut frame);
        self.bulk_bytes += frame.len();
        self.bulk.push_back(frame);
        true
    }

    /// If nothing else waits, the next of the frames that others may overtake is written.
    fn has_next(&mut self) -> bool {
        if self.sent < self.queue.len() {
            return true;
        }
        let Some(frame) = self.bulk.pop_front() else { return false };
        self.bulk_bytes -= frame.len();
        (self.queue, self.sent) = (frame, 0);
        true
    }

    /// Lets the kernel take no more than a little ahead of what it can send: a heartbeat cannot overtake what it has.
    pub(super) fn tune(&mut self) {
        // An error means that the connection is gone already, which the first read reports.
        let _ = self.socket.set_nodelay(true);
        let limit: libc::c_int = MAX_UNSENT_BYTES;
        // SAFETY: the pointer is valid for the call, and the length is the size of what it points to.
        let _ = unsafe {
            let (value, length) = ((&raw const limit).cast(), size_of::<libc::c_int>() as libc::socklen_t);
            libc::setsockopt(self.socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, value, length)
        };
    }

    /// Sends the Hello, which is small and comes first.
    pub(super) fn greet(&mut self, hello: &[u8], counters: &mut Counters) {
        frame::encode(hello, &mut self.queue);
        self.write(counters);
    }

    /// Whether there is something to write.
    pub(super) fn has_output(&self) -> bool {
        self.queued() > 0 || self.tls.wants_write()
    }

    /// Whether writing has failed.
    pub(super) fn is_broken(&self) -> bool {
        self.write_end.is_some()
    }

    /// Writes as much as possible. [`Link::next_frame`] reports a failure, after the frames that the peer still sent.
    pub(super) fn write(&mut self, counters: &mut Counters) {
        if self.stage == Stage::Connecting || self.write_end.is_some() {
            return;
        }
        loop {
            while self.tls.wants_write() {
                match self.tls.write_tls(&mut self.socket) {
                    Ok(count) => counters.bytes_out += count as u64,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        self.write_end = Some(io_reason(&error));
                        return;
                    }
                }
            }
            if self.tls.is_handshaking() || !self.has_next() {
                return;
            }
            // TLS accepts what fits into its bounded buffer. The buffer is empty here, so that is never nothing.
            match self.tls.writer().write(&self.queue[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) => {
                    self.write_end = Some(io_reason(&error));
                    return;
                }
            }
            if self.sent == self.queue.len() {
                self.queue.clear();
                self.queue.shrink_to(64 * 1024);
                self.sent = 0;
            } else if self.sent > self.queue.len() / 2 {
                self.queue.drain(..self.sent);
                self.sent = 0;
            }
        }
    }

    /// The next frame. Reads as little as possible, and never more than the budget. The end is reported after all
    /// frames before it.
    pub(super) fn next_frame(&mut self, budget: &mut usize, counters: &mut Counters) -> Result<Next, CloseReason> {
        loop {
            match self.decoder.next_frame() {
                Ok(Some(frame)) => return Ok(Next::Frame(frame)),
                Ok(None) => {}
                Err(FrameError::Oversize(_)) => return Err(CloseReason::FrameTooLarge),
                Err(FrameError::Version(_)) => return Err(CloseReason::VersionMismatch),
            }
            if self.take_plaintext() {
                continue;
            }
            if let Some(reason) = self.read_end {
                return Err(reason);
            }
            if *budget == 0 {
                return Ok(Next::BudgetSpent);
            }
            match self.tls.read_tls(&mut self.socket) {
                // An end without a TLS close is also reported by the TLS reader, see below.
                Ok(0) => self.read_end = Some(self.write_end.unwrap_or(CloseReason::Lost)),
                Ok(count) => {
                    counters.bytes_in += count as u64;
                    *budget = budget.saturating_sub(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => match self.write_end {
                    Some(reason) => return Err(reason),
                    None => return Ok(Next::Blocked),
                },
                Err(error) => self.read_end = Some(io_reason(&error)),
            }
            match self.tls.process_new_packets() {
                Ok(state) if state.peer_has_closed() => self.read_end = Some(CloseReason::Closed),
                Ok(_) => {}
                Err(error) => self.read_end = Some(tls_reason(&error)),
            }
        }
    }

    /// How many bytes wait to be encrypted.
    pub(super) fn queued(&self) -> usize {
        self.queue.len() - self.sent + self.bulk_bytes
    }

    /// The capacity of its buffers.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.queue.capacity() + self.bulk_bytes + self.decoder.memory()
    }

    /// The bytes of a payload that was found.
    pub(super) fn payload(&self, frame: Range<usize>) -> &[u8] {
        self.decoder.payload(frame)
    }

    /// Moves decrypted bytes to the decoder. Returns false if there were none.
    fn take_plaintext(&mut self) -> bool {
        let mut reader = self.tls.reader();
        // An error means that there is no data now, or that the connection has ended; both are noticed elsewhere.
        let Ok(bytes) = reader.fill_buf() else { return false };
        let count = bytes.len();
        if count == 0 {
            return false;
        }
        self.decoder.push(bytes);
        reader.consume(count);
        true
    }

    /// Sends the queued frames and the TLS close, as far as the socket accepts them without waiting.
    pub(super) fn close(&mut self, counters: &mut Counters) {
        self.write(counters);
        self.tls.send_close_notify();
        self.write(counters);
    }
}

fn io_reason(error: &io::Error) -> CloseReason {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionRefused => {
            CloseReason::Reset
        }
        io::ErrorKind::UnexpectedEof => CloseReason::Lost,
        _ => CloseReason::NetworkError,
    }
}

fn tls_reason(error: &Error) -> CloseReason {
    match error {
        Error::AlertReceived(AlertDescription::CloseNotify | AlertDescription::UserCanceled) => CloseReason::Closed,
        Error::AlertReceived(_) => CloseReason::CertificateRejected,
        Error::NoCertificatesPresented => CloseReason::NotAuthenticated,
        Error::InvalidCertificate(reason) => match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => CloseReason::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => CloseReason::NotYetValid,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => CloseReason::WrongId,
            _ => CloseReason::NotAuthenticated,
        },
        _ => CloseReason::Malformed,
    }
}
