//! Runs without a simulator: nobody is told anything at the same time as others, mail takes as long as it likes, timers
//! ring when they please. Only the order of mail between two nodes, and of what one node is told, is kept.

use std::collections::{BTreeSet, VecDeque};

use hustings_algorithms::ring::{ChangRoberts, DolevKlaweRodeh, Franklin, TokenRing};
use hustings_algorithms::runs::{Envelope, Number, Rule, Runs};
use hustings_algorithms::{Algorithm, Setting};
use hustings_protocol::{Change, Effect, Event, Id, Peers, Place, Port, Protocol, Recorder, Role, StartReason, Timer};
use proptest::prelude::*;

type Inner<A> = <A as Algorithm>::Protocol<Id>;
type Mail<A> = Envelope<<Inner<A> as Protocol>::Message>;

/// Members that are reached by everybody in the same group, or by whom no link is cut.
struct World<A: Algorithm> {
    runs: Runs<Inner<A>>,
    nodes: Vec<Node<A>>,
    /// Mail from node to node.
    mail: Vec<Vec<VecDeque<Mail<A>>>>,
    groups: Vec<u8>,
    cut: BTreeSet<(usize, usize)>,
    /// The random number generator: a plain one will do.
    dice: u64,
    views: u64,
}

struct Node<A: Algorithm> {
    is_up: bool,
    state: <Runs<Inner<A>> as Protocol>::State,
    role: Role,
    timers: Vec<Timer>,
    /// What it could reach when that was last looked at, and what it is still to be told.
    reach: Vec<Id>,
    words: VecDeque<Vec<Id>>,
}

/// What may happen next.
#[derive(Clone, Copy)]
enum Step {
    Mail(usize, usize),
    Word(usize),
    Timer(usize, usize),
}

impl<A: Algorithm> World<A> {
    fn new(size: usize, seed: u64, broken: Option<Rule>) -> Self {
        let ranks: Vec<Id> = (0..size as u64).map(|at| Id(at * 7 % 31)).collect();
        let inner = A::protocol::<Id>(&A::Params::default(), &Setting::of(&ranks));
        let mut runs = Runs::new(inner, &A::ABOUT, &ranks);
        if let Some(rule) = broken {
            runs = runs.without(rule);
        }
        let node = |_| Node {
            is_up: true,
            state: runs.init(),
            role: Role::Undecided,
            timers: Vec::new(),
            reach: Vec::new(),
            words: VecDeque::new(),
        };
        let nodes = (0..size).map(node).collect();
        let mail = (0..size).map(|_| (0..size).map(|_| VecDeque::new()).collect()).collect();
        let (groups, cut) = (vec![0; size], BTreeSet::new());
        let mut world = World { runs, nodes, mail, groups, cut, dice: seed, views: 0 };
        (0..size).for_each(|at| world.nodes[at].reach = world.reach(at));
        world
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.dice >> 33) % bound as u64) as usize
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

    /// Everybody whose reach has changed will be told.
    fn look_round(&mut self) {
        for at in 0..self.nodes.len() {
            let reach = self.reach(at);
            if std::mem::replace(&mut self.nodes[at].reach, reach.clone()) != reach && self.nodes[at].is_up {
                self.nodes[at].words.push_back(reach);
            }
        }
    }

    fn handle(&mut self, at: usize, event: Event<Mail<A>>) {
        let size = self.nodes.len() as u32;
        let place = Place { rank: self.id(at), index: at as u32, size, peers: Peers::Unknown(0) };
        let mut effects = Vec::new();
        let dice = &mut self.dice;
        let coins = |bound| {
            *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*dice >> 20) % bound
        };
        self.runs.handle(&mut self.nodes[at].state, event, &mut Recorder::new(&place, coins, &mut effects));
        for effect in effects {
            self.nodes[at].role = self.nodes[at].role.after(&effect);
            match effect {
                Effect::SendDirect(id, mail) => {
                    self.views += u64::from(matches!(mail, Envelope::View { .. }));
                    let to = (0..self.nodes.len()).find(|&to| self.id(to) == id).expect("only members are sent to");
                    self.mail[at][to].push_back(mail);
                }
                Effect::SetTimer(_, timer) => self.nodes[at].timers.push(timer),
                Effect::Lead | Effect::Follow(_) | Effect::Forget | Effect::Learn(_) => {}
                other => panic!("runs send by id only: {other:?}"),
            }
        }
    }

    fn steps(&self) -> Vec<Step> {
        let pairs = (0..self.nodes.len()).flat_map(|from| (0..self.nodes.len()).map(move |to| (from, to)));
        let mail = pairs.filter(|&(from, to)| !self.mail[from][to].is_empty()).map(|(from, to)| Step::Mail(from, to));
        let nodes = self.nodes.iter().enumerate();
        let words = nodes.clone().filter(|(_, node)| !node.words.is_empty()).map(|(at, _)| Step::Word(at));
        let timers = nodes.flat_map(|(at, node)| (0..node.timers.len()).map(move |place| Step::Timer(at, place)));
        mail.chain(words).chain(timers).collect()
    }

    /// One thing that can happen does; false if there is none left.
    fn step(&mut self) -> bool {
        let steps = self.steps();
        if steps.is_empty() {
            return false;
        }
        match steps[self.below(steps.len())] {
            Step::Mail(from, to) => {
                let message = self.mail[from][to].pop_front().expect("there is mail");
                if self.nodes[to].is_up && self.joins(from, to) {
                    self.handle(to, Event::Direct { from: self.id(from), message });
                }
            }
            Step::Word(at) => {
                let reach = self.nodes[at].words.pop_front().expect("there is word");
                self.handle(at, Event::Change(Change::Reachable(reach.into())));
            }
            Step::Timer(at, place) => {
                let timer = self.nodes[at].timers.remove(place);
                self.handle(at, Event::Timer(timer));
            }
        }
        true
    }

    fn goes_down(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        (node.is_up, node.role) = (false, Role::Undecided);
        node.timers.clear();
        node.words.clear();
    }

    fn comes_up(&mut self, at: usize) {
        (self.nodes[at].is_up, self.nodes[at].state) = (true, self.runs.init());
        self.handle(at, Event::Rejoin);
        // It is told in any case; what it is told is looked at with the others'.
        self.nodes[at].reach.clear();
    }

    fn fault(&mut self) {
        let (at, other) = (self.below(self.nodes.len()), self.below(self.nodes.len()));
        let link = (at.min(other), at.max(other));
        match (self.below(8), self.nodes[at].is_up) {
            (0 | 1, true) => self.goes_down(at),
            (0..=2, false) => self.comes_up(at),
            (2, true) => {
                self.goes_down(at);
                self.comes_up(at);
            }
            (3, _) => drop(self.cut.insert(link)),
            (4, _) => drop(self.cut.remove(&link)),
            (5, _) => self.groups[at] = self.below(3) as u8,
            (6, _) => self.groups.fill(0),
            _ => self.cut.clear(),
        }
        self.look_round();
    }

    /// Faults among whatever else happens; in the end only groups are left apart. Says what is wrong then.
    fn live(mut self, faults: usize, pace: usize) -> Result<u64, String> {
        (0..self.nodes.len()).for_each(|at| self.handle(at, Event::Start(StartReason::Start)));
        for _ in 0..faults {
            let between = self.below(pace + 1);
            for _ in 0..between {
                self.step();
            }
            self.fault();
        }
        self.cut.clear();
        self.look_round();
        let mut steps = 0;
        while self.step() {
            steps += 1;
            if steps > 200_000 {
                return Err("it goes on for ever".to_string());
            }
        }
        (0..3).try_for_each(|group| self.judge(group))?;
        Ok(self.views)
    }

    fn judge(&self, group: u8) -> Result<(), String> {
        let members = (0..self.nodes.len()).filter(|&at| self.groups[at] == group && self.nodes[at].is_up);
        let members: Vec<usize> = members.collect();
        let named: BTreeSet<Option<Id>> = members.iter().map(|&at| self.nodes[at].role.names(self.id(at))).collect();
        let leads = |at: &&usize| self.nodes[**at].role == Role::Leader;
        match (members.iter().filter(leads).count(), named.len()) {
            (1, 1) => Ok(()),
            _ if members.is_empty() => Ok(()),
            (leaders, _) => Err(format!("{members:?} have {leaders} leaders and name {named:?}")),
        }
    }
}

fn survives<A: Algorithm>(size: usize, faults: usize, pace: usize, seed: u64) -> Result<(), TestCaseError> {
    let lived = World::<A>::new(size, seed, None).live(faults, pace);
    lived.map(drop).map_err(|problem| TestCaseError::fail(format!("{}: {problem}", A::ABOUT.name)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_part_agrees_whenever_its_members_are_told(
        size in 1..7usize, faults in 0..14usize, pace in 0..40usize, seed in any::<u64>(),
    ) {
        survives::<ChangRoberts>(size, faults, pace, seed)?;
        survives::<TokenRing>(size, faults, pace, seed)?;
        survives::<Franklin>(size, faults, pace, seed)?;
        survives::<DolevKlaweRodeh>(size, faults, pace, seed)?;
    }
}

/// Guards the test above.
#[test]
fn without_a_rule_some_part_does_not_agree() {
    for rule in [Rule::Fresh, Rule::Hold] {
        let lives = (0..400).map(|seed| World::<TokenRing>::new(5, seed, Some(rule)).live(8, 20));
        assert!(lives.filter(Result::is_err).count() > 3, "nobody misses {rule:?}");
    }
}

/// All come up at once, and each is a stranger to the others: one answer, not one for each.
#[test]
fn a_meeting_of_many_strangers_is_over_soon() {
    for size in [2, 5, 20] {
        let mut world = World::<ChangRoberts>::new(size, 1, None);
        (0..size).for_each(|at| world.goes_down(at));
        world.look_round();
        (0..size).for_each(|at| world.comes_up(at));
        world.look_round();
        while world.step() {}
        assert_eq!(world.judge(0), Ok(()));
        let (views, size) = (world.views, size as u64);
        assert!(views < 4 * size * size, "{views} views among {size}");
    }
}

fn number() -> impl Strategy<Value = Number> {
    let counter = prop_oneof![0..4u64, Just(u64::MAX)];
    (counter, 0..6u64, 0..2u32).prop_map(|(counter, id, life)| Number { counter, id: Id(id), life })
}

fn envelope() -> impl Strategy<Value = Mail<Franklin>> {
    let says: Vec<<Inner<Franklin> as Protocol>::Message> = messages_of_a_run();
    let inner = (number(), proptest::option::of(0..4u32), 0..says.len())
        .prop_map(move |(view, port, which)| Envelope::Inner { says: says[which], view, port: port.map(Port) });
    let members = proptest::collection::vec((0..7u64).prop_map(Id), 0..7);
    let view = (number(), members, any::<bool>());
    let view = view.prop_map(|(number, members, fresh)| Envelope::View { number, members: members.into(), fresh });
    prop_oneof![inner, view]
}

/// Some messages that Franklin's nodes say.
fn messages_of_a_run() -> Vec<<Inner<Franklin> as Protocol>::Message> {
    let mut world = World::<Franklin>::new(5, 3, None);
    (0..5).for_each(|at| world.handle(at, Event::Start(StartReason::Start)));
    let mut said = Vec::new();
    while world.step() {
        let mail = world.mail.iter().flatten().flatten();
        said.extend(mail.filter_map(|mail| match mail {
            Envelope::Inner { says, .. } => Some(*says),
            Envelope::View { .. } => None,
        }));
    }
    said
}

fn event() -> impl Strategy<Value = Event<Mail<Franklin>>> {
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
    /// Envelopes that cannot be, from strangers, at wrong ports, with wrong numbers: nothing of it makes a node panic.
    #[test]
    fn whatever_comes_is_borne(events in proptest::collection::vec((0..5usize, event()), 0..60)) {
        let mut world = World::<Franklin>::new(5, 9, None);
        for (at, event) in events {
            world.handle(at, event);
        }
    }
}
