//! The thread of an elector: it reads the socket, keeps the time, and connects again.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hustings_cluster::api::{Client, ClientError, Request};
use hustings_cluster::clock::Moment;

use super::Shared;
use super::news::News;

/// A node that does not take a line within this time is as good as gone.
const MAX_WRITE: Duration = Duration::from_secs(1);
/// How long it waits before it connects again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Where requests go.
#[derive(Debug)]
pub(super) struct Connection(UnixStream);

impl Connection {
    fn of(client: &Client) -> std::io::Result<Connection> {
        let stream = client.stream().try_clone()?;
        stream.set_write_timeout(Some(MAX_WRITE))?;
        Ok(Connection(stream))
    }

    /// Says something. If that fails, the connection is over: who reads from it notices.
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
        // It may have ended already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Until the last handle is gone.
pub(super) fn run(shared: &Shared, first: Client) {
    let mut client = Some(first);
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(mut client) = client.take()
            && attach(shared, &client)
        {
            pause = FIRST_PAUSE;
            converse(shared, &mut client);
            detach(shared);
        }
        if !wait(shared, pause) {
            return;
        }
        pause = (pause * 2).min(MAX_PAUSE);
        client = Client::connect(&shared.socket).ok();
    }
}

fn attach(shared: &Shared, client: &Client) -> bool {
    let Ok(connection) = Connection::of(client) else { return false };
    let mut inside = shared.lock();
    if inside.is_closed {
        return false;
    }
    inside.connection = Some(connection);
    drop(inside);
    shared.change(|state, now| ((), state.connected(now)));
    true
}

fn detach(shared: &Shared) {
    shared.lock().connection = None;
    shared.change(|state, now| ((), state.disconnected(now)));
}

/// Listens until the connection ends.
fn converse(shared: &Shared, client: &mut Client) {
    loop {
        let due = shared.change(|state, now| {
            let news = state.passed(now);
            (state.due(), news)
        });
        match client.next(patience(shared, due)) {
            Ok(reply) => shared.change(|state, now| ((), state.heard(reply, now))),
            Err(ClientError::TimedOut { .. }) => {}
            // Something that is not understood may have been a word to stop: better no connection than half of one.
            Err(_) => return,
        }
    }
}

/// Waits before the next attempt, and lets go what runs out meanwhile; false if nobody needs the thread any more.
fn wait(shared: &Shared, pause: Duration) -> bool {
    let until = shared.clock.now() + pause;
    loop {
        let due = shared.change(|state, now| {
            let news: News = state.passed(now);
            (state.due(), news)
        });
        let inside = shared.lock();
        if inside.is_closed {
            return false;
        }
        if shared.clock.now() >= until {
            return true;
        }
        // Whether it was woken or time is up is seen above.
        let left = patience(shared, due.min(until)).unwrap_or(pause);
        drop(shared.closed.wait_timeout(inside, left));
    }
}

/// How long from now; without end if it is never.
fn patience(shared: &Shared, until: Moment) -> Option<Duration> {
    (until != Moment::NEVER).then(|| until.since(shared.clock.now()))
}
