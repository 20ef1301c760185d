//! What a cluster costs while nothing happens.

use std::time::{Duration, Instant};

use hustings_cluster::node::WIRE_BYTES_COUNTER;
use rustix::process::Pid;

use crate::cluster::Cluster;
use crate::error::{HarnessError, io_error};

/// How long a cluster is left alone before the measurement begins.
const WARM_UP: Duration = Duration::from_secs(2);

/// The result of a measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Idle {
    /// What all nodes together send, with the headers of IP and TCP, in bytes a second.
    pub bytes_a_second: f64,
    /// The share of one core that the busiest node uses, in per cent.
    pub cpu_percent: f64,
    /// The resident memory of the largest node, in MiB.
    pub resident_mib: f64,
}

/// Measures a cluster that is left alone for `duration`.
pub fn measure(cluster: &Cluster, duration: Duration) -> Result<Idle, HarnessError> {
    cluster.wait_until_ready()?;
    std::thread::sleep(WARM_UP);
    let (began, before) = (Instant::now(), usage_of_all(cluster)?);
    std::thread::sleep(duration);
    let after = usage_of_all(cluster)?;
    let seconds = began.elapsed().as_secs_f64();
    let pairs = || before.iter().zip(&after);
    let bytes: u64 = pairs().map(|(before, after)| after.wire_bytes.saturating_sub(before.wire_bytes)).sum();
    let ticks = pairs().map(|(before, after)| after.cpu_ticks.saturating_sub(before.cpu_ticks)).max().unwrap_or(0);
    let pages = after.iter().map(|usage| usage.pages).max().unwrap_or(0);
    let hertz = rustix::param::clock_ticks_per_second() as f64;
    Ok(Idle {
        bytes_a_second: bytes as f64 / seconds,
        cpu_percent: 100.0 * ticks as f64 / hertz / seconds,
        resident_mib: (pages * rustix::param::page_size() as u64) as f64 / f64::from(1 << 20),
    })
}

/// What one node has used since it started; its memory now.
struct Usage {
    wire_bytes: u64,
    cpu_ticks: u64,
    pages: u64,
}

fn usage_of_all(cluster: &Cluster) -> Result<Vec<Usage>, HarnessError> {
    let mut all = Vec::new();
    for node in 0..cluster.size() {
        let Some(pid) = cluster.pid(node) else { continue };
        let counters = cluster.status(node)?.counters;
        let wire_bytes = counters.iter().find(|(name, _)| name == WIRE_BYTES_COUNTER).map_or(0, |(_, count)| *count);
        let stat = read_proc(pid, "stat")?;
        // The program's name is in brackets and may hold anything. Counted from behind it, user and system time are
        // the 12th and 13th field.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        let statm = read_proc(pid, "statm")?;
        let pages = statm.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
        all.push(Usage { wire_bytes, cpu_ticks: number(11) + number(12), pages });
    }
    Ok(all)
}

fn read_proc(pid: Pid, file: &str) -> Result<String, HarnessError> {
    let path = format!("/proc/{}/{file}", pid.as_raw_nonzero());
    std::fs::read_to_string(&path).map_err(io_error(path))
}
