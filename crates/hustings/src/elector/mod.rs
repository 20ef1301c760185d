//! Leader election for programs: campaign for an office, work while you hold it, stop when you lose it.
//!
//! An office is a named lease, like an etcd election or a Kubernetes Lease. An [`Elector`] is a connection to the node
//! on this host. [`Elector::campaign`] waits for an office and returns a guard, [`Leadership`]; [`Elector::observe`]
//! reports the holder and every change. The futures work with every runtime: a thread of the elector reads the socket
//! and wakes the waiting tasks.
//!
//! ```no_run
//! # async fn work(token: u64) {}
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use hustings::Elector;
//!
//! let elector = Elector::connect("/etc/hustings/hustings.toml")?;
//! loop {
//!     let leadership = elector.campaign("billing").await?;
//!     while leadership.is_held() {
//!         // Send the token with every write, so that storage can reject writes with a lower token.
//!         work(leadership.token()).await;
//!     }
//! } // Dropping the guard releases the office.
//! # }
//! ```
//!
//! A test can run a whole cluster in one process. In production every node runs on its own host.
//!
//! ```
//! # mod loopback { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/loopback/mod.rs")); }
//! use hustings::Elector;
//!
//! # pollster::block_on(async {
//! # let cluster = loopback::bootstrap(3);
//! // Three configurations, as `hustings init` creates them.
//! let nodes: Vec<Elector> = cluster.configs().map(Elector::embedded).collect::<Result<_, _>>()?;
//!
//! let leadership = nodes[0].campaign("billing").await?;
//! assert!(leadership.is_held());
//!
//! let mut observer = nodes[1].observe("billing");
//! while observer.next().await.leader() != Some("a") {}
//!
//! // As soon as the office is released, another member can get it, with a greater token.
//! let token = leadership.token();
//! leadership.resign().await?;
//! assert!(nodes[2].campaign("billing").await?.token() > token);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod deadline;
mod embedded;
mod end_reason;
mod leadership;
mod observer;
mod state;
mod thread;
mod updates;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hustings_cluster::api::{Client, ClientError, Guard, RequestError};
use hustings_cluster::clock::{Clock, Timestamp};
use hustings_cluster::config::{Config, ConfigError, Mode};

pub use embedded::EmbedError;
use embedded::Embedded;
pub use end_reason::EndReason;
use leadership::CampaignGuard;
pub use leadership::Leadership;
pub use observer::{LeaderView, Observer};
use state::State;
use thread::Connection;
use updates::{Phase, Updates};

/// A connection to the node on this host. Clones share the connection. It closes when the last clone, guard and
/// observer is dropped.
#[derive(Clone, Debug)]
pub struct Elector {
    handle: Arc<Handle>,
}

/// Why an elector could not connect to a node.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The configuration that names the socket is missing or invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The node cannot be reached.
    #[error(transparent)]
    Node(#[from] ClientError),
    /// The elector's thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// Why a campaign failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CampaignError {
    /// The node rejected the campaign: its role does not hold offices, the office has another mode, or the name is
    /// invalid.
    #[error(transparent)]
    Rejected(#[from] RequestError),
    /// This elector already campaigns for the office or holds it. Another connection may campaign too.
    #[error("this elector already campaigns for the office `{0}`")]
    AlreadyCampaigning(String),
}

/// The node could not be told about a resignation. It frees the office when the lease expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the connection to the node is lost: the office is free when its lease expires")]
pub struct ResignError;

impl Elector {
    /// Connects to a node. The path names its configuration (a file ending in `.toml`) or its socket. If the node
    /// restarts, the elector reconnects.
    pub fn connect(path: impl AsRef<Path>) -> Result<Elector, ConnectError> {
        Elector::builder().connect(path)
    }

    /// Returns a builder with options for the connection.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Campaigns for an office, and waits until this program holds it. Dropping the future ends the campaign.
    pub async fn campaign(&self, office: &str) -> Result<Leadership, CampaignError> {
        self.campaign_as(office, None).await
    }

    /// Like [`Elector::campaign`], but fails if the office has another mode. A program that relies on `exclusive`
    /// should ask for it.
    pub async fn campaign_as(&self, office: &str, mode: impl Into<Option<Mode>>) -> Result<Leadership, CampaignError> {
        let mode = mode.into();
        let begun = self.handle.change(|state, now| match state.campaign(office, mode, now) {
            Some((receiver, deadline, updates)) => (Some((receiver, deadline)), updates),
            None => (None, Updates::default()),
        });
        let (receiver, deadline) = begun.ok_or_else(|| CampaignError::AlreadyCampaigning(office.to_string()))?;
        let mut campaign = CampaignGuard::new(office.to_string(), receiver, deadline, Arc::clone(&self.handle));
        loop {
            let phase = campaign.receiver.borrow_and_update().clone();
            match phase {
                Phase::Rejected(error) => return Err(error.into()),
                Phase::Held(_) => {
                    if let Some(token) = self.handle.change(|state, now| (state.take(office, now), Updates::default()))
                    {
                        return Ok(Leadership::new(campaign, token));
                    }
                }
                Phase::Waiting | Phase::Stopping(..) | Phase::Lost(_) => {}
            }
            if campaign.receiver.changed().await.is_err() {
                // The sender lives as long as the campaign.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Observes the holder of an office: now, and after every change. An elector can observe up to 2,000 offices; the
    /// holder of any further office is unknown.
    pub fn observe(&self, office: &str) -> Observer {
        let (receiver, fresh_until) = self.handle.change(|state, now| {
            let (receiver, updates) = state.observe(office, now);
            ((receiver, state.fresh_until()), updates)
        });
        Observer::new(receiver, fresh_until, Arc::clone(&self.handle))
    }
}

/// Options for a connection.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Builder {
    freshness: Duration,
    ttl: Option<Duration>,
    is_one_process: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Builder { freshness: Duration::from_millis(250), ttl: Some(Duration::from_secs(10)), is_one_process: false }
    }
}

impl Builder {
    /// Sets how long observers trust what the node said (default 250 ms). While anything is observed, the elector
    /// probes the node three times within this period. After it, the holder is unknown, whatever the node said before
    /// it froze.
    pub fn freshness(mut self, freshness: Duration) -> Self {
        self.freshness = freshness.clamp(Duration::from_millis(10), Duration::from_secs(3600));
        self
    }

    /// Sets for how long the node waits for a word of this program, once it campaigns (default 10 s; `None`: forever).
    /// A thread of the elector gives it, four times within that time. If the whole program is frozen, by a debugger, a
    /// paused container or SIGSTOP, the node waits this long and then treats the program as gone: a fenced office moves
    /// at once, an exclusive one when its lease is over. A shorter time moves offices sooner, also from a program that
    /// only got no processor for so long.
    pub fn ttl(mut self, ttl: impl Into<Option<Duration>>) -> Self {
        let bounds = (Duration::from_millis(100), Duration::from_secs(3600));
        self.ttl = ttl.into().map(|ttl| ttl.clamp(bounds.0, bounds.1));
        self
    }

    /// Promises that the work for an office is done by this process and by no other that it starts. The node watches
    /// the process: as soon as it has ended, an exclusive office moves, without waiting for the lease. Campaigns are
    /// rejected if the node cannot see the process, because of a PID namespace between them.
    pub fn one_process(mut self) -> Self {
        self.is_one_process = true;
        self
    }

    /// See [`Elector::connect`].
    pub fn connect(self, path: impl AsRef<Path>) -> Result<Elector, ConnectError> {
        let path = path.as_ref();
        let is_config = path.extension().is_some_and(|extension| extension == "toml");
        let socket = if is_config { Config::read_as_client(path)?.socket } else { path.to_path_buf() };
        self.attach(socket, None)
    }

    fn attach(self, socket: PathBuf, node: Option<Embedded>) -> Result<Elector, ConnectError> {
        let client = Client::connect(&socket, Duration::ZERO)?;
        let state = State::new(self.freshness, self.ttl, self.is_one_process.then_some(Guard::Process));
        let shared = Arc::new(Shared {
            socket,
            inner: Mutex::new(Inner { state, connection: None, is_closed: false }),
            closed: Condvar::new(),
            clock: Clock::new(),
        });
        let worker = Arc::clone(&shared);
        let name = "hustings-elector".to_string();
        std::thread::Builder::new()
            .name(name)
            .spawn(move || thread::run(&worker, client))
            .map_err(ConnectError::Thread)?;
        Ok(Elector { handle: Arc::new(Handle { shared, _node: node }) })
    }
}

/// The state that the elector's thread shares with its users.
#[derive(Debug)]
struct Shared {
    socket: PathBuf,
    inner: Mutex<Inner>,
    /// Notified when the last handle is dropped.
    closed: Condvar,
    clock: Clock,
}

#[derive(Debug)]
struct Inner {
    state: State,
    connection: Option<Connection>,
    is_closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A change does not panic half-way, so a poisoned lock is still consistent.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, sends the resulting requests, then wakes the waiting tasks.
    fn change<T>(&self, change: impl FnOnce(&mut State, Timestamp) -> (T, Updates)) -> T {
        let mut inner = self.lock();
        let now = self.clock.now();
        let (result, mut updates) = change(&mut inner.state, now);
        if let Some(connection) = &mut inner.connection {
            updates.requests.drain(..).for_each(|request| connection.send(&request));
        }
        drop(inner);
        updates.publish();
        result
    }
}

/// Shared by everything that needs the connection. Dropping the last one closes it.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    /// Dropped after the connection is closed.
    _node: Option<Embedded>,
}

impl Handle {
    fn change<T>(&self, change: impl FnOnce(&mut State, Timestamp) -> (T, Updates)) -> T {
        self.shared.change(change)
    }

    fn socket(&self) -> &Path {
        &self.shared.socket
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        inner.is_closed = true;
        if let Some(connection) = &inner.connection {
            connection.end();
        }
        drop(inner);
        self.shared.closed.notify_all();
    }
}

#[cfg(test)]
mod tests;
