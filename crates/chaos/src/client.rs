//! A client: campaigns for one office at one node, acts while it holds the office, and stops when it is told to.
//!
//! It relies only on what its node tells it and on its own clock. When its node is gone it acts until its deadline,
//! like a program whose node was killed. While it hangs it reads nothing, and stops when the deadline passes.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hustings_cluster::api::{Lease, Reply, Request};
use hustings_cluster::clock::Timestamp;
use hustings_cluster::config::Mode;

use crate::clock::{self, HostClock, MILLISECOND};
use crate::holding::{Campaign, Holding};
use crate::rng::Rng;
use crate::shared::Shared;
use crate::socket::Socket;

/// A deadline further away than this means that there is no lease, because there is no arbiter. Then a client that
/// loses its node loses the office.
const NO_LEASE: u64 = 3_600_000 * MILLISECOND;
/// How long a client takes at most to stop.
pub(crate) const MAX_STOP_TIME: u64 = 6 * MILLISECOND;

/// The properties of a client.
#[derive(Clone, Debug)]
pub(crate) struct ClientSpec {
    /// The client's node.
    pub(crate) node: String,
    /// Its index among the clients of the same node and office.
    pub(crate) number: usize,
    /// The office.
    pub(crate) office: String,
    /// Whether the office is exclusive.
    pub(crate) exclusive: bool,
    /// The node's socket.
    pub(crate) socket: PathBuf,
    /// The clock of the node, in which its deadlines are given.
    pub(crate) clock: HostClock,
    /// Decides when the client hangs, withdraws or disconnects.
    pub(crate) rng: Rng,
}

/// Runs a client until the run is over. Sets `is_campaigning` while the client campaigns and reads replies.
fn run_client(shared: &Shared, mut spec: ClientSpec, is_campaigning: &AtomicBool) {
    let mut sessions = 0;
    while !shared.is_over() {
        if let Ok(socket) = Socket::connect(&spec.socket) {
            sessions += 1;
            let name = format!("{}.{}.{}#{sessions}", spec.node, spec.office, spec.number);
            let mut session = Session::new(shared, &mut spec, is_campaigning, name);
            // Whatever the error, the client connects again.
            let _ = session.campaign(socket);
            session.act_until_deadline();
        }
        is_campaigning.store(false, Ordering::Relaxed);
        shared.pause(Duration::from_millis(20));
    }
}

/// A request that the node has not answered yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pending {
    Campaign,
    Withdraw,
    Stopped,
}

/// One connection of a client.
struct Session<'a> {
    shared: &'a Shared,
    spec: &'a mut ClientSpec,
    is_campaigning: &'a AtomicBool,
    holding: Holding<'a>,
    pending: VecDeque<Pending>,
    /// The client has withdrawn, and campaigns again at this moment.
    away_until: Option<u64>,
    hangs_until: Option<u64>,
    disruption_at: u64,
}

impl<'a> Session<'a> {
    fn new(shared: &'a Shared, spec: &'a mut ClientSpec, is_campaigning: &'a AtomicBool, name: String) -> Self {
        let disruption_at = clock::now() + next_disruption(shared, &mut spec.rng);
        let (node, office, exclusive) = (spec.node.clone(), spec.office.clone(), spec.exclusive);
        Session {
            shared,
            spec,
            is_campaigning,
            holding: Holding::new(shared, Campaign { node, office, exclusive }, name),
            pending: VecDeque::new(),
            away_until: None,
            hangs_until: None,
            disruption_at,
        }
    }

    /// Campaigns until the connection ends or the client disconnects.
    fn campaign(&mut self, mut socket: Socket) -> io::Result<()> {
        self.send_campaign(&mut socket)?;
        while !self.shared.is_over() {
            let now = clock::now();
            self.holding.act(now);
            if self.holding.has_to_stop(now) {
                self.stop(&mut socket)?;
            }
            if !self.disrupt(now, &mut socket)? {
                break;
            }
            let wait = Duration::from_nanos(self.next(now).saturating_sub(now));
            if self.hangs_until.is_some() {
                std::thread::sleep(wait);
            } else if let Some(reply) = socket.receive(wait)? {
                self.handle_reply(reply, &mut socket)?;
            }
        }
        self.holding.end("left");
        Ok(())
    }

    /// Acts until the deadline after the connection has ended.
    fn act_until_deadline(&mut self) {
        self.is_campaigning.store(false, Ordering::Relaxed);
        if self.holding.tenure.is_some_and(|tenure| tenure.deadline > clock::now() + NO_LEASE) {
            self.holding.end("gone");
        }
        self.holding.act_until_deadline();
    }

    /// When the client has something to do, apart from reading replies.
    fn next(&self, now: u64) -> u64 {
        let next = self.holding.next(now);
        next.min(self.hangs_until.unwrap_or(u64::MAX)).min(self.away_until.unwrap_or(u64::MAX)).max(now)
    }

    /// Lets the client hang, withdraw, campaign again or disconnect. Returns false if it disconnected.
    fn disrupt(&mut self, now: u64, socket: &mut Socket) -> io::Result<bool> {
        let is_recovering = self.shared.is_recovering();
        if self.hangs_until.is_some_and(|until| until <= now || is_recovering) {
            self.hangs_until = None;
        }
        if self.away_until.is_some_and(|until| until <= now || is_recovering) {
            self.away_until = None;
            self.send_campaign(socket)?;
        }
        let is_waiting =
            self.pending.contains(&Pending::Campaign) || self.away_until.is_some() || self.hangs_until.is_some();
        self.is_campaigning.store(!is_waiting, Ordering::Relaxed);
        if is_recovering || now < self.disruption_at || is_waiting {
            return Ok(true);
        }
        self.disruption_at = now + next_disruption(self.shared, &mut self.spec.rng);
        match self.spec.rng.below(10) {
            0..5 => self.hangs_until = Some(now + self.spec.rng.log_uniform(20, 1_500) * MILLISECOND),
            5..8 => {
                self.holding.end("withdrew");
                self.request(socket, &Request::Withdraw { office: self.spec.office.clone() }, Pending::Withdraw)?;
                self.away_until = Some(now + self.spec.rng.log_uniform(5, 800) * MILLISECOND);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn send_campaign(&mut self, socket: &mut Socket) -> io::Result<()> {
        let mode = if self.spec.exclusive { Mode::Exclusive } else { Mode::Fenced };
        let request = Request::Campaign { office: self.spec.office.clone(), mode: Some(mode), guard: None };
        self.request(socket, &request, Pending::Campaign)
    }

    fn request(&mut self, socket: &mut Socket, request: &Request, pending: Pending) -> io::Result<()> {
        self.pending.push_back(pending);
        socket.send(request)
    }

    fn handle_reply(&mut self, reply: Reply, socket: &mut Socket) -> io::Result<()> {
        let now = clock::now();
        match reply {
            Reply::Done => drop(self.pending.pop_front()),
            Reply::Error(_) => {
                let campaigned = self.pending.pop_front() == Some(Pending::Campaign);
                self.away_until = if campaigned { Some(now + 100 * MILLISECOND) } else { self.away_until };
            }
            Reply::Held(lease) if self.wants_office() => self.handle_held(&lease, now),
            Reply::Renewed { from } if self.wants_office() => self.handle_renewed(from, now),
            Reply::Stop { token, .. } => match &mut self.holding.tenure {
                Some(tenure) if tenure.token == token => {
                    tenure.stops_at = Some(now + self.spec.rng.below(MAX_STOP_TIME));
                }
                // The client has already stopped.
                _ => self.confirm_stop(socket, token)?,
            },
            Reply::Lost { token, .. } if self.holding.tenure.is_some_and(|tenure| tenure.token == token) => {
                self.holding.end("lost");
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the client wants the office. Grants that the node sent before it read the withdrawal are ignored.
    fn wants_office(&self) -> bool {
        self.away_until.is_none() && !self.pending.contains(&Pending::Withdraw)
    }

    fn handle_held(&mut self, lease: &Lease, now: u64) {
        let deadline = self.spec.clock.real(lease.deadline.0);
        self.holding.acquire(lease.token, deadline, lease.lease, now);
    }

    fn handle_renewed(&mut self, from: Timestamp, now: u64) {
        let Some(tenure) = self.holding.tenure else { return };
        self.holding.renew(self.spec.clock.real((from + tenure.lease).0), now);
    }

    /// Stops because the node asked the client to, and confirms it.
    fn stop(&mut self, socket: &mut Socket) -> io::Result<()> {
        match self.holding.end("stop") {
            Some(token) => self.confirm_stop(socket, token),
            None => Ok(()),
        }
    }

    fn confirm_stop(&mut self, socket: &mut Socket, token: u64) -> io::Result<()> {
        let request = Request::Stopped { office: self.spec.office.clone(), token };
        self.request(socket, &request, Pending::Stopped)
    }
}

/// How long it takes until a client hangs, withdraws or disconnects.
pub(crate) fn next_disruption(shared: &Shared, rng: &mut Rng) -> u64 {
    let longest = if shared.has_churn { 600 } else { 30_000 };
    rng.log_uniform(300, longest) * MILLISECOND
}

/// A client in a thread of its own.
pub(crate) struct ClientThread {
    is_campaigning: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl ClientThread {
    /// Starts the client.
    pub(crate) fn start(shared: &Arc<Shared>, spec: ClientSpec) -> io::Result<Self> {
        let name = format!("{}.{}.{}", spec.node, spec.office, spec.number);
        let shared = Arc::clone(shared);
        ClientThread::spawn(name, move |is_campaigning| run_client(&shared, spec, is_campaigning))
    }

    /// Runs a client, which sets the flag while it campaigns and reads replies.
    pub(crate) fn spawn(name: String, run: impl FnOnce(&AtomicBool) + Send + 'static) -> io::Result<Self> {
        let is_campaigning = Arc::new(AtomicBool::new(false));
        let shown = Arc::clone(&is_campaigning);
        let thread = std::thread::Builder::new().name(name).spawn(move || run(&is_campaigning))?;
        Ok(ClientThread { is_campaigning: shown, thread })
    }

    /// Whether the client campaigns and reads replies.
    pub(crate) fn is_campaigning(&self) -> bool {
        self.is_campaigning.load(Ordering::Relaxed)
    }

    /// Waits for the thread; an error if it panicked.
    pub(crate) fn join(self) -> io::Result<()> {
        let name = self.thread.thread().name().unwrap_or_default().to_string();
        self.thread.join().map_err(|_| io::Error::other(format!("client {name} panicked")))
    }
}

#[cfg(test)]
mod tests;
