//! A node that belongs to `run`: it is started and stopped with it.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hustings_cluster::api::Client;
use hustings_host::socket_peer::credentials;
use nix::sys::signal::SigSet;
use rustix::process::{Pid, Signal};

/// How long a node may take to hand its offices over and leave.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// A running node.
#[derive(Debug)]
pub(crate) struct OwnNode {
    child: Child,
}

impl OwnNode {
    /// Starts the program of this process as a node.
    pub(crate) fn start(config: &Path, mask: SigSet, is_quiet: bool) -> io::Result<OwnNode> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("hustings").arg("node").arg("--config").arg(config);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        // `run` alone speaks to systemd.
        ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"].iter().for_each(|name| _ = command.env_remove(name));
        if is_quiet {
            command.stderr(Stdio::null());
        }
        // Ctrl-C is for the command; the node leaves when `run` says so.
        command.process_group(0);
        let prepare = move || {
            mask.thread_set_mask()?;
            // If `run` is killed, the node leaves in good order.
            Ok(rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?)
        };
        // SAFETY: two system calls, which allocate nothing and take no lock.
        unsafe { command.pre_exec(prepare) };
        Ok(OwnNode { child: command.spawn()? })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether it is this node that answers at the other end of a connection.
    pub(crate) fn answers(&self, client: &Client) -> bool {
        credentials(client.stream()).is_ok_and(|peer| peer.pid == Some(self.pid()))
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Lets the node leave.
    pub(crate) fn stop(mut self) {
        let _ = rustix::process::kill_process(self.pid(), Signal::TERM);
        let Ok(pidfd) = rustix::process::pidfd_open(self.pid(), rustix::process::PidfdFlags::empty()) else { return };
        let mut polled = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
        let timeout = rustix::event::Timespec { tv_sec: LEAVE_TIMEOUT.as_secs() as i64, tv_nsec: 0 };
        if !matches!(rustix::event::poll(&mut polled, Some(&timeout)), Ok(1..)) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
