//! The workloads: an algorithm, a network and a loop to compare with.

use hustings_algorithms::anonymous::ItaiRodeh;
use hustings_algorithms::complete::Bully;
use hustings_algorithms::graph::echo::Echo;
use hustings_algorithms::graph::{Aefa, TwoTier};
use hustings_algorithms::hierarchy::{Divided, Sun};
use hustings_algorithms::ring::ChangRoberts;
use hustings_algorithms::{Algorithm, Instance, NetworkKind, NoParams, Setting};
use hustings_protocol::{Id, Protocol};
use hustings_sim::engine::{self, Driver};
use hustings_sim::scenario::Start;
use hustings_sim::simulate::{ElectionSpec, Ids, Starts};
use hustings_sim::topology::{BuildError, Network, Topology};

use super::Plan;
use super::measure::Work;
use super::reference;
use super::report::Row;

/// Whether the engine measures bytes, load and collisions, too. The loops do not.
const LOAD: bool = false;

/// A workload of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Workload {
    /// On a random ring with all nodes as initiators, including the announcement.
    ChangRoberts,
    /// A wave from one position of a random graph with degrees 5 to 10.
    Echo,
    /// The highest node of a complete network is down, and the lowest detects it.
    Bully,
    /// From one position of a random graph with degrees 5 to 10.
    Aefa,
    /// The same with subordinates; compared with the loop of AEFA.
    TwoTier,
    /// A ring with division points; compared with the loop of Chang–Roberts.
    Sun,
    /// A divided ring; compared with the loop of Chang–Roberts.
    Divided,
    /// On an anonymous ring with all nodes as initiators; compared with the loop of Chang–Roberts.
    ItaiRodeh,
}

/// The kind of network of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkType {
    /// A ring.
    Ring,
    /// A random graph.
    Graph,
    /// A complete network.
    Complete,
}

impl Workload {
    /// All workloads, in the order of measurement.
    pub const ALL: [Workload; 8] = [
        Workload::ChangRoberts,
        Workload::Echo,
        Workload::Bully,
        Workload::Aefa,
        Workload::TwoTier,
        Workload::Sun,
        Workload::Divided,
        Workload::ItaiRodeh,
    ];

    /// The name of the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            Workload::ChangRoberts => "chang-roberts",
            Workload::Echo => "echo",
            Workload::Bully => "bully",
            Workload::Aefa => "aefa",
            Workload::TwoTier => "two-tier",
            Workload::Sun => "sun",
            Workload::Divided => "divided",
            Workload::ItaiRodeh => "itai-rodeh",
        }
    }

    /// A short description.
    pub fn what(self) -> &'static str {
        match self {
            Workload::ChangRoberts => "random ring, all nodes start",
            Workload::Echo => "random graph 5-10",
            Workload::Bully => "highest down, lowest detects",
            Workload::Aefa => "random graph 5-10, one source",
            Workload::TwoTier => "random graph 5-10, start-up",
            Workload::Sun | Workload::Divided => "random ring, one detector",
            Workload::ItaiRodeh => "anonymous ring, all nodes start",
        }
    }

    /// The workload whose hand-written loop it is compared with.
    pub fn baseline(self) -> Workload {
        match self {
            Workload::TwoTier => Workload::Aefa,
            Workload::Sun | Workload::Divided | Workload::ItaiRodeh => Workload::ChangRoberts,
            own => own,
        }
    }

    /// The kind of network.
    pub fn network_type(self) -> NetworkType {
        match self {
            Workload::ChangRoberts | Workload::Sun | Workload::Divided | Workload::ItaiRodeh => NetworkType::Ring,
            Workload::Echo | Workload::Aefa | Workload::TwoTier => NetworkType::Graph,
            Workload::Bully => NetworkType::Complete,
        }
    }

    /// The minimum number of nodes.
    pub const MIN_NODES: u32 = 16;

    /// The default sizes, with the largest ones if `large` is set.
    pub fn sizes(self, large: bool) -> &'static [u32] {
        const MILLION: u32 = 1_000_000;
        match (self, large) {
            (Workload::ChangRoberts, false) => &[MILLION, 10 * MILLION],
            (Workload::ChangRoberts, true) => &[MILLION, 10 * MILLION, 100 * MILLION],
            (Workload::Echo | Workload::Aefa, true) => &[MILLION, 10 * MILLION],
            (Workload::Bully, _) => &[4000],
            _ => &[MILLION],
        }
    }

    /// Measures the workload.
    pub(super) fn measure(self, size: u32, plan: &Plan) -> Result<Row, BuildError> {
        let size = size.max(Self::MIN_NODES);
        let start = |at| Some(vec![Start { at, tick: 0 }]);
        match self {
            Workload::ChangRoberts => Ok(self.on_ring::<ChangRoberts>(size, None, engine::on_ring::<_, LOAD>, plan)),
            Workload::Sun => Ok(self.on_ring::<Sun>(size, start(0), engine::on_mapped_ring::<_, LOAD>, plan)),
            Workload::Divided => Ok(self.on_ring::<Divided>(size, start(0), engine::on_mapped_ring::<_, LOAD>, plan)),
            Workload::ItaiRodeh => Ok(self.on_ring::<ItaiRodeh>(size, None, engine::on_ring::<_, LOAD>, plan)),
            Workload::Echo => self.on_graph(size, &Echo::new(), None, plan),
            Workload::Aefa => self.elect_on_graph::<Aefa>(size, plan),
            Workload::TwoTier => self.elect_on_graph::<TwoTier>(size, plan),
            Workload::Bully => Ok(self.bully(size, plan)),
        }
    }

    fn on_ring<A: Algorithm>(
        self,
        size: u32,
        starts: Option<Vec<Start>>,
        driver: Driver<A::Protocol<Id>>,
        plan: &Plan,
    ) -> Row {
        // By default, hierarchies divide the ring by 4, so its size is rounded up to a multiple of 4.
        let size = if A::ABOUT.sends_by_map { size.next_multiple_of(4) } else { size };
        let network = match A::ABOUT.network {
            NetworkKind::InformedRing => Network::InformedRing(size),
            _ => Network::Ring(size),
        };
        let mut ids = random_ids(size, plan.seed);
        // An outside informer has an id as well, which is not used.
        ids.extend_from_within(..(network.size() - size) as usize);
        let members = &ids[..size as usize];
        let params = A::Params::default();
        let rules = A::protocol::<Id>(&params, &Setting::of(members));
        let mut plain = reference::ChangRoberts::new(members.len());
        let expected = expected::<A>(&params, members, starts.as_deref(), network.links());
        let work =
            Work { workload: self, rules: &rules, ids: &ids, network: &network, starts, down: None, driver, expected };
        match self.baseline() == self {
            true => work.against_own(plan, || plain.run(members)),
            false => work.against_other(plan, || plain.run(members)),
        }
    }

    fn elect_on_graph<A: Algorithm>(self, size: u32, plan: &Plan) -> Result<Row, BuildError> {
        let ids = random_ids(size, plan.seed);
        let rules = A::protocol::<Id>(&A::Params::default(), &Setting::of(&ids));
        self.on_graph(size, &rules, Some(&ids), plan)
    }

    fn on_graph<P: Protocol<Rank = Id>>(
        self,
        size: u32,
        rules: &P,
        ids: Option<&[Id]>,
        plan: &Plan,
    ) -> Result<Row, BuildError> {
        let network = Topology::Random { min: 5, max: 10 }.build(size, plan.seed)?;
        let positions: Vec<Id> = (0..u64::from(size)).map(Id).collect();
        let ids = ids.unwrap_or(&positions);
        let starts = Some(vec![Start { at: 0, tick: 0 }]);
        let network = &network;
        let work = Work {
            workload: self,
            rules,
            ids,
            network,
            starts,
            down: None,
            driver: engine::on_graph::<_, LOAD>,
            expected: None,
        };
        let Network::Graph(graph) = network else { unreachable!("a random network of this size is a graph") };
        Ok(match self.baseline() {
            Workload::Aefa => {
                let mut places = vec![0; ids.len()];
                ids.iter().zip(0..).for_each(|(id, at)| places[id.0 as usize] = at);
                let mut plain = reference::Aefa::new(graph);
                let mut run = || plain.run(graph, ids, 0, |id| places[id.0 as usize]);
                if self == Workload::Aefa { work.against_own(plan, run) } else { work.against_other(plan, &mut run) }
            }
            _ => {
                let mut plain = reference::Echo::new(graph);
                work.against_own(plan, || plain.run(graph, 0))
            }
        })
    }

    fn bully(self, size: u32, plan: &Plan) -> Row {
        let ids: Vec<Id> = (1..=u64::from(size)).map(Id).collect();
        let rules = Bully::protocol::<Id>(&Default::default(), &Setting::of(&ids));
        let mut plain = reference::Bully::new(ids.len());
        let work = Work {
            workload: self,
            rules: &rules,
            ids: &ids,
            network: &Network::Complete(size),
            starts: Some(vec![Start { at: 0, tick: 0 }]),
            down: Some(size - 1),
            driver: engine::on_complete::<_, LOAD>,
            expected: Some(u64::from(size) * u64::from(size - 1)),
        };
        work.against_own(plan, || plain.run(&ids, size - 1, 0))
    }
}

/// The number of messages by the catalogue's formula.
fn expected<A: Algorithm>(params: &A::Params, ids: &[Id], starts: Option<&[Start]>, links: u64) -> Option<u64> {
    let order: Vec<u32> = ids.iter().map(|id| id.0 as u32).collect();
    let initiators: Vec<u32> = match starts {
        None => (0..order.len() as u32).collect(),
        Some(starts) => starts.iter().map(|start| start.at).collect(),
    };
    let counts = A::expect(params, &Instance { links, ..Instance::of(&order, &initiators) })?;
    Some(counts.iter().sum())
}

/// Ids 0..n in the random order that an election on a ring has.
pub fn random_ids(size: u32, seed: u64) -> Vec<Id> {
    let (ids, initiators) = (Some(Ids::Random), Some(Starts::None));
    let spec = ElectionSpec { nodes: Some(size), ids, initiators, seed, ..ElectionSpec::default() };
    let built = spec.build::<ChangRoberts>(&NoParams).expect("a ring that is small enough to be simulated");
    built.scenario.ids.into_iter().map(Id).collect()
}
