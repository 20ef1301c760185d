//! The clients of a node: programs on the same host that are connected to its socket.

mod connection;
mod descriptors;

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use mio::net::{UnixListener, UnixStream};
use mio::{Interest, Registry, Token};

use self::connection::{Client, MAX_WORK_PER_PASS, UNREAD_SOFT_LIMIT, close, too_many_connections};
use self::descriptors::{Disposer, allow_descriptors};
use super::error::SocketError;
use super::peer_credentials::{PeerCredentials, SocketGroup, who_has};
use super::socket::{SocketFile, listen};
use crate::api::{Reply, Request, RequestError};
use crate::clock::Timestamp;
use crate::core::ClientId;

#[cfg(feature = "testkit")]
pub(crate) use self::connection::read_request;

/// How many connections are accepted beyond the configured number. They are for operators' commands, which must get in
/// when programs use all others.
const RESERVED_CONNECTIONS: usize = 16;
/// How many connections are accepted in one pass.
const MAX_ACCEPTS_PER_PASS: usize = 256;
/// The pause after a failed `accept`, for example without free file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// What a client did.
#[derive(Debug)]
pub(super) enum ClientEvent {
    Request(ClientId, Request),
    /// The client asked for something that it may not do. It was told so.
    NotPermitted(ClientId, Request),
    /// The client let more time pass than its connection lives without a word. It is disconnected.
    Silent(ClientId, Duration),
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
    disposer: Disposer,
    /// The listener's token. Those of the slots follow.
    first_token: usize,
    slots: Vec<Option<Client>>,
    /// The place of the client whose turn it is.
    next: usize,
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
        // Accepted connections inherit it. Older kernels refuse: see there.
        let _ = allow_descriptors(&listener, false);
        let disposer = Disposer::start().map_err(io_error)?;
        let own = registry.try_clone().map_err(io_error)?;
        registry.register(&mut listener, Token(first_token), Interest::READABLE).map_err(io_error)?;
        let slots = (0..budget.programs + budget.own + RESERVED_CONNECTIONS).map(|_| None).collect();
        Ok(Clients {
            _file: file,
            listener,
            registry: own,
            disposer,
            first_token,
            slots,
            next: 0,
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
        let silent = self.slots.iter().flatten().map(Client::silent_at).min().unwrap_or(Timestamp::NEVER);
        if self.accept_ready { self.accept_retry_at.min(silent) } else { silent }
    }

    /// Accepts clients and reads a few requests of each. If that is too much for one pass, the others come first in the
    /// next one.
    pub(super) fn read_requests(&mut self, now: Timestamp, events: &mut Vec<ClientEvent>) {
        if self.accept_ready && self.accept_retry_at <= now {
            self.accept_clients(now);
        }
        let (count, first) = (self.slots.len(), self.next);
        let mut budget = MAX_WORK_PER_PASS;
        for place in (first..count).chain(0..first) {
            self.next = place;
            if budget == 0 {
                break;
            }
            let Some(client) = &mut self.slots[place] else { continue };
            // If the node was late, the client's word may have arrived without an event.
            client.readable |= client.silent_at() <= now;
            if client.readable {
                let allowed = (self.budget.programs, self.group.as_ref());
                budget = client.read_requests(now, budget, allowed, &self.disposer, events);
            }
            if let Some(ttl) = client.ttl.filter(|_| client.silent_at() <= now) {
                events.push(ClientEvent::Silent(client.id, ttl));
                client.reject_silence(ttl);
                self.gone.push(client.id);
                self.slots[place].take().into_iter().for_each(|client| client.close(&self.registry, &self.disposer));
            }
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

    /// Takes the descriptor that a client has passed for a request, if it is one that has a use for it.
    pub(super) fn take_descriptor(&mut self, id: ClientId, request: &Request) -> Option<OwnedFd> {
        if !matches!(request, Request::Campaign { guard: Some(_), .. }) {
            return None;
        }
        let place = self.place(id);
        let client = self.slots.get_mut(place).and_then(Option::as_mut).filter(|client| client.id == id);
        client.and_then(|client| client.descriptor.take())
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

    /// From now on, a client must not be silent for longer than this.
    pub(super) fn keep_alive(&mut self, id: ClientId, ttl: Duration, now: Timestamp) {
        let place = self.place(id);
        if let Some(client) = self.slots.get_mut(place).and_then(Option::as_mut).filter(|client| client.id == id) {
            (client.ttl, client.heard_at) = (Some(ttl), now);
        }
    }

    /// Queues a reply; [`Clients::flush`] sends it.
    pub(super) fn queue_reply(&mut self, id: ClientId, reply: &Reply) {
        let place = self.place(id);
        let Some(client) = self.slots.get_mut(place).and_then(Option::as_mut).filter(|client| client.id == id) else {
            return;
        };
        if !client.queue_reply(reply)
            && let Some(client) = self.slots[place].take()
        {
            client.close(&self.registry, &self.disposer);
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
                slot.take().into_iter().for_each(|client| client.close(&self.registry, &self.disposer));
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

    /// Ends the oldest reserved connection. Returns its place.
    fn displace_restricted(&mut self) -> Option<usize> {
        let restricted = self.slots.iter().flatten().filter(|client| client.is_restricted);
        // Ids grow.
        let oldest = restricted.map(|client| client.id).min()?;
        let place = self.place(oldest);
        let mut client = self.slots[place].take()?;
        self.refused.too_many += 1;
        let _ = client.queue_reply(&Reply::Error(too_many_connections(self.budget.programs)));
        // It may not read any more.
        let _ = client.write();
        client.close(&self.registry, &self.disposer);
        self.gone.push(oldest);
        Some(place)
    }

    fn add_client(&mut self, stream: UnixStream) {
        let peer = PeerCredentials::of(&stream, self.group.as_ref());
        self.add_peer(stream, peer);
    }

    fn add_peer(&mut self, mut stream: UnixStream, peer: PeerCredentials) {
        if !peer.rights.allow(None) {
            self.refused.not_permitted += 1;
            return self.reject(stream, RequestError::not_permitted(None, &who_has(None, self.group.as_ref())));
        }
        let count = |is_counted: fn(&&Client) -> bool| self.slots.iter().flatten().filter(is_counted).count();
        let is_own = peer.is_own_process() && count(|client| client.is_own) < self.budget.own;
        let programs = count(|client| !client.is_restricted && !client.is_own);
        let is_restricted = !is_own && programs >= self.budget.programs;
        let free = self.slots.iter().position(Option::is_none);
        // The reserved connections are for those who can use them. They are for short commands, so an older one goes.
        let may_enter = !is_restricted || peer.rights.operate;
        let place = if may_enter { free.or_else(|| self.displace_restricted()) } else { None };
        let Some(place) = place else {
            self.refused.too_many += 1;
            return self.reject(stream, too_many_connections(self.budget.programs));
        };
        let token = Token(self.first_token + 1 + place);
        if self.registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE).is_err() {
            return close(stream, &self.disposer);
        }
        if peer.rights.operate {
            // Kernels that refuse this never refuse descriptors.
            let _ = allow_descriptors(&stream, true);
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
            ttl: None,
            heard_at: Timestamp::ZERO,
            descriptor: None,
            input: Vec::new(),
            skipping_line: false,
            output: Vec::new(),
            written: 0,
            readable: true,
            ended: false,
        });
    }

    fn reject(&self, mut stream: UnixStream, error: RequestError) {
        let mut line = serde_json::to_vec(&Reply::Error(error)).expect("a reply is plain data");
        line.push(b'\n');
        // The line fits into the buffer of a new connection, or the client is gone.
        let _ = stream.write(&line);
        close(stream, &self.disposer);
    }
}

#[cfg(test)]
#[path = "clients/tests.rs"]
mod tests;
