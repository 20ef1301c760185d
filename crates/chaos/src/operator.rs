//! An operator: transfers offices, pauses elections and changes the membership while faults are active.
//!
//! Requests may fail, for instance without a majority. What has to happen before the recovery phase (elections are
//! resumed, a membership change is complete) is tried again and again, at one node after the other, until a current
//! status shows that it has happened.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use hustings_cluster::api::{Reply, Request, Status};
use hustings_harness::process::Process;

use crate::clock;
use crate::history::Event;
use crate::reader;
use crate::shared::Shared;
use crate::socket::Socket;

/// How long the operator waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(1);
/// How long a command may take: the node may be frozen.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(3);
/// The pause between two attempts.
const RETRY: Duration = Duration::from_millis(50);

/// Something that the operator does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    /// Sends a request to the first node that answers, from this one on. It may fail.
    Request { request: Request, first: usize },
    /// Resumes elections, at the latest when all faults are healed.
    Resume,
    /// Removes the member with this name. Done when a current status no longer lists it.
    Remove { name: String },
    /// Adds a member, given as for `hustings members add`. Done when a current status lists it.
    Add { name: String, member: String },
}

/// Where the operator works.
#[derive(Clone, Debug)]
pub(crate) struct Workplace {
    /// The `hustings` program.
    pub(crate) program: PathBuf,
    /// The folder of the cluster's authority.
    pub(crate) authority: PathBuf,
    /// The sockets of all nodes.
    pub(crate) sockets: Vec<PathBuf>,
}

/// An operator in a thread of its own, which carries out one task after the other.
pub(crate) struct Operator {
    tasks: Sender<Task>,
    finished: Receiver<Task>,
    pending: usize,
    thread: Option<JoinHandle<()>>,
}

impl Operator {
    /// Starts the thread. It ends when this is dropped, or when the run is over.
    pub(crate) fn start(shared: &Arc<Shared>, workplace: Workplace) -> io::Result<Self> {
        let (tasks, todo) = channel::<Task>();
        let (done, finished) = channel();
        let shared = Arc::clone(shared);
        let thread = std::thread::Builder::new().name("operator".to_string()).spawn(move || {
            for task in todo {
                workplace.carry_out(&shared, &task);
                if shared.is_over() || done.send(task).is_err() {
                    break;
                }
            }
        })?;
        Ok(Operator { tasks, finished, pending: 0, thread: Some(thread) })
    }

    /// Adds a task after those that are pending.
    pub(crate) fn add(&mut self, task: Task) {
        self.pending += 1;
        // The thread ends before the operator only if the run is over.
        let _ = self.tasks.send(task);
    }

    /// The next task that was finished since the last call.
    pub(crate) fn next_finished(&mut self) -> Option<Task> {
        let task = self.finished.try_recv().ok()?;
        self.pending -= 1;
        Some(task)
    }

    /// Whether nothing is pending.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending == 0
    }

    /// Waits for the thread after the run is over.
    pub(crate) fn join(mut self) -> io::Result<()> {
        drop(self.tasks);
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(io::Error::other("the operator panicked")),
            _ => Ok(()),
        }
    }
}

impl Workplace {
    fn carry_out(&self, shared: &Shared, task: &Task) {
        match task {
            Task::Request { request, first } => self.send(shared, request, *first),
            Task::Resume => self.repeat(shared, |first| {
                self.send(shared, &Request::Resume, first);
                self.current_status().is_some_and(|status| !status.paused)
            }),
            Task::Remove { name } => self.repeat(shared, |first| {
                // A removal that was not confirmed may have happened. Then there is nothing left to remove.
                self.run(&["members", "remove", name], first, "there is no member")
                    && self.current_status().is_some_and(|status| status.members.iter().all(|one| one.name != *name))
            }),
            Task::Add { name, member } => self.repeat(shared, |first| {
                self.run(&["members", "add", member], first, "already")
                    && self.authority.join(name).join("hustings.toml").exists()
                    && self.current_status().is_some_and(|status| status.members.iter().any(|one| one.name == *name))
            }),
        }
    }

    /// Repeats an attempt, each time at the next node, until it succeeds or the run is over.
    fn repeat(&self, shared: &Shared, attempt: impl Fn(usize) -> bool) {
        let mut first = 0;
        while !shared.is_over() && !attempt(first) {
            first += 1;
            shared.pause(RETRY);
        }
    }

    /// Sends a request to the first node that answers, and records the outcome.
    fn send(&self, shared: &Shared, request: &Request, first: usize) {
        let began = clock::now();
        let done = (0..self.sockets.len()).find_map(|step| {
            let mut socket = Socket::connect(&self.sockets[(first + step) % self.sockets.len()]).ok()?;
            reader::ask(&mut socket, request, TIMEOUT).ok()
        });
        let (name, office, to) = match request {
            Request::Transfer { office, to } => ("transfer", Some(office), Some(to)),
            Request::Resign { office } => ("resign", Some(office), None),
            Request::Pause => ("pause", None, None),
            _ => ("resume", None, None),
        };
        shared.recorder.record(&Event::Operator {
            request: name.to_string(),
            office: office.cloned(),
            to: to.cloned(),
            done: done == Some(Reply::Done),
            began,
            at: clock::now(),
        });
    }

    /// Runs a command at a node. Returns whether it succeeded, or failed with a message that contains `done_before`.
    fn run(&self, arguments: &[&str], node: usize, done_before: &str) -> bool {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--dir").arg(&self.authority);
        command.arg("--socket").arg(&self.sockets[node % self.sockets.len()]).args(["--wait", "0s"]);
        let errors = self.authority.join("operator.log");
        let Ok(log) = fs::File::create(&errors) else { return false };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let status = Process::spawn(&mut command).and_then(|mut child| child.wait_timeout(COMMAND_TIMEOUT));
        match status {
            Ok(Some(status)) if status.success() => true,
            Ok(Some(_)) => fs::read_to_string(&errors).is_ok_and(|text| text.contains(done_before)),
            _ => false,
        }
    }

    /// The status of a node that a majority confirmed.
    fn current_status(&self) -> Option<Status> {
        self.sockets.iter().find_map(|socket| {
            let status = Socket::connect(socket).and_then(|mut socket| reader::status(&mut socket)).ok()?;
            status.current.then_some(*status)
        })
    }
}

#[cfg(test)]
mod tests;
