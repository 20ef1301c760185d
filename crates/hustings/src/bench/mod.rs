//! The speed of this machine: the engine against plain hand-written loops, in the same process, in turn.
//!
//! Buffers are allocated and touched before the clock starts, for both. One thread is measured in CPU time, which
//! another process on the machine cannot lengthen much; two threads in wall time, against one thread in wall time.

mod clock;
mod elections;
mod measure;
mod report;
mod workload;

pub use elections::Elections;
pub use report::{Row, Speed, Speeds, to_json, to_text};
pub use workload::{Ground, Workload};

use hustings_sim::topology::BuildError;

/// What to measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// What is run, and how many nodes it has.
    pub work: Vec<(Workload, u32)>,
    /// How often each is run.
    pub rounds: u32,
    /// How many threads are compared with one.
    pub threads: usize,
    /// Decides the rings, graphs and coins.
    pub seed: u64,
}

/// Measures everything, row by row; `progress` is told what comes next.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Result<Vec<Row>, BuildError> {
    let row = |&(workload, size): &(Workload, u32)| {
        progress(&format!("{}, n = {size}: {}", workload.name(), workload.what()));
        workload.measure(size, plan)
    };
    plan.work.iter().map(row).collect()
}
