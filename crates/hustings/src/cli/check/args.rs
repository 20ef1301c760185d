//! The options of `hustings check`.

use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hustings_check::Timing;
use hustings_protocol::Best;
use hustings_sim::parse::{self, CheatAt, Ids, Starts, Values, Votes};
use hustings_sim::simulate::Request;
use hustings_sim::topology::Topology;
use hustings_sim::trace;

use super::readers::{self, Initiators, Links, Order, Typed};
use crate::check::cases::{Orders, Wish};
use crate::cli::read::{one_of, read};
use crate::cli::sim_args::TRACES;

const EXAMPLES: &str = "Examples:
  hustings check chang-roberts                                  all executions on a ring of 3
  hustings check franklin -n 4 --ids all                        in every order of the ids
  hustings check echo-extinction -n 4 --topology grid:2x2 --initiators every-subset
  hustings check bully --crashes 1 --recoveries 1               a node stops and comes back, at any time
  hustings check itai-rodeh --channels lossy:1                  a message is lost: what becomes of it
  hustings check bully -p T=1 --timing bounded:2 --trace jsonl --trace-to wrong.jsonl
  hustings sim bully --replay wrong.jsonl                       the counterexample, step for step
  hustings check --all --quick                                  the whole catalogue, in seconds

Exit codes: 0 every property holds; 1 one is violated, or nobody can ever lead; 2 wrong use; 3 the budget ran out before
everything was explored, or a file could not be written; 130 stopped by Ctrl-C.";

/// A state takes some 200 bytes: so many fit into the memory of most machines.
const MAX_STATES: u64 = 20_000_000;

#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// Which algorithm; `hustings list` shows all.
    #[arg(required_unless_present = "all")]
    pub(crate) algorithm: Option<String>,

    /// How many nodes [default: as many as the lists or the topology say, else the min_nodes that tell something].
    #[arg(short, long, value_name = "N", value_parser = read(parse::node_count), allow_negative_numbers = true, help_heading = "Nodes")]
    pub(crate) nodes: Option<u32>,
    /// Their ids: all (every order) | rotations | 3,1,2 | ascending | descending [default: the positions].
    #[arg(long, value_name = "IDS", value_parser = read(Order::from_str), allow_hyphen_values = true, help_heading = "Nodes")]
    ids: Option<Order>,
    /// What is compared before the ids: 3.5,1,2 | @FILE.
    #[arg(long, value_name = "VALUES", value_parser = read(Typed::<Values>::read), allow_hyphen_values = true, help_heading = "Nodes")]
    values: Option<Typed<Values>>,
    /// Who votes for whom, by position.
    #[arg(long, value_name = "P:Q,…", value_parser = read(Typed::<Votes>::read), help_heading = "Nodes")]
    votes: Option<Typed<Votes>>,
    /// A member that cheats: 3:rank | 3:ack. Repeatable.
    #[arg(long, value_name = "P:KIND", value_parser = read(CheatAt::from_str), help_heading = "Nodes")]
    cheat: Vec<CheatAt>,
    /// Which end of the order wins: max | min.
    #[arg(long, value_name = "END", value_parser = one_of(&["max", "min"], parse::best), default_value = "max", hide_possible_values = true, help_heading = "Nodes")]
    best: Best,
    /// Who is linked to whom, as `hustings sim` takes it [default: what the algorithm runs on].
    #[arg(long, value_name = "SHAPE", value_parser = read(Topology::from_str), help_heading = "Nodes")]
    topology: Option<Topology>,
    /// Who starts, each at any time: all | none | every-subset | P,P [default: as the algorithm's text says].
    #[arg(long, value_name = "WHO", value_parser = read(Initiators::from_str), allow_hyphen_values = true, help_heading = "Nodes")]
    initiators: Option<Initiators>,
    /// A parameter of the algorithm; `hustings list NAME` shows them.
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE", help_heading = "Nodes")]
    pub(crate) params: Vec<String>,

    /// What links do, with commas between: fifo | unordered | lossy:K (at most K messages are lost) | duplicating:K (K
    /// come twice) [default: what the algorithm needs].
    #[arg(long, value_name = "LINKS", value_parser = read(Links::from_str), help_heading = "What may happen")]
    channels: Option<Links>,
    /// What clocks do: free (a time-out may come at any time) | bounded:T (messages take T ticks at most, time-outs are
    /// exact) | patient (time-outs come when nothing else can happen) [default: what the algorithm trusts in].
    #[arg(long, value_name = "CLOCKS", value_parser = read(readers::timing), help_heading = "What may happen")]
    timing: Option<Timing>,
    /// At most so many nodes stop, at any time.
    #[arg(long, value_name = "K", value_parser = read(readers::count), default_value = "0", allow_negative_numbers = true, help_heading = "What may happen")]
    crashes: u8,
    /// At most so many come back, with fresh state.
    #[arg(long, value_name = "K", value_parser = read(readers::count), default_value = "0", allow_negative_numbers = true, help_heading = "What may happen")]
    recoveries: u8,
    /// Holds the election anew among those who reach each other, whenever that changes.
    #[arg(long, help_heading = "What may happen")]
    runs: bool,

    /// The most states that are explored of one case.
    #[arg(long, value_name = "K", value_parser = read(readers::states), default_value_t = MAX_STATES, allow_negative_numbers = true, help_heading = "Work")]
    pub(crate) max_states: u64,
    /// How long it may take in all: 90 | 90s | 5m | 2h.
    #[arg(long, value_name = "TIME", value_parser = read(readers::duration), allow_negative_numbers = true, help_heading = "Work")]
    pub(crate) max_time: Option<Duration>,
    /// How many threads work; what is found is the same for any number [default: one per core].
    #[arg(long, value_name = "N", value_parser = read(parse::thread_count), allow_negative_numbers = true, help_heading = "Work")]
    pub(crate) threads: Option<usize>,
    /// Explores everything, also after something was found to be violated.
    #[arg(long, help_heading = "Work")]
    pub(crate) keep_going: bool,
    /// The whole catalogue: a table of many checks. Inputs minutes.
    #[arg(long, help_heading = "Work")]
    pub(crate) all: bool,
    /// With --all: those that take seconds.
    #[arg(long, requires = "all", help_heading = "Work")]
    pub(crate) quick: bool,

    /// How the counterexample is shown: text | jsonl | mermaid | svg | shiviz. Without --trace-to on standard output:
    /// text in the report, the others alone.
    #[arg(long, value_name = "FORM", value_parser = one_of(TRACES, trace::Format::from_str), hide_possible_values = true, help_heading = "Output")]
    pub(crate) trace: Option<trace::Format>,
    /// Writes the counterexample to this file; as JSON lines, `hustings sim --replay` takes it.
    #[arg(long, value_name = "FILE", requires = "trace", help_heading = "Output")]
    pub(crate) trace_to: Option<PathBuf>,
    /// How to print what was found.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) format: Form,
}

/// How what was found is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Form {
    /// For people.
    #[default]
    Text,
    /// For programs: one object.
    Json,
    /// With --all: the table, without times, as it stands in docs/checking.md.
    Markdown,
}

impl CheckArgs {
    /// Whether nothing is said about an election, as with `--all`.
    pub(crate) fn names_no_election(&self) -> bool {
        let says_nothing = self.request() == Request::default() && self.params.is_empty() && self.trace.is_none();
        let Wish { ids, every_subset, channels, timing, budget } = self.wish();
        let fails_nothing = budget == hustings_check::Budget::default() && !self.keep_going;
        self.algorithm.is_none()
            && says_nothing
            && fails_nothing
            && (ids, every_subset, channels, timing) == (Orders::Given, false, None, None)
    }

    /// Inputs the size, the topology and the parameters from there, if none of them is given here.
    pub(crate) fn sized_as(&mut self, other: &CheckArgs) {
        let has_list = matches!(self.ids, Some(Order::Given(Ids::List(_) | Ids::File(_)))) || self.values.is_some();
        if self.nodes.is_none() && self.topology.is_none() && !has_list {
            self.nodes = other.nodes;
            self.topology.clone_from(&other.topology);
            if self.params.is_empty() {
                self.params.clone_from(&other.params);
            }
        }
    }

    /// The election that the options ask for.
    pub(crate) fn request(&self) -> Request {
        Request {
            nodes: self.nodes,
            ids: match &self.ids {
                Some(Order::Given(ids)) => Some(ids.clone()),
                _ => None,
            },
            values: self.values.as_ref().map(|values| values.value.clone()),
            votes: self.votes.as_ref().map(|votes| votes.value.clone()),
            cheats: self.cheat.clone(),
            best: self.best,
            topology: self.topology.clone(),
            initiators: match &self.initiators {
                Some(Initiators::Given(starts)) => Some(starts.clone()),
                Some(Initiators::EverySubset) => Some(Starts::All),
                None => None,
            },
            runs: self.runs,
            ..Request::default()
        }
    }

    /// What is to be checked of it.
    pub(crate) fn wish(&self) -> Wish {
        let links = self.channels.unwrap_or_default();
        Wish {
            ids: match self.ids {
                Some(Order::All) => Orders::All,
                Some(Order::Rotations) => Orders::Rotations,
                _ => Orders::Given,
            },
            every_subset: self.takes_every_subset(),
            channels: links.order,
            timing: self.timing,
            budget: hustings_check::Budget {
                crashes: self.crashes,
                recoveries: self.recoveries,
                losses: links.losses,
                copies: links.copies,
            },
        }
    }

    /// In which orders the ids stand, as it would be typed.
    pub(crate) fn order_words(&self) -> String {
        self.ids.as_ref().map_or_else(|| "as they are".to_string(), Order::to_string)
    }

    /// Whether every set of nodes starts in a case of its own.
    pub(crate) fn takes_every_subset(&self) -> bool {
        self.initiators == Some(Initiators::EverySubset)
    }

    /// The topology, if it is given.
    pub(crate) fn topology_words(&self) -> Option<String> {
        self.topology.as_ref().map(Topology::to_string)
    }

    /// The options for one case of this: with these ids (none, if nodes have none) and starters.
    pub(crate) fn of_case(&self, size: u32, ids: Option<&[u64]>, starters: &[u32]) -> String {
        let mut line = String::new();
        // Writing to a string cannot fail, so no result below is looked at.
        let _ = match ids {
            Some(ids) => write!(line, " --ids {}", listed(ids)),
            None => write!(line, " -n {size}"),
        };
        let _ = write!(line, " --initiators {}", listed(starters));
        let mut say = |option: &str, text: String| _ = write!(line, " {option} {text}");
        self.topology_words().into_iter().for_each(|shape| say("--topology", shape));
        self.values.iter().for_each(|values| say("--values", values.text.clone()));
        self.votes.iter().for_each(|votes| say("--votes", votes.text.clone()));
        self.cheat.iter().for_each(|cheat| say("--cheat", cheat.to_string()));
        if self.best == Best::Min {
            say("--best", "min".to_string());
        }
        self.params.iter().for_each(|param| say("-p", param.clone()));
        self.channels.iter().for_each(|links| say("--channels", links.to_string()));
        self.timing.iter().for_each(|timing| say("--timing", readers::timing_words(*timing)));
        for (option, count) in [("--crashes", self.crashes), ("--recoveries", self.recoveries)] {
            if count > 0 {
                say(option, count.to_string());
            }
        }
        if self.runs {
            line += " --runs";
        }
        line
    }
}

/// Numbers with commas between.
pub(crate) fn listed<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}
