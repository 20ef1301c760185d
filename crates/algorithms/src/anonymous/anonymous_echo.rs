//! Anonymous echo: echo with extinction, but with ids that are drawn, and waves that count whom they reached.
//!
//! - **Assumes** a connected graph whose nodes know how many they are; any delays, any order of messages.
//! - **Promises** that just one initiator leads and everybody knows it, with probability 1. Which one is up to the
//!   coins.
//! - **Does not survive** nodes that are down: waves wait for their answer. If one is down from the start, nobody leads
//!   and all is quiet soon; if one goes down on the way, there is one leader at most, and some may not hear of it.
//! - **Comes from** McMaster's slides, "Election in Arbitrary Anonymous Networks".
//! - **Costs** 2E `wave` for each wave at most, and 2E-(n-1) `elected`.
//!
//! Two waves with the same id do not tell each other apart: each node belongs to the one that reached it first, and
//! both come home before they have reached everybody. That is why nodes are counted on the way back: a wave that comes
//! home from fewer than all starts again in the next round, with another id. The slides draw ids from 0 to n; here it
//! is 1 to n, as on a ring.

use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, StateOrMessage, kinds};
use serde::{Deserialize, Serialize};

use super::sequel::walk::Walk;
use super::sequel::{Followed, Then, carries};
use crate::graph::plain::{ANY_GRAPH, Flood};
use crate::graph::wave::{Nodes, Wave};
use crate::{
    About, Algorithm, Assumptions, Case, Certainty, Cost, Family, Identity, Knowledge, Setting, Source, Winner,
};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct AnonymousEcho;

crate::params! {
    /// The parameters of anonymous-echo.
    pub struct AnonymousEchoParams {
        "what the leader does next: hand out names, tell everybody how many there are, both or nothing"
            then: Then = Then::Nothing,
    }
}

/// Its state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// What a wave is told apart by: the later round, then the greater id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Tag {
    round: u32,
    id: u32,
}

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    wave: Wave<Tag, Nodes>,
    told: Flood,
}

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// A wave, out or back.
    Wave {
        /// The id that its initiator drew.
        id: u32,
        /// In which round.
        round: u32,
        /// On the way back, how many nodes there are in this branch; on the way out 0.
        size: u32,
    },
    /// The winner.
    Elected(R),
    /// After the election: the next name that is free.
    Name(u32),
    /// After the election: so many were counted so far.
    Count(u32),
    /// After the election: so many there are.
    Size(u32),
}
kinds!(Message<R>: Wave = "wave", Elected = "elected", Name = "name", Count = "count", Size = "size");
carries!(Message);

fn say<R: Rank>(Tag { round, id }: Tag, Nodes(size): Nodes) -> Message<R> {
    Message::Wave { id, round, size }
}

impl<R: Rank> Rules<R> {
    /// Draws an id and starts a wave.
    #[inline(always)]
    fn enter_round<C: Context<Self>>(&self, state: &mut State, round: u32, cx: &mut C) {
        let id = cx.draw(cx.size().max(1).into()) as u32 + 1;
        if let Some(Nodes(1)) = state.wave.begin(Tag { round, id }, say, cx)
            && cx.size() == 1
        {
            self.announce(state, None, cx.rank(), cx);
        }
    }

    #[inline(always)]
    fn announce<C: Context<Self>>(&self, state: &mut State, from: Option<Port>, leader: R, cx: &mut C) {
        state.told.announce(from, leader, Message::Elected(leader), cx);
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State;
    type Message = Message<R>;

    fn init(&self) -> State {
        State { wave: Wave::NONE, told: Flood::QUIET }
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut State, _: StartReason, cx: &mut C) {
        if state.wave.tag().is_none() {
            self.enter_round(state, 0, cx);
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State, from: Port, message: Message<R>, cx: &mut C) {
        match message {
            Message::Wave { id, round, size } => match state.wave.hear(from, Tag { round, id }, Nodes(size), say, cx) {
                None => {}
                Some(Nodes(reached)) if reached == cx.size() => self.announce(state, None, cx.rank(), cx),
                Some(_) => self.enter_round(state, round.saturating_add(1), cx),
            },
            Message::Elected(leader) => self.announce(state, Some(from), leader, cx),
            // Not for the election: see `Followed`.
            Message::Name(_) | Message::Count(_) | Message::Size(_) => {}
        }
    }

    fn rounds(&self, held: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        match held {
            StateOrMessage::State(state) => state.wave.tag_mut().map(|tag| &mut tag.round).into_iter().for_each(each),
            StateOrMessage::Message(Message::Wave { round, .. }) => each(round),
            StateOrMessage::Message(_) => {}
        }
    }
}

impl Algorithm for AnonymousEcho {
    type Params = AnonymousEchoParams;
    type Protocol<R: Rank> = Followed<Rules<R>, Walk<R>>;

    const ABOUT: About = About {
        name: "anonymous-echo",
        summary: "each draws an id and starts a wave; a wave that comes home from fewer than all nodes starts again",
        family: Family::Anonymous,
        assumptions: Assumptions { identity: Identity::Anonymous, knows: Knowledge::Size, ..ANY_GRAPH.assumptions },
        certainty: Certainty::LasVegas,
        costs: &[
            Cost::described(Case::Best, "4E-n+1 with one initiator; others add what their waves take"),
            Cost::described(Case::Average, "depends on the graph"),
            Cost::described(Case::Worst, "no bound, but each further round is less likely"),
        ],
        source: Source {
            authors: "B. Bonakdarpour, after W. Fokkink",
            title: "Distributed Algorithms (CAS 769), week 4: Election in Arbitrary Anonymous Networks",
            text: "McMaster",
        },
        winner: Winner::Anyone,
        ..ANY_GRAPH
    };

    fn protocol<R: Rank>(params: &AnonymousEchoParams, _: &Setting<'_, R>) -> Self::Protocol<R> {
        Followed { election: Rules(PhantomData), sequel: Walk::new(params.then) }
    }
}
