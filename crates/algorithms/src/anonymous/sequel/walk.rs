//! On a graph: a depth-first walk of the leader's hands out names; an echo wave counts, and a flood tells the number.
//!
//! - **Assumes** a connected graph with one leader; any delays, any order of messages.
//! - **Promises** that everybody gets one of the names 0 to n-1, no two the same, and learns the number of nodes.
//! - **Comes from** McMaster's slides, "Anonymous Networks" and "Computing the Size of an Anonymous Network".
//! - **Costs** exactly 2E `name`, one at a time; exactly 2E `count` and 2E-(n-1) `size`. For both, the wave starts when
//!   the walk is over.

use alloc::{boxed::Box, vec, vec::Vec};
use core::marker::PhantomData;
use core::mem;

use hustings_protocol::{Context, Fact, Port, Protocol, Rank, StartReason};

use super::{Message, Then};
use crate::graph::plain::Flood;
use crate::graph::wave::{Nodes, Wave};

/// The state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Walk<R> {
    then: Then,
    rank: PhantomData<R>,
}

impl<R> Walk<R> {
    /// What is wanted of it.
    pub const fn new(then: Then) -> Self {
        Walk { then, rank: PhantomData }
    }
}

/// What a node remembers; nothing until it is drawn in.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct State(Option<Box<Notes>>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Notes {
    /// Whether it leads.
    has_begun: bool,
    visit: Option<Visit>,
    count: Wave<(), Nodes>,
    told: Flood,
}

/// What a node remembers of the walk.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Visit {
    /// Where the walk first came in; nowhere at the leader.
    parent: Option<Port>,
    /// Where it went out last.
    out: Option<Port>,
    /// A bit for each port over which it came back or passed by.
    used: Vec<u64>,
}

impl State {
    fn notes(&mut self) -> &mut Notes {
        let blank = || Box::new(Notes { has_begun: false, visit: None, count: Wave::NONE, told: Flood::QUIET });
        self.0.get_or_insert_with(blank)
    }
}

impl Visit {
    fn new(parent: Option<Port>, degree: u32) -> Self {
        let mut visit = Visit { parent, out: None, used: vec![0; degree.div_ceil(64) as usize] };
        parent.into_iter().for_each(|port| visit.strike(port));
        visit
    }

    fn strike(&mut self, port: Port) {
        if let Some(word) = self.used.get_mut(port.index() / 64) {
            *word |= 1 << (port.index() % 64);
        }
    }

    fn is_used(&self, port: u32) -> bool {
        self.used.get(port as usize / 64).is_some_and(|word| word >> (port % 64) & 1 != 0)
    }

    /// Where the walk goes next: the first port that it has not used, else back. Ports are struck off in ascending
    /// order, so all before the last one out are.
    fn next(&mut self, degree: u32) -> Option<Port> {
        let first = self.out.map_or(0, |port| port.0 + 1);
        self.out = (first..degree).find(|&port| !self.is_used(port)).map(Port);
        self.out.inspect(|&port| self.strike(port)).or(self.parent)
    }
}

/// There is one wave.
fn count((): (), Nodes(nodes): Nodes) -> Message {
    Message::Count(nodes)
}

impl<R: Rank> Walk<R> {
    /// The walk goes on from here; where it is over, what follows begins.
    fn walk_on<C: Context<Self>>(&self, notes: &mut Notes, free: u32, cx: &mut C) {
        let next = notes.visit.as_mut().and_then(|visit| visit.next(cx.degree()));
        match next {
            Some(port) => cx.send(port, Message::Name(free)),
            None if self.then.size() => self.begin_to_count(notes, cx),
            None => {}
        }
    }

    fn begin_to_count<C: Context<Self>>(&self, notes: &mut Notes, cx: &mut C) {
        if let Some(nodes) = notes.count.begin((), count, cx) {
            self.tell(notes, None, nodes.0, cx);
        }
    }

    fn tell<C: Context<Self>>(&self, notes: &mut Notes, from: Option<Port>, size: u32, cx: &mut C) {
        notes.told.spread(from, Message::Size(size), cx, |cx| cx.learn(Fact::Size(size.into())));
    }
}

impl<R: Rank> Protocol for Walk<R> {
    type Rank = R;
    type State = State;
    type Message = Message;

    fn init(&self) -> State {
        State::default()
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut State, _: StartReason, cx: &mut C) {
        if self.then == Then::Nothing || mem::replace(&mut state.notes().has_begun, true) {
            return;
        }
        let notes = state.notes();
        if self.then.names() {
            cx.learn(Fact::Name(0));
            notes.visit = Some(Visit::new(None, cx.degree()));
            self.walk_on(notes, 1, cx);
        } else {
            self.begin_to_count(notes, cx);
        }
    }

    fn handle_message<C: Context<Self>>(&self, state: &mut State, from: Port, message: Message, cx: &mut C) {
        let notes = state.notes();
        match message {
            Message::Name(free) => match &mut notes.visit {
                None => {
                    cx.learn(Fact::Name(free.into()));
                    notes.visit = Some(Visit::new(Some(from), cx.degree()));
                    self.walk_on(notes, free.saturating_add(1), cx);
                }
                Some(visit) if visit.out == Some(from) => self.walk_on(notes, free, cx),
                // It has come over a link that closes a cycle: back at once, and never over that link again.
                Some(visit) => {
                    visit.strike(from);
                    cx.send(from, message);
                }
            },
            Message::Count(nodes) => {
                if let Some(Nodes(all)) = notes.count.hear(from, (), Nodes(nodes), count, cx) {
                    self.tell(notes, None, all, cx);
                }
            }
            Message::Size(size) => self.tell(notes, Some(from), size, cx),
        }
    }
}
