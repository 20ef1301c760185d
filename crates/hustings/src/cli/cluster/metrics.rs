//! `hustings metrics`.

use clap::Args;
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::{ClientArgs, EXIT_CODES};

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings metrics                             print everything that Prometheus can scrape from this node
  hustings metrics | grep leader               print what concerns leaders
  hustings metrics --format json               print the same numbers as a JSON object
  hustings metrics > /var/lib/prometheus/node-exporter/hustings.prom
                                               leave them to node_exporter's textfile collector

The answer is what this node knows by itself: it needs no majority. docs/monitoring.md explains each metric.
{EXIT_CODES}"))]
pub(crate) struct MetricsArgs {
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn run(args: &MetricsArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let metrics = args.client_args.target.connect()?.metrics()?;
    match args.client_args.format {
        Format::Text => write!(console.out, "{}", metrics.to_prometheus())?,
        Format::Json => writeln!(console.out, "{}", json!(metrics))?,
    }
    Ok(Exit::Done)
}
