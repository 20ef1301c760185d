//! The options of `hustings sim`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use hustings_protocol::Best;
use hustings_sim::parse::{self, CheatAt, Healing, Ids, LinkAt, NodeAt, Split, Starts, Values, Votes};
use hustings_sim::scenario::{Delay, Medium, Notice};
use hustings_sim::simulate::Request;
use hustings_sim::topology::Topology;
use hustings_sim::trace;

use super::args::Format;
use super::read::{one_of, read};

const EXAMPLES: &str = "Examples:
  hustings sim chang-roberts                                    8 nodes, ids rising clockwise
  hustings sim chang-roberts -n 64 --ids descending             its worst case
  hustings sim chang-roberts --ids 3,1,4,2 --trace text         every event
  hustings sim chang-roberts -n 5 --crash 4@0                   one node is down from the start
  hustings sim chang-roberts --ids random --seed 7 --format json

Exit codes: 0 all live nodes agree on one leader; 1 they do not; 2 wrong use; 3 a file could not be read or written.";

pub(crate) const TRACES: &[&str] = &["text", "jsonl", "mermaid", "svg", "shiviz"];

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimArgs {
    /// Which algorithm; `hustings list` shows all.
    pub(crate) algorithm: String,

    /// How many nodes [default: as many as the lists or the topology say, else 8].
    #[arg(short, long, value_name = "N", value_parser = read(parse::node_count), allow_negative_numbers = true, help_heading = "Nodes")]
    nodes: Option<u32>,
    /// Their ids: 5,3,9 | @FILE | ascending | descending | random [default: the positions].
    #[arg(long, value_name = "IDS", value_parser = read(Ids::from_str), allow_hyphen_values = true, help_heading = "Nodes")]
    ids: Option<Ids>,
    /// What is compared before the ids: 3.5,1,2 | @FILE.
    #[arg(long, value_name = "VALUES", value_parser = read(Values::from_str), allow_hyphen_values = true, help_heading = "Nodes")]
    values: Option<Values>,
    /// Who votes for whom, by position.
    #[arg(long, value_name = "P:Q,…", value_parser = read(Votes::from_str), help_heading = "Nodes")]
    votes: Option<Votes>,
    /// A member that cheats: 3:rank (reports a rank that it has not) | 3:ack (acknowledges too early). Repeatable.
    #[arg(long, value_name = "P:KIND", value_parser = read(CheatAt::from_str), help_heading = "Nodes")]
    cheat: Vec<CheatAt>,
    /// Which end of the order wins: max | min.
    #[arg(long, value_name = "END", value_parser = one_of(&["max", "min"], parse::best), default_value = "max", hide_possible_values = true, help_heading = "Nodes")]
    best: Best,
    /// Who is linked to whom: ring | complete | line | star | tree:K | grid:RxC | torus:RxC | hypercube:D |
    /// random:MIN-MAX | small-world:K,P | scale-free:M | geometric:R | file:PATH [default: what the algorithm runs on].
    #[arg(long, value_name = "SHAPE", value_parser = read(Topology::from_str), help_heading = "Nodes")]
    topology: Option<Topology>,
    /// Who starts: all | none | random:K | P,P@T,… [default: as the algorithm's text says].
    #[arg(long, value_name = "WHO", value_parser = read(Starts::from_str), allow_hyphen_values = true, help_heading = "Nodes")]
    initiators: Option<Starts>,
    /// A parameter of the algorithm; `hustings list NAME` shows them.
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE", help_heading = "Nodes")]
    pub(crate) params: Vec<String>,

    /// A node stops; at tick 0: it is down from the start.
    #[arg(long, value_name = "P@T", value_parser = read(NodeAt::from_str), allow_hyphen_values = true, help_heading = "Faults, each repeatable")]
    crash: Vec<NodeAt>,
    /// A node comes back with fresh state.
    #[arg(long, value_name = "P@T", value_parser = read(NodeAt::from_str), allow_hyphen_values = true, help_heading = "Faults, each repeatable")]
    recover: Vec<NodeAt>,
    /// A new process enters; before that the position is down.
    #[arg(long, value_name = "P@T", value_parser = read(NodeAt::from_str), allow_hyphen_values = true, help_heading = "Faults, each repeatable")]
    join: Vec<NodeAt>,
    /// A node leaves in good order.
    #[arg(long, value_name = "P@T", value_parser = read(NodeAt::from_str), allow_hyphen_values = true, help_heading = "Faults, each repeatable")]
    retire: Vec<NodeAt>,
    /// A link between neighbours is cut.
    #[arg(long, value_name = "P-P@T", value_parser = read(LinkAt::from_str), allow_hyphen_values = true, help_heading = "Faults, each repeatable")]
    cut: Vec<LinkAt>,
    /// A cut link works again; all@T mends every link and partition.
    #[arg(long, value_name = "P-P@T", value_parser = read(Healing::from_str), allow_hyphen_values = true, help_heading = "Faults, each repeatable")]
    heal: Vec<Healing>,
    /// Groups between which nothing gets through, such as 0-3,8/4-7@10; those not named form one more.
    #[arg(long, value_name = "GROUPS@T", value_parser = read(Split::from_str), allow_hyphen_values = true, help_heading = "Faults, each repeatable")]
    partition: Vec<Split>,
    /// How a dead leader is noticed: oracle | poll:K | heartbeat:K | term:K.
    #[arg(long, value_name = "HOW", value_parser = read(Notice::from_str), default_value = "oracle", help_heading = "Faults, each repeatable")]
    notice: Notice,
    /// Holds the election anew among those who reach each other, whenever that changes: any algorithm then survives
    /// crashes, recoveries and partitions.
    #[arg(long, help_heading = "Faults, each repeatable")]
    runs: bool,

    /// How long messages travel: unit | uniform:A-B | exponential:MEAN | pareto:MIN,SHAPE.
    #[arg(long, value_name = "DELAY", value_parser = read(Delay::from_str), default_value = "unit", help_heading = "Messages")]
    delay: Delay,
    /// Messages may overtake each other on a link.
    #[arg(long, help_heading = "Messages")]
    unordered: bool,
    /// The probability that a message is lost.
    #[arg(long, value_name = "P", value_parser = read(parse::probability), default_value = "0", allow_negative_numbers = true, help_heading = "Messages")]
    loss: f64,
    /// The probability that a message is delivered twice.
    #[arg(long, value_name = "P", value_parser = read(parse::probability), default_value = "0", allow_negative_numbers = true, help_heading = "Messages")]
    duplicate: f64,
    /// The most messages per tick in the whole network.
    #[arg(long, value_name = "B", value_parser = read(parse::bandwidth), allow_negative_numbers = true, help_heading = "Messages")]
    bandwidth: Option<u64>,
    /// What a send to all neighbours costs: links (a message each) | broadcast (one).
    #[arg(long, value_name = "MEDIUM", value_parser = one_of(&["links", "broadcast"], Medium::from_str), default_value = "links", hide_possible_values = true, help_heading = "Messages")]
    medium: Medium,

    /// Decides everything random.
    #[arg(long, value_name = "S", value_parser = read(parse::seed), default_value = "0", allow_negative_numbers = true, help_heading = "Run")]
    seed: u64,
    /// The last tick [default: 100·n + 10,000; ring-size gets n(n+1)/2 more].
    #[arg(long, value_name = "T", value_parser = read(parse::tick), allow_negative_numbers = true, help_heading = "Run")]
    until: Option<u64>,
    /// How many threads may work on it; the result is the same for any number.
    #[arg(long, value_name = "N", value_parser = read(parse::thread_count), default_value = "1", allow_negative_numbers = true, help_heading = "Run")]
    threads: usize,

    /// Shows every event: text | jsonl | mermaid | svg | shiviz. Without --trace-to on standard output: text before the
    /// report, the others alone.
    #[arg(long, value_name = "FORM", value_parser = one_of(TRACES, trace::Format::from_str), hide_possible_values = true, help_heading = "Output")]
    pub(crate) trace: Option<trace::Format>,
    /// Writes the trace to this file.
    #[arg(long, value_name = "FILE", requires = "trace", help_heading = "Output")]
    pub(crate) trace_to: Option<PathBuf>,
    /// Replays a run that `--trace jsonl` recorded, and checks that the algorithm still does the same. The file says
    /// everything about the election, so only --format may stand beside it.
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(crate) replay: Option<PathBuf>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) format: Format,
}

impl SimArgs {
    /// Whether nothing is said about the election but its algorithm.
    pub(crate) fn says_nothing_more(&self) -> bool {
        self.request() == Request::default() && self.params.is_empty() && self.trace.is_none()
    }

    /// What the options ask for.
    pub(crate) fn request(&self) -> Request {
        Request {
            nodes: self.nodes,
            ids: self.ids.clone(),
            values: self.values.clone(),
            votes: self.votes.clone(),
            cheats: self.cheat.clone(),
            best: self.best,
            topology: self.topology.clone(),
            initiators: self.initiators.clone(),
            notice: self.notice,
            runs: self.runs,
            crashes: self.crash.clone(),
            recoveries: self.recover.clone(),
            joins: self.join.clone(),
            retirements: self.retire.clone(),
            cuts: self.cut.clone(),
            heals: self.heal.clone(),
            partitions: self.partition.clone(),
            delay: self.delay,
            unordered: self.unordered,
            loss: self.loss,
            duplicate: self.duplicate,
            bandwidth: self.bandwidth,
            medium: self.medium,
            seed: self.seed,
            until: self.until,
            threads: self.threads,
        }
    }
}
