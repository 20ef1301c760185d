//! Resolves host names on helper threads, because the system's resolver blocks.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use hustings_protocol::Id;
use mio::unix::pipe;
use mio::{Interest, Registry, Token};

/// The number of threads: one name without an answer must not delay the others.
const THREADS: usize = 4;
/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 8;

struct Question {
    peer: Id,
    address: String,
}

/// The addresses of a peer; empty if its name is unknown.
pub(super) struct Answer {
    pub(super) peer: Id,
    pub(super) addresses: Vec<SocketAddr>,
}

/// Resolves names. Its threads start on demand and end with it.
pub(super) struct Resolver {
    asked: Arc<Mutex<Receiver<Question>>>,
    ask: Sender<Question>,
    answers: Receiver<Answer>,
    answer: Sender<Answer>,
    notify_receiver: pipe::Receiver,
    notify_sender: Arc<pipe::Sender>,
    threads: usize,
    open: usize,
}

impl Resolver {
    /// Creates a resolver whose answers make this token ready.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let (notify_sender, mut notify_receiver) = pipe::new()?;
        registry.register(&mut notify_receiver, token, Interest::READABLE)?;
        let (ask, asked) = channel();
        let (answer, answers) = channel();
        let asked = Arc::new(Mutex::new(asked));
        Ok(Resolver {
            asked,
            ask,
            answers,
            answer,
            notify_receiver,
            notify_sender: Arc::new(notify_sender),
            threads: 0,
            open: 0,
        })
    }

    /// Resolves the address of a peer. Returns true if there will be exactly one answer.
    pub(super) fn ask(&mut self, peer: Id, address: &str) -> bool {
        if self.threads <= self.open && self.threads < THREADS && self.spawn_thread().is_ok() {
            self.threads += 1;
        }
        if self.threads == 0 || self.ask.send(Question { peer, address: address.to_owned() }).is_err() {
            return false;
        }
        self.open += 1;
        true
    }

    fn spawn_thread(&self) -> io::Result<()> {
        let (asked, answer, notify_sender) = (self.asked.clone(), self.answer.clone(), self.notify_sender.clone());
        let work = move || {
            loop {
                // Nothing panics while the lock is held, so a poisoned lock is still consistent.
                let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(Question { peer, address }) = next else { return };
                let found = address.to_socket_addrs();
                let addresses = found.map(|found| found.take(MAX_ADDRESSES).collect()).unwrap_or_default();
                if answer.send(Answer { peer, addresses }).is_err() {
                    return;
                }
                // A full pipe notifies already; a closed one has no reader.
                let _ = (&*notify_sender).write(&[1]);
            }
        };
        thread::Builder::new().name("resolver".to_owned()).stack_size(256 * 1024).spawn(work).map(drop)
    }

    /// Takes the answers since the last call.
    pub(super) fn answers(&mut self) -> Vec<Answer> {
        let mut buffer = [0; 64];
        while matches!(self.notify_receiver.read(&mut buffer), Ok(count) if count > 0) {}
        let found: Vec<_> = self.answers.try_iter().collect();
        self.open -= found.len();
        found
    }
}
