//! A witness as the records of a trace, in the form that a simulator writes and replays.
//!
//! The execution is run again, with the protocol itself and all numbers as they are: in worlds, rounds are lowered.

use hustings_protocol::{Effect, Loss, Port, Protocol, Record, Timer, TraceEvent};

use crate::machine::{Input, Local, Machine};
use crate::scene::Timing;
use crate::space::Space;
use crate::steps::{Step, What};
use crate::witness::Witness;
use crate::world::{Channel, DIRECT, World};

/// The records of a witness.
pub(crate) fn records<P: Protocol>(
    local: &Local<P>,
    space: &Space<P::Rank>,
    witness: &Witness,
) -> Vec<Record<P::Message>> {
    let mut scribe = Scribe {
        local,
        space,
        tick: 0,
        lowered: 0,
        states: (0..space.scene.size()).map(|_| local.fresh()).collect(),
        letters: Vec::new(),
        timers: Vec::new(),
        records: Vec::new(),
    };
    let mut world = space.first();
    for step in &witness.steps {
        scribe.write(&world, step);
        world.clone_from(&step.next);
    }
    scribe.records
}

/// Writes down what happens, and knows which record sent what is under way.
struct Scribe<'a, P: Protocol> {
    local: &'a Local<P>,
    space: &'a Space<P::Rank>,
    tick: u64,
    /// By how much the rounds in the world are lower than they are.
    lowered: u32,
    states: Vec<P::State>,
    /// What is under way, oldest first.
    letters: Vec<Sent<P::Message>>,
    /// Which timers are set, and by which record.
    timers: Vec<(u8, Timer, u64)>,
    records: Vec<Record<P::Message>>,
}

/// A message under way, or on its way back, and which one it is of the record that sent it.
#[derive(Clone)]
struct Sent<M> {
    channel: Channel,
    message: M,
    cause: u64,
    nth: u32,
    copied: bool,
}

impl<P: Protocol> Scribe<'_, P> {
    fn write(&mut self, world: &World, step: &Step) {
        match (self.space.scene.timing, step.what) {
            // Every step has a tick of its own.
            (Timing::Free, _) => self.tick += 1,
            (_, What::Tick(ticks)) => self.tick += u64::from(ticks),
            _ => {}
        }
        match step.what {
            What::Tick(_) | What::FirstStep(_) => {}
            What::Start(_) | What::Notice(_) | What::Word(_) => self.handled(world, step, None),
            What::Ring(_) => self.handled(world, step, None),
            What::Arrive(place) | What::Return(place) => {
                let sent = self.find(world, place).map(|index| self.letters.remove(index));
                self.handled(world, step, sent.as_ref());
            }
            What::Copy(place) => {
                let sent = self.find(world, place).map(|index| {
                    self.letters[index].copied = true;
                    self.letters[index].clone()
                });
                self.handled(world, step, sent.as_ref());
            }
            What::Lose(place) => {
                if let Some(index) = self.find(world, place) {
                    let sent = self.letters.remove(index);
                    self.lost(&sent, Loss::Chance);
                }
            }
            What::Bounce(place) => {
                if let Some(index) = self.find(world, place) {
                    let mut sent = self.letters.remove(index);
                    self.lost(&sent, Loss::ReceiverDown);
                    sent.channel.returns = true;
                    self.letters.extend((!world.letters[place].orphan).then_some(sent));
                }
            }
            What::Crash(at) => {
                self.happened(at, None, 0, TraceEvent::Crashed);
                self.states[usize::from(at)] = self.local.fresh();
                self.timers.retain(|(owner, ..)| *owner != at);
                self.letters.retain(|sent| !(sent.channel.returns && sent.channel.from == at));
            }
            What::Recover(at) => {
                self.happened(at, None, 0, TraceEvent::Recovered);
                self.handled(world, step, None);
            }
        }
        self.lowered += step.lowered;
    }

    /// The letter that stands at this place in the world.
    fn find(&self, world: &World, place: usize) -> Option<usize> {
        let letter = &world.letters[place];
        self.letters.iter().position(|sent| {
            sent.channel == letter.channel
                && sent.copied == letter.copied
                && self.local.is_message(letter.message, &sent.message, self.lowered)
        })
    }

    fn happened(&mut self, at: u8, cause: Option<u64>, nth: u32, what: TraceEvent<P::Message>) {
        let number = self.records.len() as u64;
        self.records.push(Record { number, tick: self.tick, node: at.into(), cause, nth, copy: false, what });
    }

    fn lost(&mut self, sent: &Sent<P::Message>, why: Loss) {
        let what = TraceEvent::Lost { peer: sent.channel.from.into(), message: sent.message.clone(), why };
        self.happened(sent.channel.to, Some(sent.cause), sent.nth, what);
    }

    /// A node handles something, if one does in this step.
    fn handled(&mut self, world: &World, step: &Step, sent: Option<&Sent<P::Message>>) {
        let Some((at, input)) = step.handled else { return };
        let outcomes = self.space.machine.outcomes(at, before(world, step, at, &*self.space.machine), input);
        let Some(outcome) = outcomes.get(step.fall as usize) else { return };
        let mut coins = outcome.coins.to_vec();
        let event = self.local.event_with(input, |_| match sent {
            Some(sent) => sent.message.clone(),
            None => unreachable!("an input with a message comes from a letter"),
        });
        let state = &mut self.states[usize::from(at)];
        let effects = self.local.perform(at, state, event.clone(), &mut coins);
        let cause = match input {
            Input::Timer(timer) => {
                let set = self.timers.iter().position(|&(owner, name, _)| (owner, name) == (at, timer));
                set.map(|set| self.timers.remove(set).2)
            }
            _ => sent.map(|sent| sent.cause),
        };
        let peer = sent.map(|sent| if sent.channel.returns { sent.channel.to } else { sent.channel.from });
        let what = TraceEvent::Handled { event, peer: peer.map(u32::from), coins, effects: effects.clone() };
        self.happened(at, cause, sent.map_or(0, |sent| sent.nth), what);
        if let (What::Copy(_), Some(record)) = (step.what, self.records.last_mut()) {
            record.copy = true;
        }
        self.follow(world, step, at, effects, sent);
    }

    /// Notes what the effects put under way.
    fn follow(
        &mut self,
        world: &World,
        step: &Step,
        at: u8,
        effects: Vec<Effect<P::Message>>,
        came_back: Option<&Sent<P::Message>>,
    ) {
        let cause = self.records.len() as u64 - 1;
        let mut nth = 0;
        let mut struck = world.seats[usize::from(at)].struck;
        let mut in_vain = Vec::new();
        for effect in effects {
            let mut to_ports = |scribe: &mut Self, ports: &mut dyn Iterator<Item = Port>, message: P::Message| {
                for port in ports {
                    if let Some((to, _)) = scribe.space.scene.target(at, port, struck) {
                        let channel = Channel { returns: false, from: at, to, out: port.0 as u8 };
                        scribe.letters.push(Sent { channel, message: message.clone(), cause, nth, copied: false });
                    }
                    nth += 1;
                }
            };
            let degree = self.space.scene.links[usize::from(at)].len() as u32;
            match effect {
                Effect::Send(port, message) => to_ports(self, &mut [port].into_iter(), message),
                Effect::SendAllBut(except, message) => {
                    to_ports(self, &mut (0..degree).map(Port).filter(|port| Some(*port) != except), message);
                }
                Effect::SendRange(ports, message) => to_ports(self, &mut ports.map(Port), message),
                Effect::SendDirect(to, message) => {
                    let place = self.local.position(to);
                    self.straight(
                        at,
                        place,
                        Sent { channel: to_nobody(at), message, cause, nth, copied: false },
                        &mut in_vain,
                    );
                    nth += 1;
                }
                Effect::SendTo(member, message) => {
                    let place = u8::try_from(member).ok().filter(|&to| usize::from(to) < self.states.len());
                    self.straight(
                        at,
                        place,
                        Sent { channel: to_nobody(at), message, cause, nth, copied: false },
                        &mut in_vain,
                    );
                    nth += 1;
                }
                Effect::SetTimer(_, timer) => self.timers.push((at, timer, cause)),
                Effect::Skip(port) => {
                    struck = step.next.seats[usize::from(at)].struck;
                    let Some(came_back) = came_back.filter(|sent| sent.channel.port() == Some(port)) else { continue };
                    let is_again =
                        |sent: &Sent<P::Message>| (Channel { returns: true, ..sent.channel }) == came_back.channel;
                    let again: Vec<_> = self.letters.extract_if(.., |sent| is_again(sent)).collect();
                    let messages: Vec<_> = again.iter().map(|sent| sent.message.clone()).collect();
                    in_vain.extend(again.into_iter().filter(|sent| !sent.channel.returns));
                    for message in std::iter::once(came_back.message.clone()).chain(messages) {
                        if let Some((to, _)) = self.space.scene.target(at, port, struck) {
                            let channel = Channel { returns: false, from: at, to, out: port.0 as u8 };
                            self.letters.push(Sent { channel, message, cause, nth, copied: false });
                        }
                        nth += 1;
                    }
                }
                Effect::Lead | Effect::Follow(_) | Effect::Forget | Effect::Learn(_) => {}
            }
        }
        in_vain.iter().for_each(|sent| self.lost(sent, Loss::ReceiverDown));
    }

    fn straight(&mut self, at: u8, to: Option<u8>, sent: Sent<P::Message>, in_vain: &mut Vec<Sent<P::Message>>) {
        match to {
            Some(to) => {
                let channel = Channel { returns: false, from: at, to, out: DIRECT };
                self.letters.push(Sent { channel, ..sent });
            }
            None => in_vain.push(sent),
        }
    }
}

/// As a simulator has it: a message to nobody is lost where it was sent.
fn to_nobody(at: u8) -> Channel {
    Channel { returns: false, from: at, to: at, out: DIRECT }
}

/// The state in which a node handles its input.
fn before(world: &World, step: &Step, at: u8, machine: &dyn Machine) -> u32 {
    match step.what {
        What::Recover(_) => machine.init(),
        _ => world.seats[usize::from(at)].state,
    }
}
