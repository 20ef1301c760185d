//! The leases of one guardian, as far as it was told.

use std::collections::BTreeMap;
use std::time::Duration;

use super::LeaseKey;
use crate::api::{NODE_KILL_MARGIN, Reply};
use crate::clock::Timestamp;

/// The leases that the guardian was granted and has not given up.
#[derive(Default)]
pub(super) struct GuardedLeases(BTreeMap<LeaseKey, GuardedLease>);

struct GuardedLease {
    deadline: Timestamp,
    length: Duration,
    /// Whether renewals count. Not any more, once the guardian was told to stop.
    is_active: bool,
}

impl GuardedLeases {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When the guardian must be killed.
    pub(super) fn kill_at(&self) -> Timestamp {
        self.0.values().map(GuardedLease::kill_at).min().unwrap_or(Timestamp::NEVER)
    }

    /// The leases for which the guardian must be killed now.
    pub(super) fn overdue(&self, now: Timestamp) -> Vec<LeaseKey> {
        self.0.iter().filter(|(_, lease)| lease.kill_at() <= now).map(|(key, _)| key.clone()).collect()
    }

    /// When the first of the leases ends.
    pub(super) fn end_at(&self) -> Timestamp {
        self.0.values().map(|lease| lease.deadline).min().unwrap_or(Timestamp::NEVER)
    }

    /// Forgets the leases that are over.
    pub(super) fn forget_expired(&mut self, now: Timestamp) {
        self.0.retain(|_, lease| lease.deadline > now);
    }

    pub(super) fn take_all(&mut self) -> Vec<LeaseKey> {
        std::mem::take(&mut self.0).into_keys().collect()
    }

    pub(super) fn handle_reply(&mut self, reply: &Reply) {
        match reply {
            Reply::Held(held) => {
                let lease = GuardedLease { deadline: held.deadline, length: held.lease, is_active: true };
                self.0.insert((held.office.clone(), held.token), lease);
            }
            Reply::Renewed { from } => {
                for lease in self.0.values_mut().filter(|lease| lease.is_active) {
                    lease.deadline = lease.deadline.max(*from + lease.length);
                }
            }
            // Its work may go on until it says that it does not.
            Reply::Stop { office, token, .. } | Reply::Lost { office, token, .. } => {
                if let Some(lease) = self.0.get_mut(&(office.clone(), *token)) {
                    lease.is_active = false;
                }
            }
            _ => {}
        }
    }

    /// The work for a lease has stopped.
    pub(super) fn handle_stopped(&mut self, key: &LeaseKey) {
        self.0.remove(key);
    }

    /// The guardian withdrew from an office: its work for it has stopped.
    pub(super) fn handle_withdrawn(&mut self, office: &str) {
        self.0.retain(|(name, _), _| name != office);
    }
}

impl GuardedLease {
    fn kill_at(&self) -> Timestamp {
        match self.deadline {
            Timestamp::NEVER => Timestamp::NEVER,
            deadline => deadline - NODE_KILL_MARGIN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{ChangeReason, Lease};

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Timestamp {
        Timestamp(ms * MS)
    }

    fn held(office: &str, token: u64, deadline: u64, length: u64) -> Reply {
        Reply::Held(Lease {
            office: office.to_string(),
            token,
            deadline: at(deadline),
            lease: Duration::from_millis(length),
            stop: Duration::from_millis(100),
        })
    }

    fn key(office: &str, token: u64) -> LeaseKey {
        (office.to_string(), token)
    }

    fn stop(office: &str, token: u64) -> Reply {
        Reply::Stop { office: office.to_string(), token, reason: ChangeReason::Resigned }
    }

    /// Leases after these replies.
    fn after(replies: &[Reply]) -> GuardedLeases {
        let mut leases = GuardedLeases::default();
        replies.iter().for_each(|reply| leases.handle_reply(reply));
        leases
    }

    #[test]
    fn leases_that_are_over_are_forgotten() {
        let mut leases = after(&[held("a", 5, 1_000, 300), held("b", 6, 2_000, 300)]);
        assert_eq!(leases.end_at(), at(1_000));
        leases.forget_expired(at(999));
        assert_eq!(leases.end_at(), at(1_000));
        leases.forget_expired(at(1_000));
        assert_eq!((leases.end_at(), leases.take_all()), (at(2_000), vec![key("b", 6)]));
        assert_eq!(leases.end_at(), Timestamp::NEVER);
    }

    #[test]
    fn the_kill_comes_a_margin_before_the_deadline() {
        let leases = after(&[held("a", 5, 1_000, 300)]);
        assert_eq!(leases.kill_at(), at(1_000) - NODE_KILL_MARGIN);
        assert_eq!(leases.overdue(at(979)), []);
        assert_eq!(leases.overdue(at(980)), [key("a", 5)]);
        assert_eq!(GuardedLeases::default().kill_at(), Timestamp::NEVER);
        let endless = Reply::Held(Lease {
            office: "a".to_string(),
            token: 5,
            deadline: Timestamp::NEVER,
            lease: Duration::from_millis(300),
            stop: Duration::ZERO,
        });
        assert_eq!(after(&[endless]).kill_at(), Timestamp::NEVER, "without an arbiter, leases do not end");
    }

    #[test]
    fn a_renewal_extends_each_lease_by_its_own_length() {
        let mut leases = after(&[held("a", 5, 1_000, 300), held("b", 6, 1_700, 1_000)]);
        leases.handle_reply(&Reply::Renewed { from: at(900) });
        assert_eq!(leases.kill_at(), at(1_180));
        leases.handle_stopped(&key("a", 5));
        assert_eq!(leases.kill_at(), at(1_880));
        leases.handle_reply(&Reply::Renewed { from: at(100) });
        assert_eq!(leases.kill_at(), at(1_880), "a deadline is never taken back");
    }

    #[test]
    fn a_lease_that_was_told_to_stop_is_not_renewed() {
        let mut leases = after(&[held("a", 5, 1_000, 300), stop("a", 4), Reply::Renewed { from: at(800) }]);
        assert_eq!(leases.kill_at(), at(1_080), "that was an earlier lease");
        leases.handle_reply(&stop("a", 5));
        leases.handle_reply(&Reply::Renewed { from: at(2_000) });
        assert_eq!(leases.kill_at(), at(1_080));
    }

    #[test]
    fn a_lost_lease_is_guarded_until_its_work_has_stopped() {
        let lost = Reply::Lost { office: "a".to_string(), token: 5, reason: ChangeReason::Disconnected };
        let mut leases = after(&[held("a", 5, 1_000, 300), lost, held("a", 9, 2_000, 300)]);
        assert_eq!(leases.kill_at(), at(980), "the next lease does not excuse the former one");
        leases.handle_stopped(&key("a", 5));
        assert_eq!(leases.kill_at(), at(1_980));
    }

    #[test]
    fn only_the_lease_that_is_named_is_given_up() {
        let mut leases = after(&[held("a", 5, 1_000, 300), held("b", 6, 1_100, 300)]);
        leases.handle_stopped(&key("a", 6));
        leases.handle_withdrawn("b");
        assert_eq!((leases.kill_at(), leases.take_all()), (at(980), vec![key("a", 5)]));
        assert!(leases.is_empty());
    }
}
