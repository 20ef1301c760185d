//! Names of hosts are looked up on helper threads: the system's way to do it blocks, for seconds if it must.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use hustings_protocol::Id;
use mio::unix::pipe;
use mio::{Interest, Registry, Token};

/// So many names are looked up at a time: one that gets no answer must not hold up the others.
const THREADS: usize = 4;
/// No more addresses of a host are tried.
const MAX_ADDRESSES: usize = 8;

struct Question {
    peer: Id,
    address: String,
}

/// The addresses of a peer; none if its name is not known.
pub(super) struct Answer {
    pub(super) peer: Id,
    pub(super) addresses: Vec<SocketAddr>,
}

/// Looks names up. Its threads begin when there is something to look up, and end with it.
pub(super) struct Resolver {
    asked: Arc<Mutex<Receiver<Question>>>,
    ask: Sender<Question>,
    answers: Receiver<Answer>,
    answer: Sender<Answer>,
    bell: pipe::Receiver,
    ring: Arc<pipe::Sender>,
    threads: usize,
    open: usize,
}

impl Resolver {
    /// Answers make this token ready.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let (ring, mut bell) = pipe::new()?;
        registry.register(&mut bell, token, Interest::READABLE)?;
        let (ask, asked) = channel();
        let (answer, answers) = channel();
        let asked = Arc::new(Mutex::new(asked));
        Ok(Resolver { asked, ask, answers, answer, bell, ring: Arc::new(ring), threads: 0, open: 0 })
    }

    /// Looks up where a peer is. There will be one answer; false if there will not.
    pub(super) fn ask(&mut self, peer: Id, address: &str) -> bool {
        if self.threads <= self.open && self.threads < THREADS && self.begin_thread().is_ok() {
            self.threads += 1;
        }
        if self.threads == 0 || self.ask.send(Question { peer, address: address.to_owned() }).is_err() {
            return false;
        }
        self.open += 1;
        true
    }

    fn begin_thread(&self) -> io::Result<()> {
        let (asked, answer, ring) = (self.asked.clone(), self.answer.clone(), self.ring.clone());
        let work = move || {
            loop {
                // Nothing can panic while the lock is held, so a poisoned one is as good as any.
                let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(Question { peer, address }) = next else { return };
                let found = address.to_socket_addrs();
                let addresses = found.map(|found| found.take(MAX_ADDRESSES).collect()).unwrap_or_default();
                if answer.send(Answer { peer, addresses }).is_err() {
                    return;
                }
                // A full pipe rings already; a closed one has nobody left to hear it.
                let _ = (&*ring).write(&[1]);
            }
        };
        thread::Builder::new().name("resolver".to_owned()).stack_size(256 * 1024).spawn(work).map(drop)
    }

    /// What was found since the last time.
    pub(super) fn answers(&mut self) -> Vec<Answer> {
        let mut rings = [0; 64];
        while matches!(self.bell.read(&mut rings), Ok(count) if count > 0) {}
        let found: Vec<_> = self.answers.try_iter().collect();
        self.open -= found.len();
        found
    }
}
