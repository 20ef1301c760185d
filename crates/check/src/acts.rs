//! What a node does about what happens to it, and the world after that.

use hustings_protocol::Port;

use crate::machine::{Act, Input, Outcome};
use crate::scene::Timing;
use crate::steps::{Returned, Rules, Step, What};
use crate::world::{Alarm, Channel, DIRECT, Letter, MessageNo, World};

impl<R> Rules<'_, R> {
    /// A step in which no node handles anything.
    pub(crate) fn push(&self, what: What, mut next: World, steps: &mut Vec<Step>) {
        next.seal();
        steps.push(Step { what, handled: None, fall: 0, sent: 0, raised: 0, lowered: 0, next });
    }

    /// Steps in which a node handles something: one for each way in which its coins may fall.
    pub(crate) fn handle(
        &self,
        world: &World,
        at: u8,
        input: Input,
        what: What,
        lost: Returned,
        steps: &mut Vec<Step>,
    ) {
        let before = self.greatest_round(world);
        let outcomes = self.machine.outcomes(at, world.seats[usize::from(at)].state, input);
        for (fall, outcome) in (0..).zip(outcomes.iter()) {
            let mut next = world.clone();
            let sent = self.carry_out(&mut next, at, outcome, lost);
            let raised = self.greatest_round(&next).map_or(0, |after| after.saturating_sub(before.unwrap_or(0)));
            let lowered = self.lower_rounds(&mut next);
            next.seal();
            steps.push(Step { what, handled: Some((at, input)), fall, sent, raised, lowered, next });
        }
    }

    /// Does what the node does. Says how many messages that were.
    fn carry_out(&self, world: &mut World, at: u8, outcome: &Outcome, lost: Returned) -> u32 {
        let seat = &mut world.seats[usize::from(at)];
        let (state, named) = (seat.state, seat.names);
        seat.state = outcome.state;
        let mut sent = 0;
        for &act in &outcome.acts {
            let seat = &mut world.seats[usize::from(at)];
            match act {
                Act::Send(port, message) => {
                    sent += 1;
                    if let Some((to, _)) = self.scene.target(at, port, seat.struck) {
                        self.send(world, Channel { returns: false, from: at, to, out: port.0 as u8 }, message);
                    }
                }
                Act::Direct(to, message) => {
                    sent += 1;
                    if let Some(to) = to {
                        self.send(world, Channel { returns: false, from: at, to, out: DIRECT }, message);
                    }
                }
                Act::Timer(after, timer) => {
                    let left = match self.scene.timing {
                        Timing::Free => 0,
                        Timing::Bounded(_) | Timing::Patient => after.min(u64::from(u32::MAX)) as u32,
                    };
                    world.set(Alarm { at, timer, left });
                }
                Act::Lead => (seat.names, seat.leads) = (Some(at), true),
                Act::Follow(leader) => (seat.names, seat.leads) = (leader, false),
                Act::Forget => (seat.names, seat.leads) = (None, false),
                Act::Estimate(size) => seat.estimate = Some(size),
                Act::Busy(busy) => seat.busy = busy,
                Act::Skip(port) => sent += self.skip(world, at, port, lost),
            }
        }
        let names = world.seats[usize::from(at)].names;
        let is_excused =
            || world.left != self.scene.budget || self.machine.epoch(state) != self.machine.epoch(outcome.state);
        if named.is_some() && names != named && !is_excused() {
            world.fickle = true;
        }
        sent
    }

    fn send(&self, world: &mut World, channel: Channel, message: MessageNo) {
        world.post(Letter { channel, message, left: self.way(), orphan: false, copied: false }, self.is_fifo());
    }

    /// Strikes the neighbour that could not be reached, and sends to the next one everything that went to it from the
    /// lost message on. Says how many messages that were.
    fn skip(&self, world: &mut World, at: u8, port: Port, lost: Returned) -> u32 {
        let Some(lost) = lost.filter(|lost| self.scene.is_ring && lost.port == port) else { return 0 };
        let seat = &mut world.seats[usize::from(at)];
        if self.scene.target(at, port, seat.struck).is_some_and(|(to, _)| to == lost.peer) && lost.peer != at {
            seat.struck[port.index()] += 1;
        }
        let struck = seat.struck;
        let Some((to, _)) = self.scene.target(at, port, struck) else { return 0 };
        let went = |returns| Channel { returns, from: at, to: lost.peer, out: port.0 as u8 };
        let mut again = vec![lost.message];
        for channel in [went(true), went(false)] {
            again.extend(world.letters.iter().filter(|letter| letter.channel == channel).map(|letter| letter.message));
        }
        world.letters.retain(|letter| letter.channel != went(true) && letter.channel != went(false));
        for &message in &again {
            self.send(world, Channel { returns: false, from: at, to, out: port.0 as u8 }, message);
        }
        again.len() as u32
    }

    fn greatest_round(&self, world: &World) -> Option<u32> {
        if !self.machine.counts_rounds() {
            return None;
        }
        let states = world.seats.iter().filter_map(|seat| self.machine.rounds_of(seat.state));
        let messages = world.letters.iter().filter_map(|letter| self.machine.rounds_in(letter.message));
        states.chain(messages).map(|(_, greatest)| greatest).max()
    }

    /// Lowers all rounds, so that the least of any node is 1. Says by how much.
    fn lower_rounds(&self, world: &mut World) -> u32 {
        if !self.machine.counts_rounds() {
            return 0;
        }
        let init = self.machine.init();
        let states = world.seats.iter().filter_map(|seat| match seat.state == init {
            // It may yet begin with the first round.
            true => Some((0, 0)),
            false => self.machine.rounds_of(seat.state),
        });
        let messages = world.letters.iter().filter_map(|letter| self.machine.rounds_in(letter.message));
        // Messages of rounds before those of all nodes are alike, so they may stand for the round before the least.
        let least = match states.map(|(least, _)| least).min() {
            Some(least) => least.saturating_sub(1),
            None => messages.map(|(_, greatest)| greatest).max().unwrap_or(0),
        };
        if least == 0 {
            return 0;
        }
        for seat in &mut world.seats {
            seat.state = self.machine.lower_state(seat.state, least);
        }
        for letter in &mut world.letters {
            letter.message = self.machine.lower_message(letter.message, least);
        }
        if !self.is_fifo() {
            world.letters.sort_unstable();
        }
        least
    }
}
