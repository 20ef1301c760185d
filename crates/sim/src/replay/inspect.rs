//! Looks inside the nodes of a recorded run, record by record.
//!
//! An [`Inspection`] replays records, so it works for every trace: of the simulator, of the checker, or from a file.
//! After each record it shows the state of any node, and what the record sent to whom. The variables of a state are
//! read from its `Debug` form, so no algorithm needs code for them.

use hustings_protocol::{DynState, Epoch, Protocol, Record};

use super::{Replay, ReplayError, Setting};
use crate::engine::general::Route;
use crate::erased::{DynMessage, DynProtocol, DynRank};
use crate::scenario::Scenario;

/// A replay whose nodes can be looked into.
pub struct Inspection<'a>(Replay<'a, DynProtocol>);

/// A node, as the last record left it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InspectedNode {
    /// Whether it is up.
    pub is_live: bool,
    /// Whether it leads.
    pub is_leading: bool,
    /// The position that it names as leader.
    pub leader: Option<u32>,
    /// The epoch that it is in. Leaders of different epochs do not contradict each other.
    pub epoch: Epoch,
}

/// A message that a record sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// The receiver; the sender itself if no node has the id.
    pub to: u32,
    /// Whether it was sent by id, not along a link.
    pub is_direct: bool,
    /// The message.
    pub message: &'a DynMessage,
}

impl<'a> Inspection<'a> {
    /// Before the first record. Of the scenario it uses what records do not contain, like [`replay`](super::replay()).
    pub fn new(protocol: &'a DynProtocol, ranks: &'a [DynRank], scenario: &'a Scenario) -> Result<Self, ReplayError> {
        Replay::new(protocol, ranks, Setting::of(scenario)).map(Inspection)
    }

    /// Applies the next record.
    pub fn step(&mut self, record: Record<DynMessage>) -> Result<(), ReplayError> {
        self.0.step(record)
    }

    /// A node now.
    pub fn node(&self, at: u32) -> InspectedNode {
        let Replay { accounting, protocol, states, .. } = &self.0;
        InspectedNode {
            is_live: accounting.is_live(at),
            is_leading: accounting.is_leading(at),
            leader: accounting.leader_of(at),
            epoch: protocol.epoch(&states[at as usize]),
        }
    }

    /// The variables of a node's state now, in order: their names and values. The name of one inside another has a
    /// dot: `role.segments`. A state that is not a structure is one variable, called `state`.
    pub fn variables(&self, at: u32) -> Vec<(String, String)> {
        variables(&self.0.states[at as usize])
    }

    /// What the last record sent, in order: the index of a message is the `nth` of the record of its arrival.
    pub fn sent(&self) -> impl Iterator<Item = Sent<'_>> {
        let last = self.0.number.wrapping_sub(1);
        self.0.in_flight.sent_by(last).map(|(envelope, message)| Sent {
            to: envelope.to,
            is_direct: !matches!(envelope.route, Route::Link { .. }),
            message,
        })
    }
}

impl std::fmt::Debug for Inspection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspection").field("records", &self.0.number).finish_non_exhaustive()
    }
}

/// The variables of a state, from its `Debug` form.
fn variables(state: &DynState) -> Vec<(String, String)> {
    let text = format!("{state:?}");
    let mut variables = Vec::new();
    collect("", &Parser { rest: &text }.value(), &mut variables);
    variables
}

/// A value as `Debug` writes it.
#[derive(Clone, PartialEq, Debug)]
enum Value<'a> {
    /// `Name`, a number, a text.
    Plain(&'a str),
    /// `Name(a, b)` or `(a, b)`.
    Tuple(&'a str, Vec<Value<'a>>),
    /// `Name { a: 1, b: 2 }`, or a map.
    Fields(&'a str, Vec<(&'a str, Value<'a>)>),
    /// `[a, b]`, or a set.
    List(Vec<Value<'a>>),
}

/// Adds the variables of a value. Structures inside structures are opened one level deep.
fn collect(prefix: &str, value: &Value<'_>, variables: &mut Vec<(String, String)>) {
    let name = if prefix.is_empty() { "state" } else { prefix };
    match unwrapped(value) {
        Value::Fields(variant, fields) if rank(fields).is_none() && prefix.matches('.').count() < 1 => {
            // The name of an enum's variant says which fields there are; that of a structure usually repeats the name.
            let variant = words(variant);
            if !prefix.is_empty() && !variant.is_empty() && !variant.contains(name) {
                variables.push((name.to_string(), variant));
            }
            for (field, value) in fields {
                let inner = if prefix.is_empty() { (*field).to_string() } else { format!("{prefix}.{field}") };
                collect(&inner, value, variables);
            }
        }
        // A variant with a structure inside: its name, and the fields.
        Value::Tuple(variant, items) if prefix.is_empty() && is_structure(items) => {
            variables.push((name.to_string(), words(variant)));
            collect("", &items[0], variables);
        }
        other => variables.push((name.to_string(), short(other))),
    }
}

/// Whether these are the contents of a variant with one structure, which is not a rank.
fn is_structure(items: &[Value<'_>]) -> bool {
    matches!(items, [one] if matches!(unwrapped(one), Value::Fields(_, fields) if rank(fields).is_none()))
}

/// A value without wrappers that only name its type: `State(x)`, `Some(x)`.
fn unwrapped<'v, 'a>(value: &'v Value<'a>) -> &'v Value<'a> {
    match value {
        Value::Tuple("State" | "Some" | "Id", inner) if inner.len() == 1 => unwrapped(&inner[0]),
        other => other,
    }
}

/// A value as short text: `Some(Id(7))` is `7`.
fn short(value: &Value<'_>) -> String {
    let list = |items: &[Value<'_>]| items.iter().map(short).collect::<Vec<_>>().join(", ");
    match value {
        // The greatest number stands for nobody in small states.
        Value::Plain("None" | "4294967295" | "18446744073709551615") => "–".to_string(),
        Value::Plain("true") => "yes".to_string(),
        Value::Plain("false") => "no".to_string(),
        Value::Plain(text) => words(text),
        Value::Tuple("Some" | "Id" | "Port" | "", items) if items.len() == 1 => short(&items[0]),
        Value::Tuple("", items) => format!("({})", list(items)),
        Value::Tuple(name, items) => format!("{} {}", words(name), list(items)),
        Value::List(items) => format!("[{}]", list(items)),
        Value::Fields(name, fields) => rank(fields).unwrap_or_else(|| {
            let fields = fields.iter().map(|(field, value)| format!("{field} {}", short(value)));
            format!("{} ({})", words(name), fields.collect::<Vec<_>>().join(", ")).trim_start().to_string()
        }),
    }
}

/// A rank: `7`, or `3.5:7` with a value.
fn rank(fields: &[(&str, Value<'_>)]) -> Option<String> {
    let field = |name: &str| fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value);
    let (value, id) = (field("value")?, field("id")?);
    field("best")?;
    let id = short(id);
    Some(if *value == Value::Plain("None") { id } else { format!("{}:{id}", short(value)) })
}

/// A name of the code in words: `InElection` is `in election`.
fn words(name: &str) -> String {
    if !name.starts_with(|first: char| first.is_ascii_uppercase()) {
        return name.to_string();
    }
    let mut text = String::new();
    for (place, letter) in name.chars().enumerate() {
        if place > 0 && letter.is_uppercase() {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// Reads what derived `Debug` writes. It never fails: what it does not understand is plain text.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn value(&mut self) -> Value<'a> {
        self.space();
        let name = self.name();
        match self.rest.chars().next() {
            Some('(') => Value::Tuple(name, self.items(')')),
            Some('[') => Value::List(self.items(']')),
            Some('{') => self.fields(name),
            _ if name.is_empty() => Value::Plain(self.until_end()),
            _ => Value::Plain(name),
        }
    }

    /// A name or a number, with the space before a brace.
    fn name(&mut self) -> &'a str {
        let is_part = |c: char| c.is_alphanumeric() || "_-.:<>".contains(c);
        // `a: 1` is a field: a colon belongs to a name only inside a path.
        let mut end = 0;
        for (place, c) in self.rest.char_indices() {
            let is_colon_of_field = c == ':' && self.rest[place + 1..].starts_with(' ');
            if !is_part(c) || is_colon_of_field {
                break;
            }
            end = place + c.len_utf8();
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        if rest.starts_with(" {") {
            self.rest = &rest[1..];
        }
        name
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// The items up to the closing sign.
    fn items(&mut self, close: char) -> Vec<Value<'a>> {
        self.rest = &self.rest[1..];
        let mut items = Vec::new();
        loop {
            self.space();
            if self.rest.is_empty() || self.skip(close) {
                return items;
            }
            let before = self.rest.len();
            items.push(self.value());
            self.skip(',');
            if self.rest.len() == before {
                return items;
            }
        }
    }

    /// The fields of a structure, the entries of a map, or the items of a set.
    fn fields(&mut self, name: &'a str) -> Value<'a> {
        self.rest = &self.rest[1..];
        let (mut fields, mut items) = (Vec::new(), Vec::new());
        loop {
            self.space();
            if self.rest.is_empty() || self.skip('}') {
                break;
            }
            let before = self.rest;
            let first = self.value();
            let key = before[..before.len() - self.rest.len()].trim();
            self.space();
            if self.skip(':') {
                fields.push((key, self.value()));
            } else {
                items.push(first);
            }
            self.space();
            self.skip(',');
            if self.rest.len() == before.len() {
                break;
            }
        }
        if items.is_empty() { Value::Fields(name, fields) } else { Value::List(items) }
    }

    fn skip(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Text up to the next sign that ends a value; a quoted text as a whole.
    fn until_end(&mut self) -> &'a str {
        let end = if self.rest.starts_with('"') {
            let mut escaped = false;
            let close = self.rest[1..].char_indices().find(|&(_, c)| {
                let found = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                found
            });
            close.map(|(place, _)| place + 2)
        } else {
            self.rest.char_indices().skip(1).find(|&(_, c)| ",)]}".contains(c)).map(|(place, _)| place)
        };
        let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        text
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use hustings_protocol::{Id, Port};

    use super::*;

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct State {
        stage: Stage,
        parent: Option<Port>,
        best: Option<Id>,
        seen: BTreeSet<u8>,
        awaited: BTreeMap<u8, bool>,
        text: String,
        pair: (i32, bool),
        inner: Inner,
    }

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    enum Stage {
        InElection,
    }

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    enum Phase {
        Gathering(Inner),
    }

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Inner {
        round: u32,
        queue: Vec<(Id, Option<Id>)>,
    }

    fn shown(state: impl Clone + Eq + std::hash::Hash + std::fmt::Debug + Send + Sync + 'static) -> Vec<String> {
        variables(&DynState::new(state)).into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn structures_become_names_and_values() {
        let state = State {
            stage: Stage::InElection,
            parent: Some(Port(2)),
            best: None,
            seen: BTreeSet::from([3, 1]),
            awaited: BTreeMap::from([(4, true)]),
            text: "a, b} \" c".to_string(),
            pair: (-3, false),
            inner: Inner { round: 7, queue: vec![(Id(5), None), (Id(6), Some(Id(1)))] },
        };
        assert_eq!(
            shown(state),
            [
                "stage=in election",
                "parent=2",
                "best=–",
                "seen=[1, 3]",
                "awaited.4=yes",
                "text=\"a, b} \\\" c\"",
                "pair=(-3, no)",
                "inner.round=7",
                "inner.queue=[(5, –), (6, 1)]",
            ]
        );
    }

    #[test]
    fn other_states_are_one_variable() {
        assert_eq!(shown(7u8), ["state=7"]);
        assert_eq!(shown(Stage::InElection), ["state=in election"]);
        assert_eq!(shown(Some(Id(9))), ["state=9"]);
        assert_eq!(
            shown(Phase::Gathering(Inner { round: 2, queue: vec![] })),
            ["state=gathering", "round=2", "queue=[]"]
        );
        assert_eq!(shown(()), ["state=()"]);
    }
}
