//! The options of `hustings sim`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use hustings_sim::trace;

use super::args::Format;
use super::election_args::{ElectionArgs, SimFields};
use super::memory::max_memory;
use super::read::{one_of, read};

const EXAMPLES: &str = "Examples:
  hustings sim chang-roberts                                    8 nodes, ids ascending clockwise
  hustings sim chang-roberts -n 64 --ids descending             its worst case
  hustings sim chang-roberts --ids 3,1,4,2 --trace text         every event
  hustings sim chang-roberts -n 5 --crash 4@0                   one node is down from the start
  hustings sim chang-roberts --ids random --seed 7 --format json

Exit codes: 0 all live nodes agree on one leader; 1 they do not; 2 wrong usage; 3 the memory limit was
reached, or a file could not be read or written.";

pub(crate) const TRACES: &[&str] = &["text", "jsonl", "mermaid", "svg", "shiviz"];

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimArgs {
    /// Name of the algorithm; `hustings list` shows all
    pub(crate) algorithm: String,

    /// The election.
    #[command(flatten)]
    pub(crate) election: ElectionArgs<SimFields>,

    /// Shows every event: text | jsonl | mermaid | svg | shiviz. Without --trace-to, text precedes the report on
    /// standard output, and the other formats replace it.
    #[arg(long, value_name = "FORM", value_parser = one_of(TRACES, trace::Format::from_str), hide_possible_values = true, help_heading = "Output")]
    pub(crate) trace: Option<trace::Format>,
    /// Writes the trace to a file.
    #[arg(long, value_name = "FILE", requires = "trace", help_heading = "Output")]
    pub(crate) trace_to: Option<PathBuf>,
    /// Replays a run that `--trace jsonl` recorded, and checks that the algorithm still behaves the same. The file
    /// describes the whole election, so only --format is allowed beside it.
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(crate) replay: Option<PathBuf>,
    /// Maximum memory of this process: 800M | 4G, or bytes [default: half of what is free].
    #[arg(long, value_name = "SIZE", value_parser = read(max_memory), allow_negative_numbers = true, conflicts_with = "open", help_heading = "Run")]
    pub(crate) max_memory: Option<u64>,
    /// Shows the run on the page of `hustings lab`, until Ctrl-C.
    #[arg(long, conflicts_with_all = ["trace", "format"], help_heading = "Output")]
    pub(crate) open: bool,
    /// Format of the result.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) format: Format,
}

impl SimArgs {
    /// Whether the options describe nothing but the algorithm.
    pub(crate) fn is_default(&self) -> bool {
        self.election.is_default() && self.trace.is_none() && self.max_memory.is_none()
    }
}
