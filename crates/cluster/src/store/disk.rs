//! A store on a thread of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Store, StoreError, Write};

/// How many writes may wait.
const QUEUE: usize = 1024;
/// So many bytes of entries are enough for one sync.
const ENOUGH: usize = 8 << 20;
/// How long to wait after an error before the same writes are tried again.
const RETRY: Duration = Duration::from_millis(100);

/// A store on a thread of its own: whoever has something to write goes on at once.
pub struct Disk {
    queue: Option<SyncSender<Write>>,
    thread: Option<JoinHandle<()>>,
}

/// Why a write was not taken. It is given back.
#[derive(Debug)]
pub enum Refused {
    /// Too many are waiting: come again when one is done.
    Full(Box<Write>),
    /// The thread has ended, after an error that no repetition cures.
    Ended(Box<Write>),
}

impl Disk {
    /// Starts the thread. It calls `done` with the number up to which everything is as it was asked for: every write
    /// up to the last that wants `sync` is durable, the others are on their way.
    ///
    /// After an error that may pass (a full disk), `done` hears of it, and the same writes are tried again and again;
    /// when it has passed, `done` hears a number once more. After any other error, that is the last that it hears.
    pub fn spawn(store: Store, done: impl Fn(Result<u64, StoreError>) + Send + 'static) -> std::io::Result<Disk> {
        let (queue, writes) = sync_channel(QUEUE);
        let thread = thread::Builder::new().name("disk".to_string()).spawn(move || work(store, &writes, &done))?;
        Ok(Disk { queue: Some(queue), thread: Some(thread) })
    }

    /// Hands over a write, without waiting.
    pub fn submit(&self, write: Write) -> Result<(), Refused> {
        let Some(queue) = &self.queue else { return Err(Refused::Ended(Box::new(write))) };
        queue.try_send(write).map_err(|error| match error {
            TrySendError::Full(write) => Refused::Full(Box::new(write)),
            TrySendError::Disconnected(write) => Refused::Ended(Box::new(write)),
        })
    }
}

impl Drop for Disk {
    /// Waits until everything submitted is written, or cannot be.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the callback was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn work(mut store: Store, writes: &Receiver<Write>, done: &impl Fn(Result<u64, StoreError>)) {
    while let Ok(first) = writes.recv() {
        let mut group = vec![first];
        loop {
            gather(&mut group, writes);
            let Some(last) = group.last().map(|write| write.number) else { break };
            match store.write_all(&group) {
                Ok(()) => {
                    done(Ok(last));
                    store.clear_up();
                    break;
                }
                Err(error) => {
                    let may_pass = error.may_pass();
                    done(Err(error));
                    if !may_pass {
                        return;
                    }
                }
            }
            match writes.recv_timeout(RETRY) {
                Ok(write) => group.push(write),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The last try: whoever has gone does not wait for a disk to recover.
                    done(store.write_all(&group).map(|()| last));
                    return;
                }
            }
        }
    }
}

/// Adds what is waiting, so that one sync does for all.
fn gather(group: &mut Vec<Write>, writes: &Receiver<Write>) {
    let mut bytes: usize = group.iter().map(weight).sum();
    while bytes < ENOUGH && group.len() < QUEUE {
        let Ok(write) = writes.try_recv() else { return };
        bytes += weight(&write);
        group.push(write);
    }
}

fn weight(write: &Write) -> usize {
    write.entries.iter().map(|entry| entry.data.len() + entry.context.len()).sum()
}
