//! One connection: a socket, TLS on it, frames in that. It knows nothing of members.

use std::io::{self, BufRead, Write};
use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;

use hustings_protocol::Id;
use mio::net::TcpStream;
use rustls::pki_types::CertificateDer;
use rustls::{AlertDescription, CertificateError, Connection, Error};

use super::bucket::Bucket;
use super::counters::{Counters, Ended};
use super::frame::{self, Decoder, FrameError, HEADER_BYTES};
use super::hello::MAX_HELLO_BYTES;
use super::wire::{self, Wire};
use crate::clock::Moment;

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Dialled, not yet answered.
    Connecting,
    /// TLS, then the peer's Hello.
    Greeting,
    /// The peer said Hello; this node has a better connection in the making and holds back its own.
    Parked,
    /// Both said Hello.
    Established,
}

/// What is there to be read.
pub(super) enum Next {
    /// The payload of a frame, for [`Link::payload`].
    Frame(Range<usize>),
    /// Nothing for now: there will be an event.
    Nothing,
    /// More than this pass may handle.
    Later,
}

/// One connection.
pub(super) struct Link {
    socket: TcpStream,
    tls: Connection,
    decoder: Decoder,
    queue: Vec<u8>,
    sent: usize,
    /// No more bytes will come, and why; what came before is given out first.
    read_end: Option<Ended>,
    write_end: Option<Ended>,
    pub(super) stage: Stage,
    /// Whether this node dialled it.
    pub(super) dialled: bool,
    /// Where it leads.
    pub(super) host: IpAddr,
    /// Whom it leads to: known from the start if dialled, else after the Hello.
    pub(super) peer: Option<Id>,
    /// The peer's, from its Hello.
    pub(super) incarnation: u64,
    /// The peer's, from its Hello.
    pub(super) turn: u64,
    /// When it began; when it was established.
    pub(super) since: Moment,
    /// There may be more to read although no event will tell.
    pub(super) readable: bool,
    /// Its frames wait until then.
    pub(super) throttled: Option<Moment>,
    /// Since when it has had more to say than it may, without a break.
    pub(super) too_much_since: Option<Moment>,
    pub(super) bucket: Bucket,
}

impl Link {
    pub(super) fn new(socket: TcpStream, tls: Connection, host: IpAddr, bucket: Bucket, now: Moment) -> Self {
        let dialled = matches!(tls, Connection::Client(_));
        Link {
            socket,
            tls,
            decoder: Decoder::new(MAX_HELLO_BYTES),
            queue: Vec::new(),
            sent: 0,
            read_end: None,
            write_end: None,
            stage: if dialled { Stage::Connecting } else { Stage::Greeting },
            dialled,
            host,
            peer: None,
            incarnation: 0,
            turn: 0,
            since: now,
            readable: false,
            throttled: None,
            too_much_since: None,
            bucket,
        }
    }

    /// When it must be established.
    pub(super) fn overdue(&self, handshake: Duration) -> Moment {
        if self.stage == Stage::Established { Moment::NEVER } else { self.since + handshake }
    }

    /// When to read on although no event tells.
    pub(super) fn due(&self) -> Moment {
        match self.throttled {
            Some(until) => until,
            None if self.readable => Moment::ZERO,
            None => Moment::NEVER,
        }
    }

    pub(super) fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// What it has sent.
    pub(super) fn wire(&self) -> Wire {
        wire::sent(&self.socket)
    }

    /// Whether a dialled connection has been answered; why not, if it will not be.
    pub(super) fn connected(&self) -> Result<bool, Ended> {
        if let Ok(Some(error)) | Err(error) = self.socket.take_error() {
            return Err(of_io(&error));
        }
        match self.socket.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(of_io(&error)),
        }
    }

    /// The certificate that the peer showed, once TLS has checked it.
    pub(super) fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.tls.peer_certificates().and_then(|chain| chain.first())
    }

    /// From now on frames may be so large.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.decoder.set_limit(limit);
    }

    /// Puts a frame into the queue; false if it does not fit.
    pub(super) fn queue(&mut self, payload: &[u8], most: usize) -> bool {
        if self.queued() + HEADER_BYTES + payload.len() > most {
            return false;
        }
        frame::encode(payload, &mut self.queue);
        true
    }

    /// Says who this node is. That is small, and nothing waits before it.
    pub(super) fn greet(&mut self, hello: &[u8], counters: &mut Counters) {
        frame::encode(hello, &mut self.queue);
        self.write(counters);
    }

    /// Whether something waits to be written.
    pub(super) fn has_output(&self) -> bool {
        self.queued() > 0 || self.tls.wants_write()
    }

    /// Whether nothing can be written any more.
    pub(super) fn is_broken(&self) -> bool {
        self.write_end.is_some()
    }

    /// Writes what it can. Trouble is told by the next [`Link::next_frame`], after what the peer still sent.
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
                        self.write_end = Some(of_io(&error));
                        return;
                    }
                }
            }
            if self.sent == self.queue.len() || self.tls.is_handshaking() {
                return;
            }
            // TLS takes what its own bounded buffer has room for; it is empty here, so that is never nothing.
            match self.tls.writer().write(&self.queue[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) => {
                    self.write_end = Some(of_io(&error));
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

    /// The next frame that is there, reading as little as needed, and never more than this budget of bytes.
    /// An end is told when everything before it has been given out.
    pub(super) fn next_frame(&mut self, budget: &mut usize, counters: &mut Counters) -> Result<Next, Ended> {
        loop {
            match self.decoder.next_frame() {
                Ok(Some(frame)) => return Ok(Next::Frame(frame)),
                Ok(None) => {}
                Err(FrameError::Oversize(_)) => return Err(Ended::Oversize),
                Err(FrameError::Version(_)) => return Err(Ended::OtherVersion),
            }
            if self.take_plaintext() {
                continue;
            }
            if let Some(why) = self.read_end {
                return Err(why);
            }
            if *budget == 0 {
                return Ok(Next::Later);
            }
            match self.tls.read_tls(&mut self.socket) {
                // What TLS says of an end without a good-bye comes out of its reader, see below.
                Ok(0) => self.read_end = Some(self.write_end.unwrap_or(Ended::Lost)),
                Ok(count) => {
                    counters.bytes_in += count as u64;
                    *budget = budget.saturating_sub(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => match self.write_end {
                    Some(why) => return Err(why),
                    None => return Ok(Next::Nothing),
                },
                Err(error) => self.read_end = Some(of_io(&error)),
            }
            match self.tls.process_new_packets() {
                Ok(state) if state.peer_has_closed() => self.read_end = Some(Ended::Closed),
                Ok(_) => {}
                Err(error) => self.read_end = Some(of_tls(&error)),
            }
        }
    }

    /// How many bytes of frames wait to be encrypted.
    pub(super) fn queued(&self) -> usize {
        self.queue.len() - self.sent
    }

    /// How much memory its buffers of frames take.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.queue.capacity() + self.decoder.memory()
    }

    /// The bytes of a payload that was found.
    pub(super) fn payload(&self, frame: Range<usize>) -> &[u8] {
        self.decoder.payload(frame)
    }

    /// Moves what TLS has decrypted to the decoder; false if there was nothing.
    fn take_plaintext(&mut self) -> bool {
        let mut reader = self.tls.reader();
        // An error here says that nothing is there, or that nothing will be: both are told by other means.
        let Ok(bytes) = reader.fill_buf() else { return false };
        let count = bytes.len();
        if count == 0 {
            return false;
        }
        self.decoder.push(bytes);
        reader.consume(count);
        true
    }

    /// A word of good-bye and what is queued, as far as the socket takes it without waiting.
    pub(super) fn say_goodbye(&mut self, counters: &mut Counters) {
        self.write(counters);
        self.tls.send_close_notify();
        self.write(counters);
    }
}

fn of_io(error: &io::Error) -> Ended {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionRefused => Ended::Reset,
        io::ErrorKind::UnexpectedEof => Ended::Lost,
        _ => Ended::Failed,
    }
}

fn of_tls(error: &Error) -> Ended {
    match error {
        Error::AlertReceived(AlertDescription::CloseNotify | AlertDescription::UserCanceled) => Ended::Closed,
        Error::AlertReceived(_) => Ended::Refused,
        Error::NoCertificatesPresented => Ended::NotAuthenticated,
        Error::InvalidCertificate(why) => match why {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Ended::Expired,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Ended::OtherId,
            _ => Ended::NotAuthenticated,
        },
        _ => Ended::Garbage,
    }
}
