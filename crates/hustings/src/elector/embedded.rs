//! A node inside this process.

use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use hustings_cluster::config::Config;
use hustings_cluster::node::{Journal, Node, NodeError, Options, Stopper};

use super::{Builder, ConnectError, Elector};

/// Why there is no node inside this process.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// It does not start.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// It started, but cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The operating system refused a thread or a pipe.
    #[error("cannot start a node in this process: {0}")]
    System(#[from] std::io::Error),
}

impl Elector {
    /// Runs a node on a thread of this process, and connects to it. When the last handle is dropped, the node hands its
    /// offices over and leaves; that drop waits for it, no longer than the configuration's `hand-over`.
    ///
    /// It is easy to start with, and it costs something: others notice a killed process when the kernel closes its
    /// sockets, and before that the kernel frees its memory, at about 42 µs per MB. A process of 500 MB is missed 21 ms
    /// later than `hustings node`, which has a few MB. And whatever stops or starves this process stops the node.
    pub fn embedded(config: Config) -> Result<Elector, EmbedError> {
        Elector::builder().embedded(config)
    }
}

impl Builder {
    /// See [`Elector::embedded`].
    pub fn embedded(self, config: Config) -> Result<Elector, EmbedError> {
        let socket = config.socket.clone();
        let running = Embedded::start(config)?;
        Ok(self.attach(socket, Some(running))?)
    }
}

/// A node that leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Embedded {
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Returns when it listens.
    fn start(config: Config) -> Result<Embedded, EmbedError> {
        let stopper = Stopper::new()?;
        let options = Options {
            journal: Journal::off(),
            stopper: Some(stopper.clone()),
            // Both belong to the process as a whole.
            signals: false,
            raise_priority: false,
            ..Options::default()
        };
        let (tell, told) = sync_channel(1);
        let thread = std::thread::Builder::new().name("hustings-node".to_string()).spawn(move || {
            match Node::open(config, options) {
                Err(error) => {
                    // Whoever waits for it is there.
                    let _ = tell.send(Err(error));
                }
                Ok(node) => {
                    let _ = tell.send(Ok(()));
                    // Why it ended is seen by everybody who is connected: it is gone.
                    let _ = node.run();
                }
            }
        })?;
        let running = Embedded { stopper, thread: Some(thread) };
        match told.recv() {
            Ok(Ok(())) => Ok(running),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(std::io::Error::other("its thread ended before it had started").into()),
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // If it panicked, it is gone all the same.
            let _ = thread.join();
        }
    }
}
