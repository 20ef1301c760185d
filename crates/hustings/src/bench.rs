//! Benchmarks of the simulator: the engine against hand-written loops ([`hustings_bench`]), and small elections in a
//! sweep, including the overhead of the sweep and its table.

use std::time::{Duration, Instant};

pub use hustings_bench::{NetworkType, Plan, Row, Speed, Speeds, Workload, run, to_json, to_text};

use hustings_papers::experiment::Experiment;
use hustings_papers::sweep;
use serde_json::{Value, json};

/// The number of elections per second in a sweep.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Elections {
    /// The number of elections of each measurement.
    pub runs: u32,
    /// Elections per second on one thread.
    pub one_thread: f64,
    /// The number of threads, and elections per second on them.
    pub threads: Option<(usize, f64)>,
}

/// The number of nodes of each election.
const NODES: u32 = 100;

impl Elections {
    /// Runs elections of Chang–Roberts on random rings, on one thread and on several.
    pub fn measure(runs: u32, threads: usize, seed: u64) -> Self {
        let text = format!(
            "version = 1\nname = 'elections'\nseed = {}\nrepetitions = {runs}\n[vary]\nalgorithm = 'chang-roberts'\n\
             nodes = {NODES}\nids = 'random'",
            // Numbers in experiment files have at most 63 bits.
            seed >> 1
        );
        let experiment = Experiment::parse("elections.toml", &text).expect("this file is written correctly");
        let speed = |threads: usize| {
            let begin = Instant::now();
            let table = sweep::table(&experiment, threads).expect("chang-roberts runs on rings");
            let took = begin.elapsed();
            assert_eq!(table.rows(), runs as usize, "every election has a row");
            f64::from(runs) / took.max(Duration::from_nanos(1)).as_secs_f64()
        };
        Elections { runs, one_thread: speed(1), threads: (threads > 1).then(|| (threads, speed(threads))) }
    }

    /// The result as text.
    pub fn to_text(&self) -> String {
        let several = self.threads.map(|(threads, speed)| format!(", {speed:.0} on {threads} threads"));
        format!(
            "Elections of chang-roberts among {NODES} nodes per second in a sweep (wall time): {:.0} on one \
             thread{}.\n",
            self.one_thread,
            several.unwrap_or_default()
        )
    }

    /// The result as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "algorithm": "chang-roberts",
            "nodes": NODES,
            "runs": self.runs,
            "per_second": self.one_thread.round(),
            "threads": self.threads.map(|(threads, _)| threads),
            "threads_per_second": self.threads.map(|(_, speed)| speed.round()),
        })
    }
}
