//! Echo with extinction: every initiator starts a wave, and only the wave of the greatest comes back.
//!
//! - **Source**: E. Chang, 1982; McMaster, "Echo Algorithm with Extinction".
//! - **Needs** a connected graph with distinct ids; any delays, any order of messages.
//! - **Guarantees** that the greatest *initiator* leads and all nodes know it.
//! - **Does not tolerate** nodes that are down: waves wait for their answer. There is never more than one leader.
//! - **Messages**: exactly 2E `wave` with one initiator, at most 2E for each; and 2E-(n-1) `elected`.
//!
//! Specified in `docs/model.md#echo-extinction`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

use super::flood::Flood;
use super::wave::Wave;
use crate::{About, Algorithm, Case, CheckCase, Cost, Instance, NetworkKind, NoParams, Setting, Source, Winner};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct EchoExtinction;

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State<R> {
    /// The wave it is in, tagged with its initiator's rank.
    wave: Wave<R, ()>,
    flood: Flood,
}

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// The wave of this initiator, on its way out or back.
    Wave(R),
    /// The announcement: the winner's rank.
    Elected(R),
}
kinds!(Message<R>: Wave = "wave", Elected = "elected");

fn make_message<R: Rank>(initiator: R, (): ()) -> Message<R> {
    Message::Wave(initiator)
}

impl<R: Rank> State<R> {
    #[inline(always)]
    fn announce<C: Context<Rules<R>>>(&mut self, from: Option<Port>, leader: R, cx: &mut C) {
        self.flood.announce(from, leader, Message::Elected(leader), cx);
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State<R>;
    type Message = Message<R>;

    fn init(&self) -> State<R> {
        State { wave: Wave::NONE, flood: Flood::QUIET }
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut State<R>, _: StartReason, cx: &mut C) {
        if state.wave.tag().is_none() && state.wave.start(cx.rank(), make_message, cx).is_some() {
            state.announce(None, cx.rank(), cx);
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State<R>, from: Port, message: Message<R>, cx: &mut C) {
        match message {
            Message::Wave(initiator) => {
                if state.wave.receive(from, initiator, (), make_message, cx).is_some() {
                    state.announce(None, cx.rank(), cx);
                }
            }
            Message::Elected(leader) => state.announce(Some(from), leader, cx),
        }
    }
}

impl Algorithm for EchoExtinction {
    type Params = NoParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "echo-extinction",
        summary: "every initiator starts a wave; greater waves replace smaller ones, and the one that comes back wins",
        costs: &[
            Cost::described(Case::Best, "4E-n+1 with one initiator; others add the messages of their waves"),
            Cost::described(Case::Average, "depends on the graph"),
            Cost::described(Case::Worst, "at most (n+1)·2E-n+1"),
        ],
        checks: &[
            CheckCase::quick("-n 3 --topology complete --ids all"),
            CheckCase::quick("-n 4 --topology line --ids all"),
        ],
        source: Source {
            authors: "E. Chang, 1982",
            title: "Echo algorithms: depth parallel operations on general graphs",
            text: "McMaster",
        },
        winner: Winner::GreatestInitiator,
        ..About::on(NetworkKind::Graph)
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> Rules<R> {
        Rules(PhantomData)
    }

    /// One wave meets no other. With several, how far each gets depends on the graph.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        match instance.initiators {
            [] => Some(vec![0, 0]),
            [_] => Some(vec![2 * instance.links, 2 * instance.links + 1 - instance.size()]),
            _ => None,
        }
    }
}
