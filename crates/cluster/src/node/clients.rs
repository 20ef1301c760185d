//! Programs on the same host: who is connected, what they say, what they are told.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use mio::net::{UnixListener, UnixStream};
use mio::{Interest, Registry, Token};

use super::SocketError;
use super::socket::{SocketFile, listen};
use crate::api::{MAX_BYTES_A_LINE, Refusal, Reply, Request};
use crate::clock::Moment;
use crate::core::ClientId;

/// So many programs may be connected.
pub(super) const MAX_CLIENTS: usize = 256;
/// No request is longer.
const MAX_REQUEST_BYTES: usize = 64 * 1024;
/// Of one program, so many requests are seen to before the others get their turn.
const REQUESTS_A_PASS: usize = 16;
/// A program that has so much to read gets no more answers until it has read some.
const UNREAD: usize = 256 * 1024;
/// A program that leaves so much unread is dropped. Room for news of ten thousand offices at once.
const MAX_UNREAD: usize = 4 << 20;
/// When nobody can be let in (out of descriptors, for example), it is tried again after this.
const PAUSE: Duration = Duration::from_millis(100);

/// What a program did.
#[derive(Debug)]
pub(super) enum ClientEvent {
    Asked(ClientId, Request),
    Gone(ClientId),
}

/// All programs, and the listener for more.
pub(super) struct Clients {
    /// Goes before the listener does: as long as there is one, nobody takes its path.
    _file: SocketFile,
    listener: UnixListener,
    registry: Registry,
    /// The first is the listener's.
    tokens: Range<usize>,
    seats: Vec<Option<Client>>,
    so_far: u64,
    /// Whether somebody may wait at the listener although no event tells.
    at_door: bool,
    door_again: Moment,
    gone: Vec<ClientId>,
}

struct Client {
    id: ClientId,
    stream: UnixStream,
    /// What came and was not seen to.
    input: Vec<u8>,
    /// A line that is too long is passed over up to its end.
    passing_over: bool,
    output: Vec<u8>,
    written: usize,
    /// There may be more to read although no event will tell.
    readable: bool,
    /// It will say nothing more.
    ended: bool,
}

impl Clients {
    /// Listens for programs. There must be a token for the listener and one for each of them.
    pub(super) fn listen(path: &Path, registry: &Registry, tokens: Range<usize>) -> Result<Self, SocketError> {
        let (mut listener, file) = listen(path)?;
        let trouble = |error| SocketError::Io { action: "wait for programs at", path: path.to_path_buf(), error };
        let own = registry.try_clone().map_err(trouble)?;
        registry.register(&mut listener, Token(tokens.start), Interest::READABLE).map_err(trouble)?;
        let seats = (1..tokens.len().min(MAX_CLIENTS + 1)).map(|_| None).collect();
        Ok(Clients {
            _file: file,
            listener,
            registry: own,
            tokens,
            seats,
            so_far: 0,
            at_door: true,
            door_again: Moment::ZERO,
            gone: Vec::new(),
        })
    }

    /// Something can be read or written.
    pub(super) fn ready(&mut self, event: &mio::event::Event) {
        match event.token().0.checked_sub(self.tokens.start) {
            Some(0) => self.at_door = true,
            Some(place) => {
                if let Some(Some(client)) = self.seats.get_mut(place - 1) {
                    client.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
                }
            }
            None => {}
        }
    }

    /// When to come back although no event tells.
    pub(super) fn due(&self) -> Moment {
        let waits = self.seats.iter().flatten().any(|client| client.readable && client.unread() < UNREAD);
        if waits {
            return Moment::ZERO;
        }
        if self.at_door { self.door_again } else { Moment::NEVER }
    }

    /// Lets programs in and hears them: a few requests of each.
    pub(super) fn hear(&mut self, now: Moment, events: &mut Vec<ClientEvent>) {
        if self.at_door && self.door_again <= now {
            self.welcome(now);
        }
        for seat in &mut self.seats {
            let Some(client) = seat.as_mut().filter(|client| client.readable) else { continue };
            client.hear(events);
        }
        self.see_off(events);
    }

    /// Tells a program; [`Clients::flush`] sends it.
    pub(super) fn tell(&mut self, id: ClientId, reply: &Reply) {
        let place = self.place(id);
        let Some(client) = self.seats.get_mut(place).and_then(Option::as_mut).filter(|client| client.id == id) else {
            return;
        };
        if !client.tell(reply) {
            self.seats[place] = None;
            self.gone.push(id);
        }
    }

    /// Sends what programs were told. One that will say nothing more stays for as long as it is owed an answer, but not
    /// for news.
    pub(super) fn flush(&mut self, is_owed: impl Fn(ClientId) -> bool, events: &mut Vec<ClientEvent>) {
        for seat in &mut self.seats {
            let Some(client) = seat else { continue };
            let is_over = client.unread() > 0 && client.write().is_err();
            if is_over || (client.ended && !is_owed(client.id)) {
                self.gone.push(client.id);
                *seat = None;
            }
        }
        self.see_off(events);
    }

    /// Those who went since the last time.
    fn see_off(&mut self, events: &mut Vec<ClientEvent>) {
        events.extend(self.gone.drain(..).map(ClientEvent::Gone));
    }

    fn place(&self, id: ClientId) -> usize {
        (id.0 % MAX_CLIENTS as u64) as usize
    }

    fn welcome(&mut self, now: Moment) {
        for _ in 0..MAX_CLIENTS {
            match self.listener.accept() {
                Ok((stream, _)) => self.let_in(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.at_door = false;
                    return;
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => {
                }
                Err(_) => {
                    // Trying at once would spin.
                    self.door_again = now + PAUSE;
                    return;
                }
            }
        }
    }

    fn let_in(&mut self, mut stream: UnixStream) {
        if !is_allowed(&stream) {
            let message = "only the user that the node runs as, and root, may speak to it".to_string();
            return turn_away(stream, "not-allowed", message);
        }
        let Some(place) = self.seats.iter().position(Option::is_none) else {
            let message = format!("{MAX_CLIENTS} programs are connected already, and no more are let in");
            return turn_away(stream, "too-many", message);
        };
        let token = Token(self.tokens.start + 1 + place);
        if self.registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE).is_err() {
            return;
        }
        self.so_far += 1;
        let id = ClientId(self.so_far * MAX_CLIENTS as u64 + place as u64);
        self.seats[place] = Some(Client {
            id,
            stream,
            input: Vec::new(),
            passing_over: false,
            output: Vec::new(),
            written: 0,
            readable: true,
            ended: false,
        });
    }
}

impl Client {
    fn unread(&self) -> usize {
        self.output.len() - self.written
    }

    /// ReadIndex and takes a few requests.
    fn hear(&mut self, events: &mut Vec<ClientEvent>) {
        for _ in 0..REQUESTS_A_PASS {
            if self.unread() >= UNREAD {
                return;
            }
            let Some(line) = self.next_line() else { return };
            match read_request(&line) {
                Ok(request) => events.push(ClientEvent::Asked(self.id, request)),
                // It is small, and there is room for it.
                Err(problem) => drop(self.tell(&refused("bad-request", problem))),
            }
        }
    }

    /// A line without its end, or none if no whole one has come.
    fn next_line(&mut self) -> Option<Vec<u8>> {
        let mut looked_at = 0;
        loop {
            if let Some(end) = self.input[looked_at..].iter().position(|byte| *byte == b'\n') {
                let rest = self.input.split_off(looked_at + end + 1);
                let mut line = std::mem::replace(&mut self.input, rest);
                line.pop();
                if std::mem::take(&mut self.passing_over) {
                    looked_at = 0;
                    continue;
                }
                return Some(line);
            }
            if self.passing_over {
                self.input.clear();
            }
            looked_at = self.input.len();
            if looked_at > MAX_REQUEST_BYTES {
                self.input.clear();
                self.passing_over = true;
                // The line itself is not needed to say what is wrong with it.
                return Some(vec![b' '; MAX_REQUEST_BYTES + 1]);
            }
            if !self.read() {
                return None;
            }
        }
    }

    /// ReadIndex a piece; false if there is none for now, or never again.
    fn read(&mut self) -> bool {
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => break self.ended = true,
                Ok(count) => {
                    self.input.extend_from_slice(&piece[..count]);
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

    /// False if it leaves too much unread.
    fn tell(&mut self, reply: &Reply) -> bool {
        let start = self.output.len();
        serde_json::to_writer(&mut self.output, reply).expect("a reply is plain data");
        if self.output.len() - start >= MAX_BYTES_A_LINE {
            self.output.truncate(start);
            let message = format!("the answer is longer than {MAX_BYTES_A_LINE} bytes");
            serde_json::to_writer(&mut self.output, &refused("too-long", message)).expect("a reply is plain data");
        }
        self.output.push(b'\n');
        self.unread() <= MAX_UNREAD
    }

    /// Writes what it can; fails if the program is gone.
    fn write(&mut self) -> io::Result<()> {
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
            // After a large answer the room is given back.
            self.output.shrink_to(4096);
            self.written = 0;
        } else if self.written > self.output.len() / 2 {
            self.output.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }
}

fn is_allowed(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid();
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == own || peer.uid.is_root())
}

fn turn_away(mut stream: UnixStream, code: &str, message: String) {
    let mut line = serde_json::to_vec(&refused(code, message)).expect("a reply is plain data");
    line.push(b'\n');
    // It is small, and the connection is new: it fits, or the program is gone.
    let _ = stream.write(&line);
}

fn refused(code: &str, message: String) -> Reply {
    Reply::Refused(Refusal { code: code.to_string(), message })
}

/// A line of a program.
pub(crate) fn read_request(line: &[u8]) -> Result<Request, String> {
    if line.len() > MAX_REQUEST_BYTES {
        return Err(format!("a request is longer than {MAX_REQUEST_BYTES} bytes"));
    }
    serde_json::from_slice(line).map_err(|error| {
        let told: String = error.to_string().chars().take(300).collect();
        format!("that is no request: {told}")
    })
}

#[cfg(test)]
#[path = "clients_tests.rs"]
mod tests;
