//! The simulator's random numbers: counter-based, so that the k-th number of a stream depends on (seed, stream, k) and
//! on nothing else: not on threads, not on who drew before.
//!
//! The mixer is SplitMix64's finaliser applied to a keyed counter. Its outputs are pinned by a golden test: changing
//! them changes every seeded result there is.

/// What a stream of numbers is for. Streams of one seed are independent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Purpose {
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
pub struct Stream {
    key: u64,
    counter: u64,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A number from a seed and two more: the hash under everything here.
#[inline]
pub const fn hash(seed: u64, a: u64, b: u64) -> u64 {
    let key = mix(seed.wrapping_add(GOLDEN));
    let key = mix(key ^ a.wrapping_mul(0xD6E8_FEB8_6659_FD93).wrapping_add(GOLDEN));
    mix(key.wrapping_add(b.wrapping_mul(GOLDEN)).wrapping_add(GOLDEN))
}

impl Stream {
    /// The stream of this seed for a purpose and a number (a node, a layer, …).
    pub const fn new(seed: u64, purpose: Purpose, number: u64) -> Self {
        Stream { key: hash(seed, purpose as u64, number), counter: 0 }
    }

    /// The same stream from its k-th number on.
    pub const fn skip_to(mut self, k: u64) -> Self {
        self.counter = k;
        self
    }

    /// How many numbers were drawn.
    pub const fn position(&self) -> u64 {
        self.counter
    }

    /// The next 64 bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let out = mix(self.key.wrapping_add(self.counter.wrapping_mul(GOLDEN)));
        self.counter += 1;
        out
    }

    /// A number below `bound`, all equally likely.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[inline]
    pub const fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a number below 0 does not exist");
        // Multiplication instead of division; the few numbers that would make the low ones likelier are drawn again.
        loop {
            let product = self.next_u64() as u128 * bound as u128;
            // Whatever is not below the bound is not below the remainder either, which takes long to compute.
            if product as u64 >= bound || product as u64 >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number from 0 (included) to 1 (excluded).
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts a slice in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_never_change() {
        let mut stream = Stream::new(0, Purpose::Coins, 0);
        let drawn: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(drawn, GOLDEN_START);
        assert_eq!(hash(1, 2, 3), GOLDEN_HASH);
    }

    const GOLDEN_START: [u64; 3] = [5724817067908956762, 16432371847774783671, 17648218172472343181];
    const GOLDEN_HASH: u64 = 8737550765629041463;

    #[test]
    fn skipping_is_drawing() {
        let mut drawn = Stream::new(7, Purpose::Delay, 3);
        (0..5).for_each(|_| _ = drawn.next_u64());
        assert_eq!(drawn, Stream::new(7, Purpose::Delay, 3).skip_to(5));
    }

    #[test]
    fn numbers_below_a_bound_are_even() {
        let mut stream = Stream::new(1, Purpose::Coins, 0);
        let mut seen = [0u32; 6];
        (0..60_000).for_each(|_| seen[stream.below(6) as usize] += 1);
        // Six standard deviations of a binomial(60000, 1/6) are 548.
        assert!(seen.iter().all(|&count| count.abs_diff(10_000) < 548), "{seen:?}");
    }
}
