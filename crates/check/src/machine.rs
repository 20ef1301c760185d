//! The protocol as a table: what a node in a state does about an event, worked out once and then looked up.
//!
//! An election has a great many worlds, but few states of a node and few messages. Both get numbers, and a step of a
//! node is a line of a table. So the protocol itself runs only when a line is missing, and exploring worlds costs the
//! same for all protocols.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ahash::RandomState;
use hustings_protocol::{
    Change, Effect, Epoch, Event, Fact, Id, NodeInfo, Port, Protocol, Rank, Recorder, Stage, StartReason,
    StateOrMessage, Timer,
};

use crate::scene::Scene;
use crate::world::{MessageNo, StateNo};

/// The most values of one coin that are tried.
pub const MAX_SIDES: u64 = 64;

/// What happens to a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Input {
    Start(StartReason),
    /// Came in at a port.
    Message(Port, MessageNo),
    /// Came from a position that sent it by id.
    Direct(u8, MessageNo),
    Unreachable(Port, MessageNo),
    UnreachableDirect(u8, MessageNo),
    Timer(Timer),
    /// These positions are in reach.
    Reach(u64),
    Rejoin,
}

/// What a node does about it, for one way in which its coins may fall.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Outcome {
    pub(crate) state: StateNo,
    pub(crate) acts: Box<[Act]>,
    /// The coins: how many sides, which one.
    pub(crate) coins: Box<[(u64, u64)]>,
}

/// One thing that a node does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    Send(Port, MessageNo),
    /// To a position; `None` if nobody has the id.
    Direct(Option<u8>, MessageNo),
    Timer(u64, Timer),
    Lead,
    Follow(Option<u8>),
    Forget,
    Estimate(u32),
    Busy(bool),
    Skip(Port),
}

/// A protocol whose type is hidden.
pub(crate) trait Machine: Send + Sync {
    /// The state of a fresh node.
    fn init(&self) -> StateNo;
    fn observes_reachability(&self) -> bool;
    fn handles_rejoin(&self) -> bool;
    /// What a node does, for every way in which its coins may fall.
    fn outcomes(&self, at: u8, state: StateNo, input: Input) -> Arc<[Outcome]>;
    fn epoch(&self, state: StateNo) -> Epoch;
    /// The least and the greatest round in a state.
    fn rounds_of(&self, state: StateNo) -> Option<(u32, u32)>;
    fn rounds_in(&self, message: MessageNo) -> Option<(u32, u32)>;
    /// The same with all rounds lowered.
    fn lower_state(&self, state: StateNo, by: u32) -> StateNo;
    fn lower_message(&self, message: MessageNo, by: u32) -> MessageNo;
    /// Whether any state or message has a round.
    fn counts_rounds(&self) -> bool;
    /// Whether a coin had more sides than are tried.
    fn left_out_coins(&self) -> bool;
}

/// Things and their numbers.
struct Numbers<T> {
    by_number: Vec<Arc<T>>,
    numbers: HashMap<Arc<T>, u32, RandomState>,
    rounds: Vec<Option<(u32, u32)>>,
    lowered: HashMap<(u32, u32), u32, RandomState>,
}

fn fixed() -> RandomState {
    RandomState::with_seeds(5, 6, 7, 8)
}

impl<T: Eq + Hash> Numbers<T> {
    fn new() -> Self {
        Numbers {
            by_number: Vec::new(),
            numbers: HashMap::with_hasher(fixed()),
            rounds: Vec::new(),
            lowered: HashMap::with_hasher(fixed()),
        }
    }

    fn number(&mut self, thing: T, rounds: impl FnOnce(&T) -> Option<(u32, u32)>) -> u32 {
        if let Some(&number) = self.numbers.get(&thing) {
            return number;
        }
        let number = self.by_number.len() as u32;
        self.rounds.push(rounds(&thing));
        let thing = Arc::new(thing);
        self.by_number.push(Arc::clone(&thing));
        self.numbers.insert(thing, number);
        number
    }
}

type Table = HashMap<(u8, StateNo, Input), Arc<[Outcome]>, RandomState>;

/// The table of a protocol in one scene.
pub(crate) struct Local<P: Protocol> {
    protocol: P,
    places: Vec<NodeInfo<P::Rank>>,
    ids: HashMap<Id, u8, RandomState>,
    states: RwLock<Numbers<P::State>>,
    messages: RwLock<Numbers<P::Message>>,
    table: RwLock<Table>,
    counts_rounds: AtomicBool,
    /// How many nodes may come up.
    lives: u64,
    left_out_coins: AtomicBool,
}

/// Locks are poisoned only where a protocol panicked, and then everything ends.
fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Protocol> Local<P> {
    pub(crate) fn new(protocol: P, scene: &Scene<P::Rank>) -> Self {
        let members = &scene.ranks[..scene.members as usize];
        let mut ids = HashMap::with_hasher(fixed());
        ids.extend(members.iter().zip(0..).map(|(rank, at)| (rank.id(), at)));
        Local {
            protocol,
            places: (0..scene.size() as u32).map(|at| scene.place(at)).collect(),
            ids,
            states: RwLock::new(Numbers::new()),
            messages: RwLock::new(Numbers::new()),
            table: RwLock::new(HashMap::with_hasher(fixed())),
            counts_rounds: AtomicBool::new(false),
            lives: u64::from(scene.budget.recoveries).clamp(1, MAX_SIDES),
            left_out_coins: AtomicBool::new(false),
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

    /// The event that an input is.
    fn event(&self, input: Input) -> Event<P::Message> {
        self.event_with(input, |number| self.message(number))
    }

    /// The same, with a message of the caller's in place of the one of that number.
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
            Input::Reach(bits) => {
                let mut ids: Vec<Id> = (0..64).filter(|at| bits >> at & 1 == 1).map(|at| self.id_of(at)).collect();
                ids.sort_unstable();
                Event::Change(Change::Reachable(ids.into()))
            }
            Input::Rejoin => Event::Rejoin,
        }
    }

    /// What the protocol itself does, with these coins; those that are missing fall on 0 and are added.
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

    /// Who has an id.
    pub(crate) fn position(&self, id: Id) -> Option<u8> {
        self.ids.get(&id).copied()
    }

    /// Gives out all numbers anew.
    pub(crate) fn forget(&self) {
        *write(&self.states) = Numbers::new();
        *write(&self.messages) = Numbers::new();
        write(&self.table).clear();
    }

    /// A fresh state.
    pub(crate) fn fresh(&self) -> P::State {
        self.protocol.init()
    }

    /// Whether a message, its rounds lowered by so much, is the one of this number.
    pub(crate) fn is_message(&self, number: MessageNo, message: &P::Message, lowered: u32) -> bool {
        let mut message = message.clone();
        self.protocol
            .rounds(StateOrMessage::Message(&mut message), &mut |round| *round = round.saturating_sub(lowered));
        *read(&self.messages).by_number[number as usize] == message
    }

    fn work_out(&self, at: u8, state: StateNo, input: Input) -> Arc<[Outcome]> {
        let mut outcomes = Vec::new();
        let mut coins: Vec<(u64, u64)> = Vec::new();
        // What a node draws when it comes up is a name for its new life. Names are only compared with each other, so
        // there need be no more of them than lives.
        let is_name = input == Input::Rejoin;
        let most = if is_name { self.lives } else { MAX_SIDES };
        loop {
            let mut after = self.state(state);
            let effects = self.perform(at, &mut after, self.event(input), &mut coins);
            let mut acts = Vec::new();
            effects.into_iter().for_each(|effect| self.act(at, effect, &mut acts));
            let state = self.number_state(after);
            outcomes.push(Outcome { state, acts: acts.into(), coins: coins.as_slice().into() });
            // The next way in which they may fall: the last coin that has another side.
            while let Some((bound, coin)) = coins.last_mut() {
                if *bound > most {
                    self.left_out_coins.fetch_or(!is_name, Ordering::Relaxed);
                }
                *coin += 1;
                if *coin < (*bound).min(most) {
                    break;
                }
                coins.pop();
            }
            if coins.is_empty() {
                return outcomes.into();
            }
        }
    }

    fn act(&self, at: u8, effect: Effect<P::Message>, acts: &mut Vec<Act>) {
        let place = |id: Id| self.position(id);
        match effect {
            Effect::Send(port, message) => acts.push(Act::Send(port, self.number_message(message))),
            Effect::SendAllBut(except, message) => {
                let message = self.number_message(message);
                let ports = (0..self.degree(at)).map(Port).filter(|port| Some(*port) != except);
                acts.extend(ports.map(|port| Act::Send(port, message)));
            }
            Effect::SendRange(ports, message) => {
                let message = self.number_message(message);
                acts.extend(ports.map(|port| Act::Send(Port(port), message)));
            }
            Effect::SendDirect(to, message) => acts.push(Act::Direct(place(to), self.number_message(message))),
            Effect::SendTo(member, message) => {
                let to = u8::try_from(member).ok().filter(|&to| usize::from(to) < self.places.len());
                acts.push(Act::Direct(to, self.number_message(message)));
            }
            Effect::SetTimer(after, timer) => acts.push(Act::Timer(after.max(1), timer)),
            Effect::Lead => acts.push(Act::Lead),
            Effect::Follow(leader) => acts.push(Act::Follow(place(leader))),
            Effect::Forget => acts.push(Act::Forget),
            Effect::Learn(Fact::Size(size)) => acts.push(Act::Estimate(size.min(u64::from(u32::MAX)) as u32)),
            Effect::Learn(Fact::Name(_)) => {}
            Effect::Learn(Fact::Stage(stage)) => {
                acts.push(Act::Busy(matches!(stage, Stage::Elect | Stage::Hold | Stage::Reorganize)));
            }
            Effect::Skip(port) => acts.push(Act::Skip(port)),
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
        write(&self.states).number(state, |state| self.ends_of_rounds(StateOrMessage::State(&mut state.clone())))
    }

    fn number_message(&self, message: P::Message) -> MessageNo {
        if let Some(&number) = read(&self.messages).numbers.get(&message) {
            return number;
        }
        write(&self.messages)
            .number(message, |message| self.ends_of_rounds(StateOrMessage::Message(&mut message.clone())))
    }

    /// The least and the greatest of the rounds in a state or message.
    fn ends_of_rounds(&self, held: StateOrMessage<'_, P>) -> Option<(u32, u32)> {
        let mut ends: Option<(u32, u32)> = None;
        self.protocol.rounds(held, &mut |round| {
            let (least, greatest) = ends.unwrap_or((*round, *round));
            ends = Some((least.min(*round), greatest.max(*round)));
        });
        if ends.is_some() {
            self.counts_rounds.store(true, Ordering::Relaxed);
        }
        ends
    }
}

impl<P: Protocol> Machine for Local<P> {
    fn init(&self) -> StateNo {
        self.number_state(self.protocol.init())
    }

    fn observes_reachability(&self) -> bool {
        self.protocol.observes_reachability()
    }

    fn handles_rejoin(&self) -> bool {
        self.protocol.handles_rejoin()
    }

    fn outcomes(&self, at: u8, state: StateNo, input: Input) -> Arc<[Outcome]> {
        let key = (at, state, input);
        if let Some(outcomes) = read(&self.table).get(&key) {
            return Arc::clone(outcomes);
        }
        let outcomes = self.work_out(at, state, input);
        Arc::clone(write(&self.table).entry(key).or_insert(outcomes))
    }

    fn epoch(&self, state: StateNo) -> Epoch {
        self.protocol.epoch(&read(&self.states).by_number[state as usize])
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

    fn left_out_coins(&self) -> bool {
        self.left_out_coins.load(Ordering::Relaxed)
    }
}
