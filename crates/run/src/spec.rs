//! What to run, and how.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hustings_cluster::api::OfficeTerms;

use crate::containment::ContainmentKind;
use crate::margins::GUARDIAN_KILL_MARGIN;

/// The shortest lease that leaves room for the margins.
const MIN_LEASE: Duration = GUARDIAN_KILL_MARGIN.saturating_mul(3);

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The office to campaign for.
    pub office: String,
    /// The command and its arguments; at least one.
    pub command: Vec<OsString>,
    /// How long the command may take to stop. If absent, as long as the lease allows.
    pub grace: Option<Duration>,
    /// How long to wait for the office. If absent, without limit.
    pub wait: Option<Duration>,
    /// Whether to start the command again when it ends.
    pub restart: Restart,
    /// If set, the first success is recorded under this key, and nobody starts a command for it again.
    pub once: Option<String>,
    /// A shell command to run before the command.
    pub on_acquire: Option<OsString>,
    /// A shell command to run after the command, before the office is given up.
    pub on_lose: Option<OsString>,
    /// A shell command that fails if the command is unhealthy.
    pub health: Option<OsString>,
    /// How often to check the health. A check that takes longer has failed.
    pub health_every: Duration,
    /// How the command's processes are contained.
    pub containment: Requirement,
    /// Where to write the state as JSON.
    pub status_file: Option<PathBuf>,
    /// Whether to notify systemd.
    pub notify: bool,
}

/// Which containment to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Requirement {
    /// The best that the host allows.
    #[default]
    Best,
    /// The best that the host allows, but at least this one.
    AtLeast(ContainmentKind),
    /// This one.
    Exactly(ContainmentKind),
}

impl Requirement {
    /// Whether this containment will do.
    pub(crate) fn allows(self, kind: ContainmentKind) -> bool {
        match self {
            Requirement::Best => true,
            Requirement::AtLeast(least) => kind <= least,
            Requirement::Exactly(exact) => kind == exact,
        }
    }
}

/// Whether to start a command again when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Restart {
    /// Never: its end is the end of `run`.
    #[default]
    Never,
    /// Always.
    Always,
    /// If it failed; after this many failures in a row, the office is given up.
    OnFailure {
        /// The number of failures; without limit if absent.
        max_failures: Option<u32>,
    },
}

/// The time that the command has to stop does not fit into the lease.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TimingError {
    /// The grace period is too long for the office's `stop`.
    #[error(
        "--grace {} does not fit: the office `{office}` has stop = \"{}\", but the command must be told to stop {} + {} \
         (to kill what is left) = {} before its lease of {} ends; on all members, give the office a `stop` of at least \
         {} and a `lease` that exceeds it by more than 3 heartbeats, or use a shorter --grace",
        text(.grace), text(.stop), text(.grace), text(&GUARDIAN_KILL_MARGIN), text(.needed), text(.lease), text(.needed)
    )]
    Grace {
        /// The office.
        office: String,
        /// The grace period.
        grace: Duration,
        /// The office's `stop`.
        stop: Duration,
        /// The least `stop` that fits.
        needed: Duration,
        /// How long a holder may act after a renewal.
        lease: Duration,
    },
    /// The lease is too short for the margins.
    #[error(
        "the office `{office}` has a lease of {}; `run` needs at least {} to kill a command before the lease ends",
        text(.lease), text(&MIN_LEASE)
    )]
    Lease {
        /// The office.
        office: String,
        /// How long a holder may act after a renewal.
        lease: Duration,
    },
}

fn text(duration: &Duration) -> String {
    humantime::format_duration(*duration).to_string()
}

/// Checks that the command can be stopped before the lease ends.
pub(crate) fn check_timing(grace: Option<Duration>, terms: &OfficeTerms) -> Result<(), TimingError> {
    let OfficeTerms { office, lease, stop, .. } = terms;
    if *lease < MIN_LEASE {
        return Err(TimingError::Lease { office: office.clone(), lease: *lease });
    }
    let Some(grace) = grace else { return Ok(()) };
    let needed = grace.saturating_add(GUARDIAN_KILL_MARGIN);
    if needed > *stop {
        return Err(TimingError::Grace { office: office.clone(), grace, stop: *stop, needed, lease: *lease });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hustings_cluster::config::Mode;

    use super::*;

    fn terms(lease_ms: u64, stop_ms: u64) -> OfficeTerms {
        OfficeTerms {
            cluster: "shop".to_string(),
            node: "a".to_string(),
            office: "job".to_string(),
            mode: Mode::Exclusive,
            lease: Duration::from_millis(lease_ms),
            stop: Duration::from_millis(stop_ms),
        }
    }

    #[test]
    fn a_grace_period_must_fit_into_stop() {
        let seconds = |count| Some(Duration::from_secs(count));
        assert_eq!(check_timing(None, &terms(297, 10)), Ok(()));
        assert_eq!(check_timing(seconds(5), &terms(9_900, 5_030)), Ok(()));
        let error = check_timing(seconds(5), &terms(9_900, 5_029)).expect_err("a millisecond is missing").to_string();
        assert!(error.contains("5s + 30ms (to kill what is left) = 5s 30ms before its lease of 9s 900ms"), "{error}");
        let error = check_timing(None, &terms(50, 10)).expect_err("there is no room").to_string();
        assert!(error.contains("needs at least 90ms"), "{error}");
    }

    #[test]
    fn a_better_containment_satisfies_a_weaker_requirement() {
        use ContainmentKind::{Cgroup, PidNamespace, ProcessTree};
        assert!(Requirement::AtLeast(Cgroup).allows(PidNamespace));
        assert!(!Requirement::AtLeast(Cgroup).allows(ProcessTree));
        assert!(!Requirement::Exactly(Cgroup).allows(PidNamespace));
        assert!(Requirement::Best.allows(ProcessTree));
    }
}
