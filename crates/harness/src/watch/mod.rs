//! What many watchers of the HTTP API cost: memory, and how late a change arrives.
//!
//! The watchers are in processes of their own, because a process has a limited number of file descriptors, and so that
//! what they cost is not mistaken for the node's.

mod client;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hustings_cluster::api::{Client, Reply, Request};
use hustings_cluster::clock::{Clock, Timestamp};

use crate::cluster::{Cluster, Layout, TIMEOUT};
use crate::error::{HarnessError, io_error};
use crate::idle::resident_bytes;
use crate::percentiles::Percentiles;
use crate::process::{Process, hustings_command};

pub use client::run as run_client;

/// The office that is watched.
const OFFICE: &str = "watched";
/// The largest number of watchers of one process.
const MAX_PER_PROCESS: usize = 5_000;
/// How long many watchers may take to connect, on a busy machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(300);

/// The result of a measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Watching {
    /// How many watchers there were.
    pub watchers: usize,
    /// How many processes they were in.
    pub processes: usize,
    /// The time from the request that changes the holder until a watcher has the event.
    pub arrival: Percentiles,
    /// How much the resident memory of the node grew, per watcher, in bytes.
    pub bytes_a_watcher: u64,
}

/// The lines of `[http]` that many watchers need.
pub fn http_table(watchers: usize) -> String {
    let connections = watchers + 64;
    format!("[http.limits]\nconnections = {connections}\nwatchers = {watchers}\nrequests-per-second = 1000000\n")
}

/// Lets this many clients watch an office on the first node, and changes its holder this often. The layout must have
/// the table of [`http_table`].
pub fn measure(layout: &Layout, watchers: usize, changes: usize) -> Result<Watching, HarnessError> {
    let cluster = Cluster::start(layout)?;
    let port = cluster.http_port(0).ok_or_else(|| io_error("no API")(std::io::Error::other("it is not configured")))?;
    let pid = cluster.pid(0).ok_or_else(|| cluster.timed_out("the node has ended"))?;
    let mut holder = cluster.client(0)?;
    // Once before the measurement: the office exists then.
    hold(&mut holder, &cluster)?;
    let before = resident_bytes(pid)?;
    let processes = watchers.div_ceil(MAX_PER_PROCESS);
    let mut clients = Vec::new();
    for index in 0..processes {
        let share = watchers / processes + usize::from(index < watchers % processes);
        clients.push(Watchers::start(&layout.program, port, share)?);
    }
    for client in &clients {
        client.line(CONNECT_TIMEOUT, &cluster)?;
    }
    let after = resident_bytes(pid)?;
    let mut times = Vec::new();
    for _ in 0..changes {
        let (began, token) = hold(&mut holder, &cluster)?;
        for client in &clients {
            times.extend(client.arrivals(token, &cluster)?.into_iter().map(|at| at.saturating_sub(began.0)));
        }
    }
    let arrival = Percentiles::of(times).ok_or_else(|| cluster.timed_out("no event arrived"))?;
    let bytes_a_watcher = after.saturating_sub(before) / watchers as u64;
    Ok(Watching { watchers, processes, arrival, bytes_a_watcher })
}

/// Gives the office up if it is held, and takes it. Returns when it was asked for, and the token.
fn hold(holder: &mut Client, cluster: &Cluster) -> Result<(Timestamp, u64), HarnessError> {
    let office = || OFFICE.to_string();
    holder.send(&Request::Withdraw { office: office() })?;
    while holder.recv(Some(TIMEOUT))? != Reply::Done {}
    // The vacancy is an event of its own, which must not wait for the next one.
    cluster.wait_for("the office did not become vacant", || {
        let mut reader = cluster.client(0)?;
        let reply = reader.call(&Request::Leader { office: office() }, Some(TIMEOUT))?;
        Ok(matches!(reply, Reply::Office(status) if status.holder.is_none()).then_some(()))
    })?;
    let began = Clock::new().now();
    holder.send(&Request::Campaign { office: office(), mode: None, guard: None })?;
    loop {
        if let Reply::Held(lease) = holder.recv(Some(TIMEOUT))? {
            return Ok((began, lease.token));
        }
    }
}

/// A process with many watchers.
struct Watchers {
    lines: Receiver<String>,
    _process: Process,
}

impl Watchers {
    fn start(program: &Path, port: u16, watchers: usize) -> Result<Watchers, HarnessError> {
        let mut command = hustings_command(program);
        command.args(["bench", "watch-client", "--port", &port.to_string(), "--watchers", &watchers.to_string()]);
        command.args(["--office", OFFICE]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Process::spawn(&mut command).map_err(io_error("cannot start the watchers"))?;
        let stdout = process.take_stdout().ok_or_else(|| io_error("no pipe")(std::io::Error::other("none")))?;
        let (sender, lines) = channel();
        // The thread ends with the process.
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Watchers { lines, _process: process })
    }

    fn line(&self, timeout: Duration, cluster: &Cluster) -> Result<String, HarnessError> {
        self.lines.recv_timeout(timeout).map_err(|_| cluster.timed_out("the watchers did not get an event"))
    }

    /// When each of them got the event with this token.
    fn arrivals(&self, token: u64, cluster: &Cluster) -> Result<Vec<u64>, HarnessError> {
        loop {
            let line = self.line(TIMEOUT, cluster)?;
            let mut numbers = line.split(' ').filter_map(|number| number.parse::<u64>().ok());
            if numbers.next() == Some(token) {
                return Ok(numbers.collect());
            }
        }
    }
}
