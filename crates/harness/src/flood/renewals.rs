//! Programs that hold offices, and how regularly their leases are renewed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hustings_cluster::api::{Client, ClientError, Reply, Request};

use crate::cluster::{Cluster, TIMEOUT};
use crate::error::HarnessError;
use crate::percentiles::Percentiles;

/// How many offices a program on each node holds.
const OFFICES: usize = 20;
/// How long a program waits for news before it looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A program on each node holds offices for this long. Returns the time between renewals, and how many leases ended.
pub(super) fn watch(cluster: &Cluster, duration: Duration) -> Result<(Percentiles, usize), HarnessError> {
    let mut programs: Vec<Client> = (0..cluster.size()).map(|node| hold(cluster, node)).collect::<Result<_, _>>()?;
    let is_over = AtomicBool::new(false);
    let watched = thread::scope(|scope| {
        let watchers: Vec<_> = programs.iter_mut().map(|program| scope.spawn(|| listen(program, &is_over))).collect();
        thread::sleep(duration);
        is_over.store(true, Ordering::Relaxed);
        let joined = watchers.into_iter().map(|watcher| watcher.join().unwrap_or((Vec::new(), OFFICES)));
        joined.collect::<Vec<(Vec<u64>, usize)>>()
    });
    let (gaps, lost): (Vec<Vec<u64>>, Vec<usize>) = watched.into_iter().unzip();
    let gaps = Percentiles::of(gaps.concat()).ok_or_else(|| cluster.timed_out("no lease was renewed"))?;
    Ok((gaps, lost.into_iter().sum()))
}

/// Takes offices on a node.
fn hold(cluster: &Cluster, node: usize) -> Result<Client, HarnessError> {
    let mut program = cluster.client(node)?;
    for number in 0..OFFICES {
        let office = format!("flood-{}-{number}", cluster.name(node));
        program.send(&Request::Campaign { office, mode: None, guard: None })?;
    }
    let (mut held, deadline) = (0, Instant::now() + TIMEOUT);
    while held < OFFICES {
        if Instant::now() > deadline {
            return Err(cluster.timed_out("a program did not get its offices"));
        }
        held += usize::from(matches!(program.recv(Some(TIMEOUT))?, Reply::Held(_)));
    }
    Ok(program)
}

/// Listens until it is over. Returns the times between renewals in nanoseconds, and how many leases ended.
fn listen(program: &mut Client, is_over: &AtomicBool) -> (Vec<u64>, usize) {
    let (mut gaps, mut lost, mut renewed) = (Vec::new(), 0, Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        match program.recv(Some(POLL_INTERVAL)) {
            Ok(Reply::Renewed { .. }) => {
                let last = std::mem::replace(&mut renewed, Instant::now());
                gaps.push((renewed - last).as_nanos() as u64);
            }
            Ok(Reply::Lost { .. } | Reply::Stop { .. }) => lost += 1,
            Ok(_) | Err(ClientError::Timeout { .. }) => {}
            // All that it held went with its connection.
            Err(_) => return (gaps, OFFICES),
        }
    }
    (gaps, lost)
}
