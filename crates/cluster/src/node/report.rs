//! What a node tells of itself: in the log, to systemd, and in a status.

use hustings_protocol::Id;

use super::observer::Happened;
use super::{Node, WIRE_BYTES_COUNTER};
use crate::api::{CertificateStatus, Status};
use crate::transport::CloseReason;

/// How many offices the state for systemd names.
const MAX_NAMED_OFFICES: usize = 5;

impl Node {
    /// Adds what only the node knows.
    pub(super) fn complete_status(&self, status: &mut Status) {
        status.counters.extend(self.transport.counters().list());
        status.counters.push((WIRE_BYTES_COUNTER.to_string(), self.transport.wire().bytes()));
        let expiry = self.certificates.expiry();
        status.certificate = expiry.map(CertificateStatus::from);
        status.host = self.host.delays(self.clock.now(), self.clock.wall_time().as_millis() as u64);
        status.realtime = self.scheduling.status();
        for member in &mut status.members {
            let own = expiry.filter(|_| member.id == self.config.node.0).map(|expiry| expiry.own);
            member.certificate_not_after_unix_s = own.or_else(|| self.transport.certificate_end(Id(member.id)));
        }
    }

    /// Logs where the configuration of a member differs, or that it does no more.
    pub(super) fn log_difference(&mut self, member: Id, parts: &[&str]) {
        let name = self.logged.name(member);
        match parts {
            [] => self.logger.info(format_args!("{name} has the same configuration as this node again")),
            parts => self.logger.warn(format_args!(
                "{name} has another configuration than this node, where all members must agree: {}",
                parts.join(", ")
            )),
        }
    }

    /// A new cluster waits for members.
    pub(super) fn log_missing_founders(&mut self, missing: &[Id]) {
        if missing.is_empty() {
            return self.logger.info(format_args!("this node no longer waits for the first start of the cluster"));
        }
        let names: Vec<String> = missing.iter().map(|id| self.logged.name(*id)).collect();
        self.logger.warn(format_args!(
            "the data folder is empty: a new cluster begins when all its first voters have been heard; waiting for {}",
            names.join(", ")
        ));
    }

    /// What this host did just before something was lost, for the end of a line of the log.
    pub(super) fn host_cause(&self) -> String {
        let cause = self.host.cause(self.clock.now());
        cause.map_or_else(String::new, |cause| format!(", probably because of this host: {cause}"))
    }

    /// Remembers that the node ran late.
    pub(super) fn observe_host(&mut self) {
        let now = self.clock.now();
        if let Some(late) = self.host.observe(self.core.delays(), now) {
            self.observer.record(Happened::Late(late.took), now);
        }
    }

    /// Logs and remembers what an event has changed: the arbiter's leader, and this node's leases.
    pub(super) fn report_changes(&mut self) {
        self.observe_host();
        let leader = self.core.arbiter_leader();
        let mut is_changed = false;
        if leader != self.logged.arbiter_leader {
            is_changed = true;
            self.logged.arbiter_leader = leader;
            self.observer.record(Happened::ArbiterLeader(leader, self.core.arbiter_term()), self.clock.now());
            match leader {
                Some(leader) => self.logger.info(format_args!("{} leads the arbiter", self.logged.name(leader))),
                None => {
                    let cause = self.host_cause();
                    self.logger.warn(format_args!("the arbiter has no known leader{cause}"));
                }
            }
        }
        let failure = self.core.disk_failure();
        if failure.is_some() != self.logged.disk_fails {
            is_changed = true;
            self.logged.disk_fails = failure.is_some();
            match failure {
                Some(failure) => self.logger.error(format_args!(
                    "the disk does not take writes: {}; until one succeeds, this node neither votes nor takes offices",
                    failure.error
                )),
                None => self.logger.info(format_args!("the disk takes writes again")),
            }
        }
        for (office, token, has_begun) in self.core.take_lease_changes() {
            let what = if has_begun { "holds" } else { "lost" };
            let cause = if has_begun { String::new() } else { self.host_cause() };
            self.logger.info(format_args!("{what} the office {office} (token {token}){cause}"));
            is_changed = true;
            match has_begun {
                true => self.logged.held.insert(office.to_string()),
                false => self.logged.held.remove(&*office),
            };
            let happened = if has_begun { Happened::Held(office, token) } else { Happened::Lost(office, token) };
            self.observer.record(happened, self.clock.now());
        }
        if is_changed {
            self.report_state();
        }
    }

    /// Logs that connections were rejected.
    pub(super) fn log_rejections(&mut self) {
        let counters = self.transport.counters();
        let rejected = CloseReason::ALL
            .iter()
            .filter(|reason| is_rejection(**reason))
            .map(|reason| counters.rejected(*reason))
            .sum();
        if rejected != self.logged.rejected {
            let list: Vec<String> = CloseReason::ALL
                .iter()
                .filter(|reason| is_rejection(**reason) && counters.rejected(**reason) > 0)
                .map(|reason| format!("{reason} {}", counters.rejected(*reason)))
                .collect();
            self.logged.rejected = rejected;
            let now = self.clock.now();
            let advice = match counters.rejected(CloseReason::NotYetValid) {
                0 => "",
                _ => {
                    "; not-yet-valid: the certificate begins later than the clock of this host says, so check that clock"
                }
            };
            let list = list.join(", ");
            self.logger.warn_rate_limited(now, format_args!("connections rejected since start: {list}{advice}"));
        }
    }

    /// Tells systemd what the node is. A standby is ready, too: that is what most members should be.
    pub(super) fn report_state(&mut self) {
        let held = &self.logged.held;
        let disk = self.core.disk_failure().map(|failure| format!("; the disk fails: {}", failure.error));
        let text = match (held.len(), self.logged.arbiter_leader) {
            (0, Some(leader)) => format!("standby; {} leads the arbiter", self.logged.name(leader)),
            (0, None) => "standby; the arbiter has no known leader".to_string(),
            (1..=MAX_NAMED_OFFICES, _) => format!("holds {}", held.iter().cloned().collect::<Vec<_>>().join(", ")),
            (count, _) => format!("holds {count} offices"),
        };
        self.systemd.state(&(text + disk.as_deref().unwrap_or_default()));
    }
}

/// Whether a connection was rejected, as opposed to a network failure.
pub(super) fn is_rejection(reason: CloseReason) -> bool {
    !matches!(
        reason,
        CloseReason::Closed
            | CloseReason::Lost
            | CloseReason::Reset
            | CloseReason::NetworkError
            | CloseReason::Replaced
            | CloseReason::Dropped
            | CloseReason::Removed
    )
}
