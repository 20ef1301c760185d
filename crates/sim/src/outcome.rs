//! What an election came to: the [`Outcome`] that every engine fills in.

/// The result of one simulated election.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Live positions in leader state, ascending.
    pub leaders: Vec<u32>,
    /// The position of the greatest of them (by rank).
    pub leader: Option<u32>,
    /// Whether every live node names that leader.
    pub agreement: bool,
    /// How many nodes are up at the end.
    pub live: u32,
    /// Whether mail was still under way when the time was up.
    pub hung: bool,
    /// Messages by kind, in the order of the algorithm's kinds.
    pub by_kind: Vec<u64>,
    /// Messages of the ways of noticing a dead leader, by kind, outside the total.
    pub notice: Vec<(&'static str, u64)>,
    /// The sum of the encoded lengths of all messages.
    pub bytes: u64,
    /// Messages that did not arrive.
    pub lost: u64,
    /// Messages that each node handled.
    pub load: Load,
    /// Arrivals at one node in one tick beyond the first.
    pub collisions: Collisions,
    /// The three times.
    pub time: Times,
    /// How many nodes there are, if every live node found the same number.
    pub estimate: Option<u64>,
    /// The names that nodes were given, by position, where they had none of their own.
    pub names: Vec<(u32, u64)>,
}

impl Outcome {
    /// All messages of the algorithm.
    pub fn total(&self) -> u64 {
        self.by_kind.iter().sum()
    }
}

/// How many messages the nodes handled.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Load {
    /// On average over all nodes.
    pub mean: f64,
    /// At the busiest.
    pub max: u64,
    /// How many nodes handled so many: `(messages, nodes)`, ascending, only those that occur.
    pub histogram: Vec<(u64, u64)>,
}

/// Arrivals at one node in one tick beyond the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collisions {
    /// In all.
    pub total: u64,
    /// The most messages that arrived at one node in one tick.
    pub max: u64,
}

/// The three times; those not reached are `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// When the final leader entered the leader state it still holds.
    pub elected: Option<u64>,
    /// From when on every live node names that leader.
    pub agreed: Option<u64>,
    /// The last tick with a delivery or a timer that did something.
    pub quiescent: Option<u64>,
}

impl Load {
    /// The load of `size` nodes from what each handled.
    pub fn of(handled: impl Iterator<Item = u64>, size: u32) -> Self {
        let mut histogram = std::collections::BTreeMap::new();
        let mut sum = 0u64;
        for messages in handled {
            *histogram.entry(messages).or_insert(0u64) += 1;
            sum += messages;
        }
        let mean = if size == 0 { 0.0 } else { sum as f64 / f64::from(size) };
        let max = histogram.keys().next_back().copied().unwrap_or(0);
        Load { mean, max, histogram: histogram.into_iter().collect() }
    }
}
