//! Asks the nodes, as long as somebody looks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use hustings_cluster::api::{Change, Client, ClientError, Reply, Request, Status};
use hustings_cluster::clock::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use super::failover::Failover;
use super::measured::Measured;
use super::offices::Offices;
use super::{Control, LiveNode, failover, offices, state};

/// How often every node is asked.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long a node may take to answer. A frozen one does not answer at all.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// How many pages may look at once.
const MAX_VIEWERS: usize = 16;

/// A cluster, as its nodes describe it.
pub struct Monitor {
    pub(super) nodes: Vec<LiveNode>,
    pub(super) control: Option<Arc<dyn Control>>,
    known: Mutex<Known>,
    changed: watch::Sender<u64>,
    viewers: AtomicUsize,
}

/// What is known about the cluster.
#[derive(Default)]
pub(super) struct Known {
    /// The last answer of each node; `None` if it does not answer.
    pub(super) answers: Vec<Option<Status>>,
    /// What each node measured, as long as it answers.
    pub(super) measured: Vec<Option<Measured>>,
    pub(super) offices: Offices,
    /// The last changes of the leader, oldest first.
    pub(super) history: Vec<Change>,
    /// When the last of these changes was noticed, on the clock of this host.
    pub(super) leader_noticed: Option<Timestamp>,
    pub(super) failover: Failover,
}

/// Somebody who looks at the cluster.
pub(crate) struct Viewer(Arc<Monitor>);

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Monitor {
    /// Watches the cluster of these nodes until the value is dropped.
    pub fn start(nodes: Vec<LiveNode>, control: Option<Arc<dyn Control>>) -> Arc<Monitor> {
        let known = Known {
            answers: nodes.iter().map(|_| None).collect(),
            measured: nodes.iter().map(|_| None).collect(),
            ..Known::default()
        };
        let monitor = Arc::new(Monitor {
            nodes,
            control,
            known: Mutex::new(known),
            changed: watch::Sender::new(0),
            viewers: AtomicUsize::new(0),
        });
        for node in 0..monitor.nodes.len() {
            let weak = Arc::downgrade(&monitor);
            thread::spawn(move || follow(&weak, node));
        }
        let weak = Arc::downgrade(&monitor);
        thread::spawn(move || offices::follow(&weak));
        let weak = Arc::downgrade(&monitor);
        thread::spawn(move || failover::follow(&weak));
        monitor
    }

    /// Something changed that the nodes do not report, such as a process.
    pub fn notify(&self) {
        self.changed.send_modify(|version| *version += 1);
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node that answers and is in touch with a majority, if there is one; otherwise any that answers.
    pub(super) fn preferred(&self) -> Option<usize> {
        let known = self.known();
        let is_current = |node: &usize| known.answers[*node].as_ref().is_some_and(|status| status.current);
        let nodes = 0..known.answers.len();
        nodes.clone().find(is_current).or_else(|| nodes.clone().find(|node| known.answers[*node].is_some()))
    }

    /// Somebody looks, unless too many do already.
    pub(crate) fn view(self: &Arc<Self>) -> Option<(Viewer, watch::Receiver<u64>)> {
        let viewer = Viewer(Arc::clone(self));
        let before = self.viewers.fetch_add(1, Ordering::Relaxed);
        (before < MAX_VIEWERS).then(|| (viewer, self.changed.subscribe()))
    }

    pub(crate) fn control(&self) -> Option<Arc<dyn Control>> {
        self.control.clone()
    }

    /// Everything that the page shows at once.
    pub(crate) fn state(&self) -> Value {
        state::describe(&self.known(), self.control.as_ref().map(|control| control.view()))
    }

    /// The last failover, drawn; null if there was none.
    pub(crate) fn failover(&self) -> Value {
        self.known().failover.content.clone()
    }

    /// A page of the offices whose names or holders contain a text.
    pub(crate) fn offices(&self, search: &str, page: usize) -> Value {
        self.known().offices.page(search, page)
    }
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// Asks one node again and again until the monitor is gone. Nobody is asked while nobody looks.
fn follow(monitor: &Weak<Monitor>, node: usize) {
    let mut client = None;
    while let Some(monitor) = monitor.upgrade() {
        if monitor.viewers.load(Ordering::Relaxed) > 0 {
            let former = monitor.known().measured[node].clone();
            let answers = ask(&mut client, &monitor.nodes[node], former);
            if answers.is_err() {
                // A late answer would be taken for that of the next request.
                client = None;
            }
            let (status, measured) = answers.map_or((None, None), |(status, measured)| (Some(status), measured));
            {
                let mut known = monitor.known();
                known.answers[node] = status;
                known.measured[node] = measured;
            }
            monitor.notify();
        }
        drop(monitor);
        thread::sleep(POLL_INTERVAL);
    }
}

fn ask(
    client: &mut Option<Client>,
    node: &LiveNode,
    former: Option<Measured>,
) -> Result<(Status, Option<Measured>), ClientError> {
    let client = match client {
        Some(client) => client,
        None => client.insert(Client::connect(&node.socket, Duration::ZERO)?),
    };
    let Reply::Status(mut status) = client.call(&Request::Status, Some(REPLY_TIMEOUT))? else {
        return Err(ClientError::UnexpectedReply);
    };
    // Offices are followed with a watch, which has all of them.
    status.offices = Vec::new();
    let measured = match former {
        Some(former) if former.is_recent() => Some(former),
        former => match client.call(&Request::Metrics, Some(REPLY_TIMEOUT))? {
            Reply::Metrics(metrics) => Some(Measured::new(&metrics, former.as_ref())),
            _ => None,
        },
    };
    Ok((*status, measured))
}
