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
pub(crate) struct Usage {
    pub(crate) wire_bytes: u64,
    pub(crate) cpu_ticks: u64,
    pages: u64,
}

/// The CPU time of all running nodes together.
pub(crate) fn cpu_time_of_all(cluster: &Cluster) -> Result<Duration, HarnessError> {
    (0..cluster.size()).filter_map(|node| cluster.pid(node)).map(cpu_time).sum()
}

/// The CPU time of a process: to the nanosecond if the kernel keeps statistics of its threads, otherwise in ticks.
pub(crate) fn cpu_time(pid: Pid) -> Result<Duration, HarnessError> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).into_iter().flatten().flatten();
    let nanoseconds = threads.map(|thread| {
        let statistics = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        statistics.split_whitespace().next()?.parse::<u64>().ok()
    });
    match nanoseconds.sum::<Option<u64>>().filter(|sum| *sum > 0) {
        Some(sum) => Ok(Duration::from_nanos(sum)),
        None => {
            let seconds = cpu_ticks(pid)? as f64 / rustix::param::clock_ticks_per_second() as f64;
            Ok(Duration::from_secs_f64(seconds))
        }
    }
}

fn cpu_ticks(pid: Pid) -> Result<u64, HarnessError> {
    let stat = read_proc(pid, "stat")?;
    // The program's name is in brackets and may hold anything. Counted from behind it, user and system time are the
    // 12th and 13th field.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Ok(number(11) + number(12))
}

pub(crate) fn usage_of_all(cluster: &Cluster) -> Result<Vec<Usage>, HarnessError> {
    let mut all = Vec::new();
    for node in 0..cluster.size() {
        let Some(pid) = cluster.pid(node) else { continue };
        let counters = cluster.status(node)?.counters;
        let wire_bytes = counters.iter().find(|(name, _)| name == WIRE_BYTES_COUNTER).map_or(0, |(_, count)| *count);
        all.push(Usage { wire_bytes, cpu_ticks: cpu_ticks(pid)?, pages: resident_pages(pid)? });
    }
    Ok(all)
}

/// The resident memory of a process.
pub(crate) fn resident_bytes(pid: Pid) -> Result<u64, HarnessError> {
    Ok(resident_pages(pid)? * rustix::param::page_size() as u64)
}

fn resident_pages(pid: Pid) -> Result<u64, HarnessError> {
    let statm = read_proc(pid, "statm")?;
    Ok(statm.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0))
}

pub(crate) fn read_proc(pid: Pid, file: &str) -> Result<String, HarnessError> {
    let path = format!("/proc/{}/{file}", pid.as_raw_nonzero());
    std::fs::read_to_string(&path).map_err(io_error(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_measures_of_cpu_time_agree() {
        let own = rustix::process::getpid();
        let began = Instant::now();
        while cpu_ticks(own).expect("this process runs") < 10 {
            assert!(began.elapsed() < Duration::from_secs(60), "this process gets no CPU time");
        }
        let hertz = rustix::param::clock_ticks_per_second() as f64;
        let (before, exact) = (cpu_ticks(own).expect("it runs") as f64 / hertz, cpu_time(own).expect("it runs"));
        // Threads that have ended are missing in one, and ticks are rounded.
        assert!(exact.as_secs_f64() > 0.0 && exact.as_secs_f64() < before + 1.0, "{exact:?}, {before} s");
    }
}
