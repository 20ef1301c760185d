//! Writes to a store on a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::latency::WriteLatencies;
use super::{Store, StoreError, Write};
use crate::api::Histogram;

/// How many writes may be queued.
const QUEUE: usize = 1024;
/// The most bytes of entries for one sync.
const MAX_GROUP_BYTES: usize = 8 << 20;
/// The pause after an error before the same writes are tried again.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// A store on a thread of its own, so that the caller never waits for the disk.
pub(crate) struct DiskWriter {
    queue: Option<SyncSender<Write>>,
    thread: Option<JoinHandle<()>>,
    latencies: Arc<WriteLatencies>,
}

/// Why a write was not accepted.
#[derive(Debug)]
pub(crate) enum SubmitError {
    /// The queue is full: try this write again when another one is done.
    Full(Box<Write>),
    /// The thread has ended after a permanent error.
    Stopped,
}

impl DiskWriter {
    /// Starts the thread. It calls `begin` first. Later it calls `done` with the number up to which all writes are
    /// done: those that ask for `sync`, and everything before them, are durable.
    ///
    /// After a transient error, such as a full disk, it passes the error to `done` and retries the same writes until
    /// they succeed. After any other error the thread ends.
    pub(crate) fn spawn(
        store: Store,
        begin: impl FnOnce() + Send + 'static,
        done: impl Fn(Result<u64, StoreError>) + Send + 'static,
    ) -> std::io::Result<DiskWriter> {
        let (queue, writes) = sync_channel(QUEUE);
        let latencies = Arc::new(WriteLatencies::default());
        let measured = latencies.clone();
        let work = move || {
            begin();
            work(store, &writes, &measured, &done);
        };
        let thread = thread::Builder::new().name("disk".to_string()).spawn(work)?;
        Ok(DiskWriter { queue: Some(queue), thread: Some(thread), latencies })
    }

    /// How long the successful writes took, with their sync.
    pub(crate) fn latencies(&self) -> Histogram {
        self.latencies.to_histogram()
    }

    /// Queues a write, without waiting.
    pub(crate) fn submit(&self, write: Write) -> Result<(), SubmitError> {
        let Some(queue) = &self.queue else { return Err(SubmitError::Stopped) };
        queue.try_send(write).map_err(|error| match error {
            TrySendError::Full(write) => SubmitError::Full(Box::new(write)),
            TrySendError::Disconnected(_) => SubmitError::Stopped,
        })
    }
}

impl Drop for DiskWriter {
    /// Waits until everything submitted is written or has failed.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the callback was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn work(
    mut store: Store,
    writes: &Receiver<Write>,
    latencies: &WriteLatencies,
    done: &impl Fn(Result<u64, StoreError>),
) {
    while let Ok(first) = writes.recv() {
        let mut group = vec![first];
        loop {
            gather(&mut group, writes);
            let Some(last) = group.last().map(|write| write.number) else { break };
            let begun = Instant::now();
            match store.write_all(&group) {
                Ok(()) => {
                    latencies.record(begun.elapsed());
                    done(Ok(last));
                    store.maintain();
                    break;
                }
                Err(error) => {
                    let is_transient = error.is_transient();
                    done(Err(error));
                    if !is_transient {
                        return;
                    }
                }
            }
            match writes.recv_timeout(RETRY_DELAY) {
                Ok(write) => group.push(write),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The last attempt: a node that is stopping does not wait for the disk to recover.
                    done(store.write_all(&group).map(|()| last));
                    return;
                }
            }
        }
    }
}

/// Adds queued writes, so that one sync serves all of them.
fn gather(group: &mut Vec<Write>, writes: &Receiver<Write>) {
    let mut bytes: usize = group.iter().map(entry_bytes).sum();
    while bytes < MAX_GROUP_BYTES && group.len() < QUEUE {
        let Ok(write) = writes.try_recv() else { return };
        bytes += entry_bytes(&write);
        group.push(write);
    }
}

fn entry_bytes(write: &Write) -> usize {
    write.entries.iter().map(|entry| entry.data.len() + entry.context.len()).sum()
}
