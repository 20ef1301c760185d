//! Lookup of positions by id.

use hustings_protocol::{Id, Rank};

/// Positions by id.
#[derive(Clone, Debug)]
pub(crate) enum Directory {
    /// Every id is its position plus `by`.
    Shifted { by: u64, size: u64 },
    /// Ids with their positions, ascending.
    Sorted(Vec<(u64, u32)>),
}

impl Directory {
    pub(crate) fn new<R: Rank>(ranks: &[R]) -> Self {
        let by = ranks.first().map_or(0, |rank| rank.id().0);
        if ranks.iter().enumerate().all(|(at, rank)| rank.id().0.wrapping_sub(by) == at as u64) {
            return Directory::Shifted { by, size: ranks.len() as u64 };
        }
        let mut sorted: Vec<(u64, u32)> = ranks.iter().zip(0..).map(|(rank, at)| (rank.id().0, at)).collect();
        sorted.sort_unstable();
        Directory::Sorted(sorted)
    }

    #[inline]
    pub(crate) fn position(&self, Id(id): Id) -> Option<u32> {
        match self {
            Directory::Shifted { by, size } => {
                let at = id.wrapping_sub(*by);
                (at < *size).then_some(at as u32)
            }
            Directory::Sorted(sorted) => {
                let index = sorted.binary_search_by_key(&id, |&(id, _)| id).ok()?;
                Some(sorted[index].1)
            }
        }
    }
}
