//! Campaigns of HTTP clients: sessions with a lease.
//!
//! A program on this host campaigns over a connection of its own, and the end of the connection tells the node that the
//! program may be gone. An HTTP client has no such connection, and no access to the host's clock. It has a *session*
//! instead, which it renews. Each session has one connection to the node.
//!
//! # Why two clients never act at the same time
//!
//! 1. The node promises this server a deadline `D` on the host's clock for each exclusive office: until `D` nobody else
//!    gets it, unless this server says that the work has stopped. The node moves `D` on while it is in touch with a
//!    majority.
//! 2. The server tells a client `lease_ms = (D - R) * (1 - d) / (1 + d)`, where `R` is when its request was here and
//!    `d` the largest drift of a clock (`timing.drift-ppm`). The client may act until `lease_ms` after it *sent* the
//!    request, on its own clock. It sent the request before `R`. Its clock is slow by `d` at most, so that `lease_ms`
//!    takes it at most `(D - R) / (1 + d)`; the host's clock, fast by `d` at most, passes at most `D - R` in that time.
//!    So the client has stopped when the host's clock shows `D`. How long request and response travel does not matter;
//!    nor does how long a request waited here for a change, which is why `lease_ms` counts from the sending and not
//!    from the receipt.
//! 3. The server remembers the latest `D` that it has told a client: `promised`. It says that the work has stopped only
//!    if the client said so, or if the session has expired *and* `promised` is over. A response that is lost, or that
//!    the client never reads, has been promised nevertheless.
//! 4. Requests and the session's task run on different threads. That the session is over is decided and written down
//!    under the lock of its [`Life`], under which every promise is made. So no promise follows the end.
//! 5. If a thread of this server hangs, its connection to the node stays and the node keeps its side of 1. If the
//!    process ends, the node ends with it, and the cluster waits for the lease, which ends after every `D`.
//!
//! A session that is not renewed in time ends: see 3. Its time to live (`ttl`) is longer than the lease, so that a
//! client that was delayed stops its work at its deadline, but is still the holder when it renews again.

mod task;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hustings_cluster::api::{ChangeReason, OfficeTerms};
use hustings_cluster::clock::{Clock, Timestamp};
use hustings_cluster::config::Mode;
use tokio::sync::{mpsc, oneshot, watch};

use self::task::{Command, Task};
use crate::error::{ApiError, Code};
use crate::model::{SessionState, SessionView};
use crate::rate::Renewals;

/// The largest time to live, and the smallest.
pub(crate) const MAX_TTL: Duration = Duration::from_secs(3600);
pub(crate) const MIN_TTL: Duration = Duration::from_millis(100);
/// The smallest default.
const MIN_DEFAULT_TTL: Duration = Duration::from_secs(1);
/// How many leases the default time to live is.
const DEFAULT_TTL_LEASES: u32 = 3;
/// A client renews this many times within its lease or time to live, so that one lost request harms nobody.
const RENEWALS: u32 = 3;

/// What the node last said about a campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lease {
    state: SessionState,
    token: Option<u64>,
    deadline: Timestamp,
    /// How long the lease lasts after a renewal.
    length: Duration,
    stop: Duration,
    reason: Option<ChangeReason>,
    /// Counts changes of `state`, so that a change and back is noticed.
    changes: u64,
}

/// How long a session may live on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Life {
    /// The session ends then, unless it is renewed.
    expires: Timestamp,
    /// The latest deadline that the client was told.
    promised: Timestamp,
    /// How many requests wait with the session. It does not expire meanwhile.
    waiting: usize,
    /// The last change of the state that the client was told.
    told: u64,
    /// Nothing is promised from now on.
    has_ended: bool,
}

impl Life {
    /// How long the session goes on without the client's word. When nothing is left, it has ended.
    fn left(&mut self, now: Timestamp, keeps_promises: bool) -> Duration {
        let ends = match self.waiting {
            0 if keeps_promises => self.expires.max(self.promised),
            0 => self.expires,
            _ => Timestamp::NEVER,
        };
        let left = ends.since(now);
        self.has_ended |= left.is_zero();
        left
    }
}

/// One session.
pub(crate) struct Session {
    id: String,
    office: String,
    node: String,
    /// Who opened it.
    caller: String,
    ttl: Duration,
    /// How often it may be renewed.
    pub(crate) renewals: Renewals,
    lease: watch::Receiver<Lease>,
    life: Arc<Mutex<Life>>,
    commands: mpsc::Sender<Command>,
}

/// All sessions.
pub(crate) struct Sessions {
    socket: PathBuf,
    clock: Clock,
    drift_ppm: u32,
    max: usize,
    /// Always, unless a test has disabled the rule: see 3.
    keeps_promises: bool,
    by_id: Arc<Mutex<HashMap<String, Arc<Session>>>>,
}

impl Sessions {
    pub(crate) fn new(socket: PathBuf, clock: Clock, drift_ppm: u32, max: usize) -> Sessions {
        Sessions { socket, clock, drift_ppm, max, keeps_promises: true, by_id: Arc::default() }
    }

    /// Whether sessions outlive the deadlines that their clients were told.
    pub(crate) fn with_promises(self, keeps_promises: bool) -> Sessions {
        Sessions { keeps_promises, ..self }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How many sessions there are.
    pub(crate) fn count(&self) -> usize {
        lock(&self.by_id).len()
    }

    /// Opens a session: begins to campaign.
    pub(crate) async fn open(
        &self,
        terms: OfficeTerms,
        mode: Option<Mode>,
        ttl: Option<Duration>,
        caller: &str,
    ) -> Result<Arc<Session>, ApiError> {
        let ttl = ttl.unwrap_or_else(|| (terms.lease * DEFAULT_TTL_LEASES).clamp(MIN_DEFAULT_TTL, MAX_TTL));
        let (commands, received) = mpsc::channel(4);
        let lease = Lease {
            state: SessionState::Waiting,
            token: None,
            deadline: Timestamp::ZERO,
            length: terms.lease,
            stop: terms.stop,
            reason: None,
            changes: 0,
        };
        let (told, lease) = watch::channel(lease);
        let life =
            Life { expires: self.clock.now() + ttl, promised: Timestamp::ZERO, waiting: 0, told: 0, has_ended: false };
        let session = Arc::new(Session {
            id: new_id()?,
            office: terms.office,
            node: terms.node,
            caller: caller.to_string(),
            ttl,
            renewals: Renewals::new(Instant::now()),
            lease,
            life: Arc::new(Mutex::new(life)),
            commands,
        });
        // Reserved before the node is asked, so that the limit holds for campaigns that begin at the same time.
        self.insert(&session)?;
        let registration = Registration { id: session.id.clone(), by_id: self.by_id.clone() };
        let life = session.life.clone();
        let (clock, office, keeps_promises) = (self.clock, session.office.clone(), self.keeps_promises);
        let task = Task { clock, office, ttl, told, life, keeps_promises, commands: received };
        let (began, begun) = oneshot::channel();
        tokio::spawn(task.run(self.socket.clone(), mode, began, registration));
        match begun.await {
            Ok(Ok(())) => Ok(session),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ApiError::unavailable("it closed the connection of the session")),
        }
    }

    fn insert(&self, session: &Arc<Session>) -> Result<(), ApiError> {
        let mut by_id = lock(&self.by_id);
        if by_id.len() >= self.max {
            let message = format!("there are {} sessions, the maximum (`http.limits.sessions`)", self.max);
            return Err(ApiError::new(Code::TooMany, message));
        }
        by_id.insert(session.id.clone(), session.clone());
        Ok(())
    }

    /// The session of a caller for an office. Others do not learn that it exists.
    pub(crate) fn find(&self, id: &str, office: &str, caller: &str) -> Result<Arc<Session>, ApiError> {
        let session = lock(&self.by_id).get(id).cloned();
        session.filter(|session| session.office == office && session.caller == caller).ok_or_else(|| {
            let message = format!("there is no such session of the office `{office}`; it has ended: campaign again");
            ApiError::new(Code::UnknownSession, message)
        })
    }

    /// Whether this session is the caller's and holds an office with a token. The name of the caller is not enough: all
    /// that present neither a token nor a certificate have the same one.
    pub(crate) fn holds(&self, id: &str, caller: &str, office: &str, token: u64) -> bool {
        self.find(id, office, caller).is_ok_and(|session| {
            let lease = *session.lease.borrow();
            lease.token == Some(token) && matches!(lease.state, SessionState::Held | SessionState::Stop)
        })
    }

    /// Renews a session and tells its client how long it may act, counted from when it sent the request.
    ///
    /// `received` is when the request was here, so not before it was sent.
    pub(crate) fn renew(&self, session: &Session, received: Timestamp) -> Result<SessionView, ApiError> {
        let now = self.clock.now();
        let lease = *session.lease.borrow();
        let is_over = lease.deadline <= now;
        let state = match lease.state {
            // The node has not said so yet, but it cannot be otherwise.
            SessionState::Held if is_over => SessionState::Stop,
            state => state,
        };
        let may_act = matches!(state, SessionState::Held | SessionState::Stop);
        let granted = if may_act { lease.deadline.since(received) } else { Duration::ZERO };
        let mut life = lock(&session.life);
        if life.has_ended {
            return Err(has_ended());
        }
        (life.expires, life.told) = (now + session.ttl, lease.changes);
        if may_act {
            life.promised = life.promised.max(lease.deadline);
        }
        drop(life);
        let lease_left = if state == SessionState::Held { lease.deadline.since(now) } else { session.ttl };
        Ok(SessionView {
            session: session.id.clone(),
            office: session.office.clone(),
            node: session.node.clone(),
            state,
            token: lease.token,
            lease_ms: millis(remote(granted, self.drift_ppm)),
            stop_ms: millis(lease.stop),
            renew_ms: millis(lease_left.min(session.ttl) / RENEWALS).max(1),
            ttl_ms: millis(session.ttl),
            reason: lease.reason,
        })
    }

    /// Ends a session whose client has stopped its work.
    pub(crate) async fn resign(&self, session: &Session) -> Result<SessionView, ApiError> {
        // Nobody else can use it from now on, not even a request that has found it already.
        lock(&self.by_id).remove(&session.id);
        lock(&session.life).has_ended = true;
        session.command(|answer| Command::Withdraw { answer }).await?;
        let lease = *session.lease.borrow();
        Ok(SessionView {
            session: session.id.clone(),
            office: session.office.clone(),
            node: session.node.clone(),
            state: SessionState::Resigned,
            token: lease.token,
            lease_ms: 0,
            stop_ms: millis(lease.stop),
            renew_ms: 0,
            ttl_ms: 0,
            reason: lease.reason,
        })
    }
}

impl Session {
    /// Waits until the state has changed since the client was last told, or the time is over. The session does not
    /// expire meanwhile.
    pub(crate) async fn wait(&self, clock: Clock, limit: Duration) {
        let told = lock(&self.life).told;
        let is_news = |lease: &Lease| lease.changes != told;
        let _waiting = Waiting::new(self, clock);
        let mut lease = self.lease.clone();
        // The end of the session is a change, too; and the end of the time is not an error.
        let _ = tokio::time::timeout(limit, lease.wait_for(is_news)).await;
    }

    /// The client says that its work for this token has stopped.
    pub(crate) async fn stopped(&self, token: u64) -> Result<(), ApiError> {
        self.command(|answer| Command::Stopped { token, answer }).await
    }

    async fn command(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<(), ApiError>>) -> Command,
    ) -> Result<(), ApiError> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(command(answer)).await.map_err(|_| has_ended())?;
        answered.await.map_err(|_| has_ended())?
    }
}

fn has_ended() -> ApiError {
    ApiError::new(Code::UnknownSession, "the session has ended: campaign again")
}

/// A request that waits with a session.
struct Waiting<'a> {
    session: &'a Session,
    clock: Clock,
}

impl<'a> Waiting<'a> {
    fn new(session: &'a Session, clock: Clock) -> Self {
        lock(&session.life).waiting += 1;
        Waiting { session, clock }
    }
}

/// Also if the client has closed its connection: from then on the session's time to live counts.
impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut life = lock(&self.session.life);
        life.waiting -= 1;
        life.expires = life.expires.max(self.clock.now() + self.session.ttl);
    }
}

/// Removes a session from the table when its task ends.
struct Registration {
    id: String,
    by_id: Arc<Mutex<HashMap<String, Arc<Session>>>>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock(&self.by_id).remove(&self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a remote clock may run for what takes `time` on ours, if both drift by `drift_ppm` at most: see the module.
fn remote(time: Duration, drift_ppm: u32) -> Duration {
    let (slow, fast) = (1_000_000 - u128::from(drift_ppm.min(999_999)), 1_000_000 + u128::from(drift_ppm));
    let nanos = time.as_nanos() * slow / fast;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Whole milliseconds, rounded down: a deadline must not become later.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// 128 random bits: nobody guesses a session.
fn new_id() -> Result<String, ApiError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(ApiError::unavailable)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
