//! Guarded clients: the node kills those that miss their deadline, and learns when their processes end.
//!
//! A client that campaigns with a [`Guard`] is a *guardian*. The node follows its leases by the replies that go to it
//! and by what it says, and kills it and its work [`NODE_KILL_MARGIN`] before a deadline that was neither extended nor
//! met. The core knows nothing of this, except that a lease's work has stopped.
//!
//! The end of a guardian's process proves something for [`Guard::Process`], because the client says so, and for
//! [`Guard::PidNamespace`]. When the init of a PID namespace exits, the kernel kills every other process in the
//! namespace and lets the init wait until they are all gone; only then it announces the init's end, by which the pidfd
//! becomes readable. (The init's files are closed before. So the end of its connection comes first, and proves
//! nothing.) In a cgroup or a plain tree, descendants outlive the guardian.

mod cgroup;
mod leases;
mod peer;
mod tree;

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

use hustings_host::process_tree::Identity;
use mio::net::UnixStream;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token, Waker};
use rustix::process::{Signal, pidfd_send_signal};

use self::cgroup::Cgroup;
use self::leases::GuardedLeases;
use self::peer::Peer;
use super::scheduling::Urgency;
use super::{Node, NodeError};
use crate::api::{Guard, Reply, Request, RequestError};
use crate::clock::Timestamp;
use crate::core::ClientId;

/// An office, and the token of a lease.
pub(super) type LeaseKey = (String, u64);

/// All guardians.
pub(super) struct Guards {
    registry: Registry,
    first_token: usize,
    /// By number. Numbers are not reused, so that a late event cannot be taken for another guardian's.
    guardians: BTreeMap<usize, Guardian>,
    by_client: BTreeMap<ClientId, usize>,
    next_number: usize,
    max_guardians: usize,
    ended: Vec<usize>,
    /// What became of guardians that were killed, by the threads that did it.
    killed: (Sender<KilledGuardian>, Receiver<KilledGuardian>),
    waker: Arc<Waker>,
    /// That of the threads that kill.
    urgency: Urgency,
}

struct Guardian {
    client: ClientId,
    guard: Guard,
    containment: Containment,
    /// Readable when the process has ended.
    pidfd: Arc<OwnedFd>,
    /// `None` if the node may not look at the process.
    identity: Option<Identity>,
    is_connected: bool,
    has_ended: bool,
    is_killed: bool,
    leases: GuardedLeases,
}

enum Containment {
    PidNamespace,
    Cgroup(Arc<Cgroup>),
    ProcessTree,
    Process,
}

/// A guardian whose work is certainly gone.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct EndedGuardian {
    pub(super) client: ClientId,
    pub(super) leases: Vec<LeaseKey>,
}

/// A guardian that was killed, with the leases that it did not give up in time.
#[derive(Debug)]
pub(super) struct KilledGuardian {
    number: usize,
    pub(super) leases: Vec<LeaseKey>,
    pub(super) result: io::Result<()>,
}

impl Guards {
    /// Uses all tokens from `first_token` on. The waker wakes whoever calls [`Guards::take_killed`].
    pub(super) fn new(
        registry: &Registry,
        waker: Arc<Waker>,
        first_token: usize,
        max_guardians: usize,
        urgency: Urgency,
    ) -> io::Result<Self> {
        Ok(Guards {
            registry: registry.try_clone()?,
            first_token,
            guardians: BTreeMap::new(),
            by_client: BTreeMap::new(),
            next_number: 0,
            max_guardians,
            ended: Vec::new(),
            killed: channel(),
            waker,
            urgency,
        })
    }

    /// Handles an event: the process of a guardian has ended.
    pub(super) fn ready(&mut self, token: usize) {
        self.ended.extend(token.checked_sub(self.first_token));
    }

    /// Notes what a request says about leases. Fails if it names a guard that is not what it claims to be.
    pub(super) fn handle_request(
        &mut self,
        client: ClientId,
        request: &Request,
        stream: Option<&UnixStream>,
        descriptor: Option<OwnedFd>,
    ) -> Result<(), RequestError> {
        match request {
            Request::Campaign { guard: Some(guard), .. } => return self.add(client, guard, stream, descriptor),
            Request::Withdraw { office } => {
                if let Some(guardian) = self.guardian_of(client) {
                    guardian.leases.handle_withdrawn(office);
                }
            }
            Request::Stopped { office, token } => {
                // As in the core, a client cannot say it for another one that is still connected.
                let may_say = |guardian: &&mut Guardian| guardian.client == client || !guardian.is_connected;
                let key = (office.clone(), *token);
                self.guardians.values_mut().filter(may_say).for_each(|guardian| guardian.leases.handle_stopped(&key));
                self.remove_obsolete();
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes what a reply to a client says about its leases.
    pub(super) fn handle_reply(&mut self, client: ClientId, reply: &Reply) {
        if let Some(guardian) = self.guardian_of(client) {
            guardian.leases.handle_reply(reply);
        }
    }

    /// A client's connection has ended. Its leases stay guarded.
    pub(super) fn handle_client_gone(&mut self, client: ClientId) {
        if let Some(number) = self.by_client.remove(&client) {
            if let Some(guardian) = self.guardians.get_mut(&number) {
                guardian.is_connected = false;
            }
            self.remove_obsolete();
        }
    }

    /// When to call [`Guards::kill_overdue`].
    pub(super) fn due(&self) -> Timestamp {
        self.guardians.values().map(Guardian::due).min().unwrap_or(Timestamp::NEVER)
    }

    /// Kills the guardians whose time is over, and their work. Leases of those that are not to be killed are over.
    pub(super) fn kill_overdue(&mut self, now: Timestamp) {
        for (number, guardian) in self.guardians.iter_mut().filter(|(_, guardian)| guardian.due() <= now) {
            let number = *number;
            if matches!(guardian.containment, Containment::Process) {
                guardian.leases.forget_expired(now);
                continue;
            }
            guardian.is_killed = true;
            let leases = guardian.leases.overdue(now);
            let (killed, waker) = (self.killed.0.clone(), self.waker.clone());
            guardian.kill(self.urgency, move |result| {
                // If nobody listens, the node has ended.
                let _ = killed.send(KilledGuardian { number, leases, result });
                let _ = waker.wake();
            });
        }
        self.remove_obsolete();
    }

    /// Takes what became of the guardians that were killed.
    pub(super) fn take_killed(&mut self) -> Vec<KilledGuardian> {
        let killed: Vec<KilledGuardian> = self.killed.1.try_iter().collect();
        for failed in killed.iter().filter(|killed| killed.result.is_err()) {
            if let Some(guardian) = self.guardians.get_mut(&failed.number) {
                // Nothing more can be done about these leases. It may live on and get others, which are guarded again.
                guardian.is_killed = false;
                failed.leases.iter().for_each(|key| guardian.leases.handle_stopped(key));
            }
        }
        self.remove_obsolete();
        killed
    }

    /// Takes the guardians whose processes have ended, and whose work is therefore gone.
    pub(super) fn take_ended(&mut self) -> Vec<EndedGuardian> {
        let mut gone = Vec::new();
        for number in std::mem::take(&mut self.ended) {
            let Some(guardian) = self.guardians.get_mut(&number) else { continue };
            guardian.has_ended = true;
            if matches!(guardian.containment, Containment::PidNamespace | Containment::Process) {
                gone.push(EndedGuardian { client: guardian.client, leases: guardian.leases.take_all() });
            }
        }
        self.remove_obsolete();
        gone
    }

    fn guardian_of(&mut self, client: ClientId) -> Option<&mut Guardian> {
        self.guardians.get_mut(self.by_client.get(&client)?)
    }

    fn add(
        &mut self,
        client: ClientId,
        guard: &Guard,
        stream: Option<&UnixStream>,
        descriptor: Option<OwnedFd>,
    ) -> Result<(), RequestError> {
        if let Some(known) = self.guardian_of(client) {
            return match known.guard == *guard {
                true => Ok(()),
                false => Err(refusal("bad-request", "a connection has one guard, which cannot be changed")),
            };
        }
        if self.guardians.len() >= self.max_guardians {
            let message = format!("{} processes are guarded already, which is the maximum", self.max_guardians);
            return Err(refusal("too-many", message));
        }
        let peer = Peer::of(stream).map_err(|problem| refusal("bad-request", problem))?;
        let containment = match guard {
            Guard::PidNamespace if !peer.is_namespace_init => {
                let message = format!("process {} is not the init of a PID namespace of its own", peer.pid);
                return Err(refusal("bad-request", message));
            }
            Guard::PidNamespace => Containment::PidNamespace,
            Guard::Cgroup { path } => {
                let opened = Cgroup::open(path, peer.uid, descriptor);
                Containment::Cgroup(Arc::new(opened.map_err(|problem| refusal("bad-request", problem))?))
            }
            Guard::ProcessTree => Containment::ProcessTree,
            Guard::Process => Containment::Process,
        };
        let number = self.next_number;
        let source = peer.pidfd.as_raw_fd();
        let registered =
            self.registry.register(&mut SourceFd(&source), Token(self.first_token + number), Interest::READABLE);
        registered.map_err(|error| refusal("failed", format!("the node cannot watch the process: {error}")))?;
        self.next_number += 1;
        self.by_client.insert(client, number);
        let guardian = Guardian {
            client,
            guard: guard.clone(),
            containment,
            pidfd: Arc::new(peer.pidfd),
            identity: peer.identity,
            is_connected: true,
            has_ended: false,
            is_killed: false,
            leases: GuardedLeases::default(),
        };
        self.guardians.insert(number, guardian);
        Ok(())
    }

    /// Forgets the guardians that there is nothing to do for any more.
    fn remove_obsolete(&mut self) {
        for (_, guardian) in self.guardians.extract_if(.., |_, guardian| guardian.is_obsolete()) {
            // It is closed only when the last thread that kills is done with it, so it must be taken out here. That
            // fails only if it is not there.
            let _ = self.registry.deregister(&mut SourceFd(&guardian.pidfd.as_raw_fd()));
            self.by_client.remove(&guardian.client);
        }
    }
}

impl Guardian {
    /// When it must be killed, or is no longer of interest.
    fn due(&self) -> Timestamp {
        match self.containment {
            Containment::Process => self.leases.end_at(),
            _ if self.is_killed => Timestamp::NEVER,
            _ => self.leases.kill_at(),
        }
    }

    /// Whether nothing is left to kill or to learn.
    fn is_obsolete(&self) -> bool {
        if self.has_ended {
            // What is left of the work may still be in the cgroup.
            return match self.containment {
                Containment::Cgroup(_) => self.is_killed || self.leases.is_empty(),
                Containment::PidNamespace | Containment::ProcessTree | Containment::Process => true,
            };
        }
        !self.is_connected && self.leases.is_empty()
    }

    /// Kills the process and its work, and says what came of it. Files and `/proc` may be slow, so that is done on a
    /// thread of its own.
    fn kill(&self, urgency: Urgency, done: impl FnOnce(io::Result<()>) + Send + 'static) {
        let (pidfd, identity) = (self.pidfd.clone(), self.identity);
        match &self.containment {
            // The kernel kills the rest of the namespace when its init gets round to ending. On a busy host it is
            // faster not to wait for that.
            Containment::PidNamespace => {
                let result = kill_process(&pidfd);
                run_on_thread(urgency, move || {
                    identity.map(Identity::kill_descendants);
                    done(result);
                });
            }
            Containment::Cgroup(cgroup) => {
                let cgroup = cgroup.clone();
                run_on_thread(urgency, move || {
                    let result = cgroup.kill();
                    done(result.and(kill_process(&pidfd)));
                });
            }
            Containment::ProcessTree => run_on_thread(urgency, move || done(tree::kill(identity, &pidfd))),
            // It is never killed.
            Containment::Process => {}
        }
    }
}

impl Node {
    /// Reports the work of guardians whose end proves that it is gone, so that their offices move at once.
    pub(super) fn handle_ended_guardians(&mut self) -> Result<(), NodeError> {
        for ended in self.guards.take_ended() {
            self.core.handle_client_gone(ended.client, self.clock.now());
            for (office, token) in ended.leases {
                self.logger.info(format_args!(
                    "the process that held the office {office} (token {token}) ended, with all its work"
                ));
                self.core.handle_work_gone(ended.client, &office, token, self.clock.now());
            }
            self.process_outputs()?;
        }
        Ok(())
    }

    /// Kills the guardians that have missed their deadlines.
    pub(super) fn kill_overdue_guardians(&mut self) {
        let now = self.clock.now();
        if self.guards.due() <= now {
            self.guards.kill_overdue(now);
        }
    }

    /// Logs what became of guardians that missed their deadlines.
    pub(super) fn report_killed_guardians(&mut self) {
        for KilledGuardian { leases, result, .. } in self.guards.take_killed() {
            let what = if result.is_ok() { "killed" } else { "could not kill" };
            let why = result.err().map_or_else(String::new, |error| format!(": {error}"));
            for (office, token) in leases {
                self.logger.warn(format_args!(
                    "{what} the guardian of the office {office} (token {token}) at its deadline{why}"
                ));
            }
        }
    }
}

/// Kills a process. If it has ended already, that is fine.
fn kill_process(pidfd: &OwnedFd) -> io::Result<()> {
    match pidfd_send_signal(pidfd, Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Runs a short piece of work on a thread; on this one if the system refuses another.
fn run_on_thread(urgency: Urgency, work: impl FnOnce() + Send + 'static) {
    fn run(work: &Mutex<Option<impl FnOnce()>>) {
        if let Some(work) = work.lock().unwrap_or_else(PoisonError::into_inner).take() {
            work();
        }
    }
    let work = Arc::new(Mutex::new(Some(work)));
    let on_thread = work.clone();
    let begin = move || {
        // Whoever works less urgently still works.
        let _ = urgency.apply();
        run(&on_thread);
    };
    if thread::Builder::new().name("guard".to_string()).spawn(begin).is_err() {
        run(&work);
    }
}

fn refusal(code: &str, message: impl Into<String>) -> RequestError {
    RequestError { code: code.to_string(), message: message.into() }
}

#[cfg(test)]
#[path = "guards/tests.rs"]
mod tests;
