//! How the processes of a command are kept together, so that all of them can be killed.
//!
//! | kind | what holds the processes | killed by |
//! |---|---|---|
//! | [`PidNamespace`] | a PID namespace whose init is the guardian | the kernel, when the guardian dies |
//! | [`Cgroup`][cgroup] | a cgroup v2 of their own | `cgroup.kill` |
//! | [`ProcessTree`] | being descendants: `run` and the guardian adopt orphans | one signal per process |
//!
//! Only the first survives the death of both `run` and the guardian.
//!
//! [`PidNamespace`]: ContainmentKind::PidNamespace
//! [cgroup]: ContainmentKind::Cgroup
//! [`ProcessTree`]: ContainmentKind::ProcessTree

mod cgroup;
mod namespace;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use hustings_cluster::api::Guard;
use hustings_host::process_tree::{has_descendants, is_proc_own, kill_descendants};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

pub(crate) use self::cgroup::Cgroup;
use self::namespace::{Namespaces, fork};

/// How the processes of a command are kept together; the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ContainmentKind {
    /// A PID namespace whose init is the guardian.
    PidNamespace,
    /// A cgroup v2 of their own.
    Cgroup,
    /// Being descendants.
    ProcessTree,
}

impl ContainmentKind {
    /// All kinds, the best first.
    pub const ALL: [ContainmentKind; 3] =
        [ContainmentKind::PidNamespace, ContainmentKind::Cgroup, ContainmentKind::ProcessTree];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ContainmentKind::PidNamespace => "pid-namespace",
            ContainmentKind::Cgroup => "cgroup",
            ContainmentKind::ProcessTree => "process-tree",
        }
    }
}

impl fmt::Display for ContainmentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What holds the processes together.
#[derive(Clone, Debug)]
pub(crate) enum Containment {
    PidNamespace,
    Cgroup(Cgroup),
    ProcessTree,
}

impl Containment {
    pub(crate) fn kind(&self) -> ContainmentKind {
        match self {
            Containment::PidNamespace => ContainmentKind::PidNamespace,
            Containment::Cgroup(_) => ContainmentKind::Cgroup,
            Containment::ProcessTree => ContainmentKind::ProcessTree,
        }
    }

    /// What the node must know to kill the processes.
    pub(crate) fn guard(&self) -> Guard {
        match self {
            Containment::PidNamespace => Guard::PidNamespace,
            Containment::Cgroup(cgroup) => Guard::Cgroup { path: cgroup.path().to_path_buf() },
            Containment::ProcessTree => Guard::ProcessTree,
        }
    }

    /// What the node needs beside that, because it may run as another user: the open file that kills. If it cannot be
    /// opened, the node kills one process after the other.
    pub(crate) fn kill_file(&self) -> Option<File> {
        match self {
            Containment::Cgroup(cgroup) => cgroup.open_kill().ok(),
            Containment::PidNamespace | Containment::ProcessTree => None,
        }
    }

    /// Kills everything but the calling process, which is the guardian. Children must still be reaped.
    pub(crate) fn kill_from_inside(&self) {
        match self {
            // To the init of a namespace, -1 means all others in it. The kernel lets no fork slip through.
            Containment::PidNamespace => {
                // It fails if there are none.
                let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), nix::sys::signal::Signal::SIGKILL);
            }
            Containment::Cgroup(cgroup) => {
                cgroup.kill();
                kill_own_descendants(None);
            }
            Containment::ProcessTree => kill_own_descendants(None),
        }
    }
}

/// Kills all descendants of this process except one. Each round finds the processes that were started during the one
/// before. A fork bomb could go on: then the caller returns to its loop, which tries again.
fn kill_own_descendants(spared: Option<Pid>) {
    for _ in 0..64 {
        if !kill_descendants(rustix::process::getpid(), spared) {
            return;
        }
    }
}

/// The guardian, seen by `run`.
#[derive(Debug)]
pub(crate) struct GuardianProcess {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
    containment: Containment,
}

impl GuardianProcess {
    pub(crate) fn kind(&self) -> ContainmentKind {
        self.containment.kind()
    }

    /// Kills the guardian and everything that it guards. `spared` is a child of `run` that is not part of it.
    pub(crate) fn kill_tree(&self, spared: Option<Pid>) {
        if let Containment::Cgroup(cgroup) = &self.containment {
            cgroup.kill();
        }
        // It may have ended already.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        // The kernel kills the rest of a namespace when its init gets round to ending, and `run` adopts what is left of
        // the others. On a busy host it is faster not to wait for that.
        kill_own_descendants(spared);
    }

    /// Whether everything that the guardian guarded is gone, once the guardian itself was reaped.
    pub(crate) fn is_tree_gone(&self, spared: Option<Pid>) -> bool {
        match &self.containment {
            // The kernel ends the init of a namespace only after all other processes in it.
            Containment::PidNamespace => true,
            // Something may have moved to another cgroup.
            Containment::Cgroup(cgroup) => cgroup.is_empty() && !has_descendants(rustix::process::getpid(), spared),
            Containment::ProcessTree => !has_descendants(rustix::process::getpid(), spared),
        }
    }
}

/// The result of a fork into a containment.
pub(crate) enum Forked {
    /// This is the guardian.
    Guardian(Containment),
    /// This is `run`.
    Parent(GuardianProcess),
}

/// Forks the guardian into a containment of this kind.
///
/// The calling process must have one thread only, and adopts orphans from now on.
pub(crate) fn fork_guardian(kind: ContainmentKind) -> io::Result<Forked> {
    if !is_proc_own() {
        let why = "/proc shows the processes of another PID namespace; mount one of its own";
        return Err(io::Error::other(why));
    }
    let (containment, namespaces) = match kind {
        ContainmentKind::PidNamespace => (Containment::PidNamespace, Namespaces::Pid),
        ContainmentKind::Cgroup => (Containment::Cgroup(Cgroup::create()?), Namespaces::Same),
        ContainmentKind::ProcessTree => (Containment::ProcessTree, Namespaces::Same),
    };
    // Any value other than `None` switches it on.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let forked = match fork(namespaces) {
        Ok(forked) => forked,
        Err(error) => {
            if let Containment::Cgroup(cgroup) = &containment {
                cgroup.remove();
            }
            return Err(error);
        }
    };
    match forked {
        None => {
            if kind != ContainmentKind::PidNamespace {
                rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
            }
            Ok(Forked::Guardian(containment))
        }
        Some(pid) => {
            let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
            Ok(Forked::Parent(GuardianProcess { pid, pidfd, containment }))
        }
    }
}

impl Drop for GuardianProcess {
    fn drop(&mut self) {
        if let Containment::Cgroup(cgroup) = &self.containment {
            cgroup.remove();
        }
    }
}
