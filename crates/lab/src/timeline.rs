//! What the page shows of a run: nodes, messages and events, with everything that an event changed.
//!
//! Records are replayed ([`Inspection`]), so a run of the simulator, a counterexample of the checker and a trace from a
//! file all become the same thing. Names are short because there may be twenty thousand events.

mod builder;

use std::collections::BTreeMap;

use hustings_algorithms::Identity;
use hustings_elections::Election;
use hustings_protocol::Record;
use hustings_sim::erased::DynMessage;
use hustings_sim::outcome::Outcome;
use hustings_sim::replay::Inspection;
use hustings_sim::scenario::Scenario;
use serde::Serialize;

use self::builder::Builder;
use crate::error::LabError;
use crate::layout::Layout;
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
    /// The number of nodes that still wait for a timer after the last of `events`.
    pub waiting: u32,
    /// Whether more may have happened after the last tick of the run.
    pub may_go_on: bool,
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
        let (network, waiting, may_go_on) = (&scenario.network, builder.waiting(), builder.may_go_on(scenario));
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
            waiting,
            may_go_on,
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
