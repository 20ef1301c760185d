//! Programs that campaign for many offices over few connections.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use hustings_cluster::api::{ChangeReason, Client, ClientError, Reply, Request};
use hustings_cluster::clock::{Clock, Timestamp};

use super::tally::{Tally, Told};
use crate::cluster::Cluster;
use crate::error::HarnessError;

/// How many offices a connection campaigns for: less than a node allows, so that several connections are used.
const OFFICES_PER_CONNECTION: usize = 1_000;
/// How many requests of a connection may wait for a reply.
const MAX_UNANSWERED: usize = 64;
/// How long a connection waits for replies before it looks for more to do.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const PREFIX: &str = "bench-";

/// What a connection reports.
enum Notice {
    Told {
        office: usize,
        node: usize,
        told: Told,
        at: Timestamp,
    },
    /// A campaign was accepted or rejected.
    Answered,
    Disconnected {
        node: usize,
        offices: Vec<usize>,
    },
}

/// All programs.
pub(super) struct Campaigns {
    notices: Receiver<Notice>,
    sender: Sender<Notice>,
    /// The connections of each node, each with the number of its offices.
    connections: Vec<Vec<(Sender<Vec<usize>>, usize)>>,
    tally: Tally,
    /// How many campaigns wait for an answer.
    unanswered: usize,
}

impl Campaigns {
    /// No program runs yet.
    pub(super) fn new(nodes: usize) -> Self {
        let (sender, notices) = channel();
        let connections = (0..nodes).map(|_| Vec::new()).collect();
        Campaigns { notices, sender, connections, tally: Tally::default(), unanswered: 0 }
    }

    /// Who holds which office, according to the notices that were processed.
    pub(super) fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Campaigns for further offices at a node.
    pub(super) fn add(&mut self, cluster: &Cluster, node: usize, offices: &[usize]) -> Result<(), HarnessError> {
        let mut rest = offices;
        while !rest.is_empty() {
            if self.connections[node].last().is_none_or(|(_, count)| *count >= OFFICES_PER_CONNECTION) {
                self.connect(cluster, node)?;
            }
            let Some((work, count)) = self.connections[node].last_mut() else { break };
            let (now, later) = rest.split_at(rest.len().min(OFFICES_PER_CONNECTION - *count));
            *count += now.len();
            // If the connection has ended, its end is reported.
            if work.send(now.to_vec()).is_ok() {
                self.unanswered += now.len();
            }
            rest = later;
        }
        Ok(())
    }

    fn connect(&mut self, cluster: &Cluster, node: usize) -> Result<(), HarnessError> {
        let client = cluster.client(node)?;
        let (work, todo) = channel();
        let notices = self.sender.clone();
        let (queue, pending) = (VecDeque::new(), VecDeque::new());
        let connection = Connection { client, node, todo, notices, queue, pending, own: Vec::new() };
        let spawned = thread::Builder::new().name(format!("program-{node}")).spawn(move || connection.run());
        spawned.map_err(crate::error::io_error("cannot start a thread"))?;
        self.connections[node].push((work, 0));
        Ok(())
    }

    /// Waits until every campaign was answered, or the deadline.
    pub(super) fn wait_until_accepted(&mut self, deadline: Instant) {
        while self.unanswered > 0 && Instant::now() < deadline {
            self.process_notices(POLL_INTERVAL);
        }
    }

    /// Processes the notices that are there, and waits for the first one for this long.
    pub(super) fn process_notices(&mut self, wait: Duration) {
        match self.notices.recv_timeout(wait) {
            Ok(notice) => self.handle_notice(notice),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(notice) = self.notices.try_recv() {
            self.handle_notice(notice);
        }
    }

    fn handle_notice(&mut self, notice: Notice) {
        match notice {
            Notice::Told { office, node, told, at } => self.tally.update(office, node, told, at),
            Notice::Answered => self.unanswered = self.unanswered.saturating_sub(1),
            Notice::Disconnected { node, offices } => self.tally.disconnect(node, &offices),
        }
    }
}

/// A connection of a program, in a thread of its own.
struct Connection {
    client: Client,
    node: usize,
    todo: Receiver<Vec<usize>>,
    notices: Sender<Notice>,
    /// Offices to campaign for.
    queue: VecDeque<usize>,
    /// The requests that were not answered yet.
    pending: VecDeque<Pending>,
    /// Offices that it campaigns for.
    own: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Campaign,
    Stopped,
}

impl Connection {
    /// Runs until the node or the owner is gone.
    fn run(mut self) {
        while self.advance().is_some() {}
        // The owner may be gone.
        let _ = self.notices.send(Notice::Disconnected { node: self.node, offices: self.own });
    }

    /// Sends requests and handles a reply, if there is one. Returns `None` if the node or the owner is gone.
    fn advance(&mut self) -> Option<()> {
        match self.todo.try_recv() {
            Ok(offices) => self.queue.extend(offices),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        while self.pending.len() < MAX_UNANSWERED
            && let Some(office) = self.queue.pop_front()
        {
            self.own.push(office);
            self.pending.push_back(Pending::Campaign);
            self.client.send(&Request::Campaign { office: name(office), mode: None, guard: None }).ok()?;
        }
        match self.client.recv(Some(POLL_INTERVAL)) {
            Ok(reply) => self.handle_reply(reply),
            Err(ClientError::Timeout { .. }) => Some(()),
            Err(_) => None,
        }
    }

    fn handle_reply(&mut self, reply: Reply) -> Option<()> {
        let at = Clock::new().now();
        let (office, told) = match reply {
            Reply::Held(lease) => (lease.office, Told::Held),
            Reply::Lost { office, .. } => (office, Told::Lost),
            Reply::Stop { office, token, reason } => {
                self.pending.push_back(Pending::Stopped);
                self.client.send(&Request::Stopped { office: office.clone(), token }).ok()?;
                (office, if reason == ChangeReason::Preempted { Told::HandsOver } else { Told::Lost })
            }
            Reply::Done | Reply::Error(_) => {
                let is_campaign = self.pending.pop_front() == Some(Pending::Campaign);
                return if is_campaign { self.notices.send(Notice::Answered).ok() } else { Some(()) };
            }
            _ => return Some(()),
        };
        let office = number(&office)?;
        self.notices.send(Notice::Told { office, node: self.node, told, at }).ok()
    }
}

fn name(office: usize) -> String {
    format!("{PREFIX}{office}")
}

fn number(name: &str) -> Option<usize> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_correspond() {
        for office in [0, 9, 10_000] {
            assert_eq!(number(&name(office)), Some(office));
        }
        assert_eq!((number("leader"), number("bench-x")), (None, None));
    }
}
