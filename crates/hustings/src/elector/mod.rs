//! Leadership for a program: ask the node on this host for an office, work while it is held, stop when it is lost.
//!
//! An [`Elector`] is a connection to a node. [`Elector::campaign`] waits for an office and returns a guard,
//! [`Leadership`]; [`Elector::observe`] follows who holds one. The futures need no particular runtime: a thread of the
//! elector reads the socket and wakes whoever waits.
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
//!         // The token goes with every write: whoever stores it refuses lower ones than it has seen.
//!         work(leadership.token()).await;
//!     }
//! } // Dropping the guard gives the office up.
//! # }
//! ```
//!
//! A whole cluster in one process, for tests; every node of a real one is on a host of its own:
//!
//! ```
//! # mod loopback { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/loopback/mod.rs")); }
//! use hustings::Elector;
//!
//! # pollster::block_on(async {
//! # let cluster = loopback::found(3);
//! // Three configurations, as `hustings init` writes them.
//! let nodes: Vec<Elector> = cluster.configs().map(Elector::embedded).collect::<Result<_, _>>()?;
//!
//! let leadership = nodes[0].campaign("billing").await?;
//! assert!(leadership.is_held());
//!
//! let mut observer = nodes[1].observe("billing");
//! while observer.next().await.leader() != Some("a") {}
//!
//! // The next one is appointed as soon as this one lets go, with a greater token.
//! let token = leadership.token();
//! leadership.resign().await?;
//! assert!(nodes[2].campaign("billing").await?.token() > token);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod embedded;
mod ending;
mod leadership;
mod news;
mod observer;
mod state;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hustings_cluster::api::{Client, ClientError, Refusal};
use hustings_cluster::clock::{Clock, Moment};
use hustings_cluster::config::{Config, ConfigError, Mode};

pub use embedded::EmbedError;
use embedded::Embedded;
pub use ending::Ending;
#[cfg(feature = "cli")]
pub(crate) use ending::cause_in_words;
pub use leadership::Leadership;
use leadership::Wish;
use news::{News, Phase};
pub use observer::{Observer, Sighting};
use state::State;
use thread::Connection;

/// A connection to the node on this host. Clones share it; it ends when the last of them, and of the guards and
/// observers that came from them, is dropped.
#[derive(Clone, Debug)]
pub struct Elector {
    handle: Arc<Handle>,
}

/// Why there is no connection to a node.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The configuration does not say where the node is.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The node cannot be reached.
    #[error(transparent)]
    Node(#[from] ClientError),
    /// No thread could be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// Why a campaign came to nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CampaignError {
    /// The node refuses: it never holds offices, or the office is not what was expected, or its name is none.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// This elector campaigns for the office already, or holds it. Another connection may campaign as well.
    #[error("this elector campaigns for the office `{0}` already")]
    Already(String),
}

/// The node could not be told of a resignation. It gives the office to somebody else when its deadline has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the node is gone: the office is free when its deadline has passed")]
pub struct ResignError;

impl Elector {
    /// Connects to the node whose configuration (a file with the ending `.toml`) or socket this is. When the node
    /// restarts later, it connects again by itself.
    pub fn connect(path: impl AsRef<Path>) -> Result<Elector, ConnectError> {
        Elector::builder().connect(path)
    }

    /// The same, with something to choose.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Waits until this program holds the office. Whoever stops waiting, by dropping the future, no longer wants it.
    pub async fn campaign(&self, office: &str) -> Result<Leadership, CampaignError> {
        self.campaign_as(office, None).await
    }

    /// The same, but only if the office is of this kind: a program that relies on `exclusive` should say so.
    pub async fn campaign_as(&self, office: &str, mode: impl Into<Option<Mode>>) -> Result<Leadership, CampaignError> {
        let mode = mode.into();
        let begun = self.handle.change(|state, _| match state.campaign(office, mode) {
            Some((receiver, deadline, news)) => (Some((receiver, deadline)), news),
            None => (None, News::default()),
        });
        let (receiver, deadline) = begun.ok_or_else(|| CampaignError::Already(office.to_string()))?;
        let mut wish = Wish::new(office.to_string(), receiver, deadline, Arc::clone(&self.handle));
        loop {
            let phase = wish.receiver.borrow_and_update().clone();
            match phase {
                Phase::Refused(refusal) => return Err(refusal.into()),
                Phase::Held(_) => {
                    if let Some(token) = self.handle.change(|state, now| (state.take(office, now), News::default())) {
                        return Ok(Leadership::new(wish, token));
                    }
                }
                Phase::Waiting | Phase::Stopping(..) | Phase::Lost(_) => {}
            }
            if wish.receiver.changed().await.is_err() {
                // The campaign lives as long as the wish.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Follows who holds an office: now, and whenever it changes. For one elector a node follows 2,000 offices; whoever
    /// holds others is unknown.
    pub fn observe(&self, office: &str) -> Observer {
        let (receiver, fresh_until) = self.handle.change(|state, now| {
            let (receiver, news) = state.observe(office, now);
            ((receiver, state.fresh_until()), news)
        });
        Observer::new(receiver, fresh_until, Arc::clone(&self.handle))
    }
}

/// What can be chosen about a connection.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Builder {
    freshness: Duration,
}

impl Default for Builder {
    fn default() -> Self {
        Builder { freshness: Duration::from_millis(250) }
    }
}

impl Builder {
    /// For how long observers believe what a node said (250 ms): it is asked three times as often whether it lives, as
    /// long as anybody observes. A node that was frozen is unknown after this time, whatever it said before.
    pub fn freshness(mut self, freshness: Duration) -> Self {
        self.freshness = freshness.clamp(Duration::from_millis(10), Duration::from_secs(3600));
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
        let client = Client::connect(&socket)?;
        let shared = Arc::new(Shared {
            socket,
            inside: Mutex::new(Inside { state: State::new(self.freshness), connection: None, is_closed: false }),
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

/// What the thread and the users of an elector have in common.
#[derive(Debug)]
struct Shared {
    socket: PathBuf,
    inside: Mutex<Inside>,
    /// Told when nobody needs the thread any more.
    closed: Condvar,
    clock: Clock,
}

#[derive(Debug)]
struct Inside {
    state: State,
    connection: Option<Connection>,
    is_closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        // Nothing in there panics half-way through a change.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, sends what follows from it, and then wakes whoever waits for it.
    fn change<T>(&self, change: impl FnOnce(&mut State, Moment) -> (T, News)) -> T {
        let mut inside = self.lock();
        let now = self.clock.now();
        let (result, mut news) = change(&mut inside.state, now);
        if let Some(connection) = &mut inside.connection {
            news.requests.drain(..).for_each(|request| connection.send(&request));
        }
        drop(inside);
        news.publish();
        result
    }
}

/// Held by everything that needs the connection; the last one to go ends it.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    /// Dropped after the connection has ended.
    _node: Option<Embedded>,
}

impl Handle {
    fn change<T>(&self, change: impl FnOnce(&mut State, Moment) -> (T, News)) -> T {
        self.shared.change(change)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut inside = self.shared.lock();
        inside.is_closed = true;
        if let Some(connection) = &inside.connection {
            connection.end();
        }
        drop(inside);
        self.shared.closed.notify_all();
    }
}

#[cfg(test)]
mod tests;
