//! The options of `hustings check`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hustings_check::{CheckRequest, FaultBudget, IdOrders, Timing};
use hustings_sim::simulate::{Field, Ids, Starts};
use hustings_sim::trace;

use super::values::{self, Initiators, Links, Order};
use crate::cli::election_args::{CheckFields, ElectionArgs};
use crate::cli::memory::max_memory;
use crate::cli::read::{one_of, read, thread_count};
use crate::cli::sim_args::TRACES;

const EXAMPLES: &str = "Examples:
  hustings check chang-roberts                                  all executions on a ring of 3
  hustings check franklin -n 4 --ids all                        in every order of the ids
  hustings check echo-extinction -n 4 --topology grid:2x2 --initiators every-subset
  hustings check bully --crashes 1 --recoveries 1               a node crashes and recovers, at any time
  hustings check itai-rodeh --channels lossy:1                  a message is lost
  hustings check bully -p T=1 --timing bounded:2 --trace jsonl --trace-to wrong.jsonl
  hustings sim bully --replay wrong.jsonl                       the counterexample, step by step
  hustings check --all --quick                                  the whole catalogue, in seconds

Exit codes: 0 every property holds; 1 one is violated, or no node can ever lead; 2 wrong usage; 3 a limit was reached before
everything was explored, or a file could not be written; 130 stopped by Ctrl-C.";

/// Simple algorithms take some 200 bytes a state; those that take more end by their memory.
const DEFAULT_MAX_STATES: u64 = 20_000_000;

#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// Name of the algorithm; `hustings list` shows all.
    #[arg(required_unless_present = "all")]
    pub(crate) algorithm: Option<String>,

    /// The election.
    #[command(flatten)]
    pub(crate) election: ElectionArgs<CheckFields>,
    /// Orders of the ids to explore: all | rotations | 3,1,2 | @FILE | ascending | descending [default: the positions].
    #[arg(long, value_name = "IDS", value_parser = read(Order::from_str), allow_hyphen_values = true, help_heading = "Nodes")]
    ids: Option<Order>,
    /// Nodes that start, each at any time: all | none | every-subset | P,P [default: as the algorithm specifies].
    #[arg(long, value_name = "WHO", value_parser = read(Initiators::from_str), allow_hyphen_values = true, help_heading = "Nodes")]
    initiators: Option<Initiators>,

    /// What links do, separated by commas: fifo | unordered | lossy:K (at most K messages are lost) | duplicating:K (at
    /// most K messages are delivered twice) [default: what the algorithm needs; lossy and duplicating links keep the
    /// order unless `unordered` is named].
    #[arg(long, value_name = "LINKS", value_parser = read(Links::from_str), help_heading = "What may happen")]
    channels: Option<Links>,
    /// When timers fire: free (at any time) | bounded:T (exactly when due, and messages take at most T ticks) | patient
    /// (when nothing else can happen) [default: what the algorithm relies on].
    #[arg(long, value_name = "CLOCKS", value_parser = read(values::timing), help_heading = "What may happen")]
    timing: Option<Timing>,
    /// Maximum number of nodes that crash, at any time.
    #[arg(long, value_name = "K", value_parser = read(values::count), default_value = "0", allow_negative_numbers = true, help_heading = "What may happen")]
    crashes: u8,
    /// Maximum number of nodes that recover, with fresh state.
    #[arg(long, value_name = "K", value_parser = read(values::count), default_value = "0", allow_negative_numbers = true, help_heading = "What may happen")]
    recoveries: u8,

    /// Maximum number of states of one case.
    #[arg(long, value_name = "K", value_parser = read(values::states), default_value_t = DEFAULT_MAX_STATES, allow_negative_numbers = true, help_heading = "Work")]
    pub(crate) max_states: u64,
    /// Maximum memory of this process: 800M | 4G, or bytes [default: half of what is free].
    #[arg(long, value_name = "SIZE", value_parser = read(max_memory), allow_negative_numbers = true, help_heading = "Work")]
    pub(crate) max_memory: Option<u64>,
    /// Maximum time for all cases: 90 (seconds) | 5m | 1h 30m.
    #[arg(long, value_name = "TIME", value_parser = read(values::duration), allow_negative_numbers = true, help_heading = "Work")]
    pub(crate) max_time: Option<Duration>,
    /// Number of threads; the result does not depend on it [default: one per core].
    #[arg(long, value_name = "N", value_parser = read(thread_count), allow_negative_numbers = true, help_heading = "Work")]
    pub(crate) threads: Option<usize>,
    /// Explores everything, even after a property is found to be violated.
    #[arg(long, help_heading = "Work")]
    pub(crate) keep_going: bool,
    /// Checks the whole catalogue and prints a table. Takes minutes.
    #[arg(long, help_heading = "Work")]
    pub(crate) all: bool,
    /// With --all: only the checks that take seconds.
    #[arg(long, requires = "all", help_heading = "Work")]
    pub(crate) quick: bool,

    /// Format of the counterexample: text | jsonl | mermaid | svg | shiviz. Without --trace-to, text is part of the
    /// report on standard output, and the other formats replace it.
    #[arg(long, value_name = "FORM", value_parser = one_of(TRACES, trace::Format::from_str), hide_possible_values = true, help_heading = "Output")]
    pub(crate) trace: Option<trace::Format>,
    /// Writes the counterexample to a file; `hustings sim --replay` reads it as JSON lines.
    #[arg(long, value_name = "FILE", requires = "trace", help_heading = "Output")]
    pub(crate) trace_to: Option<PathBuf>,
    /// Shows the counterexample on the page of `hustings lab`, until Ctrl-C, after the report.
    #[arg(long, conflicts_with_all = ["all", "trace"], help_heading = "Output")]
    pub(crate) open: bool,
    /// Format of the result.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) format: Form,
}

/// The format of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Form {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// With --all: the table, without times, as in docs/checking.md.
    Markdown,
}

impl CheckArgs {
    /// Whether the options describe no election, as with `--all`.
    pub(crate) fn has_no_election(&self) -> bool {
        self.algorithm.is_none()
            && self.election.is_default()
            && self.request() == CheckRequest::default()
            && self.trace.is_none()
            && !self.keep_going
    }

    /// Takes the size, the topology and the parameters from `other`, unless the options give a size.
    pub(crate) fn default_size_from(&mut self, other: &CheckArgs) {
        let has_id_list = matches!(self.ids, Some(Order::Given(Ids::List(_) | Ids::File(_))));
        self.election.default_size_from(&other.election, has_id_list);
    }

    /// The check that the options describe.
    pub(crate) fn request(&self) -> CheckRequest {
        let links = self.channels.unwrap_or_default();
        let mut election = self.election.spec.clone();
        let id_orders = match &self.ids {
            Some(Order::All) => IdOrders::All,
            Some(Order::Rotations) => IdOrders::Rotations,
            Some(Order::Given(ids)) => {
                election.ids = Some(ids.clone());
                IdOrders::Given
            }
            None => IdOrders::Given,
        };
        election.initiators = match &self.initiators {
            Some(Initiators::Given(starts)) => Some(starts.clone()),
            Some(Initiators::EverySubset) => Some(Starts::All),
            None => None,
        };
        CheckRequest {
            election,
            id_orders,
            every_subset: self.has_every_subset(),
            channels: links.order,
            timing: self.timing,
            faults: FaultBudget {
                crashes: self.crashes,
                recoveries: self.recoveries,
                losses: links.losses,
                duplicates: links.duplicates,
            },
        }
    }

    /// The orders of the ids, as they are typed.
    pub(crate) fn id_orders_text(&self) -> String {
        self.ids.as_ref().map_or_else(|| "as they are".to_string(), Order::to_string)
    }

    /// Whether every set of initiators is explored.
    pub(crate) fn has_every_subset(&self) -> bool {
        self.initiators == Some(Initiators::EverySubset)
    }

    /// The topology as it is typed, if it is given.
    pub(crate) fn topology_text(&self) -> Option<String> {
        self.election.spec.topology.as_ref().map(ToString::to_string)
    }

    /// The options that check one case: with these ids (`None` for anonymous nodes) and initiators.
    pub(crate) fn options_of_case(&self, size: u32, ids: Option<&[u64]>, initiators: &[u32]) -> String {
        let mut words = match ids {
            Some(ids) => vec!["--ids".to_string(), listed(ids)],
            None => vec!["-n".to_string(), size.to_string()],
        };
        words.extend(["--initiators".to_string(), listed(initiators)]);
        words.extend(self.election.typed_without(&[Field::Nodes]));
        let mut push = |option: &str, value: String| words.extend([option.to_string(), value]);
        self.channels.iter().for_each(|links| push("--channels", links.to_string()));
        self.timing.iter().for_each(|timing| push("--timing", values::timing_text(*timing)));
        for (option, count) in [("--crashes", self.crashes), ("--recoveries", self.recoveries)] {
            if count > 0 {
                push(option, count.to_string());
            }
        }
        words.join(" ")
    }
}

/// Numbers, separated by commas.
pub(crate) fn listed<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}
