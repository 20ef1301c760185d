//! The workloads: each runs the reference and the engine in turn, and checks that they counted the same.

use hustings_algorithms::graph::echo::Echo;
use hustings_algorithms::ring::ChangRoberts;
use hustings_algorithms::{Algorithm, NoParams, Setting};
use hustings_protocol::{Id, Protocol};
use hustings_sim::engine::fast::{Lean, Plan as EnginePlan, Prepared, Starts};
use hustings_sim::reference::{self, Counted};
use hustings_sim::scenario::Start;
use hustings_sim::topology::{BuildError, Network, Ring, Shape};

use super::clock::{Took, time};
use super::report::{Row, Speeds};
use super::{Plan, random_ids};

/// W1.
pub(super) fn ring(size: u32, plan: &Plan) -> Row {
    let ids = random_ids(size, plan.seed);
    let network = Network::Ring(Ring { size });
    let mut plain = reference::ChangRoberts::new(ids.len());
    let rules = ChangRoberts::protocol::<Id>(&NoParams, &Setting::of(&[]));
    let work = Work {
        name: "W1",
        what: "chang-roberts, random ring",
        rules: &rules,
        ids: &ids,
        network: &network,
        starts: Starts::All,
    };
    work.measure(plan, || plain.run(&ids))
}

/// W2.
pub(super) fn graph(size: u32, plan: &Plan) -> Result<Row, BuildError> {
    let network = Shape::Random { min: 5, max: 10 }.build(size, plan.seed)?;
    let ids: Vec<Id> = (0..u64::from(size)).map(Id).collect();
    let rules = Echo::new();
    let starts = Starts::At(vec![Start { at: 0, tick: 0 }]);
    let work =
        Work { name: "W2", what: "echo, random graph 5-10", rules: &rules, ids: &ids, network: &network, starts };
    Ok(match &network {
        Network::Graph(graph) => {
            let mut plain = reference::Echo::new(graph);
            work.measure(plan, || plain.run(graph, 0))
        }
        // Of up to 11 nodes the shape is a complete network, which the reference does not know.
        Network::Ring(_) | Network::InformedRing(_) | Network::Complete(_) => {
            work.measure(plan, || Counted { messages: 2 * network.links(), quiescent: 3 })
        }
    })
}

struct Work<'a, P: Protocol<Rank = Id>> {
    name: &'static str,
    what: &'static str,
    rules: &'a P,
    ids: &'a [Id],
    network: &'a Network,
    starts: Starts,
}

impl<P: Protocol<Rank = Id>> Work<'_, P> {
    fn measure(&self, plan: &Plan, mut plain: impl FnMut() -> Counted) -> Row {
        let (mut reference, mut engine) = (Speeds::default(), Speeds::default());
        let (mut one_thread, mut threads) = (Speeds::default(), Speeds::default());
        let (mut messages, mut bytes) = (0, 0);
        for _ in 0..plan.rounds.max(1) {
            let (counted, took) = time(&mut plain);
            messages = counted.messages;
            reference.add(counted.messages, took.cpu);
            let (memory, took) = self.engine(1, counted);
            bytes = memory;
            engine.add(counted.messages, took.cpu);
            one_thread.add(counted.messages, took.wall);
            if plan.threads > 1 {
                threads.add(counted.messages, self.engine(plan.threads, counted).1.wall);
            }
        }
        Row {
            workload: self.name,
            what: self.what,
            nodes: self.network.size(),
            messages,
            bytes_per_node: bytes as f64 / f64::from(self.network.size().max(1)),
            reference,
            engine,
            one_thread,
            threads: (plan.threads > 1).then_some((plan.threads, threads)),
        }
    }

    /// One run of the engine; it must count what the reference counted.
    fn engine(&self, threads: usize, counted: Counted) -> (usize, Took) {
        let plan =
            EnginePlan { starts: self.starts.clone(), crashes: Vec::new(), seed: 0, until: u64::MAX >> 1, threads };
        let prepared = Prepared::<P, Lean>::new(self.rules, self.ids, self.network, &plan);
        let prepared = prepared.expect("rings from 3 nodes on and graphs suit the fast engine");
        let memory = prepared.memory();
        let (outcome, took) = time(|| prepared.run());
        let outcome = outcome.expect("neither workload asks for more than the fast engine does");
        let got = Counted { messages: outcome.total(), quiescent: outcome.time.quiescent.unwrap_or(0) };
        assert_eq!(got, counted, "the engine and the reference must count the same");
        (memory, took)
    }
}
