//! The messages of failure detection, counted from their records.

use std::collections::BTreeMap;

use hustings_protocol::NoticeKind;

use super::ReplayError;
use crate::engine::accounting::Accounting;
use crate::engine::general;
use crate::scenario::Notice;

/// The recorded messages of failure detection.
#[derive(Debug)]
pub(super) struct Notices {
    notice: Notice,
    counts: BTreeMap<NoticeKind, u64>,
    /// The last tick with such messages about a leader, and their number.
    last: BTreeMap<(u32, NoticeKind), (u64, u64)>,
}

impl Notices {
    pub(super) fn new(notice: Notice) -> Self {
        Notices { notice, counts: BTreeMap::new(), last: BTreeMap::new() }
    }

    /// Counts messages about a leader if their number is possible: polls from all followers, heartbeats to all others,
    /// answers to polls that arrived. Answers may be fewer, because records do not show partitions.
    pub(super) fn count(
        &mut self,
        number: u64,
        tick: u64,
        leader: u32,
        (kind, count): (NoticeKind, u64),
        accounting: &Accounting,
    ) -> Result<(), ReplayError> {
        let is_known = general::notice_kinds(self.notice).contains(&kind);
        let is_again = self.last.get(&(leader, kind)).is_some_and(|&(last, _)| last == tick);
        let allowed = match kind {
            _ if !is_known || is_again => 0..=0,
            NoticeKind::Poll => {
                let followers =
                    (0..accounting.size()).filter(|&at| general::followed(accounting, at) == Some(leader)).count();
                followers as u64..=followers as u64
            }
            NoticeKind::Heartbeat | NoticeKind::Alive if !accounting.is_leading(leader) => 0..=0,
            NoticeKind::Heartbeat => {
                let others = u64::from(accounting.size()).saturating_sub(1);
                others..=others
            }
            NoticeKind::Alive => {
                let polls = self.last.get(&(leader, NoticeKind::Poll)).filter(|&&(last, _)| last + 1 == tick);
                1..=polls.map_or(0, |&(_, polls)| polls)
            }
        };
        if count == 0 || !allowed.contains(&count) {
            let allowed = match allowed.into_inner() {
                (_, 0) => "none".into(),
                (min, max) if min == max => max.to_string(),
                (min, max) => format!("{min} to {max}"),
            };
            return Err(ReplayError::Notice { number, at: leader, kind: kind.name(), count, allowed });
        }
        self.last.insert((leader, kind), (tick, count));
        *self.counts.entry(kind).or_default() += count;
        Ok(())
    }

    /// All counts, in the form of an outcome.
    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        let kinds = general::notice_kinds(self.notice).iter();
        kinds.map(|kind| (kind.name(), self.counts.get(kind).copied().unwrap_or(0))).collect()
    }
}
