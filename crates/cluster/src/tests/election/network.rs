//! A simulated network of nodes in one thread: connections are queues, time is a number, and randomness comes from a
//! seed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use hustings_protocol::Id;

use super::malformed::corrupt;
use crate::config::AlgorithmConfig;
use crate::election::{Action, Election, SharedState, TimerToken, key};
use crate::faults::InjectedFault;
use crate::member::MemberRank;

/// One tick of the algorithms in units of the network's time.
pub(crate) const TICK: u64 = 1000;

/// A pseudorandom number generator.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(seed ^ 0x5851_F42D_4C95_7F2D)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((u128::from(self.0 ^ (self.0 >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD) >> 16) as u64) % bound
    }
}

/// How the network routes messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Routing {
    /// A message goes to the election with its key, or is buffered.
    ByKey,
    /// A message goes to the receiver's election, whatever its key: wrong.
    AnyElection,
    /// By key, but one message in this many is corrupted.
    Corrupting(u64),
}

struct Node {
    shared: SharedState,
    election: Option<Election>,
    candidates: Vec<MemberRank>,
    /// Identifies the process of the node.
    process: u64,
}

impl Node {
    fn needs_new_election(&self, candidates: &[MemberRank]) -> bool {
        self.candidates != candidates
            || self.election.as_ref().is_none_or(|election| election.is_interrupted(&self.shared))
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Deliver { from: Id, to: Id, connection: u64, key: u64, bytes: Vec<u8> },
    Timer { at: Id, process: u64, token: TimerToken },
    Start { at: Id, process: u64, candidates: Vec<MemberRank> },
}

/// The minimum and the maximum delay of a message.
pub(crate) type Delay = (u64, u64);

pub(crate) struct SimNetwork {
    pub(crate) choice: AlgorithmConfig,
    pub(crate) rng: Rng,
    pub(crate) now: u64,
    pub(crate) delay: Delay,
    /// The maximum delay of timers.
    pub(crate) max_timer_delay: u64,
    pub(crate) routing: Routing,
    pub(crate) fault: Option<InjectedFault>,
    /// How many messages were delivered.
    pub(crate) delivered: u64,
    nodes: BTreeMap<Id, Node>,
    events: BinaryHeap<Reverse<(u64, u64, Step)>>,
    serial: u64,
    /// The connection of each pair, and when its last message arrives.
    connections: BTreeMap<(Id, Id), (u64, u64)>,
    /// Every change of a named leader: when, by which node, and whom it names.
    pub(crate) names: Vec<(u64, Id, Option<Id>)>,
    /// All messages that were sent, for tests that corrupt them.
    pub(crate) sent: Vec<(Id, Id, Vec<u8>)>,
}

impl SimNetwork {
    pub(crate) fn new(choice: &AlgorithmConfig, ids: impl IntoIterator<Item = Id>, seed: u64) -> Self {
        let mut network = SimNetwork {
            choice: choice.clone(),
            rng: Rng::new(seed),
            now: 0,
            delay: (50, 400),
            max_timer_delay: 200,
            routing: Routing::ByKey,
            fault: None,
            delivered: 0,
            nodes: BTreeMap::new(),
            events: BinaryHeap::new(),
            serial: 0,
            connections: BTreeMap::new(),
            names: Vec::new(),
            sent: Vec::new(),
        };
        ids.into_iter().for_each(|id| network.boot(id));
        network
    }

    /// Starts a new process of a node.
    pub(crate) fn boot(&mut self, id: Id) {
        let mut shared = SharedState::new(self.rng.below(u64::MAX));
        if let Some(fault) = self.fault {
            shared = shared.with_fault(fault);
        }
        self.serial += 1;
        self.nodes.insert(id, Node { shared, election: None, candidates: Vec::new(), process: self.serial });
    }

    /// Ends the process of a node, and all its connections.
    pub(crate) fn kill(&mut self, id: Id) {
        self.nodes.remove(&id);
        let others: Vec<Id> = self.nodes.keys().copied().collect();
        others.into_iter().for_each(|other| self.cut(id, other));
    }

    /// Ends the connection of two nodes. Messages in transit are lost.
    pub(crate) fn cut(&mut self, one: Id, other: Id) {
        self.serial += 1;
        for (from, to) in [(one, other), (other, one)] {
            self.connections.insert((from, to), (self.serial, self.now));
            if let Some(node) = self.nodes.get_mut(&from) {
                node.shared.handle_disconnect(to);
            }
        }
    }

    /// Lets a node start an election among these candidates, `after` this time.
    pub(crate) fn start_in(&mut self, after: u64, at: Id, candidates: &[MemberRank]) {
        if let Some(node) = self.nodes.get(&at) {
            let start = Step::Start { at, process: node.process, candidates: candidates.to_vec() };
            self.schedule(self.now + after, start);
        }
    }

    /// Lets all candidates start an election among them, each within this time.
    pub(crate) fn start_all(&mut self, candidates: &[MemberRank], within: u64) {
        for one in candidates {
            let after = self.rng.below(within + 1);
            self.start_in(after, one.id, candidates);
        }
    }

    /// Lets those candidates start the election that are not in it, or were interrupted.
    pub(crate) fn start_where_needed(&mut self, candidates: &[MemberRank], within: u64) {
        for one in candidates {
            let after = self.rng.below(within + 1);
            if self.nodes.get(&one.id).is_some_and(|node| node.needs_new_election(candidates)) {
                self.start_in(after, one.id, candidates);
            }
        }
    }

    fn schedule(&mut self, when: u64, what: Step) {
        self.serial += 1;
        self.events.push(Reverse((when, self.serial, what)));
    }

    /// Runs the simulation for this time.
    pub(crate) fn run_for(&mut self, time: u64) {
        let end = self.now + time;
        while self.step(end) {}
        self.now = end;
    }

    /// Handles the next event, if it is due by `end`.
    pub(crate) fn step(&mut self, end: u64) -> bool {
        if self.events.peek().is_none_or(|Reverse((when, ..))| *when > end) {
            return false;
        }
        let Some(Reverse((when, _, what))) = self.events.pop() else { return false };
        self.now = when;
        let mut actions = Vec::new();
        let at = match what {
            Step::Deliver { from, to, connection, key, bytes } => {
                if self.connections.get(&(from, to)).is_some_and(|(current, _)| *current == connection) {
                    self.delivered += 1;
                    let mut bytes = bytes;
                    if let Routing::Corrupting(one_in) = self.routing
                        && self.rng.below(one_in) == 0
                    {
                        corrupt(&mut bytes, &mut self.rng);
                    }
                    self.deliver(from, to, key, &bytes, &mut actions);
                }
                to
            }
            Step::Timer { at, process, token } => {
                if let Some(Node { shared, election: Some(election), process: current, .. }) = self.nodes.get_mut(&at)
                    && *current == process
                {
                    election.handle_timer(token, shared, &mut actions);
                }
                at
            }
            Step::Start { at, process, candidates } => {
                if let Some(node) = self.nodes.get_mut(&at).filter(|node| node.process == process) {
                    let election = Election::start(&self.choice, at, &candidates, &mut node.shared, &mut actions);
                    node.election = Some(election.expect("the algorithm is suitable"));
                    node.candidates = candidates;
                }
                at
            }
        };
        self.execute(at, actions);
        let named = self.leader(at);
        if self.names.iter().rev().find(|(_, who, _)| *who == at).is_none_or(|(.., last)| *last != named) {
            self.names.push((self.now, at, named));
        }
        true
    }

    fn deliver(&mut self, from: Id, to: Id, message_key: u64, bytes: &[u8], actions: &mut Vec<Action>) {
        let routing = self.routing;
        let Some(node) = self.nodes.get_mut(&to) else { return };
        let result = match &mut node.election {
            Some(election) if election.key() == message_key || routing == Routing::AnyElection => {
                election.handle_message(from, bytes, &mut node.shared, actions)
            }
            _ => node.shared.buffer(message_key, from, bytes),
        };
        assert!(result.is_ok() || routing != Routing::ByKey, "{from} to {to}: {result:?}");
    }

    fn execute(&mut self, at: Id, actions: Vec<Action>) {
        let Some(node) = self.nodes.get(&at) else { return };
        let (process, key) = (node.process, key(&node.candidates));
        for action in actions {
            match action {
                Action::Send { to, bytes } => {
                    self.sent.push((at, to, bytes.clone()));
                    let (least, most) = self.delay;
                    let takes = least + self.rng.below(most - least + 1);
                    let (connection, last) = self.connections.entry((at, to)).or_insert((0, 0));
                    let (connection, when) = (*connection, (*last).max(self.now + takes));
                    self.connections.insert((at, to), (connection, when));
                    self.schedule(when, Step::Deliver { from: at, to, connection, key, bytes });
                }
                Action::SetTimer { ticks, token } => {
                    let late = self.rng.below(self.max_timer_delay + 1);
                    let when = self.now.saturating_add(ticks.saturating_mul(TICK)).saturating_add(late);
                    self.schedule(when, Step::Timer { at, process, token });
                }
            }
        }
    }

    /// The leader that a node names.
    pub(crate) fn leader(&self, at: Id) -> Option<Id> {
        self.nodes.get(&at)?.election.as_ref()?.leader()
    }

    /// Whether all candidates name this leader.
    pub(crate) fn agree(&self, candidates: &[MemberRank], leader: Id) -> bool {
        candidates.iter().all(|one| self.leader(one.id) == Some(leader))
    }

    /// The leader that each candidate names.
    pub(crate) fn leaders(&self, candidates: &[MemberRank]) -> Vec<Option<Id>> {
        candidates.iter().map(|one| self.leader(one.id)).collect()
    }
}
