//! The times after all faults were healed, as far as nothing disturbed them.

use crate::history::Event;

/// A time in which no fault was injected and the machine did not stall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Phase {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// A change of the phase. Of changes at the same moment, a beginning comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Begins,
    Restarts(u64),
    Ends,
}

/// The phases that begin with certain events and end with the recovery phase or the next fault. A stall of the machine
/// ends a phase, and another one begins after it.
pub(super) fn collect(events: &[Event], begins: impl Fn(&Event) -> Option<u64>) -> Vec<Phase> {
    let change = |event: &Event| match event {
        Event::Stall { from, at } => Some((*from, Change::Restarts(*at))),
        Event::RecoveryOver { at } | Event::Fault { at, .. } => Some((*at, Change::Ends)),
        event => begins(event).map(|at| (at, Change::Begins)),
    };
    let mut changes: Vec<(u64, Change)> = events.iter().filter_map(change).collect();
    changes.sort_unstable();
    let mut phases = Vec::new();
    let mut since: Option<u64> = None;
    for (at, change) in changes {
        if let Some(from) = since
            && change != Change::Begins
            && from < at
        {
            phases.push(Phase { from, to: at });
        }
        since = match change {
            Change::Begins => Some(at),
            Change::Restarts(end) => since.map(|_| end),
            Change::Ends => None,
        };
    }
    phases
}

/// The recovery phases: all faults are healed, and all clients campaign.
pub(super) fn recoveries(events: &[Event]) -> Vec<Phase> {
    collect(events, |event| if let Event::Recovery { at } = event { Some(*at) } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_with_the_next_fault_and_restarts_after_a_stall() {
        let fault = |at| Event::Fault { kind: "kill".to_string(), what: String::new(), at };
        let events = [
            fault(5),
            Event::Recovery { at: 10 },
            Event::Stall { from: 30, at: 40 },
            Event::RecoveryOver { at: 60 },
            Event::Stall { from: 70, at: 80 },
            Event::Healed { at: 85 },
            Event::Recovery { at: 90 },
            fault(95),
        ];
        let phases = [Phase { from: 10, to: 30 }, Phase { from: 40, to: 60 }, Phase { from: 90, to: 95 }];
        assert_eq!(recoveries(&events), phases);
    }
}
