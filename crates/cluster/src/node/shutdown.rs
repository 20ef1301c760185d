//! How a node is told to stop: by a signal, or by its program.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;

use mio::net::UnixStream;
use mio::{Interest, Registry, Token};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};

/// The byte that the signal library writes for a signal.
const STOP: u8 = b'X';
const ABORT: u8 = b'K';

/// Stops a node from another thread.
#[derive(Clone, Debug)]
pub struct ShutdownHandle {
    ends: Arc<(StdStream, StdStream)>,
}

impl ShutdownHandle {
    /// Creates a handle for one node; see [`super::Options::shutdown_handle`].
    pub fn new() -> io::Result<ShutdownHandle> {
        let (receiver, sender) = StdStream::pair()?;
        receiver.set_nonblocking(true)?;
        sender.set_nonblocking(true)?;
        Ok(ShutdownHandle { ends: Arc::new((receiver, sender)) })
    }

    /// Like SIGTERM: the node hands its offices over and leaves. The second call stops it at once.
    pub fn shutdown(&self) {
        self.send(STOP);
    }

    /// Stops the node at once without handing anything over, as if its process had been killed.
    #[cfg(feature = "fault-injection")]
    pub fn abort(&self) {
        self.send(ABORT);
    }

    fn send(&self, byte: u8) {
        // If the pipe is full or closed, the node has been told already or has ended.
        let _ = (&self.ends.1).write(&[byte]);
    }
}

/// What was requested since the last call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Requested {
    /// How many times a graceful stop was requested.
    pub(super) stop: usize,
    /// Whether an immediate stop was requested.
    pub(super) abort: bool,
    /// Whether SIGHUP arrived.
    pub(super) sighup: bool,
}

/// The node's end of the pipe.
pub(super) struct ShutdownRequests {
    stop: UnixStream,
    sighup: UnixStream,
    registered: Vec<SigId>,
}

impl ShutdownRequests {
    /// Listens to a handle and, if wanted, to the signals of the process.
    pub(super) fn new(
        shutdown_handle: &ShutdownHandle,
        signals: bool,
        registry: &Registry,
        tokens: (Token, Token),
    ) -> io::Result<ShutdownRequests> {
        let mut stop = UnixStream::from_std(shutdown_handle.ends.0.try_clone()?);
        let (mut sighup, sighup_sender) = UnixStream::pair()?;
        registry.register(&mut stop, tokens.0, Interest::READABLE)?;
        registry.register(&mut sighup, tokens.1, Interest::READABLE)?;
        let mut shutdown = ShutdownRequests { stop, sighup, registered: Vec::new() };
        if signals {
            let sender = shutdown_handle.ends.1.as_fd();
            shutdown.registered.push(pipe::register_raw(SIGTERM, sender.try_clone_to_owned()?)?);
            shutdown.registered.push(pipe::register_raw(SIGINT, sender.try_clone_to_owned()?)?);
            shutdown.registered.push(pipe::register(SIGHUP, sighup_sender)?);
        }
        Ok(shutdown)
    }

    /// Takes what was requested since the last call.
    pub(super) fn take(&mut self) -> Requested {
        let mut requested = Requested::default();
        let mut bytes = [0; 16];
        // An empty read or an error means that nothing more is there.
        while let Ok(count @ 1..) = self.stop.read(&mut bytes) {
            requested.stop += bytes[..count].iter().filter(|byte| **byte == STOP).count();
            requested.abort |= bytes[..count].contains(&ABORT);
        }
        while let Ok(1..) = self.sighup.read(&mut bytes) {
            requested.sighup = true;
        }
        requested
    }
}

impl Drop for ShutdownRequests {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}
