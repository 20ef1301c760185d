//! What happens to each node: marks and phases on its line.

use hustings_protocol::{Effect, Event, Message, Record, TraceEvent};

use crate::trace::Names;

/// A mark on a node's line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Mark {
    Starts,
    Leads,
    Follows,
    Forgets,
    Timer,
    Unreachable,
    Changed,
    Crashed,
    Returned,
}

impl Mark {
    /// The name in the legend.
    pub(super) fn name(self) -> &'static str {
        match self {
            Mark::Starts => "starts",
            Mark::Leads => "leads",
            Mark::Follows => "follows",
            Mark::Forgets => "no leader",
            Mark::Timer => "timer",
            Mark::Unreachable => "undeliverable",
            Mark::Changed => "link or view changed",
            Mark::Crashed => "down",
            Mark::Returned => "up",
        }
    }
}

/// The marks that a record puts on its node's line, each with its tooltip.
pub(super) fn marks<M: Message>(names: &Names, record: &Record<M>) -> Vec<(Mark, String)> {
    let mut marks = Vec::new();
    let mut add = |mark, text: String| {
        marks.push((mark, format!("{} {text}, tick {}", names.node(record.node), record.tick)));
    };
    match &record.what {
        TraceEvent::Handled { event, effects, peer, .. } => {
            match event {
                Event::Start(_) => add(Mark::Starts, "starts".to_string()),
                Event::Timer(timer) if !effects.is_empty() => {
                    add(Mark::Timer, format!("acts on timer {} (token {})", timer.kind, timer.token));
                }
                Event::Unreachable { .. } | Event::UnreachableDirect { .. } => {
                    let peer = peer.map_or("a node".to_string(), |peer| format!("node {peer}"));
                    add(Mark::Unreachable, format!("learns that {peer} is unreachable"));
                }
                Event::Change(_) => add(Mark::Changed, "learns of a change".to_string()),
                _ => {}
            }
            for effect in effects {
                match effect {
                    Effect::Lead => add(Mark::Leads, "leads".to_string()),
                    Effect::Follow(leader) => add(Mark::Follows, format!("follows {leader}")),
                    Effect::Forget => add(Mark::Forgets, "has no leader".to_string()),
                    _ => {}
                }
            }
        }
        TraceEvent::Lost { .. } | TraceEvent::Notice { .. } => {}
        TraceEvent::Crashed => add(Mark::Crashed, "crashed".to_string()),
        TraceEvent::Retired => add(Mark::Crashed, "retired".to_string()),
        TraceEvent::Recovered => add(Mark::Returned, "recovered".to_string()),
        TraceEvent::Joined => add(Mark::Returned, "joined".to_string()),
        TraceEvent::LinkCut { peer } => add(Mark::Changed, format!("lost its link to node {peer}")),
        TraceEvent::LinkHealed { peer } => add(Mark::Changed, format!("has its link to node {peer} again")),
    }
    marks
}

/// How a part of a node's line looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Up,
    Leading,
    Down,
}

/// The phases of a node. Each starts at its tick and lasts until the next; the first starts at the left end.
pub(super) fn phases<M>(records: &[Record<M>], node: u32) -> Vec<(Option<u64>, Phase)> {
    let own = || records.iter().filter(|record| record.node == node);
    let joins = own().find_map(|record| match record.what {
        TraceEvent::Joined => Some(true),
        TraceEvent::Handled { .. } | TraceEvent::Crashed => Some(false),
        _ => None,
    });
    let mut phase = if joins == Some(true) { Phase::Down } else { Phase::Up };
    let mut phases = vec![(None, phase)];
    for record in own() {
        let next = match &record.what {
            TraceEvent::Crashed | TraceEvent::Retired => Phase::Down,
            TraceEvent::Recovered | TraceEvent::Joined => Phase::Up,
            TraceEvent::Handled { effects, .. } => effects.iter().fold(phase, |phase, effect| match effect {
                Effect::Lead => Phase::Leading,
                Effect::Follow(_) | Effect::Forget => Phase::Up,
                _ => phase,
            }),
            _ => phase,
        };
        if next != phase {
            phase = next;
            phases.push((Some(record.tick), phase));
        }
    }
    phases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample;

    #[test]
    fn phases_follow_the_role_of_a_node() {
        assert_eq!(phases(&sample::ring(), 0), [(None, Phase::Up)]);
        assert_eq!(phases(&sample::ring(), 2), [(None, Phase::Up), (Some(3), Phase::Leading)]);
        let faults = sample::faults();
        assert_eq!(phases(&faults, 1), [(None, Phase::Up), (Some(0), Phase::Down), (Some(5), Phase::Up)]);
        assert_eq!(phases(&faults, 2), [(None, Phase::Up), (Some(7), Phase::Down)]);
    }

    #[test]
    fn a_node_is_down_until_it_joins() {
        let record = Record::<sample::Word> {
            number: 0,
            tick: 4,
            node: 1,
            cause: None,
            nth: 0,
            copy: false,
            what: TraceEvent::Joined,
        };
        assert_eq!(phases(&[record], 1), [(None, Phase::Down), (Some(4), Phase::Up)]);
    }
}
