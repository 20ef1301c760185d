//! Reloads certificates and configuration on SIGHUP.
//!
//! The files are read on a thread of their own, because a disk may hang. Either everything that was read is in order
//! and applied, or nothing changes. Connections and offices are not touched: a new identity is used for new ones.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use mio::Waker;

use super::error::system;
use super::health::HealthMonitor;
use super::{Node, NodeError};
use crate::clock::Clock;
use crate::config::{Config, ConfigError, Limits};
use crate::identity::{Identity, IdentityError, check_secrets};
use crate::member::Member;

/// Applies what was prepared.
type Apply = Box<dyn FnOnce() + Send>;

type Read = Arc<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>;
type Prepare = Arc<dyn Fn(&Config) -> Result<Apply, String> + Send + Sync>;

/// Reads the configuration of a node again, and whatever else belongs to it.
#[derive(Clone)]
pub struct ConfigReader {
    read: Read,
    prepare: Option<Prepare>,
}

impl ConfigReader {
    /// A reader that calls this function, on a thread of its own.
    pub fn new(read: impl Fn() -> Result<Config, ConfigError> + Send + Sync + 'static) -> Self {
        ConfigReader { read: Arc::new(read), prepare: None }
    }

    /// The same reader for a process that has more to reload than the node. `prepare` reads files, and fails if
    /// something is wrong: then nothing is reloaded. What it returns must not block.
    pub fn with(self, prepare: impl Fn(&Config) -> Result<Apply, String> + Send + Sync + 'static) -> Self {
        ConfigReader { prepare: Some(Arc::new(prepare)), ..self }
    }
}

impl fmt::Debug for ConfigReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigReader").finish_non_exhaustive()
    }
}

/// Why nothing was reloaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReloadError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("{0}")]
    Other(String),
}

/// What was read.
pub(super) struct Loaded {
    config: Config,
    identity: Identity,
    apply: Option<Apply>,
}

/// Reads files on request. A request that comes while files are being read is served after that.
pub(super) struct Reloader {
    reader: Option<ConfigReader>,
    own: Member,
    /// The group of the socket, which must not be able to read the key.
    group: Option<u32>,
    waker: Arc<Waker>,
    sender: Sender<Result<Box<Loaded>, ReloadError>>,
    results: Receiver<Result<Box<Loaded>, ReloadError>>,
    is_reading: bool,
    is_wanted_again: bool,
}

impl Reloader {
    pub(super) fn new(reader: Option<ConfigReader>, own: Member, group: Option<u32>, waker: Arc<Waker>) -> Self {
        let (sender, results) = channel();
        Reloader { reader, own, group, waker, sender, results, is_reading: false, is_wanted_again: false }
    }

    fn start(&mut self, current: &Config, clock: Clock) -> std::io::Result<()> {
        if self.is_reading {
            self.is_wanted_again = true;
            return Ok(());
        }
        let (reader, own, current) = (self.reader.clone(), self.own.clone(), current.clone());
        let (sender, waker, group) = (self.sender.clone(), self.waker.clone(), self.group);
        let work = move || {
            // If the receiver is gone, the node has ended and needs no result.
            let _ = sender.send(load(reader.as_ref(), current, &own, group, clock).map(Box::new));
            let _ = waker.wake();
        };
        thread::Builder::new().name("reload".to_string()).spawn(work)?;
        self.is_reading = true;
        Ok(())
    }

    fn take(&mut self) -> Option<Result<Box<Loaded>, ReloadError>> {
        let result = self.results.try_recv().ok()?;
        self.is_reading = false;
        Some(result)
    }
}

/// Reads the configuration, and the certificates that it names. They must be those of the member that the node is, also
/// if the configuration now names another one.
fn load(
    reader: Option<&ConfigReader>,
    current: Config,
    own: &Member,
    group: Option<u32>,
    clock: Clock,
) -> Result<Loaded, ReloadError> {
    let cluster = current.cluster.clone();
    let config = reader.map_or(Ok(current), |reader| (reader.read)())?;
    let identity = Identity::load(&config.tls, &cluster, own, clock)?;
    identity.check_time(&config.tls, clock)?;
    group.map_or(Ok(()), |group| check_secrets(&config, group))?;
    let prepare = reader.and_then(|reader| reader.prepare.as_ref());
    let apply = prepare.map(|prepare| prepare(&config)).transpose().map_err(ReloadError::Other)?;
    Ok(Loaded { config, identity, apply })
}

impl Node {
    /// Begins to reload.
    pub(super) fn reload(&mut self) -> Result<(), NodeError> {
        self.reloader.start(&self.config, self.clock).map_err(system("start the reload thread"))
    }

    /// Applies what was read.
    pub(super) fn handle_reloaded(&mut self) -> Result<(), NodeError> {
        while let Some(result) = self.reloader.take() {
            match result {
                Ok(loaded) => self.apply(*loaded)?,
                Err(error) => self.logger.error(format_args!("nothing was reloaded, and nothing changes: {error}")),
            }
            if std::mem::take(&mut self.reloader.is_wanted_again) {
                self.reload()?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, loaded: Loaded) -> Result<(), NodeError> {
        let Loaded { config, identity, apply } = loaded;
        let until = identity.expiry().map_or(0, |expiry| expiry.own);
        let until = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(until));
        self.certificates = super::CertificateWatch::new(identity.expiry(), self.clock.now());
        self.transport.set_identity(identity);
        apply.into_iter().for_each(|apply| apply());
        // Whoever reads this may connect at once, and must meet the new files.
        self.logger.info(format_args!("reloaded; new connections use a certificate that is valid until {until}"));
        let restart = self.config.changes_that_need_a_restart(&config);
        if !restart.is_empty() {
            let keys = restart.join(", ");
            self.logger.warn(format_args!("these changes take effect only after a restart: {keys}"));
        }
        self.logger.set_level(config.log.level);
        self.change_health(&config)?;
        if self.config.limits != config.limits {
            self.logger.info(format_args!("applied the new limits"));
        }
        let threshold = config.health.as_ref().map_or(0, |health| health.threshold);
        self.core.reconfigure(threshold, config.limits, self.clock.now());
        // What needs a restart stays as it is, so that the next reload reports it again.
        (self.config.tls, self.config.health, self.config.log) = (config.tls, config.health, config.log);
        self.config.http = config.http.filter(|_| !restart.contains(&"[http]")).or(self.config.http.take());
        self.config.limits = Limits { connections: self.config.limits.connections, ..config.limits };
        self.process_outputs()
    }

    /// Starts another health check, if it changed.
    fn change_health(&mut self, config: &Config) -> Result<(), NodeError> {
        if config.health == self.config.health {
            return Ok(());
        }
        let new = config.health.clone().map(|health| HealthMonitor::start(health, self.waker.clone())).transpose();
        let old = std::mem::replace(&mut self.health, new.map_err(system("start the health check thread"))?);
        // Its end waits until its command is dead.
        thread::spawn(move || drop(old));
        match &self.health {
            Some(_) => self.logger.info(format_args!("applied the new health check")),
            None => {
                self.logger.info(format_args!("the health is not checked any more"));
                self.core.set_health(100, self.clock.now());
            }
        }
        Ok(())
    }
}
