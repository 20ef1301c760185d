//! `hustings bench`.

use hustings_sim::parse::node_count;

use super::args::{BenchArgs, Format};
use super::console::{Console, Exit, Paint};
use super::failure::Failure;
use crate::bench::{self, Elections, Plan};

pub(crate) fn run(args: &BenchArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let sizes = |given: &[u32], usual: &[u32], large: u32| {
        let mut sizes = if given.is_empty() { usual.to_vec() } else { given.to_vec() };
        if args.large && given.is_empty() {
            sizes.push(large);
        }
        sizes
    };
    let plan = Plan {
        ring_sizes: sizes(&args.rings, &[1_000_000, 10_000_000], 100_000_000),
        graph_sizes: sizes(&args.graphs, &[1_000_000], 10_000_000),
        rounds: args.rounds,
        threads: args.threads,
        seed: args.seed,
    };
    let (colour, err) = (console.colour_errors, &mut console.err);
    // Progress is a courtesy: that it cannot be written is no reason to stop.
    let progress = |what: &str| _ = writeln!(err, "{}", Paint::Faint.on(what, colour));
    let rows = bench::run(&plan, progress).map_err(Failure::Bench)?;
    let elections = (args.elections > 0).then(|| {
        let what = format!("sweep: {} elections of chang-roberts, n = 100", args.elections);
        _ = writeln!(console.err, "{}", Paint::Faint.on(&what, colour));
        Elections::measure(args.elections, args.threads, args.seed)
    });
    match args.format {
        Format::Text => {
            write!(console.out, "{}", bench::to_text(&rows))?;
            elections.iter().try_for_each(|elections| write!(console.out, "{}", elections.to_text()))?;
        }
        Format::Json => {
            let mut told = bench::to_json(&rows);
            told["elections"] = elections.as_ref().map_or(serde_json::Value::Null, Elections::to_json);
            writeln!(console.out, "{told}")?;
        }
    }
    Ok(Exit::Done)
}

/// A size for the workloads.
pub(crate) fn size(text: &str) -> Result<u32, String> {
    const LEAST: u32 = 16;
    let size = node_count(text).map_err(|error| error.to_string())?;
    if size < LEAST { Err(format!("{size} nodes are too few to measure; at least {LEAST}")) } else { Ok(size) }
}
