//! The time from the loss of a command under `hustings run` until the next command has started on another host.

use std::os::fd::{AsFd, OwnedFd};

use hustings_cluster::api::{Client, Request};
use hustings_cluster::clock::{Clock, Timestamp};
use rustix::process::Signal;

use crate::clients::OFFICE;
use crate::cluster::Cluster;
use crate::error::HarnessError;
use crate::failover::{Attempt, Failover, Tally};
use crate::runs::{Runs, Start};

/// How a command is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// The command is killed.
    CommandKilled,
    /// `hustings run` is killed.
    RunKilled,
    /// The guardian is killed.
    GuardianKilled,
    /// The node on the command's host is killed.
    NodeKilled,
    /// The command, the guardian, `hustings run` and the node are killed, as if the host had died.
    EverythingKilled,
    /// The office is transferred to another member.
    Transferred,
}

impl RunEnd {
    /// All of them, each with its name on the command line and what it means there.
    pub const ALL: [(RunEnd, &str, &str); 6] = [
        (RunEnd::CommandKilled, "command-killed", "SIGKILL of a command under `hustings run`"),
        (RunEnd::RunKilled, "run-killed", "SIGKILL of its `hustings run`"),
        (RunEnd::GuardianKilled, "guardian-killed", "SIGKILL of its guardian"),
        (RunEnd::NodeKilled, "node-killed", "SIGKILL of the node on its host"),
        (RunEnd::EverythingKilled, "everything-killed", "SIGKILL of all of these at once"),
        (RunEnd::Transferred, "transferred", "`hustings transfer` of the office of a command"),
    ];

    fn kills_node(self) -> bool {
        matches!(self, RunEnd::NodeKilled | RunEnd::EverythingKilled)
    }
}

/// Ends the command `times` times. Calls `progress` with the number of measurements done.
pub fn measure(
    cluster: &mut Cluster,
    end: RunEnd,
    times: usize,
    mut progress: impl FnMut(usize),
) -> Result<Failover, HarnessError> {
    let mut runs = Runs::start(cluster)?;
    let mut old = runs.next_start(cluster, 0, None)?;
    let mut tally = Tally::default();
    while tally.count() < times {
        cluster.wait_until_ready()?;
        runs.wait_until_ready(cluster)?;
        let processes = runs.processes(cluster, old)?;
        let led_arbiter = cluster.status(old.node)?.arbiter_leader.as_deref() == Some(cluster.name(old.node));
        let (began, transfer) = begin(cluster, end, old, &processes)?;
        let next = runs.next_start(cluster, old.token, Some(processes.command.as_fd()))?;
        drop(transfer);
        recover(cluster, &mut runs, end, old.node)?;
        let attempt = Attempt { began, next_at: next.at, stopped_first: next.after_watched, led_arbiter };
        if tally.add(&attempt, cluster, times)? {
            progress(tally.count());
        }
        old = next;
    }
    tally.finish(cluster)
}

/// The processes of a command's host, held by descriptors: an id may be used again.
pub(crate) struct HostProcesses {
    pub(crate) command: OwnedFd,
    pub(crate) guardian: OwnedFd,
    pub(crate) run: OwnedFd,
}

/// Ends a command. Returns the moment just before, and for a transfer the connection that asked for it: closing it
/// would cancel the request.
fn begin(
    cluster: &Cluster,
    end: RunEnd,
    old: Start,
    processes: &HostProcesses,
) -> Result<(Timestamp, Option<Client>), HarnessError> {
    let next = (old.node + 1) % cluster.size();
    let mut transfer = (end == RunEnd::Transferred).then(|| cluster.client(next)).transpose()?;
    let began = Clock::new().now();
    if end.kills_node() {
        cluster.signal(old.node, Signal::KILL)?;
    }
    let killed: &[&OwnedFd] = match end {
        RunEnd::CommandKilled => &[&processes.command],
        RunEnd::RunKilled => &[&processes.run],
        RunEnd::GuardianKilled => &[&processes.guardian],
        // The node is dead already, and sees none of them end.
        RunEnd::EverythingKilled => &[&processes.run, &processes.guardian, &processes.command],
        RunEnd::NodeKilled | RunEnd::Transferred => &[],
    };
    for process in killed {
        // It may have ended already: the office then moved by itself, which is noticed.
        let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
    }
    if let Some(transfer) = &mut transfer {
        transfer.send(&Request::Transfer { office: OFFICE.to_string(), to: cluster.name(next).to_string() })?;
    }
    Ok((began, transfer))
}

/// Starts again what has ended.
fn recover(cluster: &mut Cluster, runs: &mut Runs, end: RunEnd, node: usize) -> Result<(), HarnessError> {
    if end.kills_node() {
        cluster.kill_node(node);
        cluster.start_node(node)?;
    }
    runs.restart(cluster, node)
}
