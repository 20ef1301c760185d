//! `hustings bench`.

use hustings_sim::simulate::{ElectionSpec, Field};

use super::args::{BenchArgs, Format};
use super::console::{Console, Exit, Paint};
use super::failure::Failure;
use crate::bench::{self, Elections, NetworkType, Plan, Workload};

pub(crate) fn run(args: &BenchArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if let Some(bench) = &args.cluster {
        return super::cluster::run_bench(bench, console);
    }
    let asked = if args.what.is_empty() { &Workload::ALL[..] } else { &args.what };
    let sizes = |workload: Workload| {
        let given = match workload.network_type() {
            NetworkType::Ring => &args.rings,
            NetworkType::Graph => &args.graphs,
            NetworkType::Complete => &args.complete,
        };
        if given.is_empty() { workload.sizes(args.large) } else { given }
    };
    let work = asked.iter().flat_map(|&workload| sizes(workload).iter().map(move |&size| (workload, size)));
    let plan = Plan { work: work.collect(), rounds: args.rounds, threads: args.threads, seed: args.seed };
    let (colour, err) = (console.colour_errors, &mut console.err);
    // A failure to write progress is ignored.
    let progress = |what: &str| _ = writeln!(err, "{}", Paint::Faint.on(what, colour));
    let rows = bench::run(&plan, progress).map_err(Failure::Bench)?;
    let count = args.elections.unwrap_or(if args.what.is_empty() { 200_000 } else { 0 });
    let elections = (count > 0).then(|| {
        let what = format!("sweep: {count} elections of chang-roberts, n = 100");
        _ = writeln!(console.err, "{}", Paint::Faint.on(&what, colour));
        Elections::measure(count, args.threads, args.seed)
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

/// A size for rings and graphs.
pub(crate) fn size(text: &str) -> Result<u32, String> {
    const MIN: u32 = Workload::MIN_NODES;
    let mut spec = ElectionSpec::default();
    spec.set(Field::Nodes, text).map_err(|error| error.to_string())?;
    let size = spec.nodes.unwrap_or_default();
    if size < MIN { Err(format!("{size} nodes are too few to measure; at least {MIN}")) } else { Ok(size) }
}

/// A size for complete networks, whose number of messages grows with the square of its size.
pub(crate) fn complete_size(text: &str) -> Result<u32, String> {
    const MAX: u32 = 20_000;
    let size = size(text)?;
    if size > MAX { Err(format!("{size} nodes have too many links to measure; at most {MAX}")) } else { Ok(size) }
}
