//! The flags of the fields of an [`ElectionSpec`]: one table for all commands.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, Command};
use hustings_sim::simulate::{ElectionSpec, Field, FieldRef};

use super::read::{Explain, parse_with};

/// A field of an election and its flag.
pub(crate) struct Flag {
    pub(crate) field: Field,
    pub(crate) long: &'static str,
    /// The name of its value in the help; empty for a switch.
    value: &'static str,
    pub(crate) takes: Takes,
    heading: &'static str,
    help: &'static str,
}

/// The form of a flag's value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Switch,
    Text,
    /// One of these words, which completions offer.
    Word(&'static [&'static str]),
    /// A number, possibly negative: then the error says what is allowed.
    Number,
    /// Text that may begin with a hyphen.
    List,
    /// Like `Text`, and may be repeated.
    RepeatedText,
    /// Like `List`, and may be repeated.
    RepeatedList,
}

const NODES: &str = "Nodes";
const FAULTS: &str = "Faults, each repeatable";
const MESSAGES: &str = "Messages";
const RUN: &str = "Run";

const fn flag(
    field: Field,
    long: &'static str,
    value: &'static str,
    takes: Takes,
    heading: &'static str,
    help: &'static str,
) -> Flag {
    Flag { field, long, value, takes, heading, help }
}

/// All fields and their flags, in the order of the help.
pub(crate) const FLAGS: &[Flag] = &[
    flag(
        Field::Nodes,
        "nodes",
        "N",
        Takes::Number,
        NODES,
        "Number of nodes [default: given by the lists or the topology; otherwise 8 for `sim`, and a small number that \
         suits the algorithm for `check`]",
    ),
    flag(
        Field::Ids,
        "ids",
        "IDS",
        Takes::List,
        NODES,
        "Ids of the nodes: 5,3,9 | @FILE | ascending | descending | random [default: the positions]",
    ),
    flag(
        Field::Values,
        "values",
        "VALUES",
        Takes::List,
        NODES,
        "Values that rank nodes before their ids do: 3.5,1,2 | @FILE",
    ),
    flag(Field::Votes, "votes", "P:Q,…", Takes::Text, NODES, "Votes: each voter and the position it votes for"),
    flag(
        Field::Cheats,
        "cheat",
        "P:KIND",
        Takes::RepeatedText,
        NODES,
        "Makes a node cheat: 3:rank (reports a false rank) | 3:ack (acknowledges too early). Repeatable",
    ),
    flag(
        Field::Best,
        "best",
        "END",
        Takes::Word(&["max", "min"]),
        NODES,
        "Whether the greatest or the least rank wins: max | min [default: max]",
    ),
    flag(
        Field::Topology,
        "topology",
        "TOPOLOGY",
        Takes::Text,
        NODES,
        "Topology of the network: ring | complete | line | star | tree:K | grid:RxC | torus:RxC | hypercube:D | \
         random:MIN-MAX | small-world:K,P | scale-free:M | geometric:R | file:PATH | links:U-V,… [default: what the algorithm runs on]",
    ),
    flag(
        Field::Initiators,
        "initiators",
        "WHO",
        Takes::List,
        NODES,
        "Nodes that start: all | none | random:K | P,P@T,… [default: as the algorithm specifies]",
    ),
    flag(
        Field::Params,
        "param",
        "NAME=VALUE",
        Takes::RepeatedText,
        NODES,
        "Sets a parameter of the algorithm; `hustings list NAME` shows them. Repeatable",
    ),
    flag(
        Field::Crashes,
        "crash",
        "P@T",
        Takes::RepeatedList,
        FAULTS,
        "Crashes a node; at tick 0 it is down from the start",
    ),
    flag(Field::Recoveries, "recover", "P@T", Takes::RepeatedList, FAULTS, "Recovers a crashed node, with fresh state"),
    flag(Field::Joins, "join", "P@T", Takes::RepeatedList, FAULTS, "Lets a new node join; its position is down before"),
    flag(Field::Retirements, "retire", "P@T", Takes::RepeatedList, FAULTS, "Lets a node leave in good order"),
    flag(Field::Cuts, "cut", "P-P@T", Takes::RepeatedList, FAULTS, "Cuts the link between two neighbours"),
    flag(
        Field::Heals,
        "heal",
        "P-P@T",
        Takes::RepeatedList,
        FAULTS,
        "Repairs a cut link; all@T repairs all links and partitions",
    ),
    flag(
        Field::Partitions,
        "partition",
        "GROUPS@T",
        Takes::RepeatedList,
        FAULTS,
        "Partitions the network into groups, such as 0-3,8/4-7@10; the nodes not named form one more group",
    ),
    flag(
        Field::Interventions,
        "intervene",
        "AFTER:ACTION:WHAT",
        Takes::RepeatedList,
        FAULTS,
        "Intervenes when the trace has AFTER records, in the order of the trace: AFTER:crash:P | revive:P | start:P | \
         cut:P-P | heal:P-P | heal:all | split:0-3/4-7 | drop:R.N (message N of record R) | delay:R.N+T | \
         duplicate:R.N | deliver:R.N",
    ),
    flag(
        Field::Notice,
        "notice",
        "HOW",
        Takes::Text,
        RUN,
        "How nodes notice a dead leader: oracle | poll:K | heartbeat:K | term:K [default: oracle]",
    ),
    flag(
        Field::Runs,
        "runs",
        "",
        Takes::Switch,
        RUN,
        "Holds a new election among the nodes that reach each other whenever that changes, so that any algorithm survives \
         crashes, recoveries and partitions",
    ),
    flag(
        Field::Delay,
        "delay",
        "DELAY",
        Takes::Text,
        MESSAGES,
        "How long messages travel: unit | uniform:A-B | exponential:MEAN | pareto:MIN,SHAPE [default: unit]",
    ),
    flag(Field::Unordered, "unordered", "", Takes::Switch, MESSAGES, "Lets messages overtake each other on a link"),
    flag(Field::Loss, "loss", "P", Takes::Number, MESSAGES, "Probability that a message is lost [default: 0]"),
    flag(
        Field::Duplicate,
        "duplicate",
        "P",
        Takes::Number,
        MESSAGES,
        "Probability that a message is delivered twice [default: 0]",
    ),
    flag(
        Field::Bandwidth,
        "bandwidth",
        "B",
        Takes::Number,
        MESSAGES,
        "Maximum number of messages that the whole network delivers per tick",
    ),
    flag(
        Field::Medium,
        "medium",
        "MEDIUM",
        Takes::Word(&["links", "broadcast"]),
        MESSAGES,
        "What a send to all neighbours costs: links (one message each) | broadcast (one message) [default: links]",
    ),
    flag(Field::Seed, "seed", "S", Takes::Number, RUN, "Seed of everything random [default: 0]"),
    flag(
        Field::Until,
        "until",
        "T",
        Takes::Number,
        RUN,
        "Last tick [default: 100·n + 10,000; n(n+1)/2 more for ring-size]",
    ),
    flag(
        Field::Threads,
        "threads",
        "N",
        Takes::Number,
        RUN,
        "Number of threads; the result does not depend on it [default: 1]",
    ),
];

/// The option that sets a field, as it is typed.
pub(crate) fn option(field: Field) -> String {
    let flag = FLAGS.iter().find(|flag| flag.field == field);
    match (field, flag) {
        (Field::Params, _) => "-p".to_string(),
        (_, Some(flag)) => format!("--{}", flag.long),
        (_, None) => field.name().to_string(),
    }
}

/// The option with the value that an error names.
pub(crate) fn typed(at: &FieldRef) -> String {
    match &at.value {
        Some(value) => format!("{} {value}", option(at.field)),
        None => option(at.field),
    }
}

impl Flag {
    pub(crate) fn arg(&self) -> Arg {
        let arg = Arg::new(self.long).long(self.long).help(self.help).help_heading(self.heading);
        let arg = match self.field {
            Field::Nodes => arg.short('n'),
            Field::Params => arg.short('p'),
            _ => arg,
        };
        let value =
            |arg: Arg| arg.value_name(self.value).value_parser(FieldText { field: self.field, takes: self.takes });
        match self.takes {
            Takes::Switch => arg.action(ArgAction::SetTrue),
            Takes::Text => value(arg),
            Takes::Word(_) => value(arg).hide_possible_values(true),
            Takes::Number => value(arg).allow_negative_numbers(true),
            Takes::List => value(arg).allow_hyphen_values(true),
            Takes::RepeatedText => value(arg).action(ArgAction::Append),
            Takes::RepeatedList => value(arg).action(ArgAction::Append).allow_hyphen_values(true),
        }
    }
}

/// Accepts the texts that set a field.
#[derive(Clone)]
struct FieldText {
    field: Field,
    takes: Takes,
}

impl TypedValueParser for FieldText {
    type Value = String;

    fn parse_ref(&self, _: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        parse_with(arg, value, |text| {
            let set = ElectionSpec::default().set(self.field, text);
            set.map(|()| text.to_string()).map_err(|error| error.explain())
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        match self.takes {
            Takes::Word(words) => Some(Box::new(words.iter().map(PossibleValue::new))),
            _ => None,
        }
    }
}
