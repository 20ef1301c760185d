use hustings_algorithms::{Algorithm, NoParams, ring::ChangRoberts};
use hustings_protocol::Id;
use hustings_sim::engine::fast::*;
use hustings_sim::rng::*;
use hustings_sim::topology::*;
fn cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}
fn main() {
    let n: usize = std::env::args().nth(1).map_or(1_000_000, |a| a.parse().unwrap());
    let mut ids: Vec<u64> = (0..n as u64).collect();
    Stream::new(1, Purpose::Ids, 0).shuffle(&mut ids);
    let ranks: Vec<Id> = ids.iter().map(|&i| Id(i)).collect();
    let mut r = hustings_sim::reference::ChangRoberts::new(n);
    for _ in 0..4 {
        let t = cpu();
        let c = r.run(&ids);
        let a = cpu() - t;
        let plan = Plan { starts: Starts::All, crashes: vec![], seed: 0, until: u64::MAX - 2, threads: 1 };
        let net = Network::Ring(Ring { size: n as u32 });
        let p = ChangRoberts::protocol::<Id>(&NoParams);
        let o = Prepared::<_, Lean>::new(&p, &ranks, &net, &plan).unwrap();
        let t = cpu();
        let o = o.run().unwrap();
        let b = cpu() - t;
        let o2 = Prepared::<_, Full>::new(&p, &ranks, &net, &plan).unwrap();
        let t = cpu();
        let f = o2.run().unwrap();
        let d = cpu() - t;
        assert_eq!(f.by_kind, o.by_kind);
        println!(
            "{c:?} {:?} {:?} ref {:.0} M/s engine {:.0} M/s ratio {:.2} full {:.0}",
            o.by_kind,
            o.time,
            c.messages as f64 / a / 1e6,
            o.total() as f64 / b / 1e6,
            b / a,
            o.total() as f64 / d / 1e6
        );
    }
}
