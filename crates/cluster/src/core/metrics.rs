//! What the core counts. Nothing that it decides depends on it.
//!
//! Every event is counted in constant time. What a node shows is put together when somebody asks
//! ([`requests::metrics`](super::requests)).

use std::collections::BTreeMap;

use super::elections::ElectionCause;
use super::table::{OfficeName, Table};
use crate::api::ChangeReason;

/// How many offices are counted one by one.
pub(super) const MAX_LABELLED_OFFICES: usize = 1_000;

/// The counters of a core.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    elections: [u64; ElectionCause::ALL.len()],
    step_downs: [u64; ChangeReason::ALL.len()],
    pub(super) arbiter_leader_changes: u64,
    pub(super) grants: GrantCounts,
}

impl Metrics {
    pub(super) fn count_election(&mut self, cause: ElectionCause) {
        self.elections[cause as usize] += 1;
    }

    pub(super) fn count_step_down(&mut self, reason: ChangeReason) {
        self.step_downs[reason as usize] += 1;
    }

    pub(super) fn elections(&self) -> impl Iterator<Item = (ElectionCause, u64)> {
        ElectionCause::ALL.into_iter().zip(self.elections)
    }

    pub(super) fn step_downs(&self) -> impl Iterator<Item = (ChangeReason, u64)> {
        ChangeReason::ALL.into_iter().zip(self.step_downs)
    }
}

/// How often offices were granted: one by one for the first ones that this node hears of, together for the rest. An
/// office keeps its own count until it is forgotten, so that its series in a monitoring system does not come and go.
#[derive(Debug, Default)]
pub(super) struct GrantCounts {
    by_office: BTreeMap<OfficeName, GrantCount>,
    others: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct GrantCount {
    grants: u64,
    /// The last token that was counted.
    token: u64,
}

impl GrantCounts {
    /// An office was granted.
    pub(super) fn handle_grant(&mut self, office: &OfficeName, table: &Table) {
        let token = table.token(office);
        if let Some(count) = self.by_office.get_mut(office) {
            *count = GrantCount { grants: count.grants + 1, token };
        } else if self.by_office.len() < MAX_LABELLED_OFFICES {
            self.by_office.insert(office.clone(), GrantCount { grants: 1, token });
        } else {
            self.others += 1;
        }
    }

    /// The whole table changed. Of the grants in between, at least the last one of each office counts.
    pub(super) fn handle_replaced(&mut self, table: &Table) {
        for (office, count) in &mut self.by_office {
            let token = table.token(office);
            if token > count.token {
                *count = GrantCount { grants: count.grants + 1, token };
            }
        }
    }

    /// Forgets offices that the table has forgotten, and fills up with others.
    pub(super) fn refresh(&mut self, table: &Table) {
        let is_gone = |office: &OfficeName| !table.offices.contains(office);
        let gone: Vec<GrantCount> =
            self.by_office.extract_if(.., |office, _| is_gone(office)).map(|(_, count)| count).collect();
        self.others += gone.into_iter().map(|count| count.grants).sum::<u64>();
        if self.by_office.len() < MAX_LABELLED_OFFICES.min(table.offices.len()) {
            for (office, record) in table.offices.iter() {
                if self.by_office.len() >= MAX_LABELLED_OFFICES {
                    break;
                }
                let new = GrantCount { grants: 0, token: record.token };
                self.by_office.entry(office.clone()).or_insert(new);
            }
        }
    }

    /// The grants of an office; `None` if it is not counted by itself.
    pub(super) fn of(&self, office: &str) -> Option<u64> {
        self.by_office.get(office).map(|count| count.grants)
    }

    /// The grants of all offices that are not counted one by one.
    pub(super) fn others(&self) -> u64 {
        self.others
    }
}

#[cfg(test)]
mod tests {
    use hustings_protocol::Id;

    use super::*;
    use crate::config::Mode;
    use crate::core::table::{Command, Holder};
    use crate::timing::LeaseTerms;

    /// Grants an office at this index.
    fn grant(table: &mut Table, index: u64, office: &str) -> OfficeName {
        let office = OfficeName::from(office);
        let granted = table.apply(
            index,
            Command::Grant {
                office: office.clone(),
                holder: Holder { id: Id(1), incarnation: 1 },
                expected_token: table.token(&office),
                mode: Mode::Fenced,
                terms: LeaseTerms::default(),
                cause: ChangeReason::Vacant,
                pinned: false,
                unix_ms: 0,
            },
        );
        assert!(granted);
        office
    }

    #[test]
    fn the_first_offices_are_counted_one_by_one_and_the_rest_together() {
        let (mut table, mut counts) = (Table::default(), GrantCounts::default());
        for index in 0..1_500 {
            let office = grant(&mut table, index + 1, &format!("o{index}"));
            counts.handle_grant(&office, &table);
        }
        for (index, office) in [(2_000, "o3"), (2_001, "o3"), (2_002, "o1400")] {
            let office = grant(&mut table, index, office);
            counts.handle_grant(&office, &table);
        }
        counts.refresh(&table);
        assert_eq!((counts.of("o3"), counts.of("o999"), counts.of("o1000")), (Some(3), Some(1), None));
        assert_eq!(counts.others(), 501);
    }

    #[test]
    fn forgotten_offices_make_room_and_stay_counted() {
        let (mut table, mut counts) = (Table::default(), GrantCounts::default());
        for index in 0..1_001 {
            let office = grant(&mut table, index + 1, &format!("o{index}"));
            counts.handle_grant(&office, &table);
        }
        let mut smaller = Table::default();
        grant(&mut smaller, 2_000, "o5");
        grant(&mut smaller, 2_001, "o1000");
        counts.handle_replaced(&smaller);
        counts.refresh(&smaller);
        assert_eq!((counts.of("o5"), counts.of("o1000"), counts.of("o6")), (Some(2), Some(0), None));
        assert_eq!(counts.others(), 1_000, "999 that are forgotten, and one from before o1000 was counted by itself");
    }
}
