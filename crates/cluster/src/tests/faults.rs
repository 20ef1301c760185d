//! The options of a simulated cluster, and random faults.

use crate::faults::DisabledRules;
use crate::store::tests::fake::Fault;
use crate::tests::cluster::{Rng, SimCluster};
use crate::timing::Timing;

/// How a cluster is set up.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    pub(crate) fenced: bool,
    pub(crate) preempt: bool,
    pub(crate) lease_ms: u64,
    /// The maximum drift of clocks, in parts per million.
    pub(crate) drift_ppm: u64,
    /// Which clocks are as slow as allowed, if the others are as fast as allowed; `None` for clocks of random speed.
    pub(crate) slow_clocks: Option<&'static [usize]>,
    /// Whether disks and links are slow now and then.
    pub(crate) jitter: bool,
    /// Whether every write takes about a second.
    pub(crate) slow_disk: bool,
    /// How many additional offices all nodes campaign for.
    pub(crate) extra_offices: usize,
    /// Whether there is no arbiter. A ring algorithm then elects, and the elected node leads, right or wrong.
    pub(crate) without_arbiter: bool,
    /// The additional delay of every message.
    pub(crate) extra_delay_ms: u64,
    /// How the timing differs from the default.
    pub(crate) timing: fn(&mut Timing),
    pub(crate) disabled_rules: DisabledRules,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            fenced: false,
            preempt: true,
            lease_ms: 300,
            drift_ppm: 4_900,
            slow_clocks: None,
            jitter: true,
            slow_disk: false,
            extra_offices: 0,
            without_arbiter: false,
            extra_delay_ms: 0,
            timing: |_| {},
            disabled_rules: DisabledRules::default(),
        }
    }
}

/// Injects random faults into a cluster.
pub(crate) struct FaultInjector(Rng);

impl FaultInjector {
    pub(crate) fn new(seed: u64) -> Self {
        FaultInjector(Rng::new(seed.wrapping_mul(31) + 7))
    }

    pub(crate) fn run_ms_with_faults(&mut self, cluster: &mut SimCluster, ms: u64) {
        let mut left = ms;
        while left > 0 {
            let pause = self.0.below(400).min(left - 1) + 1;
            cluster.run_ms(pause);
            left -= pause;
            let size = cluster.size() as u64;
            let node = self.0.below(size) as usize;
            let other = (node + 1 + self.0.below(size - 1) as usize) % size as usize;
            (0..cluster.size()).for_each(|node| {
                cluster.read_leader(node, "job");
                cluster.read_leader(node, "fast");
            });
            match self.0.below(19) {
                0 => cluster.kill(node),
                1 | 2 => (0..cluster.size()).for_each(|node| cluster.start(node)),
                3 => cluster.freeze(node),
                4 => (0..cluster.size()).for_each(|node| cluster.resume(node)),
                5 => {
                    cluster.cut.insert((node, other));
                    if self.0.below(2) == 0 {
                        cluster.cut.insert((other, node));
                    }
                }
                6 => {
                    let all: Vec<usize> = (0..cluster.size()).filter(|peer| *peer != node).collect();
                    for peer in all {
                        cluster.cut.insert((node, peer));
                        cluster.cut.insert((peer, node));
                    }
                }
                7 => cluster.disconnect(node, other),
                8 => {
                    let cut = std::mem::take(&mut cluster.cut);
                    cut.into_iter().for_each(|(one, other)| cluster.disconnect(one, other));
                }
                9 => cluster.end_client(node),
                10 => (0..cluster.size()).for_each(|node| cluster.start_client(node)),
                11 => cluster.leave(node),
                12 => cluster.replace_disk(node),
                13 => (0..cluster.size()).for_each(|node| cluster.repair_disk(node)),
                15 | 16 => {
                    let fault = self.disk_fault();
                    cluster.fail_disk(node, fault);
                }
                17 => (0..cluster.size()).for_each(|node| cluster.heal_disk(node)),
                14 => left = left.saturating_sub(self.flap(cluster, node)),
                _ => {}
            }
        }
    }

    /// Disks fail and work again, and nodes are killed and started, more often than anything else.
    pub(crate) fn fail_disks(&mut self, cluster: &mut SimCluster) {
        let node = self.0.below(cluster.size() as u64) as usize;
        match self.0.below(8) {
            0..4 => {
                let fault = self.disk_fault();
                cluster.fail_disk(node, fault);
            }
            4 => cluster.heal_disk(node),
            5 => cluster.kill(node),
            _ => (0..cluster.size()).for_each(|node| cluster.start(node)),
        }
    }

    /// Some operations of a disk fail, once or until it is healed.
    pub(crate) fn disk_fault(&mut self) -> Fault {
        Fault::random(|bound| self.0.below(bound), 20)
    }

    /// A node crashes, and again soon after each start, so that its later processes hardly live. Returns how long that
    /// took.
    fn flap(&mut self, cluster: &mut SimCluster, node: usize) -> u64 {
        let mut took = 0;
        for _ in 0..2 {
            cluster.kill(node);
            let (down, up) = (1 + self.0.below(30), 1 + self.0.below(60));
            cluster.run_ms(down);
            cluster.start(node);
            cluster.run_ms(up);
            took += down + up;
        }
        took
    }
}
