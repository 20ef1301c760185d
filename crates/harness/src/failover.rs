//! The time from the loss of an office's holder until the next holder is told.

use hustings_cluster::api::{Client, Request};
use hustings_cluster::clock::{Clock, Timestamp};
use rustix::process::Signal;

use crate::clients::{Clients, Grant, OFFICE};
use crate::cluster::Cluster;
use crate::error::HarnessError;
use crate::percentiles::Percentiles;

/// How the office loses its holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The holder's process is killed; its host closes the connections.
    Killed,
    /// The holder is asked to hand the office over.
    HandsOver,
    /// The holder's process is stopped with SIGSTOP, as if it or its host hung.
    Frozen,
    /// The holder's host is isolated from all other hosts. Its clients still reach their node.
    CutOff,
    /// The holder's host is isolated and then the process is killed, so that no peer sees a connection end.
    HostDead,
}

impl End {
    /// All of them, each with its name on the command line and what it means there.
    pub const ALL: [(End, &str, &str); 5] = [
        (End::Killed, "killed", "SIGKILL"),
        (End::HandsOver, "hands-over", "`hustings transfer`"),
        (End::Frozen, "frozen", "SIGSTOP, as if the host hung"),
        (End::CutOff, "cut-off", "Its host is isolated: no bytes in or out"),
        (
            End::HostDead,
            "host-dead",
            "Its host is isolated and then its process gets SIGKILL: no peer sees a connection end",
        ),
    ];

    /// Whether this needs a cluster that is [proxied](crate::Layout::proxied).
    pub fn needs_proxy(self) -> bool {
        matches!(self, End::CutOff | End::HostDead)
    }
}

/// The result of a measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Failover {
    /// The time from just before the loss until the next holder is told.
    pub latency: Percentiles,
    /// How often the old holder had certainly stopped before the next one was told: its last deadline had passed, or
    /// it had confirmed that it stopped.
    pub stopped_first: usize,
    /// How often the old holder's node led the arbiter as well, so that the arbiter had to elect a leader first.
    pub led_arbiter: usize,
    /// How often the office had already moved when its holder was to be ended. Those attempts are repeated and not
    /// counted.
    pub moved_by_itself: usize,
}

/// What was measured so far.
#[derive(Default)]
pub(crate) struct Tally {
    latencies: Vec<u64>,
    stopped_first: usize,
    led_arbiter: usize,
    moved_by_itself: usize,
}

/// One loss of a holder.
pub(crate) struct Attempt {
    /// Just before the loss.
    pub(crate) began: Timestamp,
    /// When the next holder was told.
    pub(crate) next_at: Timestamp,
    /// Whether the old holder had certainly stopped before that.
    pub(crate) stopped_first: bool,
    /// Whether the old holder's node led the arbiter.
    pub(crate) led_arbiter: bool,
}

impl Tally {
    /// How many attempts count.
    pub(crate) fn count(&self) -> usize {
        self.latencies.len()
    }

    /// Counts an attempt, unless the office had moved before. Fails if that happens more than `times` times.
    pub(crate) fn add(&mut self, attempt: &Attempt, cluster: &Cluster, times: usize) -> Result<bool, HarnessError> {
        if attempt.next_at < attempt.began {
            self.moved_by_itself += 1;
            if self.moved_by_itself > times {
                let folder = cluster.folder().display().to_string();
                return Err(HarnessError::Unstable { times: self.moved_by_itself, folder });
            }
            return Ok(false);
        }
        self.latencies.push(attempt.next_at.since(attempt.began).as_nanos() as u64);
        self.stopped_first += usize::from(attempt.stopped_first);
        self.led_arbiter += usize::from(attempt.led_arbiter);
        Ok(true)
    }

    /// The result.
    pub(crate) fn finish(self, cluster: &Cluster) -> Result<Failover, HarnessError> {
        let Tally { latencies, stopped_first, led_arbiter, moved_by_itself } = self;
        let latency = Percentiles::of(latencies).ok_or_else(|| cluster.timed_out("nothing was measured"))?;
        Ok(Failover { latency, stopped_first, led_arbiter, moved_by_itself })
    }
}

/// Ends the holder `times` times. Calls `progress` with the number of measurements done.
pub fn measure(
    cluster: &mut Cluster,
    end: End,
    times: usize,
    mut progress: impl FnMut(usize),
) -> Result<Failover, HarnessError> {
    let mut clients = Clients::start(cluster)?;
    let mut tally = Tally::default();
    while tally.count() < times {
        cluster.wait_until_ready()?;
        let old = clients.holder(cluster)?;
        let led_arbiter = cluster.status(old.node)?.arbiter_leader.as_deref() == Some(cluster.name(old.node));
        let (began, transfer) = begin(cluster, end, old)?;
        let next = clients.holder_after(cluster, old.token)?;
        if end == End::Frozen {
            // A frozen client reports nothing before it continues.
            cluster.signal(old.node, Signal::CONT)?;
        }
        let deadline = clients.end_of(cluster, old)?;
        drop(transfer);
        recover(cluster, &mut clients, end, old.node)?;
        let attempt = Attempt { began, next_at: next.at, stopped_first: deadline <= next.at, led_arbiter };
        if tally.add(&attempt, cluster, times)? {
            progress(tally.count());
        }
    }
    tally.finish(cluster)
}

/// Ends the holder. Returns the moment just before, and for a hand-over the connection that asked for it: closing it
/// would cancel the request.
fn begin(cluster: &mut Cluster, end: End, old: Grant) -> Result<(Timestamp, Option<Client>), HarnessError> {
    let next = (old.node + 1) % cluster.size();
    let mut transfer = (end == End::HandsOver).then(|| cluster.client(next)).transpose()?;
    let began = Clock::new().now();
    match end {
        End::Killed => cluster.signal(old.node, Signal::KILL)?,
        End::Frozen => cluster.signal(old.node, Signal::STOP)?,
        End::CutOff => cluster.isolate(old.node)?,
        End::HostDead => {
            cluster.isolate(old.node)?;
            cluster.signal(old.node, Signal::KILL)?;
        }
        End::HandsOver => {
            let request = Request::Transfer { office: OFFICE.to_string(), to: cluster.name(next).to_string() };
            transfer.as_mut().map_or(Ok(()), |transfer| transfer.send(&request))?;
        }
    }
    Ok((began, transfer))
}

/// Restores the cluster after a loss.
fn recover(cluster: &mut Cluster, clients: &mut Clients, end: End, node: usize) -> Result<(), HarnessError> {
    match end {
        End::HandsOver | End::Frozen => Ok(()),
        End::CutOff => cluster.heal(),
        End::Killed | End::HostDead => {
            cluster.kill_node(node);
            if end == End::HostDead {
                cluster.heal()?;
            }
            cluster.start_node(node)?;
            clients.start_client(cluster, node)
        }
    }
}
