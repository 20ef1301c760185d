//! A second implementation of the model, as plain as can be: rings only, one sorted list of events per tick. It
//! knows nothing of the simulator, so that the two can be held against each other.

// Every test file uses its own part of this.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};

use hustings_algorithms::catalogue::{self, Visitor};
use hustings_algorithms::{About, Algorithm, Instance, NetworkKind, Params, Setting};
use hustings_protocol::{
    Best, Effect, Event, Id, Least, Message, NodeInfo, Peers, Port, Protocol, Rank, Ranked, Recorder, Role, SplitMix64,
    StartReason, Value,
};

/// One election on a ring.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    pub(crate) ids: Vec<u64>,
    pub(crate) values: Option<(Vec<f64>, Best)>,
    pub(crate) starts: Vec<(usize, u64)>,
    pub(crate) crashes: Vec<(usize, u64)>,
    pub(crate) delay: Delay,
    pub(crate) params: Vec<(&'static str, &'static str)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Delay {
    #[default]
    Unit,
    /// From 1 to `most` ticks.
    Random { seed: u64, most: u64, fifo: bool },
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Outcome {
    pub(crate) by_kind: Vec<u64>,
    pub(crate) leaders: Vec<usize>,
    pub(crate) agreement: bool,
    pub(crate) hung: bool,
    pub(crate) lost: u64,
    /// Who took its start signal up.
    pub(crate) entered: Vec<usize>,
    pub(crate) elected: Option<u64>,
    pub(crate) agreed: Option<u64>,
    pub(crate) quiescent: Option<u64>,
}

impl Outcome {
    pub(crate) fn total(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    /// The only leader, if all live nodes name it.
    pub(crate) fn agreed_leader(&self) -> Option<usize> {
        if self.agreement && self.leaders.len() == 1 { Some(self.leaders[0]) } else { None }
    }
}

impl Setup {
    /// All start at tick 0.
    pub(crate) fn all(ids: impl Into<Vec<u64>>) -> Self {
        let ids = ids.into();
        let starts = (0..ids.len()).map(|at| (at, 0)).collect();
        Setup { ids, starts, ..Setup::default() }
    }

    /// These start at tick 0.
    pub(crate) fn some(ids: impl Into<Vec<u64>>, initiators: &[usize]) -> Self {
        Setup { ids: ids.into(), starts: initiators.iter().map(|&at| (at, 0)).collect(), ..Setup::default() }
    }

    /// These are down from the start, and do not start either.
    pub(crate) fn down(mut self, dead: &BTreeSet<usize>) -> Self {
        self.crashes.extend(dead.iter().map(|&at| (at, 0)));
        self.starts.retain(|(at, _)| !dead.contains(at));
        self
    }

    pub(crate) fn delay(self, delay: Delay) -> Self {
        Setup { delay, ..self }
    }

    /// Runs it with the algorithm of this name.
    pub(crate) fn run(&self, name: &str) -> Outcome {
        visit_ring(name, Run(self))
    }

    /// What the algorithm itself expects.
    pub(crate) fn expect(&self, name: &str) -> Option<Vec<u64>> {
        visit_ring(name, Expect(self))
    }

    /// Which of these positions has the greatest id.
    pub(crate) fn greatest(&self, among: impl IntoIterator<Item = usize>) -> Option<usize> {
        among.into_iter().max_by_key(|&at| self.ids[at])
    }

    fn params<A: Algorithm>(&self) -> A::Params {
        let mut params = A::Params::default();
        for (name, value) in &self.params {
            params.set(name, value).unwrap();
        }
        params
    }
}

/// Whether this simulator can run the algorithm: on a ring, among nodes with ids, which talk to their neighbours only.
pub(crate) const fn is_plain_ring(about: &About) -> bool {
    matches!(about.network, NetworkKind::Ring) && about.elects_by_id() && !about.sends_by_map
}

/// Calls the visitor with the plain ring algorithm of this name.
pub(crate) fn visit_ring<V: Visitor>(name: &str, visitor: V) -> V::Output {
    catalogue::visit(name, PlainRing(visitor)).unwrap_or_else(|| panic!("no algorithm is called {name}"))
}

/// Leaves out the algorithms that cannot run here at compile time: code for them would take long to compile.
struct PlainRing<V>(V);

impl<V: Visitor> Visitor for PlainRing<V> {
    type Output = V::Output;
    fn visit<A: Algorithm>(self) -> V::Output {
        if const { is_plain_ring(&A::ABOUT) } {
            self.0.visit::<A>()
        } else {
            panic!("{} is not a plain ring algorithm", A::ABOUT.name)
        }
    }
}

struct Run<'a>(&'a Setup);

impl Visitor for Run<'_> {
    type Output = Outcome;
    fn visit<A: Algorithm>(self) -> Outcome {
        let setup = self.0;
        let params = setup.params::<A>();
        match &setup.values {
            None => {
                let ranks: Vec<Id> = setup.ids.iter().copied().map(Id).collect();
                Ring::new(&A::protocol::<Id>(&params, &Setting::of(&ranks)), &ranks, setup).run()
            }
            Some((values, best)) => {
                let rank = |(id, value): (&u64, &f64)| Ranked { value: Value::new(*value).unwrap(), id: Id(*id) };
                let ranks: Vec<Ranked> = setup.ids.iter().zip(values).map(rank).collect();
                match best {
                    Best::Max => Ring::new(&A::protocol::<Ranked>(&params, &Setting::of(&ranks)), &ranks, setup).run(),
                    Best::Min => {
                        let ranks: Vec<Least<Ranked>> = ranks.into_iter().map(Least).collect();
                        Ring::new(&A::protocol::<Least<Ranked>>(&params, &Setting::of(&ranks)), &ranks, setup).run()
                    }
                }
            }
        }
    }
}

struct Expect<'a>(&'a Setup);

impl Visitor for Expect<'_> {
    type Output = Option<Vec<u64>>;
    fn visit<A: Algorithm>(self) -> Self::Output {
        let setup = self.0;
        let order: Vec<u32> =
            setup.ids.iter().map(|id| setup.ids.iter().filter(|other| *other < id).count() as u32).collect();
        let initiators: Vec<u32> = setup.starts.iter().map(|(at, _)| *at as u32).collect();
        A::expect(&setup.params::<A>(), &Instance::of(&order, &initiators))
    }
}

/// What is due at a tick, in the order in which it is handled: by position, and at one position in this order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Crash,
    Start,
    /// By sender, then by its sending order.
    Message {
        sender: usize,
        number: usize,
    },
    /// In sending order.
    Unreachable {
        number: usize,
    },
}

struct Sent<M> {
    port: Port,
    to: usize,
    message: M,
    /// Whether it was sent again, to another.
    again: bool,
}

struct Ring<'a, P: Protocol> {
    rules: &'a P,
    ranks: &'a [P::Rank],
    setup: &'a Setup,
    now: u64,
    agenda: BTreeMap<u64, Vec<(usize, Due)>>,
    states: Vec<P::State>,
    roles: Vec<Role>,
    up: Vec<bool>,
    /// Everything each node ever sent.
    log: Vec<Vec<Sent<P::Message>>>,
    /// Whom each node has struck off.
    struck: Vec<BTreeSet<usize>>,
    last_arrival: BTreeMap<(usize, Port), u64>,
    random: Random,
    in_flight: usize,
    became_leader: Vec<Option<u64>>,
    outcome: Outcome,
}

impl<'a, P: Protocol> Ring<'a, P> {
    fn new(rules: &'a P, ranks: &'a [P::Rank], setup: &'a Setup) -> Self {
        let n = ranks.len();
        let mut agenda: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        for &(at, tick) in &setup.crashes {
            agenda.entry(tick).or_default().push((at, Due::Crash));
        }
        for &(at, tick) in &setup.starts {
            agenda.entry(tick).or_default().push((at, Due::Start));
        }
        Ring {
            rules,
            ranks,
            setup,
            now: 0,
            agenda,
            states: (0..n).map(|_| rules.init()).collect(),
            roles: vec![Role::Undecided; n],
            up: vec![true; n],
            log: (0..n).map(|_| Vec::new()).collect(),
            struck: vec![BTreeSet::new(); n],
            last_arrival: BTreeMap::new(),
            random: Random::new(match setup.delay {
                Delay::Unit => 0,
                Delay::Random { seed, .. } => seed,
            }),
            in_flight: 0,
            became_leader: vec![None; n],
            outcome: Outcome {
                by_kind: vec![0; P::Message::KINDS.len()],
                leaders: vec![],
                agreement: false,
                hung: false,
                lost: 0,
                entered: vec![],
                elected: None,
                agreed: None,
                quiescent: None,
            },
        }
    }

    fn run(mut self) -> Outcome {
        let until = 100 * self.ranks.len() as u64 + 10_000;
        while let Some((tick, mut due)) = self.agenda.pop_first() {
            if tick > until {
                break;
            }
            self.now = tick;
            due.sort();
            for (at, what) in due {
                self.happen(at, what);
            }
            let agreed = self.agreed_leader().is_some();
            self.outcome.agreed = agreed.then_some(self.outcome.agreed.unwrap_or(tick));
        }
        let leader = self.agreed_leader();
        let leads = |at: &usize| self.up[*at] && self.roles[*at] == Role::Leader;
        self.outcome.leaders = (0..self.ranks.len()).filter(leads).collect();
        self.outcome.agreement = leader.is_some();
        self.outcome.elected =
            self.outcome.leaders.iter().max_by_key(|at| self.ranks[**at]).and_then(|at| self.became_leader[*at]);
        self.outcome.hung = self.in_flight > 0;
        self.outcome
    }

    /// The live leader that every live node names.
    fn agreed_leader(&self) -> Option<usize> {
        let live = || (0..self.ranks.len()).filter(|at| self.up[*at]);
        let leader = live().filter(|at| self.roles[*at] == Role::Leader).max_by_key(|at| self.ranks[*at])?;
        let id = self.ranks[leader].id();
        live().all(|at| self.roles[at].leader(self.ranks[at]) == Some(id)).then_some(leader)
    }

    fn happen(&mut self, at: usize, what: Due) {
        match what {
            Due::Crash => {
                self.up[at] = false;
            }
            Due::Start if self.up[at] => {
                let named = self.roles[at].leader(self.ranks[at]);
                // Who goes down in this tick is down from its beginning, whatever its position.
                let down = |&(at, tick): &(usize, u64)| tick <= self.now && named == Some(self.ranks[at].id());
                let lost = self.setup.crashes.iter().any(down);
                let sent = self.log[at].len();
                self.handle(at, Event::Start(if lost { StartReason::LeaderLost } else { StartReason::Start }), None);
                if self.log[at].len() > sent {
                    self.outcome.entered.push(at);
                }
            }
            Due::Start => {}
            Due::Message { sender, number } => {
                self.in_flight -= 1;
                if self.up[at] {
                    self.outcome.quiescent = Some(self.now);
                    let sent = &self.log[sender][number];
                    let from = if sent.port == Port::NEXT { Port::PREVIOUS } else { Port::NEXT };
                    let message = sent.message.clone();
                    self.handle(at, Event::Message { from, message }, None);
                } else {
                    self.outcome.lost += 1;
                    self.agenda.entry(self.now + 1).or_default().push((sender, Due::Unreachable { number }));
                }
            }
            Due::Unreachable { number } => {
                let Sent { port, message, again, .. } = &self.log[at][number];
                if self.up[at] && !again {
                    let event = Event::Unreachable { port: *port, message: message.clone() };
                    self.handle(at, event, Some(number));
                }
            }
        }
    }

    fn handle(&mut self, at: usize, event: Event<P::Message>, lost: Option<usize>) {
        let size = self.ranks.len() as u32;
        let place = NodeInfo { rank: self.ranks[at], index: at as u32, size, peers: Peers::Unknown(2) };
        let mut effects = Vec::new();
        let mut cx = Recorder::new(&place, |_| panic!("ring algorithms draw no coins"), &mut effects);
        self.rules.handle(&mut self.states[at], event, &mut cx);
        for effect in effects {
            let before = self.roles[at];
            self.roles[at] = before.after(&effect);
            if self.roles[at] == Role::Leader && before != Role::Leader {
                self.became_leader[at] = Some(self.now);
            }
            match effect {
                Effect::Send(port, message) => self.send(at, port, message),
                Effect::SendAllBut(None, message) => {
                    self.send(at, Port::NEXT, message.clone());
                    self.send(at, Port::PREVIOUS, message);
                }
                Effect::Skip(_) => self.skip(at, lost.expect("skipping is an answer to unreachable")),
                Effect::Lead | Effect::Follow(_) => {}
                other => panic!("a ring algorithm has no use for {other:?}"),
            }
        }
    }

    /// The nearest one in that direction that is not struck off; in the end the node itself.
    fn peer(&self, at: usize, port: Port) -> usize {
        let n = self.ranks.len();
        let step = if port == Port::NEXT { 1 } else { n - 1 };
        let mut peer = (at + step) % n;
        while self.struck[at].contains(&peer) {
            peer = (peer + step) % n;
        }
        peer
    }

    fn send(&mut self, at: usize, port: Port, message: P::Message) {
        self.outcome.by_kind[message.kind()] += 1;
        self.in_flight += 1;
        let to = self.peer(at, port);
        let mut arrival = self.now + 1;
        if let Delay::Random { most, fifo, .. } = self.setup.delay {
            arrival += self.random.below(most);
            let last = self.last_arrival.entry((at, port)).or_default();
            if fifo {
                arrival = arrival.max(*last);
            }
            *last = arrival;
        }
        let number = self.log[at].len();
        self.log[at].push(Sent { port, to, message, again: false });
        self.agenda.entry(arrival).or_default().push((to, Due::Message { sender: at, number }));
    }

    /// Strikes the receiver of the lost message off, and sends all that it was sent since again.
    fn skip(&mut self, at: usize, lost: usize) {
        let dead = self.log[at][lost].to;
        self.struck[at].insert(dead);
        let mut again = Vec::new();
        for sent in self.log[at][lost..].iter_mut().filter(|sent| sent.to == dead && !sent.again) {
            sent.again = true;
            again.push((sent.port, sent.message.clone()));
        }
        for (port, message) in again {
            self.send(at, port, message);
        }
    }
}

/// A small generator for tests that need many numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// The ids 0..n in random order.
    pub(crate) fn ring(&mut self, n: usize) -> Vec<u64> {
        let mut ids: Vec<u64> = (0..n as u64).collect();
        for last in (1..n).rev() {
            ids.swap(last, self.below(last as u64 + 1) as usize);
        }
        ids
    }
}

/// Every order of 0..n.
pub(crate) fn permutations(n: usize) -> Vec<Vec<u64>> {
    if n == 0 {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for shorter in permutations(n - 1) {
        for place in 0..n {
            let mut longer = shorter.clone();
            longer.insert(place, n as u64 - 1);
            all.push(longer);
        }
    }
    all
}
