//! Follow-ups on a graph: a depth-first traversal assigns names; an echo wave counts, and a flood tells the number.
//!
//! - **Source**: McMaster, "Anonymous Networks" and "Computing the Size of an Anonymous Network".
//! - **Needs** a connected graph with one leader; any delays, any order of messages.
//! - **Guarantees** that each node gets a different name from 0 to n-1, and that all nodes learn n.
//! - **Messages**: exactly 2E `name`, one at a time; exactly 2E `count` and 2E-(n-1) `size`. For both, the wave starts
//!   when the traversal is over.

use alloc::{boxed::Box, vec, vec::Vec};
use core::marker::PhantomData;
use core::mem;

use hustings_protocol::{Context, Fact, Port, Protocol, Rank, StartReason};

use super::{FollowUp, Message};
use crate::graph::flood::Flood;
use crate::graph::wave::{Nodes, Wave};

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Traversal<R> {
    then: FollowUp,
    rank: PhantomData<R>,
}

impl<R> Traversal<R> {
    /// The follow-up that is wanted.
    pub const fn new(then: FollowUp) -> Self {
        Traversal { then, rank: PhantomData }
    }
}

/// The state of a node; empty until a message reaches it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct State(Option<Box<TraversalState>>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct TraversalState {
    /// Whether this node leads and has started.
    has_started: bool,
    visit: Option<Visit>,
    count: Wave<(), Nodes>,
    flood: Flood,
}

/// What a node knows of the traversal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Visit {
    /// The port where the traversal first arrived; `None` at the leader.
    parent: Option<Port>,
    /// The port where it left last.
    out: Option<Port>,
    /// A bit for each port that the traversal has used.
    used: Vec<u64>,
}

impl State {
    fn traversal(&mut self) -> &mut TraversalState {
        let blank =
            || Box::new(TraversalState { has_started: false, visit: None, count: Wave::NONE, flood: Flood::QUIET });
        self.0.get_or_insert_with(blank)
    }
}

impl Visit {
    fn new(parent: Option<Port>, degree: u32) -> Self {
        let mut visit = Visit { parent, out: None, used: vec![0; degree.div_ceil(64) as usize] };
        parent.into_iter().for_each(|port| visit.mark_used(port));
        visit
    }

    fn mark_used(&mut self, port: Port) {
        if let Some(word) = self.used.get_mut(port.index() / 64) {
            *word |= 1 << (port.index() % 64);
        }
    }

    fn is_used(&self, port: u32) -> bool {
        self.used.get(port as usize / 64).is_some_and(|word| word >> (port % 64) & 1 != 0)
    }

    /// The next port of the traversal: the first unused one, otherwise back to the parent. Ports are used in ascending
    /// order, so the search starts after the last one.
    fn next(&mut self, degree: u32) -> Option<Port> {
        let first = self.out.map_or(0, |port| port.0 + 1);
        self.out = (first..degree).find(|&port| !self.is_used(port)).map(Port);
        self.out.inspect(|&port| self.mark_used(port)).or(self.parent)
    }
}

/// There is only one wave, so it needs no tag.
fn count((): (), Nodes(nodes): Nodes) -> Message {
    Message::Count(nodes)
}

impl<R: Rank> Traversal<R> {
    /// Sends the traversal on. If it is over, the count starts.
    fn move_on<C: Context<Self>>(&self, node: &mut TraversalState, free: u32, cx: &mut C) {
        let next = node.visit.as_mut().and_then(|visit| visit.next(cx.degree()));
        match next {
            Some(port) => cx.send(port, Message::Name(free)),
            None if self.then.size() => self.start_count(node, cx),
            None => {}
        }
    }

    fn start_count<C: Context<Self>>(&self, node: &mut TraversalState, cx: &mut C) {
        if let Some(nodes) = node.count.start((), count, cx) {
            self.tell(node, None, nodes.0, cx);
        }
    }

    fn tell<C: Context<Self>>(&self, node: &mut TraversalState, from: Option<Port>, size: u32, cx: &mut C) {
        node.flood.spread(from, Message::Size(size), cx, |cx| cx.learn(Fact::Size(size.into())));
    }
}

impl<R: Rank> Protocol for Traversal<R> {
    type Rank = R;
    type State = State;
    type Message = Message;

    fn init(&self) -> State {
        State::default()
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut State, _: StartReason, cx: &mut C) {
        if self.then == FollowUp::Nothing || mem::replace(&mut state.traversal().has_started, true) {
            return;
        }
        let node = state.traversal();
        if self.then.names() {
            cx.learn(Fact::Name(0));
            node.visit = Some(Visit::new(None, cx.degree()));
            self.move_on(node, 1, cx);
        } else {
            self.start_count(node, cx);
        }
    }

    fn handle_message<C: Context<Self>>(&self, state: &mut State, from: Port, message: Message, cx: &mut C) {
        let node = state.traversal();
        match message {
            Message::Name(free) => match &mut node.visit {
                None => {
                    cx.learn(Fact::Name(free.into()));
                    node.visit = Some(Visit::new(Some(from), cx.degree()));
                    self.move_on(node, free.saturating_add(1), cx);
                }
                Some(visit) if visit.out == Some(from) => self.move_on(node, free, cx),
                // The traversal arrived over a link that closes a cycle: send it back, and never use that link again.
                Some(visit) => {
                    visit.mark_used(from);
                    cx.send(from, message);
                }
            },
            Message::Count(nodes) => {
                if let Some(Nodes(all)) = node.count.receive(from, (), Nodes(nodes), count, cx) {
                    self.tell(node, None, all, cx);
                }
            }
            Message::Size(size) => self.tell(node, Some(from), size, cx),
        }
    }
}
