//! What `run` does for a guardian that is gone.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use hustings_cluster::api::{Client, Reply, Request};
use hustings_cluster::clock::Timestamp;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, wait as wait_any};

use super::{Guarded, OwnNode, RunError, Supervisor, environment, system, wait};

/// The pause before another look at processes that were killed, or another word to the node.
const RETRY: Duration = Duration::from_millis(2);
/// How long the hook of `--on-lose` may take when `run` makes up for it.
const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

impl Supervisor {
    /// The guardian has died without an outcome: ends what it left behind, and tells the node that it is gone.
    pub(super) fn clean_up(&mut self, guarded: &Guarded) -> Result<(), RunError> {
        let spared = self.own_node.as_ref().map(OwnNode::pid);
        loop {
            guarded.process.kill_tree(spared);
            if spared.is_none() {
                while matches!(wait_any(WaitOptions::NOHANG), Ok(Some(_))) {}
            }
            if guarded.process.is_tree_gone(spared) {
                break;
            }
            self.pause(RETRY)?;
        }
        self.log.error("the guardian is gone; the command was ended");
        if let Ok(Some(shared)) = guarded.deadline.read()
            && shared.deadline > self.clock.now()
        {
            self.report_stopped(shared.token, shared.deadline)?;
        }
        self.token = None;
        self.run_owed_hook();
        self.publish("released", None);
        Ok(())
    }

    /// Tells the node that the work has stopped, until it has understood or the lease is over anyway. At first it may
    /// not know that the guardian's connection has ended.
    fn report_stopped(&self, token: u64, deadline: Timestamp) -> Result<(), RunError> {
        let request = Request::Stopped { office: self.spec.office.clone(), token };
        while self.clock.now() < deadline {
            let left = deadline.since(self.clock.now());
            let answer =
                Client::connect(&self.socket, Duration::ZERO).and_then(|mut client| client.call(&request, Some(left)));
            match answer {
                Ok(Reply::Error(_)) => self.pause(RETRY)?,
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Runs the hook of `--on-lose` if it should have run and has not: better late than never.
    pub(super) fn run_owed_hook(&mut self) {
        let Some(script) = self.spec.on_lose.clone().filter(|_| std::mem::take(&mut self.owes_lose_hook)) else {
            return;
        };
        if let Err(error) = self.run_late_hook(&script) {
            self.log.error(&format!("--on-lose: {error}"));
        }
    }

    fn run_late_hook(&self, script: &std::ffi::OsStr) -> io::Result<()> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).envs(environment(&self.terms));
        command.env("HUSTINGS_TOKEN", self.last_token.to_string()).process_group(0);
        let mask = self.original_mask;
        // SAFETY: one system call on a value that the closure owns.
        unsafe { command.pre_exec(move || Ok(mask.thread_set_mask()?)) };
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        wait(&self.timer, self.clock.now() + HOOK_TIMEOUT, &[Some(pidfd.as_fd())])?;
        if child.try_wait()?.is_none() {
            rustix::process::kill_process_group(pid, Signal::KILL)?;
        }
        match child.wait()? {
            status if status.success() => Ok(()),
            status => Err(io::Error::other(status.to_string())),
        }
    }

    pub(super) fn pause(&self, duration: Duration) -> Result<(), RunError> {
        wait(&self.timer, self.clock.now() + duration, &[]).map_err(system("wait"))
    }
}
