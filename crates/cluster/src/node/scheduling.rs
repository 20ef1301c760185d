//! How the threads are scheduled on which leases depend: the loop, the disk's, and those that kill guardians.
//!
//! With real-time priority nothing that they start inherits it (`SCHED_RESET_ON_FORK`), so health commands and all
//! other threads, such as those of TLS handshakes and of the HTTP API, keep the normal priority. Every real-time thread
//! is a danger to its host: one that never waits takes a processor away from all normal programs. So the kernel ends
//! the process if one runs for [`MAX_RUN`] without waiting (`RLIMIT_RTTIME`).

use std::io;
use std::time::Duration;

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use super::Logger;
use crate::api::RealtimeStatus;
use crate::clock::Timestamp;
use crate::config;

/// The nice value that a node asks for.
pub const NICE_VALUE: i32 = -10;

/// The lowest real-time priority stands above all normal programs.
const PRIORITY: libc::c_int = 1;
/// How long a thread may run at real-time priority without waiting. No pass of the loop takes nearly as long.
const MAX_RUN: Duration = Duration::from_secs(2);
/// How often the loop waits, even if it has more to do: a busy loop is not a stuck one.
const REST_INTERVAL: Duration = Duration::from_millis(100);
/// How long it waits then.
const REST: Duration = Duration::from_micros(20);

/// How urgent the work of a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Urgency {
    /// As the process was started.
    Normal,
    /// Before other programs. The threads that a thread starts inherit it.
    Nice,
    /// Before all normal programs.
    Realtime,
}

impl Urgency {
    /// Applies this urgency to the calling thread.
    pub(super) fn apply(self) -> io::Result<()> {
        match self {
            Urgency::Normal => Ok(()),
            Urgency::Nice => Ok(setpriority_process(None, NICE_VALUE)?),
            Urgency::Realtime => set_policy(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, PRIORITY),
        }
    }
}

/// How a node is scheduled, and what became of it.
#[derive(Debug)]
pub(super) struct Scheduling {
    urgency: Urgency,
    realtime: Option<RealtimeStatus>,
    rested: Timestamp,
}

impl Scheduling {
    /// Raises the priority of the calling thread, as far as the system allows.
    pub(super) fn raise(wanted: config::Scheduling, logger: &mut Logger) -> Self {
        let mut scheduling = Scheduling::unchanged(config::Scheduling::Normal);
        if wanted == config::Scheduling::Realtime {
            match limit_run().and_then(|()| Urgency::Realtime.apply()) {
                Ok(()) => {
                    logger.info(format_args!("running at real-time priority {PRIORITY}"));
                    let realtime = RealtimeStatus { priority: true, ..RealtimeStatus::default() };
                    return Scheduling { urgency: Urgency::Realtime, realtime: Some(realtime), ..scheduling };
                }
                Err(error) => scheduling.add_problem(
                    format!(
                        "no real-time priority: {error}; it needs CAP_SYS_NICE or an RLIMIT_RTPRIO of {PRIORITY}, and under \
                         systemd RestrictRealtime=no"
                    ),
                    logger,
                ),
            }
        }
        match Urgency::Nice.apply() {
            Ok(()) => scheduling.urgency = Urgency::Nice,
            Err(error) => {
                logger.info(format_args!("running with normal priority: the system denied nice {NICE_VALUE} ({error})"))
            }
        }
        scheduling
    }

    /// Leaves a process that is not the node's own as it is.
    pub(super) fn unchanged(wanted: config::Scheduling) -> Self {
        let problem = "no real-time priority and no locked memory: this node runs within another program";
        let realtime = (wanted == config::Scheduling::Realtime)
            .then(|| RealtimeStatus { problems: vec![problem.to_string()], ..RealtimeStatus::default() });
        Scheduling { urgency: Urgency::Normal, realtime, rested: Timestamp::default() }
    }

    /// What other threads must apply that are as urgent as the loop.
    pub(super) fn urgency(&self) -> Urgency {
        self.urgency
    }

    /// What has become of real-time priority, if it was asked for.
    pub(super) fn status(&self) -> Option<RealtimeStatus> {
        self.realtime.clone()
    }

    /// Locks the memory of the process.
    pub(super) fn lock_memory(&mut self, logger: &mut Logger) {
        match lock_memory() {
            Ok(()) => {
                logger.info(format_args!("its memory is locked"));
                self.realtime.get_or_insert_default().memory_locked = true;
            }
            Err(problem) => self.add_problem(format!("no locked memory: {problem}"), logger),
        }
    }

    fn add_problem(&mut self, problem: String, logger: &mut Logger) {
        logger.warn(format_args!("{problem}"));
        self.realtime.get_or_insert_default().problems.push(problem);
    }

    /// Waits for a moment if it was long ago: a loop that has much to do never waits for events, and the kernel would
    /// take it for one that is stuck.
    pub(super) fn rest(&mut self, now: Timestamp) {
        if self.urgency == Urgency::Realtime && now.since(self.rested) >= REST_INTERVAL {
            self.rested = now;
            std::thread::sleep(REST);
        }
    }
}

/// Changes how the calling thread is scheduled.
fn set_policy(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is valid for the call, which only reads it. 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the kernel end the process if a thread runs at real-time priority for too long: by SIGXCPU, and a second later
/// by SIGKILL. A limit that is lower already stays.
fn limit_run() -> io::Result<()> {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let given = getrlimit(Resource::Rttime);
    let lower = |given: Option<u64>, own: Duration| Some(given.unwrap_or(u64::MAX).min(micros(own)));
    let current = lower(given.current, MAX_RUN);
    let maximum = lower(given.maximum, MAX_RUN + Duration::from_secs(1));
    Ok(setrlimit(Resource::Rttime, Rlimit { current, maximum })?)
}

/// Locks what the process uses, and what it will use from the moment of its first use: reserved addresses cost nothing.
fn lock_memory() -> Result<(), String> {
    let is_unlimited = || getrlimit(Resource::Memlock).current.is_none();
    let may_lock_all = || capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::IPC_LOCK));
    // Below a limit, an allocation would fail one day, and the process would end.
    if !is_unlimited() && !may_lock_all() {
        let Rlimit { current, maximum } = getrlimit(Resource::Memlock);
        if maximum.is_some() || setrlimit(Resource::Memlock, Rlimit { current: None, maximum }).is_err() {
            let limit = current.unwrap_or_default() / 1024;
            return Err(format!(
                "RLIMIT_MEMLOCK is {limit} KiB, and a node that grows beyond it would end; it needs CAP_IPC_LOCK, or no \
                 limit (under systemd LimitMEMLOCK=infinity)"
            ));
        }
    }
    let lock = || {
        // First what is there, the program's own code included.
        mlockall(MlockAllFlags::CURRENT)?;
        mlockall(MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT)
    };
    lock().map_err(|error: rustix::io::Errno| io::Error::from(error).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policy and nice value of the calling thread.
    fn scheduled() -> (libc::c_int, i32) {
        // SAFETY: it only reads. 0 is the calling thread.
        let policy = unsafe { libc::sched_getscheduler(0) };
        (policy & !libc::SCHED_RESET_ON_FORK, rustix::process::getpriority_process(None).expect("it is this thread"))
    }

    /// How often the calling thread has waited.
    fn waits() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").expect("Linux has it");
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.and_then(|count| count.trim().parse().ok()).expect("Linux counts them")
    }

    #[test]
    fn threads_of_a_realtime_thread_are_normal_unless_they_ask_themselves() {
        let seen = std::thread::spawn(|| {
            Urgency::Realtime.apply()?;
            let own = scheduled();
            let inherited = std::thread::spawn(scheduled).join().expect("it only reads");
            let asked = std::thread::spawn(|| Urgency::Realtime.apply().map(|()| scheduled()));
            Ok::<_, io::Error>((own, inherited, asked.join().expect("it only reads")?))
        });
        match seen.join().expect("it only reads") {
            Ok((own, inherited, asked)) => {
                assert_eq!((own.0, inherited, asked.0), (libc::SCHED_RR, (libc::SCHED_OTHER, 0), libc::SCHED_RR));
            }
            Err(error) => crate::tests::skip(&format!("threads_of_a_realtime_thread: not allowed here: {error}")),
        }
    }

    #[test]
    fn a_busy_realtime_loop_waits_now_and_then() {
        let at = |ms: u64| Timestamp(ms * 1_000_000);
        let mut scheduling = Scheduling::unchanged(config::Scheduling::Normal);
        scheduling.rest(at(5_000));
        assert_eq!(scheduling.rested, Timestamp::default(), "nobody watches a normal one");
        scheduling.urgency = Urgency::Realtime;
        let before = waits();
        scheduling.rest(at(5_000));
        assert!(waits() > before, "it did not wait");
        scheduling.rest(at(5_099));
        assert_eq!(scheduling.rested, at(5_000));
        scheduling.rest(at(5_100));
        assert_eq!(scheduling.rested, at(5_100));
    }

    #[test]
    fn a_node_within_another_program_says_that_it_changes_nothing() {
        assert_eq!(Scheduling::unchanged(config::Scheduling::Normal).status(), None);
        let status = Scheduling::unchanged(config::Scheduling::Realtime).status().expect("it was asked for");
        assert!(!status.priority && !status.memory_locked, "{status:?}");
        assert!(status.problems[0].contains("within another program"), "{status:?}");
    }
}
