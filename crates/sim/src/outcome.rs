//! The [`Outcome`] of an election, which every engine computes.

use hustings_protocol::Cheating;

/// The result of one simulated election.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Live positions in leader state, ascending.
    pub leaders: Vec<u32>,
    /// The position of the greatest of them (by rank).
    pub leader: Option<u32>,
    /// Whether every live node names that leader.
    pub agreement: bool,
    /// The number of nodes that are up at the end.
    pub live: u32,
    /// Whether messages were still in transit at the last tick.
    pub hung: bool,
    /// The tick at which the run ended because the process occupied more memory than the scenario allows. Then the rest
    /// tells how far it came.
    pub out_of_memory: Option<u64>,
    /// Messages by kind, in the order of the algorithm's kinds.
    pub by_kind: Vec<u64>,
    /// Messages for noticing a dead leader, by kind; not part of the total.
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
    /// The number of nodes, if every live node found the same.
    pub estimate: Option<u64>,
    /// The names that anonymous nodes were given, by position.
    pub names: Vec<(u32, u64)>,
    /// The positions that cheated, and those that noticed it, in order.
    pub cheating: Vec<(u32, Cheating)>,
    /// Interventions of the scenario that could not be done.
    pub refused: Vec<Refusal>,
}

/// An intervention that could not be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Its index in the scenario.
    pub index: usize,
    /// Why not, and what would be possible.
    pub reason: String,
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
    /// The maximum over all nodes.
    pub max: u64,
    /// Pairs of a number of messages and the number of nodes that handled it, ascending.
    pub histogram: Vec<(u64, u64)>,
}

/// Arrivals at one node in one tick beyond the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collisions {
    /// The sum over all nodes and ticks.
    pub total: u64,
    /// The maximum number of messages that arrived at one node in one tick.
    pub max: u64,
}

/// The three times; `None` if the event did not happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// When the final leader entered the leader state it still holds.
    pub elected: Option<u64>,
    /// Since when every live node names that leader.
    pub agreed: Option<u64>,
    /// The last tick with a delivery or a timer that did something.
    pub quiescent: Option<u64>,
}

impl Load {
    /// The load of `size` nodes from what each handled.
    pub(crate) fn of(handled: impl Iterator<Item = u64>, size: u32) -> Self {
        // Small loads are common, so an array counts them without a search.
        let mut small: Vec<u64> = Vec::with_capacity(64);
        let mut great = std::collections::BTreeMap::new();
        let mut sum = 0u64;
        for messages in handled {
            sum += messages;
            if messages < SMALL {
                let at = messages as usize;
                if at >= small.len() {
                    small.resize(at + 1, 0);
                }
                small[at] += 1;
            } else {
                *great.entry(messages).or_insert(0u64) += 1;
            }
        }
        let mean = if size == 0 { 0.0 } else { sum as f64 / f64::from(size) };
        let different = small.iter().filter(|nodes| **nodes > 0).count() + great.len();
        let mut histogram: Vec<(u64, u64)> = Vec::with_capacity(different);
        histogram.extend((0..).zip(small).filter(|(_, nodes)| *nodes > 0).chain(great));
        Load { mean, max: histogram.last().map_or(0, |(messages, _)| *messages), histogram }
    }
}

/// Loads below this are counted in an array.
const SMALL: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::Load;

    #[test]
    fn loads_small_and_great_are_counted_in_order() {
        let load = Load::of([3, 5000, 0, 3, 4095, 4096, 5000].into_iter(), 7);
        assert_eq!(load.histogram, [(0, 1), (3, 2), (4095, 1), (4096, 1), (5000, 2)]);
        assert_eq!((load.max, load.mean), (5000, 18_197.0 / 7.0));
        assert_eq!(Load::of(std::iter::empty(), 0), Load::default());
    }
}
