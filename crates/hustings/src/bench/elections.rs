//! Small elections in a sweep: everything around a run counts too, up to the table of results.

use std::time::Duration;

use hustings_papers::experiment::Experiment;
use hustings_papers::sweep;
use serde_json::{Value, json};

use super::clock::time;

/// How many elections a sweep holds in a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Elections {
    /// How many were held, each time.
    pub runs: u32,
    /// On one thread.
    pub one_thread: f64,
    /// On several.
    pub threads: Option<(usize, f64)>,
}

/// How many nodes each has.
const NODES: u32 = 100;

impl Elections {
    /// Holds so many elections of Chang–Roberts on random rings, on one thread and on several.
    pub fn measure(runs: u32, threads: usize, seed: u64) -> Self {
        let text = format!(
            "version = 1\nname = 'elections'\nseed = {}\nrepetitions = {runs}\n[vary]\nalgorithm = 'chang-roberts'\n\
             nodes = {NODES}\nids = 'random'",
            // As great as a number in such a file may be.
            seed >> 1
        );
        let experiment = Experiment::parse("elections.toml", &text).expect("this file is written correctly");
        let speed = |threads: usize| {
            let (table, took) = time(|| sweep::table(&experiment, threads).expect("chang-roberts runs on rings"));
            assert_eq!(table.rows(), runs as usize, "every election has a row");
            f64::from(runs) / took.wall.max(Duration::from_nanos(1)).as_secs_f64()
        };
        Elections { runs, one_thread: speed(1), threads: (threads > 1).then(|| (threads, speed(threads))) }
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let several = self.threads.map(|(threads, speed)| format!(", {speed:.0} on {threads} threads"));
        format!(
            "Elections of chang-roberts among {NODES} nodes that a sweep holds in a second, wall time: {:.0} on one \
             thread{}.\n",
            self.one_thread,
            several.unwrap_or_default()
        )
    }

    /// For programs.
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
