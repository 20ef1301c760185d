//! The transition table of a protocol: the transitions of a node for each state and input, computed once.
//!
//! An election has very many global states, but few node states and few messages. Both get numbers, and the transitions
//! of a node are an entry of a table. So the protocol itself runs only when an entry is missing, and exploring costs
//! the same for all protocols.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ahash::RandomState;
use hustings_protocol::{
    Change, Effect, Epoch, Event, Fact, Id, Message as _, NodeInfo, Port, Protocol, Rank, Recorder, Stage, StartReason,
    StateOrMessage, Timer,
};

use crate::global_state::{MessageNo, StateNo};
use crate::interner::{Interner, fixed_hasher};
use crate::model::Model;

/// The maximum number of outcomes of one random draw that are explored.
pub(crate) const MAX_COIN_SIDES: u64 = 64;

/// An input of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Input {
    Start(StartReason),
    /// Arrived at a port.
    Message(Port, MessageNo),
    /// Arrived from a position that addressed it by id.
    Direct(u8, MessageNo),
    Unreachable(Port, MessageNo),
    UnreachableDirect(u8, MessageNo),
    Timer(Timer),
    /// The reachable positions, as bits.
    Reachability(u64),
    Rejoin,
}

/// The next state and the effects of a node, for one outcome of its random draws.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Transition {
    pub(crate) state: StateNo,
    pub(crate) effects: Box<[TableEffect]>,
    /// The random draws: the number of outcomes, and which one it was.
    pub(crate) coins: Box<[(u64, u64)]>,
}

/// An effect, with messages and nodes as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableEffect {
    Send(Port, MessageNo),
    /// To a position; `None` if no node has the id.
    Direct(Option<u8>, MessageNo),
    Timer(u64, Timer),
    Lead,
    Follow(Option<u8>),
    Forget,
    Estimate(u32),
    Electing(bool),
    Skip(Port),
}

/// A transition table with the type of the protocol erased.
pub(crate) trait TransitionTable: Send + Sync {
    /// The initial state of a node.
    fn init(&self) -> StateNo;
    fn observes_reachability(&self) -> bool;
    fn handles_rejoin(&self) -> bool;
    /// The transitions of a node, one for each outcome of its random draws.
    fn transitions(&self, at: u8, state: StateNo, input: Input) -> Arc<[Transition]>;
    fn epoch(&self, state: StateNo) -> Epoch;
    /// Whether a message belongs to periodic traffic.
    fn is_periodic(&self, message: MessageNo) -> bool;
    /// How the candidate of a message compares to a node, if the message is a candidacy.
    fn candidacy(&self, at: u8, message: MessageNo) -> Option<std::cmp::Ordering>;
    /// The least and the greatest round in a state.
    fn rounds_of(&self, state: StateNo) -> Option<(u32, u32)>;
    fn rounds_in(&self, message: MessageNo) -> Option<(u32, u32)>;
    /// The state with `by` subtracted from all its rounds.
    fn lower_state(&self, state: StateNo, by: u32) -> StateNo;
    fn lower_message(&self, message: MessageNo, by: u32) -> MessageNo;
    /// Whether any state or message so far has a round.
    fn counts_rounds(&self) -> bool;
    /// Whether some outcomes of a random draw were not explored.
    fn has_unexplored_coins(&self) -> bool;
}

type Table = HashMap<(u8, StateNo, Input), Arc<[Transition]>, RandomState>;

/// The transition table of a protocol in one model.
pub(crate) struct ProtocolTable<P: Protocol> {
    protocol: P,
    places: Vec<NodeInfo<P::Rank>>,
    ids: HashMap<Id, u8, RandomState>,
    states: RwLock<Interner<P::State>>,
    messages: RwLock<Interner<P::Message>>,
    table: RwLock<Table>,
    counts_rounds: AtomicBool,
    /// The maximum number of incarnations that recoveries create; at least 1.
    incarnations: u64,
    has_unexplored_coins: AtomicBool,
}

/// A lock is poisoned only if a protocol panics, and that ends the whole check.
fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Protocol> ProtocolTable<P> {
    pub(crate) fn new(protocol: P, model: &Model<P::Rank>) -> Self {
        let members = &model.ranks[..model.members as usize];
        let mut ids = HashMap::with_hasher(fixed_hasher());
        ids.extend(members.iter().zip(0..).map(|(rank, at)| (rank.id(), at)));
        ProtocolTable {
            protocol,
            places: (0..model.size() as u32).map(|at| model.node_info(at)).collect(),
            ids,
            states: RwLock::new(Interner::new()),
            messages: RwLock::new(Interner::new()),
            table: RwLock::new(HashMap::with_hasher(fixed_hasher())),
            counts_rounds: AtomicBool::new(false),
            incarnations: u64::from(model.budget.recoveries).clamp(1, MAX_COIN_SIDES),
            has_unexplored_coins: AtomicBool::new(false),
        }
    }

    fn message(&self, number: MessageNo) -> P::Message {
        P::Message::clone(&read(&self.messages).by_number[number as usize])
    }

    fn state(&self, number: StateNo) -> P::State {
        P::State::clone(&read(&self.states).by_number[number as usize])
    }

    fn id_of(&self, at: u8) -> Id {
        self.places[usize::from(at)].rank.id()
    }

    /// The event for an input.
    fn event(&self, input: Input) -> Event<P::Message> {
        self.event_with(input, |number| self.message(number))
    }

    /// Like `event`, with the message chosen by the caller.
    pub(crate) fn event_with(&self, input: Input, message: impl FnOnce(MessageNo) -> P::Message) -> Event<P::Message> {
        match input {
            Input::Start(reason) => Event::Start(reason),
            Input::Message(from, number) => Event::Message { from, message: message(number) },
            Input::Direct(from, number) => Event::Direct { from: self.id_of(from), message: message(number) },
            Input::Unreachable(port, number) => Event::Unreachable { port, message: message(number) },
            Input::UnreachableDirect(to, number) => {
                Event::UnreachableDirect { to: self.id_of(to), message: message(number) }
            }
            Input::Timer(timer) => Event::Timer(timer),
            Input::Reachability(bits) => {
                let mut ids: Vec<Id> = (0..64).filter(|at| bits >> at & 1 == 1).map(|at| self.id_of(at)).collect();
                ids.sort_unstable();
                Event::Change(Change::Reachable(ids.into()))
            }
            Input::Rejoin => Event::Rejoin,
        }
    }

    /// Runs the protocol with these random draws. Further draws give 0 and are appended.
    pub(crate) fn perform(
        &self,
        at: u8,
        state: &mut P::State,
        event: Event<P::Message>,
        coins: &mut Vec<(u64, u64)>,
    ) -> Vec<Effect<P::Message>> {
        let mut effects = Vec::new();
        let mut drawn = 0;
        let draw = |bound: u64| {
            if drawn == coins.len() {
                coins.push((bound.max(1), 0));
            }
            drawn += 1;
            coins[drawn - 1].1
        };
        let mut context = Recorder::new(&self.places[usize::from(at)], draw, &mut effects);
        self.protocol.handle(state, event, &mut context);
        effects
    }

    /// The position of an id.
    pub(crate) fn position(&self, id: Id) -> Option<u8> {
        self.ids.get(&id).copied()
    }

    /// Empties the table, so that numbers are assigned from 0 again.
    pub(crate) fn clear(&self) {
        *write(&self.states) = Interner::new();
        *write(&self.messages) = Interner::new();
        write(&self.table).clear();
    }

    /// The initial state of a node.
    pub(crate) fn initial_state(&self) -> P::State {
        self.protocol.init()
    }

    /// Whether a message, after `lowered` is subtracted from its rounds, has this number.
    pub(crate) fn is_message(&self, number: MessageNo, message: &P::Message, lowered: u32) -> bool {
        let mut message = message.clone();
        self.protocol
            .rounds(StateOrMessage::Message(&mut message), &mut |round| *round = round.saturating_sub(lowered));
        *read(&self.messages).by_number[number as usize] == message
    }

    fn compute(&self, at: u8, state: StateNo, input: Input) -> Arc<[Transition]> {
        let mut transitions = Vec::new();
        let mut coins: Vec<(u64, u64)> = Vec::new();
        // A node that recovers draws an identifier for its incarnation. Identifiers are only compared with each other,
        // so as many of them suffice as there are incarnations.
        let is_identifier = input == Input::Rejoin;
        let max_sides = if is_identifier { self.incarnations } else { MAX_COIN_SIDES };
        loop {
            let mut after = self.state(state);
            let effects = self.perform(at, &mut after, self.event(input), &mut coins);
            let mut numbered = Vec::new();
            effects.into_iter().for_each(|effect| self.push_effect(at, effect, &mut numbered));
            let state = self.number_state(after);
            transitions.push(Transition { state, effects: numbered.into(), coins: coins.as_slice().into() });
            // The next combination of draws: advance the last one that has another outcome.
            while let Some((bound, coin)) = coins.last_mut() {
                if *bound > max_sides {
                    self.has_unexplored_coins.fetch_or(!is_identifier, Ordering::Relaxed);
                }
                *coin += 1;
                if *coin < (*bound).min(max_sides) {
                    break;
                }
                coins.pop();
            }
            if coins.is_empty() {
                return transitions.into();
            }
        }
    }

    fn push_effect(&self, at: u8, effect: Effect<P::Message>, effects: &mut Vec<TableEffect>) {
        let position = |id: Id| self.position(id);
        match effect {
            Effect::Send(port, message) => effects.push(TableEffect::Send(port, self.number_message(message))),
            Effect::SendAllBut(except, message) => {
                let message = self.number_message(message);
                let ports = (0..self.degree(at)).map(Port).filter(|port| Some(*port) != except);
                effects.extend(ports.map(|port| TableEffect::Send(port, message)));
            }
            Effect::SendRange(ports, message) => {
                let message = self.number_message(message);
                effects.extend(ports.map(|port| TableEffect::Send(Port(port), message)));
            }
            Effect::SendDirect(to, message) => {
                effects.push(TableEffect::Direct(position(to), self.number_message(message)))
            }
            Effect::SendTo(member, message) => {
                let to = u8::try_from(member).ok().filter(|&to| usize::from(to) < self.places.len());
                effects.push(TableEffect::Direct(to, self.number_message(message)));
            }
            Effect::SetTimer(after, timer) => effects.push(TableEffect::Timer(after.max(1), timer)),
            Effect::Lead => effects.push(TableEffect::Lead),
            Effect::Follow(leader) => effects.push(TableEffect::Follow(position(leader))),
            Effect::Forget => effects.push(TableEffect::Forget),
            Effect::Learn(Fact::Size(size)) => {
                effects.push(TableEffect::Estimate(size.min(u64::from(u32::MAX)) as u32))
            }
            Effect::Learn(Fact::Name(_) | Fact::Cheating(_)) => {}
            Effect::Learn(Fact::Stage(stage)) => {
                effects.push(TableEffect::Electing(matches!(stage, Stage::Elect | Stage::Hold | Stage::Reorganize)));
            }
            Effect::Skip(port) => effects.push(TableEffect::Skip(port)),
        }
    }

    fn degree(&self, at: u8) -> u32 {
        match &self.places[usize::from(at)].peers {
            hustings_protocol::Peers::Unknown(degree) => *degree,
            hustings_protocol::Peers::Known(ranks) => ranks.len() as u32,
        }
    }

    fn number_state(&self, state: P::State) -> StateNo {
        if let Some(&number) = read(&self.states).numbers.get(&state) {
            return number;
        }
        write(&self.states).number(state, |state| self.round_range(StateOrMessage::State(&mut state.clone())))
    }

    fn number_message(&self, message: P::Message) -> MessageNo {
        if let Some(&number) = read(&self.messages).numbers.get(&message) {
            return number;
        }
        write(&self.messages).number(message, |message| self.round_range(StateOrMessage::Message(&mut message.clone())))
    }

    /// The least and the greatest round in a state or message.
    fn round_range(&self, held: StateOrMessage<'_, P>) -> Option<(u32, u32)> {
        let mut range: Option<(u32, u32)> = None;
        self.protocol.rounds(held, &mut |round| {
            let (least, greatest) = range.unwrap_or((*round, *round));
            range = Some((least.min(*round), greatest.max(*round)));
        });
        if range.is_some() {
            self.counts_rounds.store(true, Ordering::Relaxed);
        }
        range
    }
}

impl<P: Protocol> TransitionTable for ProtocolTable<P> {
    fn init(&self) -> StateNo {
        self.number_state(self.protocol.init())
    }

    fn observes_reachability(&self) -> bool {
        self.protocol.observes_reachability()
    }

    fn handles_rejoin(&self) -> bool {
        self.protocol.handles_rejoin()
    }

    fn transitions(&self, at: u8, state: StateNo, input: Input) -> Arc<[Transition]> {
        let key = (at, state, input);
        if let Some(transitions) = read(&self.table).get(&key) {
            return Arc::clone(transitions);
        }
        let transitions = self.compute(at, state, input);
        Arc::clone(write(&self.table).entry(key).or_insert(transitions))
    }

    fn epoch(&self, state: StateNo) -> Epoch {
        self.protocol.epoch(&read(&self.states).by_number[state as usize])
    }

    fn is_periodic(&self, message: MessageNo) -> bool {
        read(&self.messages).by_number[message as usize].is_periodic()
    }

    fn candidacy(&self, at: u8, message: MessageNo) -> Option<std::cmp::Ordering> {
        let candidate = self.protocol.candidacy(&read(&self.messages).by_number[message as usize])?;
        let candidate = self.position(candidate)?;
        Some(self.places[usize::from(candidate)].rank.cmp(&self.places[usize::from(at)].rank))
    }

    fn rounds_of(&self, state: StateNo) -> Option<(u32, u32)> {
        read(&self.states).rounds[state as usize]
    }

    fn rounds_in(&self, message: MessageNo) -> Option<(u32, u32)> {
        read(&self.messages).rounds[message as usize]
    }

    fn lower_state(&self, state: StateNo, by: u32) -> StateNo {
        if let Some(&lowered) = read(&self.states).lowered.get(&(state, by)) {
            return lowered;
        }
        let mut lower = self.state(state);
        self.protocol.rounds(StateOrMessage::State(&mut lower), &mut |round| *round = round.saturating_sub(by));
        let number = self.number_state(lower);
        write(&self.states).lowered.insert((state, by), number);
        number
    }

    fn lower_message(&self, message: MessageNo, by: u32) -> MessageNo {
        if let Some(&lowered) = read(&self.messages).lowered.get(&(message, by)) {
            return lowered;
        }
        let mut lower = self.message(message);
        self.protocol.rounds(StateOrMessage::Message(&mut lower), &mut |round| *round = round.saturating_sub(by));
        let number = self.number_message(lower);
        write(&self.messages).lowered.insert((message, by), number);
        number
    }

    fn counts_rounds(&self) -> bool {
        self.counts_rounds.load(Ordering::Relaxed)
    }

    fn has_unexplored_coins(&self) -> bool {
        self.has_unexplored_coins.load(Ordering::Relaxed)
    }
}
