//! A client of the HTTP API: campaigns for one office in a session, acts while it holds the office, and stops in time.
//!
//! It has no access to the node's clock. What it may do counts from when it *sent* a request, by a clock of its own
//! that drifts, as `docs/api.md` says. When its node does not answer, it acts until its deadline and asks again. While
//! it hangs it reads nothing. Now and then it resigns, or forgets its session, which then has to expire.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{ClientThread, MAX_STOP_TIME, next_disruption};
use crate::clock::{self, HostClock, MILLISECOND};
use crate::holding::{Campaign, Holding};
use crate::http_socket::{HttpSocket, Response};
use crate::rng::Rng;
use crate::shared::Shared;

/// How long the node may let a request wait for a change, while the client does not hold the office.
const WAIT_MS: u64 = 100;
/// How much longer than that a client waits for a response before it connects again.
const PATIENCE: u64 = 500 * MILLISECOND;
/// The pause after a request that failed.
const RETRY: u64 = 20 * MILLISECOND;

/// The properties of a client.
#[derive(Clone, Debug)]
pub(crate) struct HttpClientSpec {
    /// Its node, and what it campaigns for.
    pub(crate) campaign: Campaign,
    /// Its index among the HTTP clients of the node.
    pub(crate) number: usize,
    /// The address of the API.
    pub(crate) address: SocketAddr,
    /// The network namespace of the node, if it has one.
    pub(crate) namespace: Option<String>,
    /// The client's own clock.
    pub(crate) clock: HostClock,
    /// How long its sessions live without a renewal.
    pub(crate) ttl_ms: u64,
    /// Decides when the client hangs, resigns or forgets its session.
    pub(crate) rng: Rng,
}

impl HttpClientSpec {
    /// Starts the client.
    pub(crate) fn start(self, shared: &Arc<Shared>) -> io::Result<ClientThread> {
        let name = format!("{}.{}.http{}", self.campaign.node, self.campaign.office, self.number);
        let shared = Arc::clone(shared);
        ClientThread::spawn(name.clone(), move |is_campaigning| run(&shared, self, &name, is_campaigning))
    }
}

/// Runs a client until the run is over.
fn run(shared: &Shared, mut spec: HttpClientSpec, name: &str, is_campaigning: &AtomicBool) {
    // A client that cannot reach its node never campaigns, which the runner reports.
    if enter(spec.namespace.as_deref()).is_err() {
        return;
    }
    let mut sessions = 0;
    while !shared.is_over() {
        sessions += 1;
        let mut session = Session::new(shared, &mut spec, is_campaigning, format!("{name}#{sessions}"));
        session.run();
        is_campaigning.store(false, Ordering::Relaxed);
        session.holding.act_until_deadline();
        shared.pause(Duration::from_millis(20));
    }
}

/// Moves this thread into a network namespace.
fn enter(namespace: Option<&str>) -> io::Result<()> {
    let Some(namespace) = namespace else { return Ok(()) };
    let link = File::open(Path::new("/run/netns").join(namespace))?;
    Ok(move_into_link_name_space(link.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// What the node says about a session.
#[derive(Deserialize, Debug)]
struct View {
    session: String,
    state: State,
    token: Option<u64>,
    lease_ms: u64,
    renew_ms: u64,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
enum State {
    Waiting,
    Held,
    Stop,
    Lost,
    Resigned,
}

/// A request that is not answered yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pending {
    /// When it was sent, on the machine's clock.
    sent: u64,
    /// When the client stops waiting for the answer.
    until: u64,
}

/// One session of a client.
struct Session<'a> {
    shared: &'a Shared,
    spec: &'a mut HttpClientSpec,
    is_campaigning: &'a AtomicBool,
    holding: Holding<'a>,
    socket: Option<HttpSocket>,
    /// The session's name, once the node has answered.
    id: Option<String>,
    pending: Option<Pending>,
    /// When the next request is sent.
    asks_at: u64,
    /// How long the node may let the next request wait.
    wait_ms: u64,
    /// The token for which the client has stopped and has not said so yet.
    stopped: Option<u64>,
    hangs_until: Option<u64>,
    disruption_at: u64,
    is_over: bool,
}

impl<'a> Session<'a> {
    fn new(shared: &'a Shared, spec: &'a mut HttpClientSpec, is_campaigning: &'a AtomicBool, name: String) -> Self {
        let now = clock::now();
        let disruption_at = now + next_disruption(shared, &mut spec.rng);
        Session {
            shared,
            holding: Holding::new(shared, spec.campaign.clone(), name),
            spec,
            is_campaigning,
            socket: None,
            id: None,
            pending: None,
            asks_at: now,
            wait_ms: 0,
            stopped: None,
            hangs_until: None,
            disruption_at,
            is_over: false,
        }
    }

    /// Campaigns until the session ends or the client forgets it.
    fn run(&mut self) {
        while !self.shared.is_over() && !self.is_over {
            let now = clock::now();
            self.holding.act(now);
            if self.holding.has_to_stop(now) {
                self.stopped = self.holding.end("stop");
                self.asks_at = now;
            }
            self.disrupt(now);
            if self.is_over {
                return;
            }
            let wait = Duration::from_nanos(self.next(now).saturating_sub(now));
            match self.hangs_until {
                Some(_) => std::thread::sleep(wait),
                None => self.exchange(now, wait),
            }
        }
        if self.shared.is_over() {
            self.holding.end("left");
        }
    }

    /// When the client has something to do, apart from reading responses.
    fn next(&self, now: u64) -> u64 {
        let asks_at = if self.pending.is_none() { self.asks_at } else { u64::MAX };
        self.holding.next(now).min(self.hangs_until.unwrap_or(u64::MAX)).min(asks_at).max(now)
    }

    /// Lets the client hang, resign or forget its session.
    fn disrupt(&mut self, now: u64) {
        let is_recovering = self.shared.is_recovering();
        if self.hangs_until.is_some_and(|until| until <= now || is_recovering) {
            self.hangs_until = None;
        }
        if is_recovering || now < self.disruption_at || self.id.is_none() || self.hangs_until.is_some() {
            return;
        }
        self.disruption_at = now + next_disruption(self.shared, &mut self.spec.rng);
        match self.spec.rng.below(10) {
            0..6 => {
                self.hangs_until = Some(now + self.spec.rng.log_uniform(20, 1_500) * MILLISECOND);
                self.is_campaigning.store(false, Ordering::Relaxed);
            }
            6..9 => self.resign(),
            _ => self.is_over = true,
        }
    }

    /// Stops and ends the session. If its node does not hear of it, the session expires.
    fn resign(&mut self) {
        self.holding.end("withdrew");
        self.is_over = true;
        self.is_campaigning.store(false, Ordering::Relaxed);
        let resigned = HttpSocket::connect(self.spec.address).and_then(|mut socket| {
            socket.post(&self.path("resign"), &json!({ "session": self.id }))?;
            socket.receive(Duration::from_nanos(PATIENCE))
        });
        drop(resigned);
        let away = self.spec.rng.log_uniform(5, 800);
        self.shared.pause(Duration::from_millis(away));
    }

    /// Sends the next request, if it is due, and handles the response, if there is one.
    fn exchange(&mut self, now: u64, wait: Duration) {
        if self.pending.is_none() && now >= self.asks_at && self.ask(now).is_err() {
            return self.fail(now);
        }
        let Some(pending) = self.pending else { return std::thread::sleep(wait) };
        let Some(socket) = &mut self.socket else { return self.fail(now) };
        match socket.receive(wait) {
            Ok(Some(response)) => {
                self.pending = None;
                self.handle_response(&response, pending.sent);
            }
            Ok(None) if now < pending.until => {}
            _ => self.fail(now),
        }
    }

    fn ask(&mut self, now: u64) -> io::Result<()> {
        let exclusive = self.spec.campaign.exclusive;
        let (action, body) = match &self.id {
            None => {
                let mode = if exclusive { "exclusive" } else { "fenced" };
                ("campaign", json!({ "mode": mode, "ttl_ms": self.spec.ttl_ms }))
            }
            Some(id) => ("renew", json!({ "session": id, "wait_ms": self.wait_ms, "stopped": self.stopped })),
        };
        let path = self.path(action);
        let socket = match &mut self.socket {
            Some(socket) => socket,
            None => self.socket.insert(HttpSocket::connect(self.spec.address)?),
        };
        // Before it is sent: what it may do counts from then.
        let sent = clock::now();
        socket.post(&path, &without_nulls(body))?;
        self.pending = Some(Pending { sent, until: now + self.wait_ms * MILLISECOND + PATIENCE });
        Ok(())
    }

    fn path(&self, action: &str) -> String {
        format!("/v1/offices/{}/{action}", self.spec.campaign.office)
    }

    /// There is no answer. The session may go on, so the client asks again.
    fn fail(&mut self, now: u64) {
        (self.socket, self.pending) = (None, None);
        (self.asks_at, self.wait_ms) = (now + RETRY, 0);
        self.is_campaigning.store(false, Ordering::Relaxed);
    }

    fn handle_response(&mut self, response: &Response, sent: u64) {
        let now = clock::now();
        let view = (200..300).contains(&response.status).then(|| serde_json::from_slice(&response.body));
        match view {
            Some(Ok(view)) => self.handle_view(view, sent, now),
            // The session is over: it expired, or its node was restarted. The client's deadline still holds.
            None if response.status == 404 => self.is_over = true,
            _ => self.fail(now),
        }
    }

    fn handle_view(&mut self, view: View, sent: u64, now: u64) {
        self.stopped = None;
        self.id = Some(view.session);
        self.is_campaigning.store(true, Ordering::Relaxed);
        (self.asks_at, self.wait_ms) = (now, WAIT_MS);
        let held = self.holding.tenure.map(|tenure| tenure.token);
        match (view.state, view.token) {
            (State::Held, Some(token)) => {
                let lease = view.lease_ms * MILLISECOND;
                let deadline = sent + self.spec.clock.real(lease);
                match held == Some(token) {
                    true => self.holding.renew(deadline, now),
                    false => self.holding.acquire(token, deadline, Duration::from_nanos(lease), now),
                }
                self.wait_ms = view.renew_ms.min(WAIT_MS);
            }
            (State::Stop, Some(token)) => match &mut self.holding.tenure {
                Some(tenure) if tenure.token == token => {
                    let at = *tenure.stops_at.get_or_insert(now + self.spec.rng.below(MAX_STOP_TIME));
                    self.asks_at = at;
                }
                // The client has already stopped, or never knew that it held the office.
                _ => self.stopped = Some(token),
            },
            (State::Resigned, _) => self.is_over = true,
            (State::Waiting | State::Lost | State::Held | State::Stop, _) => {
                self.holding.end("lost");
            }
        }
    }
}

/// An object without the fields that are null.
fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

#[cfg(test)]
mod tests;
