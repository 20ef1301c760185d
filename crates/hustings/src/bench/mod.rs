//! The speed of this machine: the engine against plain hand-written loops, in the same process, in turn.
//!
//! - **W1**: Chang–Roberts on a random ring, everybody starts, announcement included.
//! - **W2**: the echo wave from one position of a random connected graph with degrees 5 to 10.
//!
//! Buffers are allocated and touched before the clock starts, for both. One thread is measured in CPU time, which
//! another process on the machine cannot lengthen much; two threads in wall time, against one thread in wall time.

mod clock;
mod elections;
mod report;
mod workload;

pub use elections::Elections;
pub use report::{Row, Speed, Speeds, to_json, to_text};

use hustings_protocol::Id;
use hustings_sim::topology::BuildError;

/// What to measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Sizes for W1.
    pub ring_sizes: Vec<u32>,
    /// Sizes for W2.
    pub graph_sizes: Vec<u32>,
    /// How often each is run.
    pub rounds: u32,
    /// How many threads are compared with one.
    pub threads: usize,
    /// Decides the rings and graphs.
    pub seed: u64,
}

/// Measures everything, row by row; `progress` is told what comes next.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Result<Vec<Row>, BuildError> {
    let mut rows = Vec::new();
    for &size in &plan.ring_sizes {
        progress(&format!("W1, n = {size}: Chang–Roberts on a random ring"));
        rows.push(workload::ring(size, plan));
    }
    for &size in &plan.graph_sizes {
        progress(&format!("W2, n = {size}: echo on a random graph"));
        rows.push(workload::graph(size, plan)?);
    }
    Ok(rows)
}

/// Ids 0..n in random order.
fn random_ids(size: u32, seed: u64) -> Vec<Id> {
    let mut ids: Vec<Id> = (0..u64::from(size)).map(Id).collect();
    hustings_sim::rng::Stream::new(seed, hustings_sim::rng::Purpose::Ids, 0).shuffle(&mut ids);
    ids
}
