//! x
use hustings_algorithms::graph::echo::Echo;
use hustings_protocol::Id;
use hustings_sim::engine::fast::*;
use hustings_sim::rng::*;
use hustings_sim::scenario::Start;
use hustings_sim::topology::*;
fn cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}
fn main() {
    let n: u32 = std::env::args().nth(1).map_or(1_000_000, |a| a.parse().unwrap());
    let mut links = std::collections::BTreeSet::new();
    let mut s = Stream::new(1, Purpose::Topology, 0);
    for i in 1..n {
        links.insert((i.min(i - 1), i));
    }
    for i in 0..n {
        for _ in 0..3 {
            let j = s.below(n as u64) as u32;
            if j != i && s.below(8) < 7 {
                links.insert((i.min(j), i.max(j)));
            }
        }
    }
    let g = Graph::new(n, |e| links.iter().for_each(|&(a, b)| e(a, b))).unwrap();
    drop(links);
    let ranks: Vec<Id> = (0..n as u64).map(Id).collect();
    let mut r = hustings_sim::reference::Echo::new(&g);
    let net = Network::Graph(g.clone());
    for _ in 0..4 {
        let t = cpu();
        let c = r.run(&g, 0);
        let a = cpu() - t;
        let mut out = vec![];
        for threads in [1, 2] {
            let plan = Plan {
                starts: Starts::At(vec![Start { at: 0, tick: 0 }]),
                crashes: vec![],
                seed: 0,
                until: u64::MAX - 2,
                threads,
            };
            let p = Echo::<Id>::new();
            let o = Prepared::<_, Lean>::new(&p, &ranks, &net, &plan).unwrap();
            let w = std::time::Instant::now();
            let t = cpu();
            let o = o.run().unwrap();
            let b = cpu() - t;
            out.push((b, w.elapsed().as_secs_f64(), o));
        }
        assert_eq!(out[0].2, out[1].2);
        println!(
            "{c:?} {:?} {:?} ref {:.0} M/s engine {:.0} M/s ratio {:.2} wall {:.3} 2 threads {:.3}",
            out[0].2.by_kind,
            out[0].2.time,
            c.messages as f64 / a / 1e6,
            c.messages as f64 / out[0].0 / 1e6,
            out[0].0 / a,
            out[0].1,
            out[1].1
        );
    }
}
