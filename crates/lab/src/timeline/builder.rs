//! How a timeline is made: a run is replayed, and what each of its records changed is noted.

use std::collections::BTreeMap;

use hustings_algorithms::NetworkKind;
use hustings_elections::Election;
use hustings_protocol::{Effect, Event as Input, Loss, Message as _, Record, Timer, TraceEvent};
use hustings_sim::erased::DynMessage;
use hustings_sim::replay::Inspection;
use hustings_sim::scenario::{Notice, Scenario};
use hustings_sim::trace::payload_text;

use super::{Event, Message, labels};
use crate::narration::{Narrator, Sending, StateChange};

/// Collects events and messages while the run is replayed.
pub(super) struct Builder<'a> {
    pub(super) inspection: Inspection<'a>,
    pub(super) labels: Vec<String>,
    narrator: Narrator,
    members: u32,
    pub(super) events: Vec<Event>,
    pub(super) messages: Vec<Message>,
    /// The message that a record sent, by its number among them.
    by_cause: BTreeMap<(u64, u32), usize>,
    /// The variables of each node.
    pub(super) known: Vec<Vec<(String, String)>>,
    roles: Vec<&'static str>,
    names: Vec<Option<u32>>,
    touched: Vec<bool>,
    status: (u32, bool, bool),
    /// Timers that are set and not due yet, with their nodes.
    timers: Vec<(u32, Timer)>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(election: &dyn Election, scenario: &Scenario, inspection: Inspection<'a>) -> Self {
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
            timers: Vec::new(),
        }
    }

    pub(super) fn variables_of(&self, at: u32) -> Vec<(String, String)> {
        self.inspection.variables(at)
    }

    pub(super) fn add(&mut self, record: &Record<DynMessage>) {
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
        let stage = stage.filter(|stage| !stage.is_empty() && !stage.contains(['(', '[', ',']));
        let is_other = !event.v.is_empty() || event.r.is_some() || event.l.is_some();
        let change = match stage {
            Some(stage) => StateChange::Stage(stage),
            None if is_other => StateChange::Other,
            None => StateChange::Nothing,
        };
        event.w = self.narrator.sentence(record, &sends, since, &change);
        self.note_timers(record);
        self.events.push(event);
    }

    /// Whether something may happen after the last tick of the scenario that only the engine knows of. A node learns at
    /// most two ticks later that a message did not arrive or that it reaches other nodes; detectors have clocks.
    pub(super) fn may_go_on(&self, scenario: &Scenario) -> bool {
        let is_close = |event: &Event| event.t.saturating_add(2) > scenario.until;
        scenario.notice != Notice::Oracle || self.events.last().is_some_and(is_close)
    }

    /// The number of nodes that wait for a timer.
    pub(super) fn waiting(&self) -> u32 {
        let mut nodes: Vec<u32> = self.timers.iter().map(|(node, _)| *node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.len() as u32
    }

    fn note_timers(&mut self, record: &Record<DynMessage>) {
        let at = record.node;
        match &record.what {
            TraceEvent::Handled { event, effects, .. } => {
                if let Input::Timer(due) = event
                    && let Some(place) = self.timers.iter().position(|set| *set == (at, *due))
                {
                    self.timers.swap_remove(place);
                }
                let set = |effect: &Effect<DynMessage>| match effect {
                    Effect::SetTimer(_, timer) => Some((at, *timer)),
                    _ => None,
                };
                self.timers.extend(effects.iter().filter_map(set));
            }
            TraceEvent::Crashed | TraceEvent::Retired => self.timers.retain(|(node, _)| *node != at),
            _ => {}
        }
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
