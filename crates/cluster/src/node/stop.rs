//! How a node is told to stop: by a signal, or by the program that it runs in.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;

use mio::net::UnixStream;
use mio::{Interest, Registry, Token};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};

/// What a signal is turned into; the signal library writes this byte.
const STOP: u8 = b'X';
const ABORT: u8 = b'K';

/// Tells a node to stop, from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    ends: Arc<(StdStream, StdStream)>,
}

impl Stopper {
    /// For one node: see [`super::Options::stopper`].
    pub fn new() -> io::Result<Stopper> {
        let (told, tells) = StdStream::pair()?;
        told.set_nonblocking(true)?;
        tells.set_nonblocking(true)?;
        Ok(Stopper { ends: Arc::new((told, tells)) })
    }

    /// As SIGTERM does: the node hands its offices over and leaves. The second time it ends at once.
    pub fn stop(&self) {
        self.say(STOP);
    }

    /// The node ends at once and says good-bye to nobody, as if its process had been killed.
    pub fn abort(&self) {
        self.say(ABORT);
    }

    fn say(&self, word: u8) {
        // If this cannot be written, so much was said before that the node ends anyway, or it has ended.
        let _ = (&self.ends.1).write(&[word]);
    }
}

/// What a node was told since it last looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Told {
    /// How often to stop.
    pub(super) stop: usize,
    /// To end without a word.
    pub(super) abort: bool,
    /// SIGHUP came.
    pub(super) hang_up: bool,
}

/// The node's end.
pub(super) struct Orders {
    stop: UnixStream,
    hang_up: UnixStream,
    registered: Vec<SigId>,
}

impl Orders {
    /// Listens to a stopper and, if wanted, to the signals of the process.
    pub(super) fn new(
        stopper: &Stopper,
        signals: bool,
        registry: &Registry,
        tokens: (Token, Token),
    ) -> io::Result<Orders> {
        let mut stop = UnixStream::from_std(stopper.ends.0.try_clone()?);
        let (mut hang_up, hangs_up) = UnixStream::pair()?;
        registry.register(&mut stop, tokens.0, Interest::READABLE)?;
        registry.register(&mut hang_up, tokens.1, Interest::READABLE)?;
        let mut orders = Orders { stop, hang_up, registered: Vec::new() };
        if signals {
            let tells = stopper.ends.1.as_fd();
            orders.registered.push(pipe::register_raw(SIGTERM, tells.try_clone_to_owned()?)?);
            orders.registered.push(pipe::register_raw(SIGINT, tells.try_clone_to_owned()?)?);
            orders.registered.push(pipe::register(SIGHUP, hangs_up)?);
        }
        Ok(orders)
    }

    /// What was told since the last time.
    pub(super) fn take(&mut self) -> Told {
        let mut told = Told::default();
        let mut words = [0; 16];
        // No words: nothing more for now.
        while let Ok(count @ 1..) = self.stop.read(&mut words) {
            told.stop += words[..count].iter().filter(|word| **word == STOP).count();
            told.abort |= words[..count].contains(&ABORT);
        }
        while let Ok(1..) = self.hang_up.read(&mut words) {
            told.hang_up = true;
        }
        told
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}
