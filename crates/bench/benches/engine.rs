//! Compares the fast engine with hand-written loops and with the general engine: `cargo bench -p hustings-bench`.

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use hustings_algorithms::complete::{Bully, BullyParams};
use hustings_algorithms::graph::echo::Echo;
use hustings_algorithms::graph::{Aefa, AefaParams};
use hustings_algorithms::ring::ChangRoberts;
use hustings_algorithms::{Algorithm, NoParams, Setting};
use hustings_bench::{random_ids, reference};
use hustings_protocol::{Id, Protocol};
use hustings_sim::engine::{self, Driver, EngineInput};
use hustings_sim::erased::DynProtocol;
use hustings_sim::scenario::{Scenario, Start};
use hustings_sim::simulate::simulate_general;
use hustings_sim::topology::{Network, Topology};

const SIZE: u32 = 100_000;

/// Who starts (`None`: all), and who crashes when.
type Events = (Option<Vec<Start>>, Vec<(u64, u32)>);

fn engine<P: Protocol<Rank = Id>>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    driver: Driver<P>,
    (rules, ids, network): (&P, &[Id], &Network),
    (starts, crashes): Events,
) {
    let plan = EngineInput { starts, crashes, seed: 0, until: u64::MAX >> 1, threads: 1, max_memory: None };
    let prepare = || driver(rules, ids, network, &plan).expect("the workload suits the fast engine");
    group.bench_function(name, |bencher| bencher.iter_batched(prepare, |ready| ready.run(), BatchSize::PerIteration));
}

fn ring(criterion: &mut Criterion) {
    let ids = random_ids(SIZE, 1);
    let (network, rules) = (Network::Ring(SIZE), ChangRoberts::protocol::<Id>(&NoParams, &Setting::of(&[])));
    let mut plain = reference::ChangRoberts::new(ids.len());
    let mut group = criterion.benchmark_group("chang-roberts on a ring");
    group.throughput(Throughput::Elements(plain.run(&ids).messages)).sample_size(10);
    group.bench_function("loop", |bencher| bencher.iter(|| plain.run(&ids)));
    engine(
        &mut group,
        "fast, counts and times",
        engine::on_ring::<_, false>,
        (&rules, &ids, &network),
        (None, Vec::new()),
    );
    engine(
        &mut group,
        "fast, all measurements",
        engine::on_ring::<_, true>,
        (&rules, &ids, &network),
        (None, Vec::new()),
    );
    let mut scenario = Scenario::new(network).started_by_all();
    scenario.ids = ids.iter().map(|id| id.0).collect();
    let (erased, ranks) = DynProtocol::new(rules, &ids);
    group.bench_function("general", |bencher| bencher.iter(|| simulate_general(&erased, &ranks, &scenario, None)));
    group.finish();
}

fn wave(criterion: &mut Criterion) {
    let network = Topology::Random { min: 5, max: 10 }.build(SIZE, 1).expect("such graphs exist");
    let ids: Vec<Id> = (0..u64::from(SIZE)).map(Id).collect();
    let Network::Graph(graph) = &network else { unreachable!("of so many nodes it is a graph") };
    let mut plain = reference::Echo::new(graph);
    let mut group = criterion.benchmark_group("echo on a graph");
    group.throughput(Throughput::Elements(plain.run(graph, 0).messages)).sample_size(10);
    group.bench_function("loop", |bencher| bencher.iter(|| plain.run(graph, 0)));
    engine(
        &mut group,
        "fast, counts and times",
        engine::on_graph::<_, false>,
        (&Echo::new(), &ids, &network),
        from_the_first(),
    );
    engine(
        &mut group,
        "fast, all measurements",
        engine::on_graph::<_, true>,
        (&Echo::new(), &ids, &network),
        from_the_first(),
    );
    group.finish();
}

fn election(criterion: &mut Criterion) {
    let network = Topology::Random { min: 5, max: 10 }.build(SIZE, 1).expect("such graphs exist");
    let ids: Vec<Id> = (0..u64::from(SIZE)).map(Id).collect();
    let rules = Aefa::protocol::<Id>(&AefaParams::default(), &Setting::of(&ids));
    let Network::Graph(graph) = &network else { unreachable!("of so many nodes it is a graph") };
    let mut plain = reference::Aefa::new(graph);
    let mut run = || plain.run(graph, &ids, 0, |id| id.0 as u32);
    let mut group = criterion.benchmark_group("aefa on a graph");
    group.throughput(Throughput::Elements(run().messages)).sample_size(10);
    group.bench_function("loop", |bencher| bencher.iter(&mut run));
    engine(
        &mut group,
        "fast, counts and times",
        engine::on_graph::<_, false>,
        (&rules, &ids, &network),
        from_the_first(),
    );
    group.finish();
}

fn clique(criterion: &mut Criterion) {
    const SIZE: u32 = 1000;
    let network = Network::Complete(SIZE);
    let ids: Vec<Id> = (0..u64::from(SIZE)).map(Id).collect();
    let rules = Bully::protocol::<Id>(&BullyParams::default(), &Setting::of(&ids));
    let mut plain = reference::Bully::new(ids.len());
    let mut run = || plain.run(&ids, SIZE - 1, 0);
    let mut group = criterion.benchmark_group("bully, the greatest down");
    group.throughput(Throughput::Elements(run().messages)).sample_size(10);
    group.bench_function("loop", |bencher| bencher.iter(&mut run));
    let plan = (from_the_first().0, vec![(0, SIZE - 1)]);
    engine(&mut group, "fast, counts and times", engine::on_complete::<_, false>, (&rules, &ids, &network), plan);
    group.finish();
}

/// The first position starts, and no node crashes.
fn from_the_first() -> Events {
    (Some(vec![Start { at: 0, tick: 0 }]), Vec::new())
}

criterion_group!(benches, ring, wave, election, clique);
criterion_main!(benches);
