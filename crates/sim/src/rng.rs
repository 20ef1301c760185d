//! The simulator's random numbers. They are counter-based: the k-th number of a stream depends on the seed, the stream
//! and k only, not on threads or on other draws.
//!
//! A number is [`SplitMix64::mix`] of a keyed counter. A test pins the outputs, because every seeded result depends on
//! them.

use hustings_protocol::SplitMix64;

/// What a stream of numbers is for. Streams of one seed are independent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Purpose {
    /// Coins that algorithms draw; one stream per node.
    Coins = 1,
    /// Delays of messages.
    Delay = 2,
    /// Losses of messages.
    Loss = 3,
    /// Duplicates of messages.
    Duplicate = 4,
    /// The shape of a random topology.
    Topology = 5,
    /// Random ids.
    Ids = 6,
    /// Random initiators.
    Initiators = 7,
}

/// A stream of random numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stream {
    key: u64,
    counter: u64,
}

const GAMMA: u64 = SplitMix64::GAMMA;

#[inline]
const fn mix(bits: u64) -> u64 {
    SplitMix64::mix(bits)
}

/// All streams are derived from this function.
#[inline]
pub(crate) const fn hash(seed: u64, a: u64, b: u64) -> u64 {
    SplitMix64::hash(seed, a, b)
}

impl Stream {
    /// The stream of this seed for a purpose and a number, such as a node or a layer.
    pub(crate) const fn new(seed: u64, purpose: Purpose, number: u64) -> Self {
        Stream { key: hash(seed, purpose as u64, number), counter: 0 }
    }

    /// The same stream, continued at its k-th number.
    pub(crate) const fn skip_to(mut self, k: u64) -> Self {
        self.counter = k;
        self
    }

    /// How many numbers have been drawn.
    pub(crate) const fn position(&self) -> u64 {
        self.counter
    }

    /// The next 64 bits.
    #[inline]
    pub(crate) const fn next_u64(&mut self) -> u64 {
        let out = mix(self.key.wrapping_add(self.counter.wrapping_mul(GAMMA)));
        self.counter += 1;
        out
    }

    /// A number below `bound`, all equally likely.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[inline]
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a number below 0 does not exist");
        // Multiplication instead of division. The few products that would make low numbers more likely are rejected.
        loop {
            let product = self.next_u64() as u128 * bound as u128;
            // The remainder is below the bound and slow to compute, so the product is compared with the bound first.
            if product as u64 >= bound || product as u64 >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number from 0 (included) to 1 (excluded).
    #[inline]
    pub(crate) const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts a slice in random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_pinned() {
        let mut stream = Stream::new(0, Purpose::Coins, 0);
        let drawn: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(drawn, PINNED_DRAWS);
    }

    const PINNED_DRAWS: [u64; 3] = [5724817067908956762, 16432371847774783671, 17648218172472343181];

    #[test]
    fn skipping_equals_drawing() {
        let mut drawn = Stream::new(7, Purpose::Delay, 3);
        (0..5).for_each(|_| _ = drawn.next_u64());
        assert_eq!(drawn, Stream::new(7, Purpose::Delay, 3).skip_to(5));
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut stream = Stream::new(1, Purpose::Coins, 0);
        let mut seen = [0u32; 6];
        (0..60_000).for_each(|_| seen[stream.below(6) as usize] += 1);
        // Six standard deviations of a binomial(60000, 1/6) are 548.
        assert!(seen.iter().all(|&count| count.abs_diff(10_000) < 548), "{seen:?}");
    }
}
