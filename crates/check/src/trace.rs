//! Turns a counterexample into a trace that the simulator can replay.
//!
//! The protocol itself runs again along the counterexample, because global states contain lowered rounds.

use hustings_protocol::{Effect, Loss, Port, Protocol, Record, Timer, TraceEvent};

use crate::counterexample::Counterexample;
use crate::global_state::{Channel, DIRECT, GlobalState};
use crate::model::Timing;
use crate::state_space::StateSpace;
use crate::steps::{Action, Step};
use crate::transition_table::{Input, ProtocolTable};

/// The trace of a counterexample.
pub(crate) fn records<P: Protocol>(
    table: &ProtocolTable<P>,
    space: &StateSpace<P::Rank>,
    counterexample: &Counterexample,
) -> Vec<Record<P::Message>> {
    let mut builder = TraceBuilder {
        table,
        space,
        tick: 0,
        lowered: 0,
        states: (0..space.model.size()).map(|_| table.initial_state()).collect(),
        in_transit: Vec::new(),
        timers: Vec::new(),
        records: Vec::new(),
    };
    let mut global = space.initial();
    for step in &counterexample.steps {
        builder.push_step(&global, step);
        global.clone_from(&step.next);
    }
    builder.records
}

/// Writes the records, and tracks which record sent each message in transit.
struct TraceBuilder<'a, P: Protocol> {
    table: &'a ProtocolTable<P>,
    space: &'a StateSpace<P::Rank>,
    tick: u64,
    /// What was subtracted so far from the rounds in the global state.
    lowered: u32,
    states: Vec<P::State>,
    /// Messages in transit, oldest first.
    in_transit: Vec<SentMessage<P::Message>>,
    /// The timers that are set, and the records that set them.
    timers: Vec<(u8, Timer, u64)>,
    records: Vec<Record<P::Message>>,
}

/// A message in transit: the `nth` message of the record `cause`.
#[derive(Clone)]
struct SentMessage<M> {
    channel: Channel,
    message: M,
    cause: u64,
    nth: u32,
    duplicated: bool,
}

impl<P: Protocol> TraceBuilder<'_, P> {
    fn push_step(&mut self, global: &GlobalState, step: &Step) {
        match (self.space.model.timing, step.action) {
            // Each step gets its own tick.
            (Timing::Free, _) => self.tick += 1,
            (_, Action::Tick(ticks)) => self.tick += u64::from(ticks),
            _ => {}
        }
        match step.action {
            Action::Tick(_) | Action::Wakeup(_) => {}
            Action::Start(_) | Action::LeaderLost(_) | Action::UpdateReachability(_) | Action::Timeout(_) => {
                self.push_handled(global, step, None);
            }
            Action::Deliver(place) | Action::Return(place) => {
                let sent = self.find(global, place).map(|index| self.in_transit.remove(index));
                self.push_handled(global, step, sent.as_ref());
            }
            Action::Duplicate(place) => {
                let sent = self.find(global, place).map(|index| {
                    self.in_transit[index].duplicated = true;
                    self.in_transit[index].clone()
                });
                self.push_handled(global, step, sent.as_ref());
            }
            Action::Lose(place) => {
                if let Some(index) = self.find(global, place) {
                    let sent = self.in_transit.remove(index);
                    self.push_lost(&sent, Loss::Chance);
                }
            }
            Action::Bounce(place) => {
                if let Some(index) = self.find(global, place) {
                    let mut sent = self.in_transit.remove(index);
                    self.push_lost(&sent, Loss::ReceiverDown);
                    sent.channel.is_returning = true;
                    self.in_transit.extend((!global.envelopes[place].sender_crashed).then_some(sent));
                }
            }
            Action::Crash(at) => {
                self.push_record(at, None, 0, TraceEvent::Crashed);
                self.states[usize::from(at)] = self.table.initial_state();
                self.timers.retain(|(owner, ..)| *owner != at);
                self.in_transit.retain(|sent| !(sent.channel.is_returning && sent.channel.from == at));
            }
            Action::Recover(at) => {
                self.push_record(at, None, 0, TraceEvent::Recovered);
                self.push_handled(global, step, None);
            }
        }
        self.lowered += step.rounds_lowered;
    }

    /// The message at this index of the state's envelopes.
    fn find(&self, global: &GlobalState, place: usize) -> Option<usize> {
        let envelope = &global.envelopes[place];
        self.in_transit.iter().position(|sent| {
            sent.channel == envelope.channel
                && sent.duplicated == envelope.duplicated
                && self.table.is_message(envelope.message, &sent.message, self.lowered)
        })
    }

    fn push_record(&mut self, at: u8, cause: Option<u64>, nth: u32, what: TraceEvent<P::Message>) {
        let number = self.records.len() as u64;
        self.records.push(Record { number, tick: self.tick, node: at.into(), cause, nth, copy: false, what });
    }

    fn push_lost(&mut self, sent: &SentMessage<P::Message>, why: Loss) {
        let what = TraceEvent::Lost { peer: sent.channel.from.into(), message: sent.message.clone(), why };
        self.push_record(sent.channel.to, Some(sent.cause), sent.nth, what);
    }

    /// Records that a node handles an input, if one does in this step.
    fn push_handled(&mut self, global: &GlobalState, step: &Step, sent: Option<&SentMessage<P::Message>>) {
        let Some((at, input)) = step.handled else { return };
        let transitions = self.space.table.transitions(at, step.state_before(global, at, &*self.space.table), input);
        let Some(transition) = transitions.get(step.branch as usize) else { return };
        let mut coins = transition.coins.to_vec();
        let event = self.table.event_with(input, |_| match sent {
            Some(sent) => sent.message.clone(),
            None => unreachable!("an input with a message comes from an envelope"),
        });
        let state = &mut self.states[usize::from(at)];
        let effects = self.table.perform(at, state, event.clone(), &mut coins);
        let cause = match input {
            Input::Timer(timer) => {
                let set = self.timers.iter().position(|&(owner, name, _)| (owner, name) == (at, timer));
                set.map(|set| self.timers.remove(set).2)
            }
            _ => sent.map(|sent| sent.cause),
        };
        let peer = sent.map(|sent| if sent.channel.is_returning { sent.channel.to } else { sent.channel.from });
        let what = TraceEvent::Handled { event, peer: peer.map(u32::from), coins, effects: effects.clone() };
        self.push_record(at, cause, sent.map_or(0, |sent| sent.nth), what);
        if let (Action::Duplicate(_), Some(record)) = (step.action, self.records.last_mut()) {
            record.copy = true;
        }
        self.track_effects(global, step, at, effects, sent);
    }

    /// Tracks the messages and timers of the effects.
    fn track_effects(
        &mut self,
        global: &GlobalState,
        step: &Step,
        at: u8,
        effects: Vec<Effect<P::Message>>,
        bounced: Option<&SentMessage<P::Message>>,
    ) {
        let cause = self.records.len() as u64 - 1;
        let mut nth = 0;
        let mut skipped = global.nodes[usize::from(at)].skipped;
        let mut undeliverable = Vec::new();
        for effect in effects {
            let mut to_ports = |builder: &mut Self, ports: &mut dyn Iterator<Item = Port>, message: P::Message| {
                for port in ports {
                    if let Some((to, _)) = builder.space.model.target(at, port, skipped) {
                        let channel = Channel { is_returning: false, from: at, to, out_port: port.0 as u8 };
                        builder.in_transit.push(SentMessage {
                            channel,
                            message: message.clone(),
                            cause,
                            nth,
                            duplicated: false,
                        });
                    }
                    nth += 1;
                }
            };
            let degree = self.space.model.links[usize::from(at)].len() as u32;
            match effect {
                Effect::Send(port, message) => to_ports(self, &mut [port].into_iter(), message),
                Effect::SendAllBut(except, message) => {
                    to_ports(self, &mut (0..degree).map(Port).filter(|port| Some(*port) != except), message);
                }
                Effect::SendRange(ports, message) => to_ports(self, &mut ports.map(Port), message),
                Effect::SendDirect(to, message) => {
                    let place = self.table.position(to);
                    self.send_direct(
                        at,
                        place,
                        SentMessage { channel: to_unknown(at), message, cause, nth, duplicated: false },
                        &mut undeliverable,
                    );
                    nth += 1;
                }
                Effect::SendTo(member, message) => {
                    let place = u8::try_from(member).ok().filter(|&to| usize::from(to) < self.states.len());
                    self.send_direct(
                        at,
                        place,
                        SentMessage { channel: to_unknown(at), message, cause, nth, duplicated: false },
                        &mut undeliverable,
                    );
                    nth += 1;
                }
                Effect::SetTimer(_, timer) => self.timers.push((at, timer, cause)),
                Effect::Skip(port) => {
                    skipped = step.next.nodes[usize::from(at)].skipped;
                    let Some(bounced) = bounced.filter(|sent| sent.channel.port() == Some(port)) else { continue };
                    let is_resent = |sent: &SentMessage<P::Message>| {
                        (Channel { is_returning: true, ..sent.channel }) == bounced.channel
                    };
                    let resent: Vec<_> = self.in_transit.extract_if(.., |sent| is_resent(sent)).collect();
                    let messages: Vec<_> = resent.iter().map(|sent| sent.message.clone()).collect();
                    undeliverable.extend(resent.into_iter().filter(|sent| !sent.channel.is_returning));
                    for message in std::iter::once(bounced.message.clone()).chain(messages) {
                        if let Some((to, _)) = self.space.model.target(at, port, skipped) {
                            let channel = Channel { is_returning: false, from: at, to, out_port: port.0 as u8 };
                            self.in_transit.push(SentMessage { channel, message, cause, nth, duplicated: false });
                        }
                        nth += 1;
                    }
                }
                Effect::Lead | Effect::Follow(_) | Effect::Forget | Effect::Learn(_) => {}
            }
        }
        undeliverable.iter().for_each(|sent| self.push_lost(sent, Loss::ReceiverDown));
    }

    fn send_direct(
        &mut self,
        at: u8,
        to: Option<u8>,
        sent: SentMessage<P::Message>,
        undeliverable: &mut Vec<SentMessage<P::Message>>,
    ) {
        match to {
            Some(to) => {
                let channel = Channel { is_returning: false, from: at, to, out_port: DIRECT };
                self.in_transit.push(SentMessage { channel, ..sent });
            }
            None => undeliverable.push(sent),
        }
    }
}

/// The channel of a message to an unknown id. As in the simulator, it is lost at its sender.
fn to_unknown(at: u8) -> Channel {
    Channel { is_returning: false, from: at, to: at, out_port: DIRECT }
}
