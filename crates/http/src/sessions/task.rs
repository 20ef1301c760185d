//! The conversation of one session with the node.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hustings_cluster::api::{ChangeReason, Reply, Request};
use hustings_cluster::clock::{Clock, Timestamp};
use hustings_cluster::config::Mode;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep;

use super::{Lease, Life, Registration, lock};
use crate::error::ApiError;
use crate::link::{self, Replies, Requests};
use crate::model::SessionState;

/// How long the task waits until it looks again whether the session has expired.
const MAX_PAUSE: Duration = Duration::from_secs(5);
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// What a request asks the task for.
pub(super) enum Command {
    Stopped { token: u64, answer: oneshot::Sender<Result<(), ApiError>> },
    Withdraw { answer: oneshot::Sender<Result<(), ApiError>> },
}

/// One session's side of the connection to the node.
pub(super) struct Task {
    pub(super) clock: Clock,
    pub(super) office: String,
    pub(super) ttl: Duration,
    pub(super) told: watch::Sender<Lease>,
    pub(super) life: Arc<Mutex<Life>>,
    pub(super) keeps_promises: bool,
    pub(super) commands: mpsc::Receiver<Command>,
}

/// Why the task ends.
enum End {
    /// The work has stopped: the node is told.
    Withdrawn(Option<oneshot::Sender<Result<(), ApiError>>>),
    /// The campaign is over, or the node is.
    Lost,
}

impl Task {
    /// Campaigns until the session ends. The registration is dropped with it.
    pub(super) async fn run(
        mut self,
        socket: PathBuf,
        mode: Option<Mode>,
        began: oneshot::Sender<Result<(), ApiError>>,
        registration: Registration,
    ) {
        let (mut requests, mut replies) = match self.begin(&socket, mode).await {
            Ok(connection) => connection,
            // The client may have gone meanwhile.
            Err(error) => return drop(began.send(Err(error))),
        };
        self.life_begins();
        if began.send(Ok(())).is_err() {
            // Whoever asked for the session is gone and knows no session, so nothing was promised.
            return self.withdraw(&mut requests, &mut replies).await.unwrap_or_default();
        }
        let end = self.follow(&mut requests, &mut replies).await;
        // Requests that arrive from now on find no session.
        drop(registration);
        if let End::Withdrawn(answer) = end {
            let result = self.withdraw(&mut requests, &mut replies).await.map_err(ApiError::unavailable);
            if let Some(answer) = answer {
                let _ = answer.send(result);
            }
        }
    }

    /// The time to live counts from now: the node may have taken long.
    fn life_begins(&self) {
        lock(&self.life).expires = self.clock.now() + self.ttl;
    }

    async fn begin(&mut self, socket: &std::path::Path, mode: Option<Mode>) -> Result<(Requests, Replies), ApiError> {
        let (mut requests, mut replies) = link::connect(socket).await.map_err(ApiError::unavailable)?;
        let request = Request::Campaign { office: self.office.clone(), mode, guard: None };
        requests.send(&request).await.map_err(ApiError::unavailable)?;
        loop {
            match replies.recv().await.map_err(ApiError::unavailable)? {
                Reply::Done => return Ok((requests, replies)),
                Reply::Error(error) => return Err(error.into()),
                // The node may grant the office at once.
                reply => _ = self.handle_reply(reply),
            }
        }
    }

    async fn follow(&mut self, requests: &mut Requests, replies: &mut Replies) -> End {
        let mut answers: Vec<oneshot::Sender<Result<(), ApiError>>> = Vec::new();
        loop {
            let left = lock(&self.life).left(self.clock.now(), self.keeps_promises);
            if left.is_zero() {
                return End::Withdrawn(None);
            }
            tokio::select! {
                reply = replies.recv() => match reply {
                    Ok(Reply::Done) => answers.drain(..1.min(answers.len())).for_each(|to| drop(to.send(Ok(())))),
                    Ok(Reply::Error(error)) => {
                        let result = Err(ApiError::from(error));
                        if !answers.is_empty() {
                            let _ = answers.remove(0).send(result);
                        }
                    }
                    Ok(reply) => if !self.handle_reply(reply) { return End::Lost },
                    Err(_) => return End::Lost,
                },
                command = self.commands.recv() => match command {
                    Some(Command::Stopped { token, answer }) => {
                        self.end_lease(token);
                        let stopped = Request::Stopped { office: self.office.clone(), token };
                        if requests.send(&stopped).await.is_err() {
                            return End::Lost;
                        }
                        answers.push(answer);
                    }
                    Some(Command::Withdraw { answer }) => return End::Withdrawn(Some(answer)),
                    // Everybody who knew the session is gone; the table drops it last.
                    None => return End::Withdrawn(None),
                },
                () = sleep(left.clamp(MIN_PAUSE, MAX_PAUSE)) => {}
            }
        }
    }

    /// The client says that its work for a token has stopped, so another one may hold the office from now on: nothing
    /// more is promised for that token, although the node's word that it is lost comes later.
    fn end_lease(&mut self, token: u64) {
        self.told.send_if_modified(|lease| {
            let ends = lease.token == Some(token) && matches!(lease.state, SessionState::Held | SessionState::Stop);
            if ends {
                (lease.state, lease.deadline) = (SessionState::Lost, Timestamp::ZERO);
                lease.changes += 1;
            }
            ends
        });
    }

    /// Takes note of what the node says. Returns false if the campaign is over.
    fn handle_reply(&mut self, reply: Reply) -> bool {
        let mut goes_on = true;
        let change = |lease: &mut Lease, state| {
            lease.state = state;
            lease.changes += 1;
        };
        self.told.send_modify(|lease| match reply {
            Reply::Held(held) => {
                change(lease, SessionState::Held);
                (lease.token, lease.deadline) = (Some(held.token), held.deadline);
                (lease.length, lease.stop, lease.reason) = (held.lease, held.stop, None);
            }
            Reply::Renewed { from } if lease.state == SessionState::Held => lease.deadline = from + lease.length,
            Reply::Stop { reason, .. } => {
                change(lease, SessionState::Stop);
                lease.reason = Some(reason);
            }
            Reply::Lost { reason, .. } => {
                change(lease, SessionState::Lost);
                lease.reason = Some(reason);
                lease.deadline = Timestamp::ZERO;
                goes_on = reason != ChangeReason::ModeMismatch;
            }
            _ => {}
        });
        goes_on
    }

    /// Tells the node that the work has stopped, and waits until it knows.
    async fn withdraw(&mut self, requests: &mut Requests, replies: &mut Replies) -> io::Result<()> {
        requests.send(&Request::Withdraw { office: self.office.clone() }).await?;
        loop {
            match replies.recv().await? {
                Reply::Done => return Ok(()),
                Reply::Error(error) => return Err(io::Error::other(error)),
                _ => {}
            }
        }
    }
}
