//! A node in this process.

use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use hustings_cluster::config::Config;
use hustings_cluster::node::{Node, NodeError, Options, ShutdownHandle};

use super::{Builder, ConnectError, Elector};

/// Why an embedded node could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The node does not start.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The node started, but cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The operating system refused a thread or a pipe.
    #[error("cannot start a node in this process: {0}")]
    System(#[from] std::io::Error),
}

impl Elector {
    /// Runs a node on a thread of this process and connects to it. Dropping the last handle hands its offices over and
    /// stops the node; the drop waits for that, at most for the configured `hand-over`.
    ///
    /// This is easy to start with, but it has costs. Peers notice a killed process when the kernel closes its sockets,
    /// and the kernel frees the memory first, at about 42 µs per MB: the death of a 500 MB process is noticed 21 ms
    /// later than that of `hustings node`, which has a few MB. And whatever stops or starves this process also stops
    /// the node.
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

/// A node that shuts down when this is dropped.
#[derive(Debug)]
pub(super) struct Embedded {
    shutdown_handle: ShutdownHandle,
    thread: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Starts the node, and returns once it listens.
    fn start(config: Config) -> Result<Embedded, EmbedError> {
        let shutdown_handle = ShutdownHandle::new()?;
        let options = Options {
            shutdown_handle: Some(shutdown_handle.clone()),
            // Signals and priority belong to the whole process.
            signals: false,
            raise_priority: false,
            ..Options::default()
        };
        let (opened, result) = sync_channel(1);
        let thread = std::thread::Builder::new().name("hustings-node".to_string()).spawn(move || {
            match Node::open(config, options) {
                Err(error) => {
                    // The receiver is still waiting.
                    let _ = opened.send(Err(error));
                }
                Ok(node) => {
                    let _ = opened.send(Ok(()));
                    // Its clients notice that it ended; the result adds nothing.
                    let _ = node.run();
                }
            }
        })?;
        let running = Embedded { shutdown_handle, thread: Some(thread) };
        match result.recv() {
            Ok(Ok(())) => Ok(running),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(std::io::Error::other("the node's thread ended during start-up").into()),
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.shutdown_handle.shutdown();
        if let Some(thread) = self.thread.take() {
            // A panic ends the node as well.
            let _ = thread.join();
        }
    }
}
