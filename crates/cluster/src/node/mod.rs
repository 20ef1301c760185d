//! The loop around the core: one thread that waits for sockets, disk, programs and time, and tells the core.
//!
//! Other threads do what may take long: one writes to the disk, one probes the health of the host, one looks names up,
//! one writes the journal. None of them decides anything.

mod alarm;
mod clients;
mod error;
mod health;
mod journal;
mod run;
mod socket;
mod stop;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use hustings_protocol::Id;
use mio::{Poll, Token, Waker};

use self::alarm::Alarm;
#[cfg(feature = "testkit")]
pub(crate) use self::clients::read_request;
use self::clients::{ClientEvent, Clients, MAX_CLIENTS};
use self::error::system;
use self::health::Watch;
use self::stop::Orders;
use crate::clock::Clock;
use crate::config::{Config, MAX_MEMBERS};
use crate::core::{Core, Setup};
use crate::election::Election;
use crate::faults::DisabledRules;
use crate::identity::Identity;
use crate::store::{Disk, Store, StoreError, Who, Write};
use crate::transport::{Event, Limits, Settings, Transport};

pub use self::error::{NodeError, SocketError};
pub use self::journal::Journal;
pub use self::stop::Stopper;
pub use crate::core::Exit;
pub use crate::election::ElectionError;

const ALARM: Token = Token(0);
const WAKER: Token = Token(1);
const STOP: Token = Token(2);
const HANG_UP: Token = Token(3);
const FIRST_CLIENT: usize = 4;
const FIRST_PEER: usize = FIRST_CLIENT + 1 + MAX_CLIENTS;

/// The counter of bytes on the wire, with headers, in a node's status.
pub const WIRE_BYTES: &str = "wire-bytes-out";

/// By so much a node is preferred to other processes of its host.
pub const NICENESS: i32 = -10;

/// How a node is run.
#[derive(Debug)]
pub struct Options {
    /// The clock that it goes by.
    pub clock: Clock,
    /// Where it tells what happens.
    pub journal: Journal,
    /// Stops it from another thread.
    pub stopper: Option<Stopper>,
    /// Whether SIGTERM and SIGINT stop it (in good order; at once the second time), and SIGHUP is ignored.
    pub signals: bool,
    /// Whether it tries to get a nice value of -10, so that a busy host does not make its heartbeats late. That needs
    /// root, CAP_SYS_NICE or a limit that allows it; without, the journal says so and nothing else changes. Health
    /// commands do not get it.
    pub raise_priority: bool,
    /// The safety rules that a test disables.
    pub disabled_rules: DisabledRules,
}

impl Default for Options {
    /// As a process of its own, without a journal.
    fn default() -> Self {
        Options {
            clock: Clock::new(),
            journal: Journal::off(),
            stopper: None,
            signals: true,
            raise_priority: true,
            disabled_rules: DisabledRules::default(),
        }
    }
}

/// A member of the cluster, running. It stays on the thread that opened it.
pub struct Node {
    clock: Clock,
    journal: Journal,
    poll: Poll,
    alarm: Alarm,
    orders: Orders,
    core: Core,
    transport: Transport,
    clients: Clients,
    disk: Disk,
    written: Receiver<Result<u64, StoreError>>,
    health: Option<Watch>,
    /// What the transport told and the core was not told yet.
    heard: Vec<Event>,
    /// The same of programs.
    events: Vec<ClientEvent>,
    /// Writes that the disk had no room for, in order.
    backlog: VecDeque<Write>,
    disk_is_well: bool,
    disabled_rules: DisabledRules,
    leaving: bool,
    exit: Option<Exit>,
    seen: Seen,
    folder: std::path::PathBuf,
}

/// What the journal was last told.
struct Seen {
    names: BTreeMap<Id, String>,
    arbiter_leader: Option<Id>,
    held: Vec<(String, u64)>,
    refused: u64,
}

impl Seen {
    fn name(&self, id: Id) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| format!("member {id}"))
    }
}

impl Node {
    /// Checks everything, reads the disk, and listens. Nothing is said to anybody before [`Node::run`].
    pub fn open(config: Config, options: Options) -> Result<Node, NodeError> {
        let Options { clock, mut journal, stopper, signals, raise_priority, disabled_rules } = options;
        config.timing.check()?;
        Election::check(&config.algorithm)?;
        let own = config.own().cloned().ok_or(NodeError::NotAMember(config.node.0))?;
        let identity = Identity::load(&config.tls, &config.cluster, clock)?;
        let who = Who { cluster: config.cluster.clone(), id: config.node };
        let (store, recovered) = Store::open(&config.data, &who)?;

        let poll = Poll::new().map_err(system("make a poll"))?;
        let registry = poll.registry();
        let stopper = stopper.map_or_else(Stopper::new, Ok).map_err(system("make a pipe for signals"))?;
        let orders = Orders::new(&stopper, signals, registry, (STOP, HANG_UP)).map_err(system("listen to signals"))?;
        let alarm = Alarm::new(registry, ALARM).map_err(system("make a timer"))?;
        let clients = Clients::listen(&config.socket, registry, FIRST_CLIENT..FIRST_PEER)?;
        let incarnation = random()?;
        let now = clock.now();
        let limits = Limits::default();
        let settings = Settings { own: own.id, incarnation, listen: config.listen.clone(), limits, identity };
        let tokens = FIRST_PEER..FIRST_PEER + 2 + 3 * MAX_MEMBERS + limits.unauthenticated;
        let transport = Transport::bind(settings, &config.members, registry, tokens, now)?;

        let waker = Arc::new(Waker::new(registry, WAKER).map_err(system("make a waker"))?);
        // Before the priority is raised: what it starts does not get it.
        let health = config.health.clone().map(|health| Watch::start(health, waker.clone())).transpose();
        let health = health.map_err(system("start the thread that probes the health"))?;
        if raise_priority && let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
            journal.note(format_args!("runs with the usual priority: nice {NICENESS} was refused ({error})"));
        }
        let (tell, written) = channel();
        let done = move |result| {
            // The loop is gone only when nobody needs to know.
            let _ = tell.send(result);
            let _ = waker.wake();
        };
        let disk = Disk::spawn(store, done).map_err(system("start the thread that writes"))?;

        let cluster = config.cluster.clone();
        let (folder, algorithm) = (config.data.clone(), config.algorithm.name().to_string());
        let names = config.members.iter().map(|member| (member.id, member.name.clone())).collect();
        let setup = Setup {
            config,
            incarnation,
            store_id: short(recovered.identity.store),
            mirror: recovered.mirror,
            seed: random()?,
            disabled_rules,
        };
        let at = |error| NodeError::State { folder: folder.clone(), error };
        let core = Core::new(setup, now).map_err(at)?;
        let address = transport.local_addr();
        journal.note(format_args!("{}: started, member {} of {cluster} on {address}, {algorithm}", own.name, own.id));
        if let Some(offset) = recovered.torn_at {
            journal.note(format_args!("a write that a crash cut short was taken away, at byte {offset} of the log"));
        }
        Ok(Node {
            clock,
            journal,
            poll,
            alarm,
            orders,
            core,
            transport,
            clients,
            disk,
            written,
            health,
            heard: Vec::new(),
            events: Vec::new(),
            backlog: VecDeque::new(),
            disk_is_well: true,
            disabled_rules,
            leaving: false,
            exit: None,
            seen: Seen { names, arbiter_leader: None, held: Vec::new(), refused: 0 },
            folder,
        })
    }
}

/// A number that is not 0.
fn random() -> Result<u64, NodeError> {
    let drawn = getrandom::u64().map_err(|error| system("draw a random number")(error.into()))?;
    Ok(drawn.max(1))
}

/// Half of a random number will do to tell disks apart; 0 would say that none is known.
fn short(store: u128) -> u64 {
    ((store >> 64) as u64 ^ store as u64).max(1)
}
