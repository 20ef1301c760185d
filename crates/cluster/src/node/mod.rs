//! The event loop around the core: one thread waits for sockets, the disk, programs and timers, and feeds the core.
//!
//! Slow work runs on other threads: writing to the disk, checking the health, resolving host names, writing the log.
//! Only the core makes decisions.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use hustings_cluster::config::Config;
//! use hustings_cluster::node::{Logger, Node, Options};
//!
//! let config = Config::read(Path::new("/etc/hustings/hustings.toml"))?;
//! let options = Options { logger: Logger::to_stderr(config.log)?, ..Options::default() };
//! Node::open(config, options)?.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod audit;
mod certificates;
mod clients;
mod data_folder;
mod error;
mod guards;
mod health;
mod holders;
mod host;
mod logger;
mod observe;
mod observer;
mod peer_credentials;
mod reload;
mod report;
mod run;
mod scheduling;
mod shutdown;
mod socket;
mod timer;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use hustings_protocol::Id;
use mio::{Poll, Registry, Token, Waker};

use self::audit::Audit;
use self::certificates::CertificateWatch;
#[cfg(feature = "testkit")]
pub(crate) use self::clients::read_request;
use self::clients::{ClientEvent, Clients, ConnectionBudget};
use self::error::{SocketError, system};
use self::guards::Guards;
use self::health::HealthMonitor;
use self::host::Host;
use self::observer::Observer;
use self::peer_credentials::SocketGroup;
use self::reload::Reloader;
use self::scheduling::Scheduling;
use self::shutdown::ShutdownRequests;
use self::socket::closed_folders;
use self::timer::Timer;
use crate::api::CertificateStatus;
use crate::clock::Clock;
use crate::config::{self, Config, MAX_MEMBERS};
use crate::core::{self, Core, Setup};
use crate::election::Election;
use crate::faults::DisabledRules;
use crate::format::Formats;
use crate::identity::{Identity, check_secrets};
use crate::store::{DiskWriter, Store, StoreError, StoreOwner, Write};
use crate::systemd::Systemd;
use crate::transport::{Event, Limits, Transport, TransportConfig};

pub use self::audit::RefusalLimit;
pub use self::error::NodeError;
pub use self::logger::{LogFormat, LogLevel, Logger};
pub use self::reload::ConfigReader;
pub use self::scheduling::NICE_VALUE;
pub use self::shutdown::ShutdownHandle;

const TIMER: Token = Token(0);
const WAKER: Token = Token(1);
const STOP: Token = Token(2);
const SIGHUP_TOKEN: Token = Token(3);
const FIRST_PEER: usize = 4;
/// Far above the peers' tokens: the number of clients depends on the configuration.
const FIRST_CLIENT: usize = 1 << 16;
/// Far above the clients' tokens. Those of guardians are not reused.
const FIRST_GUARDIAN: usize = 1 << 20;

/// The name of the counter of bytes sent on the wire, including headers.
pub const WIRE_BYTES_COUNTER: &str = "wire-bytes-out";

/// How many connections the HTTP API has to its own node, beside one for each session.
pub(crate) const HTTP_CONNECTIONS: usize = 32;

/// Options for running a node.
#[derive(Debug)]
pub struct Options {
    /// The clock.
    pub clock: Clock,
    /// Where log lines go.
    pub logger: Logger,
    /// A handle that stops the node from another thread.
    pub shutdown_handle: Option<ShutdownHandle>,
    /// Whether SIGTERM and SIGINT stop the node (gracefully; at once the second time) and SIGHUP makes it reload its
    /// certificates and its configuration.
    pub signals: bool,
    /// Reads the configuration again on SIGHUP. Without it, only the certificates are loaded again.
    pub reader: Option<ConfigReader>,
    /// Whether systemd is told of the node's state, if it asks for it.
    pub notify_systemd: bool,
    /// Whether to ask for a nice value of -10, so that a busy host does not delay heartbeats, or for real-time priority
    /// and locked memory if the configuration says so. This needs root, CAP_SYS_NICE or a suitable limit; without, the
    /// node logs that and runs normally. Health commands are not affected.
    pub raise_priority: bool,
    /// The safety rules that a test disables.
    pub disabled_rules: DisabledRules,
}

impl Default for Options {
    /// Options for a process of its own, without a log.
    fn default() -> Self {
        Options {
            clock: Clock::new(),
            logger: Logger::disabled(),
            shutdown_handle: None,
            signals: true,
            reader: None,
            notify_systemd: false,
            raise_priority: true,
            disabled_rules: DisabledRules::default(),
        }
    }
}

/// Why a node stopped by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exit {
    /// It was asked to leave, and no longer holds any office.
    Left,
    /// It was removed from the cluster.
    Removed,
    /// Its disk is not the one that the cluster registered for it, so its votes may be lost.
    UnknownDisk,
    /// Its disk is an older copy of the one that other members have seen, so votes and entries are lost.
    OldDisk,
    /// Another process runs as the same member, and was started later.
    Superseded,
    /// The cluster writes formats that this program does not read, because all members have read them before.
    OldProgram {
        /// The version of the formats that the cluster writes.
        version: u8,
        /// The highest version that this program reads.
        reads: u8,
    },
    /// It cannot read what the cluster has committed at this log index: a later version of the program wrote it.
    Unreadable {
        /// The index of the log entry, or of the last entry of a snapshot.
        index: u64,
        /// What is wrong with it.
        error: String,
    },
}

impl From<core::Exit> for Exit {
    fn from(exit: core::Exit) -> Self {
        match exit {
            core::Exit::Left => Exit::Left,
            core::Exit::Removed => Exit::Removed,
            core::Exit::UnknownDisk => Exit::UnknownDisk,
            core::Exit::OldDisk => Exit::OldDisk,
            core::Exit::Superseded => Exit::Superseded,
            core::Exit::OldProgram { version, reads } => Exit::OldProgram { version, reads },
            core::Exit::Unreadable { index, error } => Exit::Unreadable { index, error: error.to_string() },
        }
    }
}

/// A running member of the cluster. It stays on the thread that opened it.
pub struct Node {
    clock: Clock,
    logger: Logger,
    poll: Poll,
    timer: Timer,
    shutdown: ShutdownRequests,
    core: Core,
    transport: Transport,
    clients: Clients,
    audit: Audit,
    guards: Guards,
    disk: DiskWriter,
    written: Receiver<Result<u64, StoreError>>,
    health: Option<HealthMonitor>,
    /// Events of the transport that the core has not handled yet.
    transport_events: Vec<Event>,
    /// Events of clients that the core has not handled yet.
    events: Vec<ClientEvent>,
    /// Writes that wait for room in the disk writer's queue, in order.
    backlog: VecDeque<Write>,
    disabled_rules: DisabledRules,
    leaving: bool,
    exit: Option<core::Exit>,
    /// The configuration that the node runs with.
    config: Config,
    reloader: Reloader,
    certificates: CertificateWatch,
    systemd: Systemd,
    waker: Arc<Waker>,
    logged: LastLogged,
    observer: Observer,
    host: Host,
    scheduling: Scheduling,
    started_unix_ms: u64,
    folder: std::path::PathBuf,
}

/// The state that was last logged.
#[derive(Default)]
struct LastLogged {
    names: BTreeMap<Id, String>,
    arbiter_leader: Option<Id>,
    disk_fails: bool,
    held: BTreeSet<String>,
    rejected: u64,
}

impl LastLogged {
    fn name(&self, id: Id) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| format!("member {id}"))
    }
}

impl Node {
    /// Checks the configuration, reads the disk and starts to listen. Nothing is sent before [`Node::run`].
    pub fn open(config: Config, options: Options) -> Result<Node, NodeError> {
        let Options {
            clock,
            mut logger,
            shutdown_handle,
            signals,
            reader,
            notify_systemd,
            raise_priority,
            disabled_rules,
        } = options;
        config.timing.check()?;
        Election::check(&config.algorithm)?;
        let own = config.own().cloned().ok_or(NodeError::NotAMember(config.node.0))?;
        let identity = Identity::load(&config.tls, &config.cluster, &own, clock)?;
        let group = socket_group(&config)?;
        let group_id = group.as_ref().map(|group| group.gid.as_raw());
        let expiry = identity.expiry();
        if let Some(problem) = data_folder::check(&config.data)? {
            logger.warn(format_args!("{problem}"));
        }
        let owner = StoreOwner { cluster: config.cluster.clone(), id: config.node };
        let (store, recovered) = Store::open(&config.data, &owner)?;

        let poll = Poll::new().map_err(system("create an event poll"))?;
        let registry = poll.registry();
        let shutdown_handle =
            shutdown_handle.map_or_else(ShutdownHandle::new, Ok).map_err(system("create a pipe for signals"))?;
        let shutdown = ShutdownRequests::new(&shutdown_handle, signals, registry, (STOP, SIGHUP_TOKEN))
            .map_err(system("register signal handlers"))?;
        let timer = Timer::new(registry, TIMER).map_err(system("create a timer"))?;
        let clients = listen_for_clients(&config, group, registry, &mut logger)?;
        let waker = Arc::new(Waker::new(registry, WAKER).map_err(system("create a waker"))?);
        let incarnation = random()?;
        let now = clock.now();
        let limits = Limits::default();
        let settings = TransportConfig { own: own.id, incarnation, listen: config.listen.clone(), limits, identity };
        let tokens = FIRST_PEER..FIRST_PEER + Transport::tokens(MAX_MEMBERS, &limits);
        let transport = Transport::bind(settings, &config.members, registry, tokens, now)?;

        // Started before the priority is raised, so that health commands do not inherit it.
        let health = config.health.clone().map(|health| HealthMonitor::start(health, waker.clone())).transpose();
        let health = health.map_err(system("start the health check thread"))?;
        let mut scheduling = match raise_priority {
            true => Scheduling::raise(config.scheduling, &mut logger),
            false => Scheduling::unchanged(config.scheduling),
        };
        let urgency = scheduling.urgency();
        let guards = Guards::new(registry, waker.clone(), FIRST_GUARDIAN, config.limits.connections, urgency);
        let guards = guards.map_err(system("watch the processes of programs"))?;
        let (tell, written) = channel();
        let wake = waker.clone();
        let done = move |result| {
            // If the receiver is gone, the node has ended and needs no result.
            let _ = tell.send(result);
            let _ = wake.wake();
        };
        // What the loop may do, this thread may do as well.
        let begin = move || _ = urgency.apply();
        let disk = DiskWriter::spawn(store, begin, done).map_err(system("start the disk thread"))?;

        let cluster = config.cluster.clone();
        let heartbeat = config.timing.heartbeat;
        let (folder, algorithm) = (config.data.clone(), config.algorithm.name().to_string());
        let names = config.members.iter().map(|member| (member.id, member.name.clone())).collect();
        let setup = Setup {
            config: config.clone(),
            incarnation,
            store_id: short(recovered.identity.store),
            storage: recovered.storage,
            seed: random()?,
            disabled_rules,
            formats: Formats::default(),
        };
        let core = Core::new(setup, now).map_err(|error| NodeError::state(&folder, error))?;
        let address = transport.local_addr();
        logger.info(format_args!(
            "{}: started as member {} of {cluster}, listening on {address}, algorithm {algorithm}",
            own.name, own.id
        ));
        if recovered.is_new {
            logger.info(format_args!("created a new store in {}", folder.display()));
        }
        if let Some(offset) = recovered.torn_at {
            logger.info(format_args!("removed an unfinished write of a crash at byte {offset} of the log"));
        }
        if raise_priority && config.scheduling == config::Scheduling::Realtime {
            // Now that everything is there.
            scheduling.lock_memory(&mut logger);
        }
        Ok(Node {
            clock,
            logger,
            poll,
            timer,
            shutdown,
            core,
            transport,
            clients,
            audit: Audit::new(),
            guards,
            disk,
            written,
            health,
            transport_events: Vec::new(),
            events: Vec::new(),
            backlog: VecDeque::new(),
            disabled_rules,
            leaving: false,
            exit: None,
            config,
            reloader: Reloader::new(reader, own, group_id, waker.clone()),
            certificates: CertificateWatch::new(expiry, now),
            systemd: Systemd::new(notify_systemd, now),
            waker,
            logged: LastLogged { names, ..LastLogged::default() },
            observer: Observer::new(),
            host: Host::new(heartbeat),
            scheduling,
            started_unix_ms: clock.wall_time().as_millis() as u64,
            folder,
        })
    }
}

/// The group of the socket. It must not be able to read the node's secrets.
fn socket_group(config: &Config) -> Result<Option<SocketGroup>, NodeError> {
    let Some(name) = &config.socket_group else { return Ok(None) };
    let group = SocketGroup::find(name)?;
    check_secrets(config, group.gid.as_raw())?;
    Ok(Some(group))
}

/// Opens the socket. Warns if the group of the socket cannot reach it.
fn listen_for_clients(
    config: &Config,
    group: Option<SocketGroup>,
    registry: &Registry,
    logger: &mut Logger,
) -> Result<Clients, SocketError> {
    let budget = ConnectionBudget {
        programs: config.limits.connections,
        own: config.http.as_ref().map_or(0, |http| http.limits.sessions + HTTP_CONNECTIONS),
    };
    let clients = Clients::listen(&config.socket, registry, FIRST_CLIENT, budget, group.clone())?;
    if let Some(group) = group {
        for folder in closed_folders(&config.socket, &group) {
            let (folder, name) = (folder.display(), &group.name);
            logger.warn(format_args!("the group {name} cannot reach the socket: {folder} is closed to it"));
        }
    }
    Ok(clients)
}

/// Checks that a node can use what a configuration names: the certificates, the key, the socket's group and the data
/// folder. Returns until when the certificates are valid, and what needs attention.
pub fn check_files(config: &Config, clock: Clock) -> Result<(CertificateStatus, Vec<String>), NodeError> {
    let own = config.own().ok_or(NodeError::NotAMember(config.node.0))?;
    let identity = Identity::load(&config.tls, &config.cluster, own, clock)?;
    socket_group(config)?;
    let untimely = identity.check_time(&config.tls, clock).err().map(|error| error.to_string());
    let warnings = untimely.into_iter().chain(data_folder::check(&config.data)?);
    let ends = identity.expiry().map_or(CertificateStatus::default(), CertificateStatus::from);
    Ok((ends, warnings.collect()))
}

/// Draws a random number other than 0.
fn random() -> Result<u64, NodeError> {
    let drawn = getrandom::u64().map_err(|error| system("draw a random number")(error.into()))?;
    Ok(drawn.max(1))
}

/// Folds the store's random id to 64 bits, which suffice to tell stores apart. 0 would mean that none is known.
fn short(store: u128) -> u64 {
    ((store >> 64) as u64 ^ store as u64).max(1)
}
