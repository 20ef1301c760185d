//! The messages of a notice, as far as records tell of them.

use std::collections::BTreeMap;

use hustings_protocol::NoticeKind;

use super::ReplayError;
use crate::engine::accounting::Accounting;
use crate::engine::general;
use crate::scenario::Notice;

/// What was recorded of a notice.
#[derive(Debug)]
pub(super) struct Notices {
    notice: Notice,
    counts: BTreeMap<NoticeKind, u64>,
    /// The last tick with such messages about a leader, and how many there were.
    last: BTreeMap<(u32, NoticeKind), (u64, u64)>,
}

impl Notices {
    pub(super) fn new(notice: Notice) -> Self {
        Notices { notice, counts: BTreeMap::new(), last: BTreeMap::new() }
    }

    /// Counts messages about a leader, if there can be so many: polls from all that follow it, heartbeats to all
    /// others, answers to those whose poll came in. (A partition, which records do not show, may have stopped some.)
    pub(super) fn count(
        &mut self,
        number: u64,
        tick: u64,
        leader: u32,
        (kind, count): (NoticeKind, u64),
        books: &Accounting,
    ) -> Result<(), ReplayError> {
        let is_known = general::notice_kinds(self.notice).contains(&kind);
        let is_again = self.last.get(&(leader, kind)).is_some_and(|&(last, _)| last == tick);
        let allowed = match kind {
            _ if !is_known || is_again => 0..=0,
            NoticeKind::Poll => {
                let followers = (0..books.size()).filter(|&at| general::followed(books, at) == Some(leader)).count();
                followers as u64..=followers as u64
            }
            NoticeKind::Heartbeat | NoticeKind::Alive if !books.is_leading(leader) => 0..=0,
            NoticeKind::Heartbeat => {
                let others = u64::from(books.size()).saturating_sub(1);
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
                (least, most) if least == most => most.to_string(),
                (least, most) => format!("{least} to {most}"),
            };
            return Err(ReplayError::Notice { number, at: leader, kind: kind.name(), count, allowed });
        }
        self.last.insert((leader, kind), (tick, count));
        *self.counts.entry(kind).or_default() += count;
        Ok(())
    }

    /// All counts, as an outcome has them.
    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        let kinds = general::notice_kinds(self.notice).iter();
        kinds.map(|kind| (kind.name(), self.counts.get(kind).copied().unwrap_or(0))).collect()
    }
}
