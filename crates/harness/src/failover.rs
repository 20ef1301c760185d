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

/// Ends the holder `times` times. Calls `progress` with the number of measurements done.
pub fn measure(
    cluster: &mut Cluster,
    end: End,
    times: usize,
    mut progress: impl FnMut(usize),
) -> Result<Failover, HarnessError> {
    let mut clients = Clients::start(cluster)?;
    let (mut latencies, mut stopped_first, mut led_arbiter, mut moved_by_itself) = (Vec::new(), 0, 0, 0);
    while latencies.len() < times {
        cluster.wait_until_ready()?;
        let old = clients.holder(cluster)?;
        let leads = cluster.status(old.node)?.arbiter_leader.as_deref() == Some(cluster.name(old.node));
        let (began, transfer) = begin(cluster, end, old)?;
        let next = clients.holder_after(cluster, old.token)?;
        if end == End::Frozen {
            // A frozen client reports nothing before it continues.
            cluster.signal(old.node, Signal::CONT)?;
        }
        let deadline = clients.end_of(cluster, old)?;
        drop(transfer);
        recover(cluster, &mut clients, end, old.node)?;
        if next.at < began {
            moved_by_itself += 1;
            if moved_by_itself > times {
                let folder = cluster.folder().display().to_string();
                return Err(HarnessError::Unstable { times: moved_by_itself, folder });
            }
            continue;
        }
        latencies.push(next.at.since(began).as_nanos() as u64);
        stopped_first += usize::from(deadline <= next.at);
        led_arbiter += usize::from(leads);
        progress(latencies.len());
    }
    let latency = Percentiles::of(latencies).ok_or_else(|| cluster.timed_out("nothing was measured"))?;
    Ok(Failover { latency, stopped_first, led_arbiter, moved_by_itself })
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
