//! Beacons: how everybody knows that its leader lives, and how leaders meet.
//!
//! A leader sends a beacon every period; whoever hears a new one of its own leader passes it on. One of a greater
//! leader is followed, one of a lesser leader goes no further: so of two leaders that meet the greater stays. A node
//! without a beacon for six whole periods holds an election.

use hustings_protocol::{Context, Port, Rank, Timer};

use super::state::{Part, Purpose};
use super::{Aggregate, BEACON, Diffusion, Message, News, Ports, State};

/// How many periods a node waits for a beacon.
const PATIENCE: u8 = 6;

/// What a beacon says.
#[derive(Clone, Copy)]
pub(super) struct Beacon<R> {
    pub(super) again: bool,
    pub(super) number: u16,
    pub(super) counter: u32,
    pub(super) leader: R,
}

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// From now on the node expects beacons: it has heard that there are others, if nothing else.
    pub(super) fn watch_out<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) {
        if self.beacon != 0 && !core::mem::replace(&mut state.rough().watches, true) {
            cx.set_timer(self.beacon, Timer { kind: BEACON, token: 0 });
        }
    }

    /// A period is over.
    pub(super) fn watches<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> News {
        if self.beacon == 0 {
            return News::NOTHING;
        }
        cx.set_timer(self.beacon, Timer { kind: BEACON, token: 0 });
        let leader = state.leader();
        // Probes see to it that an election has an end.
        let waits_for_beacons = !state.is_electing() || self.probe == 0;
        let rough = state.rough();
        if leader == Some(cx.rank()) {
            rough.number = rough.number.wrapping_add(1);
            self.shine(state, None, false, cx);
            return News::NOTHING;
        }
        rough.missed = rough.missed.saturating_add(1);
        if rough.missed > PATIENCE && waits_for_beacons {
            return self.elect(state, cx);
        }
        if rough.missed > 1 && leader.is_some() {
            // Nothing came in this period. What came before may be news to others, where messages get lost.
            self.shine(state, None, true, cx);
        }
        News::NOTHING
    }

    /// Passes the last beacon on.
    fn shine<C: Context<Self>>(&self, state: &State<R, A::Value>, except: Option<Port>, again: bool, cx: &mut C) {
        let (Some(part), Some(leader), Some(rough)) = (&state.part, state.leader(), &state.rough) else { return };
        let beacon = Message::Beacon { again, number: rough.number, counter: part.counter, leader };
        if rough.absent.is_empty() {
            cx.send_all_but(except, beacon);
        } else {
            let there = |port: &Port| Some(*port) != except && !rough.absent.contains(*port);
            (0..cx.degree()).map(Port).filter(there).for_each(|port| cx.send(port, beacon.clone()));
        }
    }

    /// A beacon came in.
    #[cold]
    #[inline(never)]
    pub(super) fn shone<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        beacon: Beacon<R>,
        cx: &mut C,
    ) -> News {
        let Beacon { again, number, counter, leader } = beacon;
        self.watch_out(state, cx);
        let own = cx.rank();
        let named = state.leader();
        if leader == own || (state.is_electing() && (counter, leader.id(), true) < state.index(own.id())) {
            return News::NOTHING;
        }
        if named == Some(leader) {
            let (known, rough) = (state.counter(), state.rough());
            let is_new = counter > known || (number.wrapping_sub(rough.number) as i16) > 0;
            if is_new {
                (rough.number, rough.missed) = (number, 0);
                if let Some(part) = &mut state.part {
                    part.counter = known.max(counter);
                }
                self.shine(state, Some(from), again, cx);
            }
            return News::NOTHING;
        }
        // Nobody takes a leader from hearsay: it may be gone.
        if again || named.is_some_and(|named| leader < named) {
            return News::NOTHING;
        }
        let turn = state.part.as_ref().map_or(0, |part| part.turn).wrapping_add(1);
        state.part = Some(Part {
            counter: counter.max(state.counter()),
            parent: from.0,
            turn,
            answer: 0,
            done: true,
            purpose: Purpose::Lead(leader),
            awaited: Ports::NONE,
            gathered: self.aggregate.nothing(own),
        });
        self.look_out(state, cx);
        state.rough().number = number;
        cx.follow(leader.id());
        self.shine(state, Some(from), false, cx);
        News::FOLLOWS
    }
}
