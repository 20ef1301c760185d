//! Benchmarks of the engine against hand-written loops, which run alternately in the same process.
//!
//! The engine is compiled here for the workloads, without measuring bytes and load. It is a crate of its own, so that
//! the engine is optimised for speed and is not compiled again when a command changes.
//!
//! Both allocate and touch their buffers before the clock starts. One thread is measured in CPU time, which other
//! processes hardly affect. Several threads are measured in wall time and compared with one thread in wall time.

mod clock;
mod measure;
pub mod reference;
mod report;
mod workload;

pub use report::{Row, Speed, Speeds, to_json, to_text};
pub use workload::{NetworkType, Workload, random_ids};

use hustings_sim::topology::BuildError;

/// What to measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The workloads and their numbers of nodes.
    pub work: Vec<(Workload, u32)>,
    /// The number of runs of each workload.
    pub rounds: u32,
    /// The number of threads to compare with one.
    pub threads: usize,
    /// The seed of rings, graphs and random numbers.
    pub seed: u64,
}

/// Measures all workloads; `progress` is called with a description before each.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Result<Vec<Row>, BuildError> {
    let row = |&(workload, size): &(Workload, u32)| {
        progress(&format!("{}, n = {size}: {}", workload.name(), workload.what()));
        workload.measure(size, plan)
    };
    plan.work.iter().map(row).collect()
}
