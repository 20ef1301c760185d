//! The thread of an elector: it reads the socket, watches deadlines and reconnects.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hustings_cluster::api::{Client, ClientError, Request};
use hustings_cluster::clock::Timestamp;

use super::Shared;
use super::updates::Updates;

/// How long a node may take to accept a line.
const MAX_WRITE: Duration = Duration::from_secs(1);
/// The pause before reconnecting: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The writing end of a connection.
#[derive(Debug)]
pub(super) struct Connection(UnixStream);

impl Connection {
    fn new(client: &Client) -> std::io::Result<Connection> {
        let stream = client.stream().try_clone()?;
        stream.set_write_timeout(Some(MAX_WRITE))?;
        Ok(Connection(stream))
    }

    /// Sends a request. If that fails, the connection is shut down, which the reading thread notices.
    pub(super) fn send(&mut self, request: &Request) {
        let sent = serde_json::to_vec(request).map_err(std::io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.0.write_all(&line)
        });
        if sent.is_err() {
            self.end();
        }
    }

    pub(super) fn end(&self) {
        // It may be closed already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Runs until the last handle is dropped.
pub(super) fn run(shared: &Shared, first: Client) {
    let mut client = Some(first);
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(mut client) = client.take()
            && attach(shared, &client)
        {
            pause = FIRST_PAUSE;
            read_replies(shared, &mut client);
            detach(shared);
        }
        if !wait(shared, pause) {
            return;
        }
        pause = (pause * 2).min(MAX_PAUSE);
        client = Client::connect(&shared.socket, Duration::ZERO).ok();
    }
}

fn attach(shared: &Shared, client: &Client) -> bool {
    let Ok(connection) = Connection::new(client) else { return false };
    let mut inner = shared.lock();
    if inner.is_closed {
        return false;
    }
    inner.connection = Some(connection);
    drop(inner);
    shared.change(|state, now| ((), state.handle_connected(now)));
    true
}

fn detach(shared: &Shared) {
    shared.lock().connection = None;
    shared.change(|state, now| ((), state.handle_disconnected(now)));
}

/// Reads replies until the connection ends.
fn read_replies(shared: &Shared, client: &mut Client) {
    loop {
        let next_deadline = shared.change(|state, now| {
            let updates = state.handle_time(now);
            (state.next_deadline(), updates)
        });
        match client.recv(timeout_until(shared, next_deadline)) {
            Ok(reply) => shared.change(|state, now| ((), state.handle_reply(reply, now))),
            Err(ClientError::Timeout { .. }) => {}
            // An unreadable reply may have been an order to stop, so a broken connection is not used any further.
            Err(_) => return,
        }
    }
}

/// Waits before the next attempt, and expires leases meanwhile. Returns false if the last handle was dropped.
fn wait(shared: &Shared, pause: Duration) -> bool {
    let until = shared.clock.now() + pause;
    loop {
        let next_deadline = shared.change(|state, now| {
            let updates: Updates = state.handle_time(now);
            (state.next_deadline(), updates)
        });
        let inner = shared.lock();
        if inner.is_closed {
            return false;
        }
        if shared.clock.now() >= until {
            return true;
        }
        // The loop checks whether this was a wake-up or a timeout.
        let left = timeout_until(shared, next_deadline.min(until)).unwrap_or(pause);
        drop(shared.closed.wait_timeout(inner, left));
    }
}

/// The time until a deadline; `None` if it never comes.
fn timeout_until(shared: &Shared, until: Timestamp) -> Option<Duration> {
    (until != Timestamp::NEVER).then(|| until.since(shared.clock.now()))
}
