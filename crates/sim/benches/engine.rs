//! The fast engine against the hand-written loops, and the general engine beside them: `cargo bench -p hustings-sim`.

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use hustings_algorithms::graph::echo::Echo;
use hustings_algorithms::ring::ChangRoberts;
use hustings_algorithms::{Algorithm, NoParams, Setting};
use hustings_protocol::{Id, Protocol};
use hustings_sim::engine::fast::{Full, Lean, Meter, Plan, Prepared, Starts};
use hustings_sim::engine::general;
use hustings_sim::reference;
use hustings_sim::rng::{Purpose, Stream};
use hustings_sim::scenario::{Scenario, Start};
use hustings_sim::topology::{Network, Ring, Shape};

const SIZE: u32 = 100_000;

fn engine<P: Protocol<Rank = Id>, M: Meter>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    (rules, ids, network): (&P, &[Id], &Network),
    starts: Starts,
) {
    let plan = Plan { starts, crashes: Vec::new(), seed: 0, until: u64::MAX >> 1, threads: 1 };
    let prepare = || Prepared::<P, M>::new(rules, ids, network, &plan).expect("the workload suits the fast engine");
    group.bench_function(name, |bencher| bencher.iter_batched(prepare, |ready| ready.run(), BatchSize::PerIteration));
}

fn ring(criterion: &mut Criterion) {
    let mut ids: Vec<Id> = (0..u64::from(SIZE)).map(Id).collect();
    Stream::new(1, Purpose::Ids, 0).shuffle(&mut ids);
    let (network, rules) =
        (Network::Ring(Ring { size: SIZE }), ChangRoberts::protocol::<Id>(&NoParams, &Setting::of(&[])));
    let mut plain = reference::ChangRoberts::new(ids.len());
    let mut group = criterion.benchmark_group("W1 chang-roberts on a ring");
    group.throughput(Throughput::Elements(plain.run(&ids).messages)).sample_size(10);
    group.bench_function("loop", |bencher| bencher.iter(|| plain.run(&ids)));
    engine::<_, Lean>(&mut group, "fast, counts and times", (&rules, &ids, &network), Starts::All);
    engine::<_, Full>(&mut group, "fast, all measurements", (&rules, &ids, &network), Starts::All);
    let mut scenario = Scenario::new(network).started_by_all();
    scenario.ids = ids.iter().map(|id| id.0).collect();
    group.bench_function("general", |bencher| bencher.iter(|| general::run(&rules, &ids, &scenario, None)));
    group.finish();
}

fn graph(criterion: &mut Criterion) {
    let network = Shape::Random { min: 5, max: 10 }.build(SIZE, 1).expect("such graphs exist");
    let Network::Graph(graph) = &network else { unreachable!("of so many nodes it is a graph") };
    let ids: Vec<Id> = (0..u64::from(SIZE)).map(Id).collect();
    let mut plain = reference::Echo::new(graph);
    let mut group = criterion.benchmark_group("W2 echo on a graph");
    group.throughput(Throughput::Elements(plain.run(graph, 0).messages)).sample_size(10);
    group.bench_function("loop", |bencher| bencher.iter(|| plain.run(graph, 0)));
    let starts = Starts::At(vec![Start { at: 0, tick: 0 }]);
    engine::<_, Lean>(&mut group, "fast, counts and times", (&Echo::new(), &ids, &network), starts.clone());
    engine::<_, Full>(&mut group, "fast, all measurements", (&Echo::new(), &ids, &network), starts);
    group.finish();
}

criterion_group!(benches, ring, graph);
criterion_main!(benches);
