//! Clients that campaign for an office, one on each node, and what they are told.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use hustings_cluster::api::{Client, Reply, Request};
use hustings_cluster::clock::{Clock, Timestamp};

use crate::cluster::{Cluster, TIMEOUT};
use crate::error::HarnessError;

/// The office that the clients campaign for.
pub(crate) const OFFICE: &str = "trial";

/// A client was told that it holds the office.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grant {
    /// The client's node.
    pub(crate) node: usize,
    /// The token.
    pub(crate) token: u64,
    /// When the client was told.
    pub(crate) at: Timestamp,
}

/// Something that a client was told.
struct Notice {
    node: usize,
    /// Identifies the client: a node that was restarted has a new one.
    client: usize,
    at: Timestamp,
    kind: NoticeKind,
}

#[derive(Clone, Copy)]
enum NoticeKind {
    /// The client holds the office with this token until this deadline.
    Held(u64, Timestamp),
    /// The client was asked to stop, and confirmed at once that it had.
    Stopped(u64),
    /// The client lost the office.
    Lost(u64),
    /// The connection to the node ended.
    Disconnected,
}

/// The clients of all nodes.
pub(crate) struct Clients {
    notices: Receiver<Notice>,
    sender: Sender<Notice>,
    started: usize,
    tenures: BTreeMap<u64, Tenure>,
}

/// The time during which a client holds the office with one token.
struct Tenure {
    /// The first client that was told of the token.
    grant: Grant,
    client: usize,
    deadline: Timestamp,
    /// No later notice can extend the deadline.
    is_over: bool,
}

impl Clients {
    /// Starts a client on each node.
    pub(crate) fn start(cluster: &Cluster) -> Result<Self, HarnessError> {
        let (sender, notices) = channel();
        let mut clients = Clients { notices, sender, started: 0, tenures: BTreeMap::new() };
        (0..cluster.size()).try_for_each(|node| clients.start_client(cluster, node))?;
        Ok(clients)
    }

    /// Starts a client on one node. It campaigns until its connection ends.
    pub(crate) fn start_client(&mut self, cluster: &Cluster, node: usize) -> Result<(), HarnessError> {
        let mut connection = cluster.client(node)?;
        connection.send(&Request::Campaign { office: OFFICE.to_string(), mode: None, guard: None })?;
        let notices = self.sender.clone();
        self.started += 1;
        let client = self.started;
        thread::spawn(move || forward(&mut connection, node, client, &notices));
        Ok(())
    }

    /// The current holder, according to what the clients have been told by now.
    pub(crate) fn holder(&mut self, cluster: &Cluster) -> Result<Grant, HarnessError> {
        while let Ok(notice) = self.notices.try_recv() {
            self.handle_notice(&notice);
        }
        self.wait_for(cluster, "no client held the office", |clients| {
            clients.tenures.values().next_back().filter(|tenure| !tenure.is_over).map(|tenure| tenure.grant)
        })
    }

    /// The first grant with a token greater than `token`.
    pub(crate) fn holder_after(&mut self, cluster: &Cluster, token: u64) -> Result<Grant, HarnessError> {
        self.wait_for(cluster, "no other client held the office", |clients| {
            clients.tenures.range(token + 1..).next().map(|(_, tenure)| tenure.grant)
        })
    }

    /// Waits until a holder knows that it lost the office. Returns the deadline until which it was allowed to act.
    pub(crate) fn end_of(&mut self, cluster: &Cluster, grant: Grant) -> Result<Timestamp, HarnessError> {
        self.wait_for(cluster, "the old holder was not told that it lost the office", |clients| {
            clients.tenures.get(&grant.token).filter(|tenure| tenure.is_over).map(|tenure| tenure.deadline)
        })
    }

    /// Handles notices until there is an answer.
    fn wait_for<T>(
        &mut self,
        cluster: &Cluster,
        failure: &str,
        answer: impl Fn(&Clients) -> Option<T>,
    ) -> Result<T, HarnessError> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(answer) = answer(self) {
                return Ok(answer);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let notice = self.notices.recv_timeout(left).map_err(|_| cluster.timed_out(failure))?;
            self.handle_notice(&notice);
        }
    }

    fn handle_notice(&mut self, notice: &Notice) {
        let Notice { node, client, at, kind } = *notice;
        match kind {
            NoticeKind::Held(token, deadline) => {
                let first = || Tenure { grant: Grant { node, token, at }, client, deadline, is_over: false };
                let tenure = self.tenures.entry(token).or_insert_with(first);
                tenure.deadline = tenure.deadline.max(deadline);
            }
            NoticeKind::Stopped(token) => {
                if let Some(tenure) = self.tenures.get_mut(&token) {
                    (tenure.deadline, tenure.is_over) = (tenure.deadline.min(at), true);
                }
            }
            NoticeKind::Lost(token) => {
                if let Some(tenure) = self.tenures.get_mut(&token) {
                    tenure.is_over = true;
                }
            }
            NoticeKind::Disconnected => {
                let own = self.tenures.values_mut().filter(|tenure| tenure.client == client);
                own.for_each(|tenure| tenure.is_over = true);
            }
        }
    }
}

/// Forwards what a client is told until its connection or the receiver is gone.
fn forward(connection: &mut Client, node: usize, client: usize, notices: &Sender<Notice>) {
    let send = |kind| notices.send(Notice { node, client, at: Clock::new().now(), kind }).is_ok();
    // The lease that is renewed: its token and length.
    let mut lease = None;
    while let Ok(reply) = connection.recv(None) {
        let has_receiver = match reply {
            Reply::Held(held) => {
                lease = Some((held.token, held.lease));
                send(NoticeKind::Held(held.token, held.deadline))
            }
            Reply::Renewed { from } => lease.is_none_or(|(token, length)| send(NoticeKind::Held(token, from + length))),
            Reply::Lost { token, .. } => {
                lease = None;
                send(NoticeKind::Lost(token))
            }
            Reply::Stop { office, token, .. } => {
                lease = None;
                send(NoticeKind::Stopped(token)) && connection.send(&Request::Stopped { office, token }).is_ok()
            }
            _ => true,
        };
        if !has_receiver {
            return;
        }
    }
    send(NoticeKind::Disconnected);
}
