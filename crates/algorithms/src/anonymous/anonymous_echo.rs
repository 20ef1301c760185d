//! Anonymous echo: echo with extinction, with random ids and waves that count the nodes they reach.
//!
//! - **Source**: McMaster, "Election in Arbitrary Anonymous Networks".
//! - **Needs** a connected graph whose nodes know n; any delays, any order of messages.
//! - **Guarantees** that exactly one initiator leads and all nodes know it, with probability 1 (Las Vegas).
//! - **Does not tolerate** nodes that are down: waves wait for their answer. There is never more than one leader.
//! - **Messages**: at most 2E `wave` for each wave, then 2E-(n-1) `elected`.
//! - **Decided**: ids are drawn from 1 to n, as on a ring. The slides draw from 0 to n.
//!
//! Two waves with the same id are indistinguishable: each node joins the one that reaches it first, and both come home
//! before they have reached all nodes. Nodes are therefore counted on the way back. A wave that comes home from fewer
//! than n nodes starts again in the next round with a new id.
//!
//! Specified in `docs/model.md#anonymous-echo`.

use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, StateOrMessage, kinds};
use serde::{Deserialize, Serialize};

use super::follow_up::traversal::Traversal;
use super::follow_up::{FollowUp, WithFollowUp, embeds};
use crate::graph::flood::Flood;
use crate::graph::wave::{Nodes, Wave};
use crate::{
    About, Algorithm, Assumptions, Case, Certainty, CheckCase, Cost, Family, Identity, Knowledge, NetworkKind, Setting,
    Source, Winner,
};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct AnonymousEcho;

crate::params! {
    /// The parameters of anonymous-echo.
    pub struct AnonymousEchoParams {
        "what the leader does next: assign names, tell all nodes their number, both or nothing"
            then: FollowUp = FollowUp::Nothing,
    }
}

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// The tag of a wave: the later round wins, then the greater id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Tag {
    round: u32,
    id: u32,
}

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    wave: Wave<Tag, Nodes>,
    flood: Flood,
}

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// A wave, on its way out or back.
    Wave {
        /// The id that its initiator drew.
        id: u32,
        /// The round of the wave.
        round: u32,
        /// On the way back, the number of nodes in this branch; on the way out 0.
        size: u32,
    },
    /// The announcement: the winner's rank.
    Elected(R),
    /// After the election: the next free name.
    Name(u32),
    /// After the election: the number of nodes counted so far.
    Count(u32),
    /// After the election: the number of nodes.
    Size(u32),
}
kinds!(Message<R>: Wave = "wave", Elected = "elected", Name = "name", Count = "count", Size = "size");
embeds!(Message);

fn make_message<R: Rank>(Tag { round, id }: Tag, Nodes(size): Nodes) -> Message<R> {
    Message::Wave { id, round, size }
}

impl<R: Rank> Rules<R> {
    /// Draws an id and starts a wave.
    #[inline(always)]
    fn enter_round<C: Context<Self>>(&self, state: &mut State, round: u32, cx: &mut C) {
        let id = cx.draw(cx.size().max(1).into()) as u32 + 1;
        if let Some(Nodes(1)) = state.wave.start(Tag { round, id }, make_message, cx)
            && cx.size() == 1
        {
            self.announce(state, None, cx.rank(), cx);
        }
    }

    #[inline(always)]
    fn announce<C: Context<Self>>(&self, state: &mut State, from: Option<Port>, leader: R, cx: &mut C) {
        state.flood.announce(from, leader, Message::Elected(leader), cx);
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State;
    type Message = Message<R>;

    fn init(&self) -> State {
        State { wave: Wave::NONE, flood: Flood::QUIET }
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
            Message::Wave { id, round, size } => {
                match state.wave.receive(from, Tag { round, id }, Nodes(size), make_message, cx) {
                    None => {}
                    Some(Nodes(reached)) if reached == cx.size() => self.announce(state, None, cx.rank(), cx),
                    Some(_) => self.enter_round(state, round.saturating_add(1), cx),
                }
            }
            Message::Elected(leader) => self.announce(state, Some(from), leader, cx),
            // These belong to the follow-up: see `WithFollowUp`.
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
    type Protocol<R: Rank> = WithFollowUp<Rules<R>, Traversal<R>>;

    const ABOUT: About = About {
        name: "anonymous-echo",
        summary: "each node draws an id and starts a wave; a wave that reached fewer than n nodes is repeated",
        family: Family::Anonymous,
        assumptions: Assumptions {
            identity: Identity::Anonymous,
            knows: Knowledge::Size,
            ..About::on(NetworkKind::Graph).assumptions
        },
        certainty: Certainty::LasVegas,
        costs: &[
            Cost::described(Case::Best, "4E-n+1 with one initiator; others add the messages of their waves"),
            Cost::described(Case::Average, "depends on the graph"),
            Cost::described(Case::Worst, "no bound, but each further round is less likely"),
        ],
        checks: &[CheckCase::quick("-n 3 --topology complete")],
        source: Source {
            authors: "B. Bonakdarpour, after W. Fokkink",
            title: "Distributed Algorithms (CAS 769), week 4: Election in Arbitrary Anonymous Networks",
            text: "McMaster",
        },
        winner: Winner::Anyone,
        ..About::on(NetworkKind::Graph)
    };

    fn protocol<R: Rank>(params: &AnonymousEchoParams, _: &Setting<'_, R>) -> Self::Protocol<R> {
        WithFollowUp { election: Rules(PhantomData), follow_up: Traversal::new(params.then) }
    }
}
