//! Beacons: how nodes know that their leader is up, and how leaders meet.
//!
//! A leader sends a beacon every period; a node that receives a new one of its own leader forwards it. It follows a
//! greater leader and drops the beacon of a lesser one, so of two leaders that meet the greater stays. A node without a
//! beacon for six whole periods holds an election.

use hustings_protocol::{Context, Port, Rank, Timer};

use super::state::{Participation, Purpose};
use super::{Aggregate, BEACON, Diffusion, Message, Ports, Progress, State};

/// The number of periods that a node waits for a beacon.
const MAX_MISSED: u8 = 6;

/// The contents of a beacon.
#[derive(Clone, Copy)]
pub(super) struct Beacon<R> {
    pub(super) again: bool,
    pub(super) number: u16,
    pub(super) counter: u32,
    pub(super) leader: R,
}

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// Starts the beacon timer, if it does not run yet: the node expects beacons from now on.
    pub(super) fn start_beacon_timer<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) {
        if self.beacon != 0 && !core::mem::replace(&mut state.faults().beacon_timer_runs, true) {
            cx.set_timer(self.beacon, Timer { kind: BEACON, token: 0 });
        }
    }

    /// A period is over.
    pub(super) fn handle_beacon_timer<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> Progress {
        if self.beacon == 0 {
            return Progress::NONE;
        }
        cx.set_timer(self.beacon, Timer { kind: BEACON, token: 0 });
        let leader = state.leader();
        // With probes on, an election ends without the help of beacons.
        let waits_for_beacons = !state.is_electing() || self.probe == 0;
        let faults = state.faults();
        if leader == Some(cx.rank()) {
            faults.number = faults.number.wrapping_add(1);
            self.send_beacon(state, None, false, cx);
            return Progress::NONE;
        }
        faults.missed = faults.missed.saturating_add(1);
        if faults.missed > MAX_MISSED && waits_for_beacons {
            return self.elect(state, cx);
        }
        if faults.missed > 1 && leader.is_some() {
            // Nothing arrived in this period. Neighbours may have missed the last beacon where messages are lost.
            self.send_beacon(state, None, true, cx);
        }
        Progress::NONE
    }

    /// Forwards the last beacon.
    fn send_beacon<C: Context<Self>>(&self, state: &State<R, A::Value>, except: Option<Port>, again: bool, cx: &mut C) {
        let (Some(part), Some(leader), Some(faults)) = (&state.part, state.leader(), &state.faults) else { return };
        let beacon = Message::Beacon { again, number: faults.number, counter: part.counter, leader };
        if faults.absent.is_empty() {
            cx.send_all_but(except, beacon);
        } else {
            let there = |port: &Port| Some(*port) != except && !faults.absent.contains(*port);
            (0..cx.degree()).map(Port).filter(there).for_each(|port| cx.send(port, beacon.clone()));
        }
    }

    /// Handles a beacon.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_beacon<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        beacon: Beacon<R>,
        cx: &mut C,
    ) -> Progress {
        let Beacon { again, number, counter, leader } = beacon;
        self.start_beacon_timer(state, cx);
        let own = cx.rank();
        let named = state.leader();
        if leader == own || (state.is_electing() && (counter, leader.id(), true) < state.index(own.id())) {
            return Progress::NONE;
        }
        if named == Some(leader) {
            let (known, faults) = (state.counter(), state.faults());
            let is_new = counter > known || (number.wrapping_sub(faults.number) as i16) > 0;
            if is_new {
                (faults.number, faults.missed) = (number, 0);
                if let Some(part) = &mut state.part {
                    part.counter = known.max(counter);
                }
                self.send_beacon(state, Some(from), again, cx);
            }
            return Progress::NONE;
        }
        // A repeated beacon does not make a node follow its leader: that leader may be down.
        if again || named.is_some_and(|named| leader < named) {
            return Progress::NONE;
        }
        let turn = state.part.as_ref().map_or(0, |part| part.turn).wrapping_add(1);
        state.part = Some(Participation {
            counter: counter.max(state.counter()),
            parent: from.0,
            turn,
            answer: 0,
            done: true,
            purpose: Purpose::Lead(leader),
            awaited: Ports::NONE,
            gathered: self.aggregate.nothing(own),
        });
        self.start_fault_timers(state, cx);
        state.faults().number = number;
        cx.follow(leader.id());
        self.send_beacon(state, Some(from), false, cx);
        Progress::FOLLOWING
    }
}
