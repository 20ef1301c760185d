//! A cluster that strangers and greedy programs flood: whether leases are lost, and how long a failover takes then.
//!
//! Everything is measured twice in one cluster, before the flood and during it, so that the two can be compared
//! whatever else the host does. The flood comes from a process of its own.

mod client;
mod hello;
mod renewals;

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, Layout, TIMEOUT};
use crate::error::{HarnessError, io_error};
use crate::failover::{self, End, Failover};
use crate::percentiles::Percentiles;
use crate::process::{Process, hustings_command};

pub use client::{Targets, run as run_client};

/// How strong the flood is, and how long and how often it is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Connections to the ports on which nodes listen for each other. Half of them say nothing, the others begin a TLS
    /// handshake.
    pub connections: usize,
    /// Clients of the HTTP API that send a byte every second.
    pub http_clients: usize,
    /// How long leases are watched, before the flood and during it.
    pub duration: Duration,
    /// How many failovers are measured, before the flood and during it.
    pub times: usize,
}

/// What was measured, before the flood or during it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// The time between two renewals of a program's leases.
    pub renewals: Percentiles,
    /// How many leases programs lost while no node was killed.
    pub lost: usize,
    /// The loss of a holder whose node is killed.
    pub failover: Failover,
}

/// The result of a measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flooded {
    /// Before the flood.
    pub quiet: Measured,
    /// During the flood.
    pub flooded: Measured,
    /// What the flood did.
    pub flood: Sent,
}

impl Flooded {
    /// How much longer a failover takes during the flood: the ratio of the medians.
    pub fn ratio(&self) -> f64 {
        self.flooded.failover.latency.p50 / self.quiet.failover.latency.p50
    }
}

/// What a flood did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sent {
    /// Connections to the ports on which nodes listen for each other. One that is closed is opened again a second
    /// later.
    pub connections: u64,
    /// How many of them began a handshake.
    pub handshakes: u64,
    /// Connections of slow clients of the HTTP API.
    pub http_connections: u64,
    /// Answers to a program that sends requests without waiting for answers.
    pub pipelined: u64,
    /// Answers to a program that asks for the history of all offices again and again.
    pub histories: u64,
}

/// Measures a cluster, which must serve the HTTP API. Calls `progress` with what is being done.
pub fn measure(layout: &Layout, plan: &Plan, mut progress: impl FnMut(&str)) -> Result<Flooded, HarnessError> {
    let mut cluster = Cluster::start(layout)?;
    let quiet = measure_once(&mut cluster, plan, "without a flood", &mut progress)?;
    progress("the flood begins");
    let flood = Flood::start(&cluster, plan)?;
    let flooded = measure_once(&mut cluster, plan, "during the flood", &mut progress)?;
    Ok(Flooded { quiet, flooded, flood: flood.sent(&cluster)? })
}

fn measure_once(
    cluster: &mut Cluster,
    plan: &Plan,
    when: &str,
    progress: &mut impl FnMut(&str),
) -> Result<Measured, HarnessError> {
    progress(&format!("{when}: leases"));
    let (renewals, lost) = renewals::watch(cluster, plan.duration)?;
    let failover = failover::measure(cluster, End::Killed, plan.times, |done| {
        progress(&format!("{when}: {done} of {} failovers", plan.times));
    })?;
    Ok(Measured { renewals, lost, failover })
}

/// A process that floods. It is killed when this value is dropped.
struct Flood {
    /// What it prints, once a second: what it did so far.
    lines: Receiver<String>,
    _process: Process,
}

impl Flood {
    /// Starts a flood, and waits until all of it has come.
    fn start(cluster: &Cluster, plan: &Plan) -> Result<Flood, HarnessError> {
        let status = cluster.status(0)?;
        let addresses = status.members.iter().map(|member| member.address.parse());
        let peers: Result<Vec<SocketAddr>, _> = addresses.collect();
        let peers = peers.map_err(|error| io_error("an address of a member")(std::io::Error::other(error)))?;
        let http = (0..cluster.size()).filter_map(|node| cluster.http_port(node));
        let http = http.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let targets = Targets {
            peers,
            http: http.collect(),
            pipelined: cluster.socket(0),
            history: cluster.socket(cluster.size() - 1),
            connections: plan.connections,
            http_clients: plan.http_clients,
        };
        let mut command = hustings_command(cluster.program());
        command.args(["bench", "flood-client", "--targets"]).arg(serde_json::to_string(&targets).unwrap_or_default());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Process::spawn_bound(&mut command).map_err(io_error("cannot start the flood"))?;
        let stdout = process.take_stdout().ok_or_else(|| io_error("no pipe")(std::io::Error::other("none")))?;
        let (sender, lines) = channel();
        // The thread ends with the process.
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let flood = Flood { lines, _process: process };
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let sent = flood.next(cluster)?;
            let has_come = sent.connections >= plan.connections as u64
                && sent.http_connections >= plan.http_clients as u64
                && sent.pipelined > 0
                && sent.histories > 0;
            if has_come {
                return Ok(flood);
            }
            if Instant::now() > deadline {
                return Err(cluster.timed_out(&format!("the flood did not come: {sent:?}")));
            }
        }
    }

    /// What it did until the next second.
    fn next(&self, cluster: &Cluster) -> Result<Sent, HarnessError> {
        let line = self.lines.recv_timeout(TIMEOUT).map_err(|_| cluster.timed_out("the flood has ended"))?;
        serde_json::from_str(&line).map_err(|error| io_error("what the flood says")(error.into()))
    }

    /// What it has done by now.
    fn sent(&self, cluster: &Cluster) -> Result<Sent, HarnessError> {
        while self.lines.try_recv().is_ok() {}
        self.next(cluster)
    }
}
