//! What the page shows of a run: nodes, messages and events, with everything that an event changed.
//!
//! Records are replayed ([`Inspection`]), so a run of the simulator, a counterexample of the checker and a trace from a
//! file all become the same thing. Names are short because there may be twenty thousand events.

use std::collections::BTreeMap;

use hustings_algorithms::{Identity, NetworkKind};
use hustings_elections::Election;
use hustings_protocol::{Event as Input, Loss, Message as _, Record, TraceEvent};
use hustings_sim::erased::DynMessage;
use hustings_sim::outcome::Outcome;
use hustings_sim::replay::Inspection;
use hustings_sim::scenario::Scenario;
use hustings_sim::trace::payload_text;
use serde::Serialize;

use crate::error::LabError;
use crate::layout::Layout;
use crate::narration::{Narrator, Sending};
use crate::run::Density;

/// A run as the page shows it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Timeline {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The title: algorithm, size, network.
    pub title: String,
    /// What each node is called: its id, or its position if nodes are anonymous.
    pub labels: Vec<String>,
    /// The number of members; positions beyond are an informer.
    pub members: u32,
    /// Where nodes and links are drawn.
    pub layout: Layout,
    /// The kinds of messages.
    pub kinds: Vec<&'static str>,
    /// The variables of each node before the first event.
    pub initial: Vec<(String, String)>,
    /// Positions that are down before the first event.
    pub absent: Vec<u32>,
    /// All events.
    pub events: Vec<Event>,
    /// All messages.
    pub messages: Vec<Message>,
    /// The number of all events, of which `events` may be the first.
    pub total: u64,
    /// Why the run was stopped before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Arrivals by time and sector, for large runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<Density>,
    /// What the formula gives, by kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Vec<u64>>,
    /// The result.
    pub outcome: Summary,
    /// What is allowed but probably not intended.
    pub warnings: Vec<String>,
    /// The property that the run violates, if it is a counterexample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
}

/// The result of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Summary {
    /// The position that leads.
    pub leader: Option<u32>,
    /// All positions that lead.
    pub leaders: Vec<u32>,
    /// Whether all live nodes name it.
    pub agreement: bool,
    /// Whether messages were left.
    pub hung: bool,
    /// Messages by kind.
    pub by_kind: Vec<u64>,
    /// Messages of failure detection, by kind.
    pub notice: Vec<(&'static str, u64)>,
    /// The sum of their lengths.
    pub bytes: u64,
    /// Messages that did not arrive.
    pub lost: u64,
    /// The three times.
    pub elected: Option<u64>,
    /// Since when all live nodes name the leader.
    pub agreed: Option<u64>,
    /// The last tick in which something happened.
    pub quiescent: Option<u64>,
    /// The estimate of the number of nodes.
    pub estimate: Option<u64>,
}

/// A violated property.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Violation {
    /// Its name.
    pub property: String,
    /// The property in one sentence.
    pub statement: String,
    /// For an infinite execution: the event with which the repeated part begins.
    pub repeats_from: Option<usize>,
}

/// An event: a record of the trace, and what it changed.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Event {
    /// The tick.
    pub t: u64,
    /// The node.
    pub n: u32,
    /// What happened.
    pub k: &'static str,
    /// The event that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c: Option<u64>,
    /// The message that arrived, was lost or came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub m: Option<usize>,
    /// The first message that it sent, and how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<(usize, usize)>,
    /// The other end of a link that was cut or healed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub o: Option<u32>,
    /// The node's new role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<&'static str>,
    /// The position that the node names now, -1 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l: Option<i64>,
    /// The variables that changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub v: BTreeMap<String, String>,
    /// From now on: the number of live leaders, whether two of them lead in the same epoch, whether all live nodes
    /// name the same live leader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<(u32, bool, bool)>,
    /// The sentence.
    pub w: String,
}

/// A message from its sending to its arrival or loss.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Message {
    /// Its kind.
    pub k: usize,
    /// Its contents.
    pub x: String,
    /// The sender.
    pub f: u32,
    /// The receiver.
    pub o: u32,
    /// The event that sent it.
    pub s: usize,
    /// Its number among the messages of that event.
    pub i: u32,
    /// The event of its arrival or loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<usize>,
    /// Whether it is a second delivery.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub c: bool,
    /// Whether it was sent by id and not along a link.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub d: bool,
    /// Why it was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<&'static str>,
}

impl Timeline {
    /// The timeline of records of this election.
    pub fn new(election: &dyn Election, scenario: &Scenario, records: &[Record<DynMessage>]) -> Result<Self, LabError> {
        let (protocol, ranks) = election.protocol(scenario);
        let broken = |error: hustings_sim::replay::ReplayError| {
            LabError::new("not-a-run", format!("the trace is not a run of {}: {error}", election.about().name))
        };
        let inspection = Inspection::new(&protocol, &ranks, scenario).map_err(broken)?;
        let absent = (0..scenario.network.size()).filter(|&at| !inspection.node(at).is_live).collect();
        let mut builder = Builder::new(election, scenario, inspection);
        let initial = builder.variables_of(0);
        builder.known = vec![initial.clone(); scenario.network.size() as usize];
        for record in records {
            builder.inspection.step(record.clone()).map_err(broken)?;
            builder.add(record);
        }
        let network = &scenario.network;
        Ok(Timeline {
            algorithm: election.about().name,
            title: title(election, scenario),
            labels: builder.labels,
            members: network.members(),
            layout: Layout::of(election, scenario),
            kinds: election.kinds(scenario.runs).to_vec(),
            initial,
            absent,
            total: records.len() as u64,
            events: builder.events,
            messages: builder.messages,
            stopped: None,
            density: None,
            expected: None,
            outcome: Summary::default(),
            warnings: Vec::new(),
            violation: None,
        })
    }

    /// Adds the result.
    pub fn set_outcome(&mut self, election: &dyn Election, scenario: &Scenario, outcome: &Outcome) {
        self.expected = election.expected(scenario);
        self.outcome = Summary {
            leader: outcome.leader,
            leaders: outcome.leaders.clone(),
            agreement: outcome.agreement,
            hung: outcome.hung,
            by_kind: outcome.by_kind.clone(),
            notice: outcome.notice.clone(),
            bytes: outcome.bytes,
            lost: outcome.lost,
            elected: outcome.time.elected,
            agreed: outcome.time.agreed,
            quiescent: outcome.time.quiescent,
            estimate: outcome.estimate,
        };
    }
}

fn title(election: &dyn Election, scenario: &Scenario) -> String {
    let runs = if scenario.runs { " in runs" } else { "" };
    format!("{}{runs} among {} nodes", election.about().name, scenario.network.members())
}

/// What each node is called.
pub(crate) fn labels(election: &dyn Election, scenario: &Scenario) -> Vec<String> {
    let (size, members) = (scenario.network.size(), scenario.network.members());
    let is_unique = election.about().assumptions.identity == Identity::Unique;
    let label = |at: u32| match scenario.ids.get(at as usize) {
        _ if at >= members => "informer".to_string(),
        Some(id) if is_unique => id.to_string(),
        _ => at.to_string(),
    };
    (0..size).map(label).collect()
}

/// Collects events and messages while the run is replayed.
struct Builder<'a> {
    inspection: Inspection<'a>,
    labels: Vec<String>,
    narrator: Narrator,
    members: u32,
    events: Vec<Event>,
    messages: Vec<Message>,
    /// The message that a record sent, by its number among them.
    by_cause: BTreeMap<(u64, u32), usize>,
    /// The variables of each node.
    known: Vec<Vec<(String, String)>>,
    roles: Vec<&'static str>,
    names: Vec<Option<u32>>,
    touched: Vec<bool>,
    status: (u32, bool, bool),
}

impl<'a> Builder<'a> {
    fn new(election: &dyn Election, scenario: &Scenario, inspection: Inspection<'a>) -> Self {
        let size = scenario.network.size() as usize;
        let labels = labels(election, scenario);
        let is_ring = matches!(election.about().network, NetworkKind::Ring | NetworkKind::InformedRing);
        Builder {
            inspection,
            narrator: Narrator::new(labels.clone(), is_ring),
            labels,
            members: scenario.network.members(),
            events: Vec::new(),
            messages: Vec::new(),
            by_cause: BTreeMap::new(),
            known: Vec::new(),
            roles: vec!["idle"; size],
            names: vec![None; size],
            touched: vec![false; size],
            status: (0, false, false),
        }
    }

    fn variables_of(&self, at: u32) -> Vec<(String, String)> {
        self.inspection.variables(at)
    }

    fn add(&mut self, record: &Record<DynMessage>) {
        let at = record.node;
        let mut event = Event { t: record.tick, n: at, c: record.cause, k: kind(&record.what), ..Event::default() };
        event.m = self.message_of(record);
        if let TraceEvent::LinkCut { peer } | TraceEvent::LinkHealed { peer } = record.what {
            event.o = Some(peer);
        }
        let sends = self.add_sent(record);
        if !sends.is_empty() {
            event.s = Some((self.messages.len() - sends.len(), sends.len()));
        }
        let since = record.cause.and_then(|cause| self.events.get(cause as usize)).map(|cause| record.tick - cause.t);
        self.touched[at as usize] |= matches!(record.what, TraceEvent::Handled { .. });
        self.add_changes(at, &mut event);
        // Contents in brackets belong to the list of variables, not into a sentence.
        let stage = STAGES.iter().find_map(|name| event.v.get(*name)).map(String::as_str);
        let stage = stage.filter(|stage| !stage.contains(['(', '[', ',']));
        event.w = self.narrator.sentence(record, &sends, since, stage);
        self.events.push(event);
    }

    /// The message that a record is about, marked as arrived or lost.
    fn message_of(&mut self, record: &Record<DynMessage>) -> Option<usize> {
        let event = self.events.len();
        let (is_over, loss) = match &record.what {
            TraceEvent::Handled { event: Input::Message { .. } | Input::Direct { .. }, .. } => (true, None),
            TraceEvent::Handled { event: Input::Unreachable { .. } | Input::UnreachableDirect { .. }, .. } => {
                (false, None)
            }
            TraceEvent::Lost { why, .. } => (true, Some(loss_text(*why))),
            _ => return None,
        };
        let index = *self.by_cause.get(&(record.cause?, record.nth))?;
        if record.copy {
            // Nothing is known of a copy before it arrives.
            let copy = Message { c: true, a: Some(event), z: None, ..self.messages[index].clone() };
            self.messages.push(copy);
            return Some(self.messages.len() - 1);
        }
        if is_over {
            self.messages[index].a = Some(event);
            self.messages[index].z = loss;
        }
        Some(index)
    }

    fn add_sent(&mut self, record: &Record<DynMessage>) -> Vec<Sending> {
        let event = self.events.len();
        let mut sends = Vec::new();
        for (nth, sent) in self.inspection.sent().enumerate() {
            let (kind, text) = (sent.message.kind(), payload_text(sent.message));
            sends.push(Sending { to: sent.to, kind: sent.message.kind_name(), text: text.clone() });
            self.by_cause.insert((record.number, nth as u32), self.messages.len());
            self.messages.push(Message {
                k: kind,
                x: text,
                f: record.node,
                o: sent.to,
                s: event,
                i: nth as u32,
                a: None,
                c: false,
                d: sent.is_direct,
                z: None,
            });
        }
        sends
    }

    /// Adds what the event changed at its node, and the status of the election.
    fn add_changes(&mut self, at: u32, event: &mut Event) {
        let place = at as usize;
        let now = self.variables_of(at);
        let before = std::mem::replace(&mut self.known[place], now);
        let now = &self.known[place];
        let differs = |(name, value): &&(String, String)| {
            before.iter().find(|(other, _)| other == name).is_none_or(|(_, old)| old != value)
        };
        event.v = now.iter().filter(differs).cloned().collect();
        // A variable that is gone has no value.
        let is_gone = |(name, _): &&(String, String)| !now.iter().any(|(other, _)| other == name);
        event.v.extend(before.iter().filter(is_gone).map(|(name, _)| (name.clone(), String::new())));
        let role = self.role(at);
        if std::mem::replace(&mut self.roles[place], role) != role {
            event.r = Some(role);
        }
        let names = self.inspection.node(at).leader;
        if std::mem::replace(&mut self.names[place], names) != names {
            event.l = Some(names.map_or(-1, i64::from));
        }
        if event.r.is_some() || event.l.is_some() {
            let status = self.election_status();
            if std::mem::replace(&mut self.status, status) != status {
                event.p = Some(status);
            }
        }
    }

    fn role(&self, at: u32) -> &'static str {
        let says_passive = |(_, value): &(String, String)| value.starts_with("passive");
        let node = self.inspection.node(at);
        if !node.is_live {
            "down"
        } else if node.is_leading {
            "leader"
        } else if node.leader.is_some() {
            "follower"
        } else if !self.touched[at as usize] {
            "idle"
        } else if self.known[at as usize].iter().any(says_passive) {
            "passive"
        } else {
            "candidate"
        }
    }

    fn election_status(&self) -> (u32, bool, bool) {
        let live = || (0..self.members).map(|at| (at, self.inspection.node(at))).filter(|(_, node)| node.is_live);
        let (leaders, epochs): (Vec<u32>, Vec<_>) =
            live().filter(|(_, node)| node.is_leading).map(|(at, node)| (at, node.epoch)).unzip();
        let conflict = (1..epochs.len()).any(|second| epochs[..second].contains(&epochs[second]));
        let first = leaders.first().copied();
        let agreed = leaders.len() == 1 && live().all(|(_, node)| node.leader == first);
        (leaders.len() as u32, conflict, agreed)
    }
}

/// How algorithms call the variable that says what a node is doing.
const STAGES: [&str; 3] = ["stage", "state", "role"];

/// The name of what happened.
fn kind(what: &TraceEvent<DynMessage>) -> &'static str {
    match what {
        TraceEvent::Handled { event, .. } => match event {
            Input::Start(_) => "start",
            Input::Message { .. } | Input::Direct { .. } => "receive",
            Input::Unreachable { .. } | Input::UnreachableDirect { .. } => "returned",
            Input::Timer(_) => "timer",
            Input::Change(_) => "change",
            Input::Rejoin => "rejoin",
            Input::Retire => "retire",
        },
        TraceEvent::Lost { .. } => "lost",
        TraceEvent::Crashed => "crash",
        TraceEvent::Recovered => "revive",
        TraceEvent::Joined => "join",
        TraceEvent::Retired => "left",
        TraceEvent::LinkCut { .. } => "cut",
        TraceEvent::LinkHealed { .. } => "heal",
        TraceEvent::Notice { .. } => "notice",
    }
}

fn loss_text(why: Loss) -> &'static str {
    match why {
        Loss::ReceiverDown => "receiver down",
        Loss::Chance => "lost",
        Loss::Cut => "link cut",
        Loss::Dropped => "dropped",
    }
}
