//! Runs without a simulator: reachability updates come at different times, messages take any time, timers are due at
//! any time. Only the order of messages between two nodes, and of the updates of one node, is kept.

use std::collections::{BTreeSet, VecDeque};

use hustings_algorithms::ring::{ChangRoberts, DolevKlaweRodeh, Franklin, TokenRing};
use hustings_algorithms::runs::{Envelope, Runs, ViewNumber, ViewRule};
use hustings_algorithms::{Algorithm, Setting};
use hustings_protocol::{
    Change, Effect, Event, Id, NodeInfo, Peers, Port, Protocol, Recorder, Role, StartReason, Timer,
};
use proptest::prelude::*;

type Inner<A> = <A as Algorithm>::Protocol<Id>;
type Message<A> = Envelope<<Inner<A> as Protocol>::Message>;

/// Members reach each other if they are in the same group and their link is not cut.
struct Network<A: Algorithm> {
    runs: Runs<Inner<A>>,
    nodes: Vec<Node<A>>,
    /// Messages in flight from node to node.
    in_flight: Vec<Vec<VecDeque<Message<A>>>>,
    groups: Vec<u8>,
    cut: BTreeSet<(usize, usize)>,
    /// The state of a simple random number generator.
    rng: u64,
    views: u64,
}

struct Node<A: Algorithm> {
    is_up: bool,
    state: <Runs<Inner<A>> as Protocol>::State,
    role: Role,
    timers: Vec<Timer>,
    /// Its reachable set after the last change, and the updates that it has not received yet.
    reach: Vec<Id>,
    updates: VecDeque<Vec<Id>>,
}

/// A possible next step.
#[derive(Clone, Copy)]
enum Step {
    Message(usize, usize),
    Update(usize),
    Timer(usize, usize),
}

impl<A: Algorithm> Network<A> {
    fn new(size: usize, seed: u64, disabled: Option<ViewRule>) -> Self {
        let ranks: Vec<Id> = (0..size as u64).map(|at| Id(at * 7 % 31)).collect();
        let inner = A::protocol::<Id>(&A::Params::default(), &Setting::of(&ranks));
        let mut runs = Runs::new(inner, &A::ABOUT, &ranks);
        if let Some(rule) = disabled {
            runs = runs.without(rule);
        }
        let node = |_| Node {
            is_up: true,
            state: runs.init(),
            role: Role::Undecided,
            timers: Vec::new(),
            reach: Vec::new(),
            updates: VecDeque::new(),
        };
        let nodes = (0..size).map(node).collect();
        let in_flight = (0..size).map(|_| (0..size).map(|_| VecDeque::new()).collect()).collect();
        let (groups, cut) = (vec![0; size], BTreeSet::new());
        let mut network = Network { runs, nodes, in_flight, groups, cut, rng: seed, views: 0 };
        (0..size).for_each(|at| network.nodes[at].reach = network.reach(at));
        network
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng = self.rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.rng >> 33) % bound as u64) as usize
    }

    fn id(&self, at: usize) -> Id {
        Id(at as u64 * 7 % 31)
    }

    fn joins(&self, a: usize, b: usize) -> bool {
        a == b || self.groups[a] == self.groups[b] && !self.cut.contains(&(a.min(b), a.max(b)))
    }

    fn reach(&self, at: usize) -> Vec<Id> {
        let in_reach = |other: &usize| self.nodes[*other].is_up && self.joins(at, *other);
        let mut ids: Vec<Id> = (0..self.nodes.len()).filter(in_reach).map(|other| self.id(other)).collect();
        ids.sort_unstable();
        ids
    }

    /// Queues an update for each node whose reachable set has changed.
    fn update_reachability(&mut self) {
        for at in 0..self.nodes.len() {
            let reach = self.reach(at);
            if std::mem::replace(&mut self.nodes[at].reach, reach.clone()) != reach && self.nodes[at].is_up {
                self.nodes[at].updates.push_back(reach);
            }
        }
    }

    fn handle(&mut self, at: usize, event: Event<Message<A>>) {
        let size = self.nodes.len() as u32;
        let place = NodeInfo { rank: self.id(at), index: at as u32, size, peers: Peers::Unknown(0) };
        let mut effects = Vec::new();
        let rng = &mut self.rng;
        let coins = |bound| {
            *rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*rng >> 20) % bound
        };
        self.runs.handle(&mut self.nodes[at].state, event, &mut Recorder::new(&place, coins, &mut effects));
        for effect in effects {
            self.nodes[at].role = self.nodes[at].role.after(&effect);
            match effect {
                Effect::SendDirect(id, message) => {
                    self.views += u64::from(matches!(message, Envelope::View { .. }));
                    let to = (0..self.nodes.len()).find(|&to| self.id(to) == id).expect("only members are sent to");
                    self.in_flight[at][to].push_back(message);
                }
                Effect::SetTimer(_, timer) => self.nodes[at].timers.push(timer),
                Effect::Lead | Effect::Follow(_) | Effect::Forget | Effect::Learn(_) => {}
                other => panic!("runs send by id only: {other:?}"),
            }
        }
    }

    fn steps(&self) -> Vec<Step> {
        let pairs = (0..self.nodes.len()).flat_map(|from| (0..self.nodes.len()).map(move |to| (from, to)));
        let messages =
            pairs.filter(|&(from, to)| !self.in_flight[from][to].is_empty()).map(|(from, to)| Step::Message(from, to));
        let nodes = self.nodes.iter().enumerate();
        let updates = nodes.clone().filter(|(_, node)| !node.updates.is_empty()).map(|(at, _)| Step::Update(at));
        let timers = nodes.flat_map(|(at, node)| (0..node.timers.len()).map(move |place| Step::Timer(at, place)));
        messages.chain(updates).chain(timers).collect()
    }

    /// Takes a random step; returns false if there is none.
    fn step(&mut self) -> bool {
        let steps = self.steps();
        if steps.is_empty() {
            return false;
        }
        match steps[self.below(steps.len())] {
            Step::Message(from, to) => {
                let message = self.in_flight[from][to].pop_front().expect("a message is in flight");
                if self.nodes[to].is_up && self.joins(from, to) {
                    self.handle(to, Event::Direct { from: self.id(from), message });
                }
            }
            Step::Update(at) => {
                let reach = self.nodes[at].updates.pop_front().expect("an update is queued");
                self.handle(at, Event::Change(Change::Reachable(reach.into())));
            }
            Step::Timer(at, place) => {
                let timer = self.nodes[at].timers.remove(place);
                self.handle(at, Event::Timer(timer));
            }
        }
        true
    }

    fn crash(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        (node.is_up, node.role) = (false, Role::Undecided);
        node.timers.clear();
        node.updates.clear();
    }

    fn recover(&mut self, at: usize) {
        (self.nodes[at].is_up, self.nodes[at].state) = (true, self.runs.init());
        self.handle(at, Event::Rejoin);
        // It gets an update in any case, with those of the others.
        self.nodes[at].reach.clear();
    }

    fn fault(&mut self) {
        let (at, other) = (self.below(self.nodes.len()), self.below(self.nodes.len()));
        let link = (at.min(other), at.max(other));
        match (self.below(8), self.nodes[at].is_up) {
            (0 | 1, true) => self.crash(at),
            (0..=2, false) => self.recover(at),
            (2, true) => {
                self.crash(at);
                self.recover(at);
            }
            (3, _) => drop(self.cut.insert(link)),
            (4, _) => drop(self.cut.remove(&link)),
            (5, _) => self.groups[at] = self.below(3) as u8,
            (6, _) => self.groups.fill(0),
            _ => self.cut.clear(),
        }
        self.update_reachability();
    }

    /// Runs with random faults; at the end all cuts heal and only the groups remain. Returns the number of views, or
    /// what is wrong.
    fn run_with_faults(mut self, faults: usize, pace: usize) -> Result<u64, String> {
        (0..self.nodes.len()).for_each(|at| self.handle(at, Event::Start(StartReason::Start)));
        for _ in 0..faults {
            let between = self.below(pace + 1);
            for _ in 0..between {
                self.step();
            }
            self.fault();
        }
        self.cut.clear();
        self.update_reachability();
        let mut steps = 0;
        while self.step() {
            steps += 1;
            if steps > 200_000 {
                return Err("it does not terminate".to_string());
            }
        }
        (0..3).try_for_each(|group| self.check_group(group))?;
        Ok(self.views)
    }

    fn check_group(&self, group: u8) -> Result<(), String> {
        let members = (0..self.nodes.len()).filter(|&at| self.groups[at] == group && self.nodes[at].is_up);
        let members: Vec<usize> = members.collect();
        let named: BTreeSet<Option<Id>> = members.iter().map(|&at| self.nodes[at].role.leader(self.id(at))).collect();
        let leads = |at: &&usize| self.nodes[**at].role == Role::Leader;
        match (members.iter().filter(leads).count(), named.len()) {
            (1, 1) => Ok(()),
            _ if members.is_empty() => Ok(()),
            (leaders, _) => Err(format!("{members:?} have {leaders} leaders and name {named:?}")),
        }
    }
}

fn check_runs<A: Algorithm>(size: usize, faults: usize, pace: usize, seed: u64) -> Result<(), TestCaseError> {
    let result = Network::<A>::new(size, seed, None).run_with_faults(faults, pace);
    result.map(drop).map_err(|problem| TestCaseError::fail(format!("{}: {problem}", A::ABOUT.name)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_part_agrees_on_one_leader(
        size in 1..7usize, faults in 0..14usize, pace in 0..40usize, seed in any::<u64>(),
    ) {
        check_runs::<ChangRoberts>(size, faults, pace, seed)?;
        check_runs::<TokenRing>(size, faults, pace, seed)?;
        check_runs::<Franklin>(size, faults, pace, seed)?;
        check_runs::<DolevKlaweRodeh>(size, faults, pace, seed)?;
    }
}

/// Proves that the test above can fail.
#[test]
fn without_a_rule_some_part_does_not_agree() {
    for rule in [ViewRule::Fresh, ViewRule::Hold] {
        let results = (0..400).map(|seed| Network::<TokenRing>::new(5, seed, Some(rule)).run_with_faults(8, 20));
        assert!(results.filter(Result::is_err).count() > 3, "no run needs {rule:?}");
    }
}

/// All nodes recover at once: one answers the fresh views, not every node.
#[test]
fn simultaneous_recoveries_cause_few_views() {
    for size in [2, 5, 20] {
        let mut network = Network::<ChangRoberts>::new(size, 1, None);
        (0..size).for_each(|at| network.crash(at));
        network.update_reachability();
        (0..size).for_each(|at| network.recover(at));
        network.update_reachability();
        while network.step() {}
        assert_eq!(network.check_group(0), Ok(()));
        let (views, size) = (network.views, size as u64);
        assert!(views < 4 * size * size, "{views} views among {size}");
    }
}

fn number() -> impl Strategy<Value = ViewNumber> {
    let counter = prop_oneof![0..4u64, Just(u64::MAX)];
    (counter, 0..6u64, 0..2u32).prop_map(|(counter, id, incarnation)| ViewNumber { counter, id: Id(id), incarnation })
}

fn envelope() -> impl Strategy<Value = Message<Franklin>> {
    let says: Vec<<Inner<Franklin> as Protocol>::Message> = messages_of_a_run();
    let inner = (number(), proptest::option::of(0..4u32), 0..says.len())
        .prop_map(move |(view, port, which)| Envelope::Inner { says: says[which], view, port: port.map(Port) });
    let members = proptest::collection::vec((0..7u64).prop_map(Id), 0..7);
    let view = (number(), members, any::<bool>());
    let view = view.prop_map(|(number, members, fresh)| Envelope::View { number, members: members.into(), fresh });
    prop_oneof![inner, view]
}

/// Some messages of Franklin.
fn messages_of_a_run() -> Vec<<Inner<Franklin> as Protocol>::Message> {
    let mut network = Network::<Franklin>::new(5, 3, None);
    (0..5).for_each(|at| network.handle(at, Event::Start(StartReason::Start)));
    let mut messages = Vec::new();
    while network.step() {
        let in_flight = network.in_flight.iter().flatten().flatten();
        messages.extend(in_flight.filter_map(|message| match message {
            Envelope::Inner { says, .. } => Some(*says),
            Envelope::View { .. } => None,
        }));
    }
    messages
}

fn event() -> impl Strategy<Value = Event<Message<Franklin>>> {
    let from = (0..8u64).prop_map(Id);
    let reach = proptest::collection::vec((0..9u64).prop_map(Id), 0..6);
    prop_oneof![
        8 => (from.clone(), envelope()).prop_map(|(from, message)| Event::Direct { from, message }),
        1 => envelope().prop_map(|message| Event::Message { from: Port(0), message }),
        1 => (from, envelope()).prop_map(|(to, message)| Event::UnreachableDirect { to, message }),
        2 => reach.prop_map(|ids| Event::Change(Change::Reachable(ids.into()))),
        1 => (0..3u8, 0..4u32).prop_map(|(kind, token)| Event::Timer(Timer { kind, token })),
        1 => Just(Event::Start(StartReason::LeaderLost)),
        1 => Just(Event::Rejoin),
        1 => Just(Event::Retire),
    ]
}

proptest! {
    /// Impossible envelopes, unknown senders, wrong ports, wrong numbers: no input makes a node panic.
    #[test]
    fn no_input_makes_a_node_panic(events in proptest::collection::vec((0..5usize, event()), 0..60)) {
        let mut network = Network::<Franklin>::new(5, 9, None);
        for (at, event) in events {
            network.handle(at, event);
        }
    }
}
