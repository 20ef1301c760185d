//! The random properties of a message: its delay, whether it is lost, and whether it is duplicated.
//!
//! They are drawn from streams of the sender, indexed by the number of messages that the sender has sent. So they do
//! not depend on other nodes.

use crate::rng::{Purpose, Stream};
use crate::scenario::{Delay, Scenario};

/// The maximum delay: about a billion ticks, so that no sum of ticks overflows.
pub(crate) const MAX_DELAY: u64 = 1 << 30;

/// Draws the random properties of all messages.
#[derive(Debug)]
pub(crate) struct ChannelRandomness {
    seed: u64,
    delay: Delay,
    loss: f64,
    duplicate: f64,
    /// How many messages each node has sent; empty if nothing is random.
    sent: Vec<u64>,
}

/// One of the two deliveries that a message may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Draw {
    from: u32,
    /// The number of the message among those of its sender.
    number: u64,
    copy: bool,
}

impl Draw {
    /// The second delivery of the same message.
    pub(crate) fn copy(self) -> Draw {
        Draw { copy: true, ..self }
    }
}

impl ChannelRandomness {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let certain = scenario.delay == Delay::Unit && scenario.loss <= 0.0 && scenario.duplicate <= 0.0;
        ChannelRandomness {
            seed: scenario.seed,
            delay: scenario.delay,
            loss: scenario.loss,
            duplicate: scenario.duplicate,
            sent: if certain { Vec::new() } else { vec![0; scenario.network.size() as usize] },
        }
    }

    /// A node sends a message. `None` if nothing is random: the message arrives once, after one tick.
    #[inline]
    pub(crate) fn message(&mut self, from: u32) -> Option<Draw> {
        let sent = self.sent.get_mut(from as usize)?;
        *sent += 1;
        Some(Draw { from, number: *sent - 1, copy: false })
    }

    fn stream(&self, purpose: Purpose, draw: Draw) -> Stream {
        // Positions have 32 bits. Copies use the streams above them.
        let number = u64::from(draw.from) | u64::from(draw.copy) << 32;
        Stream::new(self.seed, purpose, number).skip_to(draw.number)
    }

    /// The delay, at least one tick.
    pub(crate) fn delay(&self, draw: Draw) -> u64 {
        // Draw one number per message: the next message continues after it.
        let unit = || self.stream(Purpose::Delay, draw).unit();
        let ticks = match self.delay {
            Delay::Unit => 1,
            Delay::Uniform(min, max) => {
                let min = min.min(MAX_DELAY);
                let choices = max.min(MAX_DELAY).saturating_sub(min) + 1;
                min + (unit() * choices as f64) as u64
            }
            Delay::Exponential(mean) => (-mean * (1.0 - unit()).ln()).ceil() as u64,
            Delay::Pareto { min, shape } => (min / (1.0 - unit()).powf(1.0 / shape)).ceil() as u64,
        };
        ticks.clamp(1, MAX_DELAY)
    }

    /// Whether the delivery is lost.
    pub(crate) fn is_lost(&self, draw: Draw) -> bool {
        self.loss > 0.0 && self.stream(Purpose::Loss, draw).unit() < self.loss
    }

    /// Whether the message is duplicated.
    pub(crate) fn comes_twice(&self, draw: Draw) -> bool {
        self.duplicate > 0.0 && self.stream(Purpose::Duplicate, draw).unit() < self.duplicate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Network;

    fn delays(delay: Delay, count: usize) -> Vec<u64> {
        let scenario = Scenario { delay, ..Scenario::new(Network::Ring(3)) };
        let mut channel = ChannelRandomness::new(&scenario);
        (0..count).map(|_| channel.message(2).map_or(1, |draw| channel.delay(draw))).collect()
    }

    #[test]
    fn uniform_delays_take_every_value_and_no_other() {
        let mut seen = [0u32; 9];
        delays(Delay::Uniform(3, 6), 40_000).into_iter().for_each(|delay| seen[delay as usize] += 1);
        assert!(seen[3..=6].iter().all(|&count| count.abs_diff(10_000) < 520), "{seen:?}");
        assert_eq!(seen.iter().sum::<u32>(), seen[3..=6].iter().sum::<u32>());
    }

    #[test]
    fn exponential_delays_have_the_given_mean() {
        let drawn = delays(Delay::Exponential(20.0), 40_000);
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        // Rounding up adds about a half; six standard errors are 0.6.
        assert!((mean - 20.5).abs() < 0.6, "{mean}");
        assert!(drawn.iter().all(|&delay| delay >= 1));
    }

    #[test]
    fn pareto_delays_have_the_given_tail() {
        let drawn = delays(Delay::Pareto { min: 2.5, shape: 1.0 }, 40_000);
        assert!(drawn.iter().all(|&delay| delay >= 3));
        let tail = drawn.iter().filter(|&&delay| delay > 25).count();
        assert!(tail.abs_diff(4_000) < 360, "a tenth is beyond ten times the least, not {tail}");
    }

    #[test]
    fn delays_are_bounded_for_invalid_parameters() {
        let all = |delay| delays(delay, 50).into_iter().all(|delay| (1..=MAX_DELAY).contains(&delay));
        assert!(all(Delay::Uniform(0, 0)) && all(Delay::Uniform(9, 2)) && all(Delay::Uniform(0, u64::MAX)));
        assert!(all(Delay::Exponential(f64::NAN)) && all(Delay::Exponential(-1.0)) && all(Delay::Exponential(1e300)));
        assert!(all(Delay::Pareto { min: 1.0, shape: 0.0 }) && all(Delay::Pareto { min: 0.0, shape: 1.0 }));
    }

    #[test]
    fn losses_and_copies_are_independent_and_have_the_given_rates() {
        let network = Network::Ring(3);
        let scenario = Scenario { loss: 0.25, duplicate: 0.5, ..Scenario::new(network) };
        let mut channel = ChannelRandomness::new(&scenario);
        let draws: Vec<Draw> = (0..40_000).filter_map(|_| channel.message(1)).collect();
        let lost = draws.iter().filter(|&&draw| channel.is_lost(draw)).count();
        let twice = draws.iter().filter(|&&draw| channel.comes_twice(draw)).count();
        let both_lost = draws.iter().filter(|&&draw| channel.is_lost(draw) && channel.is_lost(draw.copy())).count();
        assert!(lost.abs_diff(10_000) < 520 && twice.abs_diff(20_000) < 600, "{lost} {twice}");
        assert!(both_lost.abs_diff(2_500) < 300, "{both_lost}");
    }
}
