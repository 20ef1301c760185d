//! The page's server.
//!
//! It runs on one thread; elections run on others, a few at a time. By default it listens on loopback and wants a token
//! that only the printed address has. A class listens wherever it is told to, wants no token, and gives every visitor
//! small runs and few of them.

mod assets;
mod connections;
mod guard;
mod live;
mod quota;
mod routes;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hustings_elections::Catalogue;
use tokio::sync::Semaphore;

use crate::lessons::{self, Lesson};
use crate::live::Monitor;
use crate::request::Bounds;
use crate::timeline::Timeline;
use guard::Guard;
use quota::Quota;

/// How the page is served.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Names under which browsers may ask for it, in addition to addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Whether it serves a class: no token, small runs, limits per visitor.
    pub class: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0), hosts: Vec::new(), class: false }
    }
}

/// What is served.
#[derive(Debug)]
pub struct Lab {
    catalogue: Catalogue,
    lessons: Vec<Lesson>,
    /// Runs that were not asked for by the page, such as a counterexample.
    opened: Vec<Timeline>,
    /// A cluster of real nodes.
    live: Option<Arc<Monitor>>,
}

impl Lab {
    /// A laboratory of these algorithms, with the built-in lessons.
    pub fn new(catalogue: Catalogue) -> Self {
        Lab { catalogue, lessons: lessons::built_in(), opened: Vec::new(), live: None }
    }

    /// Adds lessons after the others.
    pub fn add_lessons(&mut self, lessons: Vec<Lesson>) {
        self.lessons.extend(lessons);
    }

    /// Shows a cluster of real nodes, at `#live` in the address.
    pub fn show_cluster(&mut self, monitor: Arc<Monitor>) {
        self.live = Some(monitor);
    }

    /// Adds a run to show. Returns the text that opens it: what comes after `#` in the address.
    pub fn open(&mut self, timeline: Timeline) -> String {
        self.opened.push(timeline);
        format!("opened={}", self.opened.len() - 1)
    }
}

/// A server that listens, but does not serve yet.
pub struct Listener {
    runtime: tokio::runtime::Runtime,
    listener: tokio::net::TcpListener,
    address: SocketAddr,
    token: Option<String>,
    options: Options,
}

/// What all requests share.
struct Shared {
    lab: Lab,
    guard: Guard,
    bounds: Bounds,
    /// Elections that may run at once; the others wait.
    runs: Semaphore,
    quota: Option<Quota>,
    is_class: bool,
}

/// The number of elections at once.
const MAX_RUNS: usize = 2;

impl Listener {
    /// Listens.
    pub fn bind(options: Options) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .thread_keep_alive(Duration::from_secs(5))
            .build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind(options.listen))?;
        let address = listener.local_addr()?;
        let token = if options.class { None } else { Some(guard::token()?) };
        Ok(Listener { runtime, listener, address, token, options })
    }

    /// The address to open, with the run that it shows first.
    pub fn url(&self, run: &str) -> String {
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => format!("localhost:{}", self.address.port()),
            _ => self.address.to_string(),
        };
        let token = self.token.as_ref().map_or_else(String::new, |token| format!("?token={token}"));
        let run = if run.is_empty() { String::new() } else { format!("#{run}") };
        format!("http://{host}/{token}{run}")
    }

    /// Serves until `stop` is set.
    pub fn serve(self, lab: Lab, stop: &AtomicBool) -> std::io::Result<()> {
        let Listener { runtime, listener, address, token, options } = self;
        let shared = Arc::new(Shared {
            lab,
            guard: Guard::new(address, token, options.hosts),
            bounds: if options.class { Bounds::CLASS } else { Bounds::OWN },
            runs: Semaphore::new(MAX_RUNS),
            quota: options.class.then(Quota::new),
            is_class: options.class,
        });
        let router = routes::router(shared);
        runtime.block_on(async {
            // Streams that a browser keeps open must not keep the program running.
            tokio::select! {
                () = connections::serve(listener, router) => {}
                () = is_set(stop) => {}
            }
        });
        runtime.shutdown_timeout(Duration::from_millis(100));
        Ok(())
    }
}

/// How often the flag is looked at. A signal handler can only set a flag.
const STOP_INTERVAL: Duration = Duration::from_millis(200);

async fn is_set(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(STOP_INTERVAL).await;
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}
