//! What a cluster costs while nothing happens.

use std::time::{Duration, Instant};

use super::TrialError;
use super::processes::{Cluster, io};
use hustings_cluster::node::WIRE_BYTES;

/// How long a cluster is left alone before it is looked at.
const SETTLED: Duration = Duration::from_secs(2);

/// What was measured, of one node or of all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Idle {
    /// What all nodes together put on the wire, with the headers of IP and TCP, in bytes a second.
    pub bytes_a_second: f64,
    /// The share of one core that the busiest node takes, in per cent.
    pub cpu_percent: f64,
    /// The memory of the largest node, in MiB.
    pub resident_mib: f64,
}

/// Looks at a cluster for so long while it is left alone.
pub fn measure(cluster: &Cluster, time: Duration) -> Result<Idle, TrialError> {
    cluster.wait_until_well()?;
    std::thread::sleep(SETTLED);
    let (began, before) = (Instant::now(), readings(cluster)?);
    std::thread::sleep(time);
    let after = readings(cluster)?;
    let seconds = began.elapsed().as_secs_f64();
    let pairs = || before.iter().zip(&after);
    let bytes: u64 = pairs().map(|(before, after)| after.wire.saturating_sub(before.wire)).sum();
    let ticks = pairs().map(|(before, after)| after.ticks.saturating_sub(before.ticks)).max().unwrap_or(0);
    let pages = after.iter().map(|reading| reading.pages).max().unwrap_or(0);
    let hertz = rustix::param::clock_ticks_per_second() as f64;
    Ok(Idle {
        bytes_a_second: bytes as f64 / seconds,
        cpu_percent: 100.0 * ticks as f64 / hertz / seconds,
        resident_mib: (pages * rustix::param::page_size() as u64) as f64 / f64::from(1 << 20),
    })
}

struct Reading {
    wire: u64,
    ticks: u64,
    pages: u64,
}

fn readings(cluster: &Cluster) -> Result<Vec<Reading>, TrialError> {
    let mut all = Vec::new();
    for node in 0..cluster.size() {
        let Some(process) = cluster.process(node) else { continue };
        let counters = cluster.status(node)?.counters;
        let wire = counters.iter().find(|(name, _)| name == WIRE_BYTES).map_or(0, |(_, count)| *count);
        let stat = proc(process, "stat")?;
        // After the name, which may hold anything, in brackets: the 12th and 13th field from there are the times.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let number = |place: usize| fields.get(place).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        let statm = proc(process, "statm")?;
        let pages = statm.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
        all.push(Reading { wire, ticks: number(11) + number(12), pages });
    }
    Ok(all)
}

fn proc(process: u32, file: &str) -> Result<String, TrialError> {
    let path = format!("/proc/{process}/{file}");
    std::fs::read_to_string(&path).map_err(io(path))
}
