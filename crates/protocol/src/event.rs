//! A node's inputs ([`Event`]) and outputs ([`Effect`]), and the [`Recorder`] that collects the outputs.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Context, Id, Message, Port, Protocol, Rank};

/// Identifies a timer. A handler sets it with a token of its choice and compares the token when it fires. A stale timer
/// has another token and is ignored, so timers need not be cancelled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Timer {
    /// What the timer is for.
    pub kind: u8,
    /// Distinguishes the settings of a timer.
    pub token: u32,
}

impl Timer {
    /// A kind with this bit belongs to periodic traffic that never ends, such as beacons. If such a timer sets another
    /// one or sends periodic messages, the run still counts as quiescent.
    pub const PERIODIC: u8 = 0x80;

    /// Whether it belongs to periodic traffic.
    pub const fn is_periodic(self) -> bool {
        self.kind & Timer::PERIODIC != 0
    }
}

/// Why a node is asked to hold an election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartReason {
    /// A plain start signal.
    #[default]
    Start,
    /// The leader that this node names is gone.
    LeaderLost,
}

/// What a node can find out other than who leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// The number of nodes, or an estimate of it.
    Size(u64),
    /// A name of its own, where nodes had none.
    Name(u64),
    /// The node's stage in the election, for observers.
    Stage(Stage),
    /// Something about a node that cheats, for observers.
    Cheating(Cheating),
}

/// What happens when a simulated node breaks the rules of its algorithm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cheating {
    /// This node has cheated.
    Acted,
    /// This node has noticed that some node cheated: the winner of an election did not answer, twice.
    SilentWinner,
    /// This node has noticed that some node cheated: a lesser node won an election in which this node took part.
    PassedOver,
}

/// The stage of a node in an election, as the papers call it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It has a coordinator, or does not need one.
    Normal,
    /// It asks which nodes can lead.
    Elect,
    /// It waits for another node's result.
    Hold,
    /// It forms a new group.
    Reorganize,
    /// It stands by to take over from its leader.
    Subordinate,
}

/// A change of the network or of what a node knows of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The link behind this port works again.
    LinkUp(Port),
    /// The link behind this port is cut.
    LinkDown(Port),
    /// The rank of the peer behind this port changed.
    PeerRank(Port),
    /// The nodes that can be reached now, including this one, ascending. Nodes with the same set share the list.
    Reachable(Arc<[Id]>),
}

/// One input of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event<M> {
    /// Hold an election.
    Start(StartReason),
    /// A message arrived at a port.
    Message {
        /// The port.
        from: Port,
        /// The content.
        message: M,
    },
    /// A message arrived that was sent to this node by id or by index.
    Direct {
        /// The sender.
        from: Id,
        /// The content.
        message: M,
    },
    /// A message that this node sent found its receiver down.
    Unreachable {
        /// The port it was sent to.
        port: Port,
        /// The content.
        message: M,
    },
    /// A message that this node sent by id or by index found its receiver down.
    UnreachableDirect {
        /// The id it was sent to.
        to: Id,
        /// The content.
        message: M,
    },
    /// A timer is due.
    Timer(Timer),
    /// The network changed.
    Change(Change),
    /// The node recovered from a crash, or has just joined.
    Rejoin,
    /// The node is about to leave gracefully.
    Retire,
}

/// One output of a node. The effects of one handler are applied in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect<M> {
    /// Sends to one neighbour.
    Send(Port, M),
    /// Sends the same message to all neighbours, or to all but one.
    SendAllBut(Option<Port>, M),
    /// Sends the same message to a range of ports, ascending.
    SendRange(Range<u32>, M),
    /// Sends to a node whose id this node has learnt.
    SendDirect(Id, M),
    /// Sends to the member with this index.
    SendTo(u32, M),
    /// Sets a timer, due in this many ticks, at least 1.
    SetTimer(u64, Timer),
    /// This node leads.
    Lead,
    /// This node names that one as leader.
    Follow(Id),
    /// This node no longer names a leader.
    Forget,
    /// The node has found something out.
    Learn(Fact),
    /// Removes the peer behind a ring port. What was sent to it from the lost message on is sent to the next one.
    Skip(Port),
}

/// What a node knows of itself, as plain data, for drivers that are not built for speed: checker, network, replay.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NodeInfo<R> {
    /// The node's own rank.
    pub rank: R,
    /// Its index among the members.
    pub index: u32,
    /// The number of members.
    pub size: u32,
    /// The peers behind its ports.
    pub peers: Peers<R>,
}

/// The peers of a [`NodeInfo`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Peers<R> {
    /// The number of ports. The peers' ranks are unknown.
    Unknown(u32),
    /// The rank of the peer behind each port.
    Known(Vec<R>),
}

/// The source of a [`Recorder`]'s random numbers, called coins.
pub trait Coins {
    /// A number below `bound`, which is at least 1.
    fn draw(&mut self, bound: u64) -> u64;
}

impl<F: FnMut(u64) -> u64> Coins for F {
    fn draw(&mut self, bound: u64) -> u64 {
        self(bound)
    }
}

/// A [`Context`] that records effects instead of applying them.
///
/// All drivers use it except the fast engine, which would lose almost half its speed.
pub struct Recorder<'a, M, R, K> {
    info: &'a NodeInfo<R>,
    coins: K,
    effects: &'a mut Vec<Effect<M>>,
}

impl<'a, M, R, K: Coins> Recorder<'a, M, R, K> {
    /// A context of the node `info` that appends effects to `effects`.
    pub fn new(info: &'a NodeInfo<R>, coins: K, effects: &'a mut Vec<Effect<M>>) -> Self {
        Recorder { info, coins, effects }
    }
}

impl<M, R: fmt::Debug, K> fmt::Debug for Recorder<'_, M, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("info", &self.info).finish_non_exhaustive()
    }
}

impl<P, K> Context<P> for Recorder<'_, P::Message, P::Rank, K>
where
    P: Protocol + ?Sized,
    K: Coins,
{
    fn rank(&self) -> P::Rank {
        self.info.rank
    }
    fn index(&self) -> u32 {
        self.info.index
    }
    fn size(&self) -> u32 {
        self.info.size
    }
    fn degree(&self) -> u32 {
        match &self.info.peers {
            Peers::Unknown(degree) => *degree,
            Peers::Known(ranks) => ranks.len() as u32,
        }
    }
    fn peer_rank(&self, port: Port) -> Option<P::Rank> {
        match &self.info.peers {
            Peers::Unknown(_) => None,
            Peers::Known(ranks) => ranks.get(port.index()).copied(),
        }
    }
    fn draw(&mut self, bound: u64) -> u64 {
        self.coins.draw(bound)
    }
    fn emit(&mut self, effect: Effect<P::Message>) {
        self.effects.push(effect);
    }
}

/// A node's role, as its effects determine it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It names no leader.
    #[default]
    Undecided,
    /// It follows this node.
    Follower(Id),
    /// It leads.
    Leader,
}

impl<M> Event<M> {
    /// The same event with another message.
    #[inline(always)]
    pub fn map<N>(self, wrap: impl FnOnce(M) -> N) -> Event<N> {
        match self {
            Event::Message { from, message } => Event::Message { from, message: wrap(message) },
            Event::Direct { from, message } => Event::Direct { from, message: wrap(message) },
            Event::Unreachable { port, message } => Event::Unreachable { port, message: wrap(message) },
            Event::UnreachableDirect { to, message } => Event::UnreachableDirect { to, message: wrap(message) },
            Event::Start(reason) => Event::Start(reason),
            Event::Timer(timer) => Event::Timer(timer),
            Event::Change(change) => Event::Change(change),
            Event::Rejoin => Event::Rejoin,
            Event::Retire => Event::Retire,
        }
    }
}

impl<M> Effect<M> {
    /// The same effect with another message.
    #[inline(always)]
    pub fn map<N>(self, wrap: impl FnOnce(M) -> N) -> Effect<N> {
        match self {
            Effect::Send(port, message) => Effect::Send(port, wrap(message)),
            Effect::SendAllBut(except, message) => Effect::SendAllBut(except, wrap(message)),
            Effect::SendRange(ports, message) => Effect::SendRange(ports, wrap(message)),
            Effect::SendDirect(to, message) => Effect::SendDirect(to, wrap(message)),
            Effect::SendTo(member, message) => Effect::SendTo(member, wrap(message)),
            Effect::SetTimer(after, timer) => Effect::SetTimer(after, timer),
            Effect::Lead => Effect::Lead,
            Effect::Follow(leader) => Effect::Follow(leader),
            Effect::Forget => Effect::Forget,
            Effect::Learn(fact) => Effect::Learn(fact),
            Effect::Skip(port) => Effect::Skip(port),
        }
    }

    /// Hands the effect to `each`. A send to several of a node's `degree` ports becomes a send to each of them.
    #[inline(always)]
    pub fn for_each_port(self, degree: u32, mut each: impl FnMut(Effect<M>))
    where
        M: Clone,
    {
        match self {
            Effect::SendAllBut(except, message) => {
                let ports = (0..degree).map(Port).filter(|port| Some(*port) != except);
                ports.for_each(|port| each(Effect::Send(port, message.clone())));
            }
            Effect::SendRange(ports, message) => {
                ports.map(Port).for_each(|port| each(Effect::Send(port, message.clone())));
            }
            effect => each(effect),
        }
    }
}

impl<M: Message> Effect<M> {
    /// Whether the effect is more than periodic upkeep: anything but a timer or a periodic message.
    pub fn is_progress(&self) -> bool {
        match self {
            Effect::Send(_, message)
            | Effect::SendAllBut(_, message)
            | Effect::SendRange(_, message)
            | Effect::SendDirect(_, message)
            | Effect::SendTo(_, message) => !message.is_periodic(),
            Effect::SetTimer(..) => false,
            Effect::Lead | Effect::Follow(_) | Effect::Forget | Effect::Learn(_) | Effect::Skip(_) => true,
        }
    }
}

impl Role {
    /// The role after an effect.
    pub fn after<M>(self, effect: &Effect<M>) -> Role {
        match effect {
            Effect::Lead => Role::Leader,
            Effect::Follow(leader) => Role::Follower(*leader),
            Effect::Forget => Role::Undecided,
            _ => self,
        }
    }

    /// The leader that a node with this rank names.
    pub fn leader(self, own: impl Rank) -> Option<Id> {
        match self {
            Role::Undecided => None,
            Role::Follower(leader) => Some(leader),
            Role::Leader => Some(own.id()),
        }
    }
}
