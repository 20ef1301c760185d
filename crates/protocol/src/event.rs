//! What happens to a node ([`Event`]), what it does about it ([`Effect`]), and the recorder between the two.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Context, Id, Message, Port, Protocol, Rank};

/// A timer's name. A handler sets it with a token of its choice and compares the token when it fires: a stale timer
/// dies by that comparison, nothing has to be cancelled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Timer {
    /// What the timer is for.
    pub kind: u8,
    /// Which setting of it this is.
    pub token: u32,
}

impl Timer {
    /// A kind with this bit belongs to traffic that never ends, such as beacons: that such a timer sets another one or
    /// sends periodic messages does not keep a run from being quiet.
    pub const PERIODIC: u8 = 0x80;

    /// Whether it belongs to traffic that never ends.
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

/// What a node can find out beside who leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// How many nodes there are, or an estimate of it.
    Size(u64),
    /// A name of its own, where nodes had none.
    Name(u64),
    /// Where it stands in an election; for people who watch.
    Stage(Stage),
}

/// Where a node stands in an election, in the words of the texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It has a coordinator, or wants none.
    Normal,
    /// It asks who could lead.
    Elect,
    /// It waits for somebody else's result.
    Hold,
    /// It is getting a new group together.
    Reorganize,
    /// It stands by to take over from its leader.
    Subordinate,
}

/// Something in a node's surroundings changed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The link behind this port works again.
    LinkUp(Port),
    /// The link behind this port is cut.
    LinkDown(Port),
    /// The peer behind this port has another rank now.
    PeerRank(Port),
    /// These are all the nodes that can now be reached, this one included, ascending. Nodes that are told the same
    /// share it.
    Reachable(Arc<[Id]>),
}

/// One input of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event<M> {
    /// Hold an election.
    Start(StartReason),
    /// A message came in at a port.
    Message {
        /// Where it came in.
        from: Port,
        /// What it says.
        message: M,
    },
    /// A message came from a node that reached this one by its id.
    Direct {
        /// Who sent it.
        from: Id,
        /// What it says.
        message: M,
    },
    /// A message that this node sent found its receiver down.
    Unreachable {
        /// The port it was sent to.
        port: Port,
        /// What it said.
        message: M,
    },
    /// A message that this node sent by id found its receiver down.
    UnreachableDirect {
        /// The id it was sent to.
        to: Id,
        /// What it said.
        message: M,
    },
    /// A timer is due.
    Timer(Timer),
    /// The surroundings changed.
    Change(Change),
    /// The node is back from a crash, or has just joined.
    Rejoin,
    /// The node is about to leave in good order.
    Retire,
}

/// One output of a node. Effects of one handler are carried out in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect<M> {
    /// A message to one neighbour.
    Send(Port, M),
    /// The same message to all neighbours, or to all but one.
    SendAllBut(Option<Port>, M),
    /// The same message to a range of ports, ascending.
    SendRange(Range<u32>, M),
    /// A message to a node whose id this one has learnt.
    SendDirect(Id, M),
    /// A message to the member at this place on the map.
    SendTo(u32, M),
    /// A timer, due in so many ticks, at least 1.
    SetTimer(u64, Timer),
    /// From now on this node leads.
    Lead,
    /// From now on this node names that one as leader.
    Follow(Id),
    /// From now on this node names nobody.
    Forget,
    /// The node has found something out.
    Learn(Fact),
    /// The peer behind a ring port is struck off; what was sent to it from the lost message on goes to the next one.
    Skip(Port),
}

/// What a node knows of its place, as plain data: for drivers that are not built for speed (checker, network, replay).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NodeInfo<R> {
    /// The node's own rank.
    pub rank: R,
    /// Its place among the members.
    pub index: u32,
    /// How many members there are.
    pub size: u32,
    /// The rank of the peer behind each port, where the network makes it known; its length is the degree.
    pub peers: Peers<R>,
}

/// The ports of a [`NodeInfo`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Peers<R> {
    /// So many ports, nothing known of who is behind them.
    Unknown(u32),
    /// The rank behind each port.
    Known(Vec<R>),
}

/// Where a [`Recorder`] takes its coins from.
pub trait Coins {
    /// A number below `bound`, which is at least 1.
    fn draw(&mut self, bound: u64) -> u64;
}

impl<F: FnMut(u64) -> u64> Coins for F {
    fn draw(&mut self, bound: u64) -> u64 {
        self(bound)
    }
}

/// A [`Context`] that writes down the effects instead of carrying them out.
///
/// The fast engine does not use it (a list of effects costs it almost half its speed); everything else does.
pub struct Recorder<'a, M, R, K> {
    place: &'a NodeInfo<R>,
    coins: K,
    effects: &'a mut Vec<Effect<M>>,
}

impl<'a, M, R, K: Coins> Recorder<'a, M, R, K> {
    /// A context at `place` whose effects are appended to `effects`.
    pub fn new(place: &'a NodeInfo<R>, coins: K, effects: &'a mut Vec<Effect<M>>) -> Self {
        Recorder { place, coins, effects }
    }
}

impl<M, R: fmt::Debug, K> fmt::Debug for Recorder<'_, M, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("place", &self.place).finish_non_exhaustive()
    }
}

impl<P, K> Context<P> for Recorder<'_, P::Message, P::Rank, K>
where
    P: Protocol + ?Sized,
    K: Coins,
{
    fn rank(&self) -> P::Rank {
        self.place.rank
    }
    fn index(&self) -> u32 {
        self.place.index
    }
    fn size(&self) -> u32 {
        self.place.size
    }
    fn degree(&self) -> u32 {
        match &self.place.peers {
            Peers::Unknown(degree) => *degree,
            Peers::Known(ranks) => ranks.len() as u32,
        }
    }
    fn peer_rank(&self, port: Port) -> Option<P::Rank> {
        match &self.place.peers {
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

/// Whom a node takes for the leader, as its effects tell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Nobody yet.
    #[default]
    Undecided,
    /// Another node.
    Follower(Id),
    /// Itself.
    Leader,
}

impl<M> Effect<M> {
    /// The same effect with another message in it.
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
    /// Whether it is more than the traffic that never ends: anything but a timer, or a message that is not periodic.
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
