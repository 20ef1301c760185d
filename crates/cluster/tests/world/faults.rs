//! What goes wrong, by a seed.

use hustings_cluster::core::Broken;

use crate::net::{Rng, World};

/// How a cluster is set up.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) fenced: bool,
    pub(crate) preempt: bool,
    pub(crate) lease_ms: u64,
    /// Clocks gain or lose up to so many parts in a million.
    pub(crate) drift: u64,
    /// The clock of the best node is as slow as may be, those of the others as fast.
    pub(crate) slow_best: bool,
    /// Disks and links are slow now and then.
    pub(crate) slow: bool,
    /// Disks take about a second.
    pub(crate) lazy_disk: bool,
    /// Everybody campaigns for so many more offices.
    pub(crate) offices: usize,
    /// There is no arbiter, and a ring elects: whoever the election names leads, right or wrong.
    pub(crate) alone: bool,
    /// What is sent takes so much longer.
    pub(crate) late_ms: u64,
    pub(crate) broken: Broken,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            fenced: false,
            preempt: true,
            lease_ms: 300,
            drift: 4_900,
            slow_best: false,
            slow: true,
            lazy_disk: false,
            offices: 0,
            alone: false,
            late_ms: 0,
            broken: Broken::default(),
        }
    }
}

/// Breaks things.
pub(crate) struct Chaos(Rng);

impl Chaos {
    pub(crate) fn new(seed: u64) -> Self {
        Chaos(Rng(seed.wrapping_mul(31) + 7))
    }

    pub(crate) fn harm(&mut self, world: &mut World, ms: u64) {
        let mut left = ms;
        while left > 0 {
            let pause = self.0.roll(400).min(left - 1) + 1;
            world.run_ms(pause);
            left -= pause;
            let size = world.size() as u64;
            let node = self.0.roll(size) as usize;
            let other = (node + 1 + self.0.roll(size - 1) as usize) % size as usize;
            (0..world.size()).for_each(|node| {
                world.ask(node, "job");
                world.ask(node, "fast");
            });
            match self.0.roll(10) {
                0 => world.kill(node),
                1 | 2 => (0..world.size()).for_each(|node| world.start(node)),
                3 => world.freeze(node),
                4 => (0..world.size()).for_each(|node| world.thaw(node)),
                5 => {
                    world.cut.insert((node, other));
                    if self.0.roll(2) == 0 {
                        world.cut.insert((other, node));
                    }
                }
                6 => {
                    let all: Vec<usize> = (0..world.size()).filter(|peer| *peer != node).collect();
                    for peer in all {
                        world.cut.insert((node, peer));
                        world.cut.insert((peer, node));
                    }
                }
                7 => world.disconnect(node, other),
                8 => {
                    let cut = std::mem::take(&mut world.cut);
                    cut.into_iter().for_each(|(one, other)| world.disconnect(one, other));
                }
                _ => {}
            }
        }
    }
}
