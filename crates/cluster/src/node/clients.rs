//! The clients of a node: programs on the same host that are connected to its socket.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use mio::net::{UnixListener, UnixStream};
use mio::{Interest, Registry, Token};

use super::error::SocketError;
use super::peer_credentials::{PeerCredentials, SocketGroup, who_has};
use super::socket::{SocketFile, listen};
use crate::api::{MAX_LINE_BYTES, Reply, Request, RequestError};
use crate::clock::Timestamp;
use crate::core::ClientId;

/// How many connections are accepted beyond the configured number. They are for operators' commands, which must get in
/// when programs use all others.
const RESERVED_CONNECTIONS: usize = 16;
/// How many connections are accepted in one pass.
const MAX_ACCEPTS_PER_PASS: usize = 256;
/// The longest request, in bytes.
const MAX_REQUEST_BYTES: usize = 64 * 1024;
/// The largest number of requests of one program in one pass, so that it cannot starve the others.
const MAX_REQUESTS_PER_PASS: usize = 16;
/// The node reads no further requests of a program that has this many bytes unread.
const UNREAD_SOFT_LIMIT: usize = 256 * 1024;
/// A program with more bytes unread is disconnected. There is room for updates of ten thousand offices at once.
const MAX_UNREAD: usize = 4 << 20;
/// The pause after a failed `accept`, for example without free file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// What a client did.
#[derive(Debug)]
pub(super) enum ClientEvent {
    Request(ClientId, Request),
    /// The client asked for something that it may not do. It was told so.
    NotPermitted(ClientId, Request),
    Disconnected(ClientId),
}

/// How many connections campaign and watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ConnectionBudget {
    /// Connections of programs.
    pub(super) programs: usize,
    /// Connections of the node's own process: those of its HTTP API, one for each session. They take no program's
    /// place, and no program takes theirs.
    pub(super) own: usize,
}

/// All clients, and the listener for more.
pub(super) struct Clients {
    /// Dropped before the listener: while the listener is open, no other node takes the path.
    _file: SocketFile,
    listener: UnixListener,
    registry: Registry,
    /// The listener's token. Those of the slots follow.
    first_token: usize,
    slots: Vec<Option<Client>>,
    /// Who may campaign, beside root and the node's user.
    group: Option<SocketGroup>,
    /// How many programs and threads of this process may be connected.
    budget: ConnectionBudget,
    accepted: u64,
    /// Whether connections may be waiting although no event will announce them.
    accept_ready: bool,
    accept_retry_at: Timestamp,
    gone: Vec<ClientId>,
    refused: Refused,
}

/// How many connections were refused.
#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    not_permitted: u64,
    too_many: u64,
}

struct Client {
    id: ClientId,
    stream: UnixStream,
    peer: PeerCredentials,
    has_campaigned: bool,
    /// Bytes that were received but not handled yet.
    input: Vec<u8>,
    /// Whether the rest of an overlong line is being skipped.
    skipping_line: bool,
    output: Vec<u8>,
    written: usize,
    /// Whether there may be more to read although no event will announce it.
    readable: bool,
    /// Whether the client has finished sending.
    ended: bool,
    /// Whether it uses a reserved connection, and must neither campaign nor watch.
    is_restricted: bool,
    /// Whether it is a thread of the node's own process, within its budget.
    is_own: bool,
}

impl Clients {
    /// Listens for programs within the budget, and a few operators' commands. Uses all tokens from `first_token` on.
    pub(super) fn listen(
        path: &Path,
        registry: &Registry,
        first_token: usize,
        budget: ConnectionBudget,
        group: Option<SocketGroup>,
    ) -> Result<Self, SocketError> {
        let (mut listener, file) = listen(path, group.as_ref())?;
        let io_error = |error| SocketError::Io { action: "wait for programs at", path: path.to_path_buf(), error };
        let own = registry.try_clone().map_err(io_error)?;
        registry.register(&mut listener, Token(first_token), Interest::READABLE).map_err(io_error)?;
        let slots = (0..budget.programs + budget.own + RESERVED_CONNECTIONS).map(|_| None).collect();
        Ok(Clients {
            _file: file,
            listener,
            registry: own,
            first_token,
            slots,
            group,
            budget,
            accepted: 0,
            accept_ready: true,
            accept_retry_at: Timestamp::ZERO,
            gone: Vec::new(),
            refused: Refused::default(),
        })
    }

    /// Handles an event: something can be read or written.
    pub(super) fn ready(&mut self, event: &mio::event::Event) {
        match event.token().0.checked_sub(self.first_token) {
            Some(0) => self.accept_ready = true,
            Some(place) => {
                if let Some(Some(client)) = self.slots.get_mut(place - 1) {
                    client.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
                }
            }
            None => {}
        }
    }

    /// When to call [`Clients::read_requests`] although no event announces anything.
    pub(super) fn due(&self) -> Timestamp {
        let waits = self.slots.iter().flatten().any(|client| client.readable && client.unread() < UNREAD_SOFT_LIMIT);
        if waits {
            return Timestamp::ZERO;
        }
        if self.accept_ready { self.accept_retry_at } else { Timestamp::NEVER }
    }

    /// Accepts clients and reads a few requests of each.
    pub(super) fn read_requests(&mut self, now: Timestamp, events: &mut Vec<ClientEvent>) {
        if self.accept_ready && self.accept_retry_at <= now {
            self.accept_clients(now);
        }
        for slot in &mut self.slots {
            let Some(client) = slot.as_mut().filter(|client| client.readable) else { continue };
            client.read_requests(self.budget.programs, self.group.as_ref(), events);
        }
        self.report_disconnects(events);
    }

    /// Whether the client is a thread of this process that has a budget of its own: the HTTP API.
    pub(super) fn is_own(&self, id: ClientId) -> bool {
        let client = self.slots.get(self.place(id)).and_then(Option::as_ref);
        client.is_some_and(|client| client.id == id && client.is_own)
    }

    /// How many programs are connected.
    pub(super) fn count(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// How many connections were refused, by reason.
    pub(super) fn refused(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [("not-permitted", self.refused.not_permitted), ("too-many", self.refused.too_many)].into_iter()
    }

    /// The connection of a client.
    pub(super) fn stream(&self, id: ClientId) -> Option<&UnixStream> {
        let client = self.slots.get(self.place(id)).and_then(Option::as_ref);
        client.filter(|client| client.id == id).map(|client| &client.stream)
    }

    /// Who a client is.
    pub(super) fn peer(&self, id: ClientId) -> Option<PeerCredentials> {
        let client = self.slots.get(self.place(id)).and_then(Option::as_ref);
        client.filter(|client| client.id == id).map(|client| client.peer)
    }

    /// Notes that a client campaigns. Returns who it is, if it did not before.
    pub(super) fn begin_campaigning(&mut self, id: ClientId) -> Option<PeerCredentials> {
        let place = self.place(id);
        let client = self.slots.get_mut(place).and_then(Option::as_mut).filter(|client| client.id == id)?;
        let is_first = !std::mem::replace(&mut client.has_campaigned, true);
        is_first.then_some(client.peer)
    }

    /// Queues a reply; [`Clients::flush`] sends it.
    pub(super) fn queue_reply(&mut self, id: ClientId, reply: &Reply) {
        let place = self.place(id);
        let Some(client) = self.slots.get_mut(place).and_then(Option::as_mut).filter(|client| client.id == id) else {
            return;
        };
        if !client.queue_reply(reply) {
            self.slots[place] = None;
            self.gone.push(id);
        }
    }

    /// Sends the queued replies. A client that has finished sending stays connected while it is owed a reply, but not
    /// for updates.
    pub(super) fn flush(&mut self, is_owed: impl Fn(ClientId) -> bool, events: &mut Vec<ClientEvent>) {
        for slot in &mut self.slots {
            let Some(client) = slot else { continue };
            let is_over = client.unread() > 0 && client.write().is_err();
            if is_over || (client.ended && !is_owed(client.id)) {
                self.gone.push(client.id);
                *slot = None;
            }
        }
        self.report_disconnects(events);
    }

    /// Reports the clients that disconnected since the last call.
    fn report_disconnects(&mut self, events: &mut Vec<ClientEvent>) {
        events.extend(self.gone.drain(..).map(ClientEvent::Disconnected));
    }

    fn place(&self, id: ClientId) -> usize {
        (id.0 % self.slots.len() as u64) as usize
    }

    fn accept_clients(&mut self, now: Timestamp) {
        for _ in 0..MAX_ACCEPTS_PER_PASS {
            match self.listener.accept() {
                Ok((stream, _)) => self.add_client(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.accept_ready = false;
                    return;
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => {
                }
                Err(_) => {
                    // Retrying at once would spin.
                    self.accept_retry_at = now + ACCEPT_RETRY;
                    return;
                }
            }
        }
    }

    fn add_client(&mut self, mut stream: UnixStream) {
        let peer = PeerCredentials::of(&stream, self.group.as_ref());
        if !peer.rights.allow(None) {
            self.refused.not_permitted += 1;
            return reject(stream, RequestError::not_permitted(None, &who_has(None, self.group.as_ref())));
        }
        let count = |is_counted: fn(&&Client) -> bool| self.slots.iter().flatten().filter(is_counted).count();
        let is_own = peer.is_own_process() && count(|client| client.is_own) < self.budget.own;
        let programs = count(|client| !client.is_restricted && !client.is_own);
        let is_restricted = !is_own && programs >= self.budget.programs;
        let free = self.slots.iter().position(Option::is_none);
        // The reserved connections are for those who can use them.
        let Some(place) = free.filter(|_| !is_restricted || peer.rights.operate) else {
            self.refused.too_many += 1;
            return reject(stream, too_many_connections(self.budget.programs));
        };
        let token = Token(self.first_token + 1 + place);
        if self.registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE).is_err() {
            return;
        }
        self.accepted += 1;
        let id = ClientId(self.accepted * self.slots.len() as u64 + place as u64);
        self.slots[place] = Some(Client {
            id,
            is_restricted,
            is_own,
            stream,
            peer,
            has_campaigned: false,
            input: Vec::new(),
            skipping_line: false,
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

    /// Reads a few requests.
    fn read_requests(&mut self, max_unrestricted: usize, group: Option<&SocketGroup>, events: &mut Vec<ClientEvent>) {
        for _ in 0..MAX_REQUESTS_PER_PASS {
            if self.unread() >= UNREAD_SOFT_LIMIT {
                return;
            }
            let Some(line) = self.next_line() else { return };
            match read_request(&line) {
                // The connection ends, so that programs that try again and again leave the reserved ones free.
                Ok(Request::Campaign { .. } | Request::Watch { .. }) if self.is_restricted => {
                    let _ = self.queue_reply(&Reply::Error(too_many_connections(max_unrestricted)));
                    (self.ended, self.readable) = (true, false);
                    return;
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
    }

    /// The next complete line, without its end.
    fn next_line(&mut self) -> Option<Vec<u8>> {
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
            if !self.read() {
                return None;
            }
        }
    }

    /// Reads once. Returns false if there is nothing to read, or if the client has finished sending.
    fn read(&mut self) -> bool {
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
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

    /// Queues a reply. Returns false if the client leaves too much unread.
    fn queue_reply(&mut self, reply: &Reply) -> bool {
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

fn too_many_connections(limit: usize) -> RequestError {
    let message = format!("{limit} programs are connected already, the maximum (`limits.connections`)");
    RequestError { code: "too-many".to_string(), message }
}

fn reject(mut stream: UnixStream, error: RequestError) {
    let mut line = serde_json::to_vec(&Reply::Error(error)).expect("a reply is plain data");
    line.push(b'\n');
    // The line fits into the buffer of a new connection, or the client is gone.
    let _ = stream.write(&line);
}

fn error_reply(code: &str, message: String) -> Reply {
    Reply::Error(RequestError { code: code.to_string(), message })
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

#[cfg(test)]
#[path = "clients/tests.rs"]
mod tests;
