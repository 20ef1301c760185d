//! The results as a table and as JSON.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::workload::Workload;

/// Messages per second, an entry for each round.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Speeds(Vec<f64>);

/// A summary of [`Speeds`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Speed {
    /// The best round.
    pub best: f64,
    /// The median.
    pub median: f64,
}

impl Speeds {
    /// Adds a round.
    pub fn add(&mut self, messages: u64, took: Duration) {
        self.0.push(messages as f64 / took.as_secs_f64().max(1e-9));
    }

    /// The best round and the median.
    pub fn summary(&self) -> Speed {
        Speed { best: self.0.iter().copied().fold(0.0, f64::max), median: median(self.0.clone()) }
    }

    /// How many times slower the other one is: the median of the ratios of each round, whose two sides ran under the
    /// same conditions.
    pub fn over(&self, slower: &Speeds) -> f64 {
        median(self.0.iter().zip(&slower.0).map(|(fast, slow)| fast / slow).collect())
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => 0.0,
        length if length % 2 == 1 => numbers[middle],
        _ => (numbers[middle - 1] + numbers[middle]) / 2.0,
    }
}

/// One workload at one size.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The workload.
    pub workload: Workload,
    /// The number of nodes.
    pub nodes: u32,
    /// The number of messages.
    pub messages: u64,
    /// Memory of the engine per node, without links.
    pub bytes_per_node: f64,
    /// The hand-written loop, by CPU time.
    pub reference: Speeds,
    /// The engine with one thread, by CPU time.
    pub engine: Speeds,
    /// The engine with one thread, by wall time.
    pub one_thread: Speeds,
    /// The engine with several threads, by wall time.
    pub threads: Option<(usize, Speeds)>,
}

impl Row {
    /// How many times slower the engine is than the hand-written loop.
    pub fn ratio(&self) -> f64 {
        self.reference.over(&self.engine)
    }

    /// How many times faster several threads are than one.
    pub fn gain(&self) -> Option<f64> {
        self.threads.as_ref().map(|(_, threads)| threads.over(&self.one_thread))
    }
}

/// The results as one JSON object.
pub fn to_json(rows: &[Row]) -> Value {
    let speed = |speeds: &Speeds| {
        let Speed { best, median } = speeds.summary();
        json!({"best": best.round(), "median": median.round()})
    };
    let row = |row: &Row| {
        json!({
            "workload": row.workload.name(),
            "what": row.workload.what(),
            "loop_of": row.workload.baseline().name(),
            "nodes": row.nodes,
            "messages": row.messages,
            "rounds": row.reference.0.len(),
            "bytes_per_node": row.bytes_per_node,
            "messages_per_second": {
                "reference": speed(&row.reference),
                "engine": speed(&row.engine),
                "engine_wall": speed(&row.one_thread),
                "threads_wall": row.threads.as_ref().map(|(_, speeds)| speed(speeds)),
            },
            "threads": row.threads.as_ref().map(|(threads, _)| threads),
            "ratio": row.ratio(),
            "thread_gain": row.gain(),
        })
    };
    json!({ "bench": rows.iter().map(row).collect::<Vec<_>>() })
}

/// The results as a table.
pub fn to_text(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "workload",
        "nodes",
        "messages",
        "loop of",
        "loop, M/s",
        "engine, M/s",
        "engine is slower by",
        "bytes a node",
        "threads, M/s",
        "threads gain",
    ]);
    let million = |speeds: &Speeds| {
        let Speed { best, median } = speeds.summary();
        format!("{:.1} / {:.1}", best / 1e6, median / 1e6)
    };
    for row in rows {
        table.add_row([
            format!("{}: {}", row.workload.name(), row.workload.what()),
            row.nodes.to_string(),
            row.messages.to_string(),
            row.workload.baseline().name().to_string(),
            million(&row.reference),
            million(&row.engine),
            format!("{:.2}×", row.ratio()),
            format!("{:.1}", row.bytes_per_node),
            row.threads.as_ref().map_or("–".into(), |(threads, speeds)| format!("{threads}: {}", million(speeds))),
            row.gain().map_or("–".into(), |gain| format!("{gain:.2}×")),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!(
        "{table}\nMillions of messages per second, best / median of the rounds; loop and engine in CPU time of one thread, threads in \
         wall time.\nA loop is written by hand for one workload. A ratio is the median over rounds that ran alternately; if the loop belongs \
         to another workload, it compares messages per second.\n"
    )
}
