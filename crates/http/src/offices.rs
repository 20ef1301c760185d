//! The offices that clients watch over HTTP.
//!
//! One connection to the node watches them, for all clients together, and there is none while nobody watches. So an
//! office that changes hands costs the API nothing unless somebody wants to know.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hustings_cluster::api::{OfficeStatus, Reply, Request};
use tokio::sync::{Notify, broadcast};

use crate::json;
use crate::link;
use crate::model::OfficeView;

/// The pause before the next attempt to reach the node.
const RETRY: Duration = Duration::from_millis(100);
/// How many events a slow watcher may be behind. After that it is told of the gap, and of the last state.
const MAX_BEHIND: usize = 16;
/// How many offices are watched by name. If there are more, the connection watches all offices from then on.
const MAX_BY_NAME: usize = 256;
/// How many offices the node is asked for at the same time.
const MAX_ASKED: usize = 64;

/// The offices that somebody watches.
pub(crate) struct Offices {
    inner: Mutex<Inner>,
    /// Somebody watches an office that was not watched, or nobody watches one any more.
    has_changed: Notify,
    max_by_name: usize,
    /// How long a watcher waits for the first state of an office.
    pub(crate) patience: Duration,
}

#[derive(Default)]
struct Inner {
    watched: HashMap<Arc<str>, Watched>,
    /// Offices that the node has not been asked for.
    new: HashSet<Arc<str>>,
}

struct Watched {
    /// The last event; absent until the node has said what the state is.
    last: Option<Bytes>,
    events: broadcast::Sender<Bytes>,
}

impl Offices {
    /// A connection to the node may watch `max_watches` offices by name.
    pub(crate) fn new(max_watches: usize, patience: Duration) -> Offices {
        let max_by_name = MAX_BY_NAME.min(max_watches);
        Offices { inner: Mutex::default(), has_changed: Notify::new(), max_by_name, patience }
    }

    /// Follows the node for as long as the process lives.
    pub(crate) async fn follow(&self, socket: &Path) {
        loop {
            self.has_changed.notified().await;
            let mut is_everything = false;
            while !self.inner().watched.is_empty() {
                // What ended the connection is in the log of the node, if it is worth a line.
                is_everything = self.follow_once(socket, is_everything).await.is_err();
                if is_everything {
                    // The operator may have lowered the number of watches by name; all offices are one watch.
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    /// Follows the node until nobody watches any more: all offices, or by name those that are watched.
    async fn follow_once(&self, socket: &Path, mut is_everything: bool) -> io::Result<()> {
        let (mut requests, mut replies) = link::connect(socket).await?;
        let mut queue = self.begin();
        if is_everything {
            requests.send(&Request::Watch { office: None }).await?;
        }
        // The offices that this connection watches by name, and those whose state it waits for.
        let (mut by_name, mut asked) = (HashSet::new(), HashSet::new());
        loop {
            if !is_everything && by_name.len() + queue.len() > self.max_by_name {
                is_everything = true;
                requests.send(&Request::Watch { office: None }).await?;
            }
            while asked.len() < MAX_ASKED
                && let Some(office) = queue.pop_front()
            {
                if !self.is_state_wanted(&office) {
                    continue;
                }
                let name = office.to_string();
                let request = if is_everything {
                    // An office that was never held is not one of those that the node knows.
                    Request::Leader { office: name }
                } else {
                    by_name.insert(office.clone());
                    Request::Watch { office: Some(name) }
                };
                requests.send(&request).await?;
                asked.insert(office);
            }
            tokio::select! {
                reply = replies.recv() => match reply? {
                    Reply::Office(status) => {
                        asked.remove(&*status.office);
                        self.update(status);
                    }
                    Reply::Error(error) => return Err(io::Error::other(error)),
                    _ => {}
                },
                () = self.has_changed.notified() => {
                    let inner = &mut *self.inner();
                    if inner.watched.is_empty() {
                        return Ok(());
                    }
                    queue.extend(inner.new.drain());
                }
            }
        }
    }

    /// A new connection: what was known may be outdated. Returns the offices to ask for.
    fn begin(&self) -> VecDeque<Arc<str>> {
        let inner = &mut *self.inner();
        inner.new.clear();
        inner.watched.values_mut().for_each(|watched| watched.last = None);
        inner.watched.keys().cloned().collect()
    }

    /// Whether somebody watches an office whose state is not known.
    fn is_state_wanted(&self, office: &str) -> bool {
        self.inner().watched.get(office).is_some_and(|watched| watched.last.is_none())
    }

    pub(crate) fn update(&self, status: OfficeStatus) {
        let inner = &mut *self.inner();
        let Some(watched) = inner.watched.get_mut(&*status.office) else { return };
        let event = event(&status.into());
        if watched.last.as_ref() != Some(&event) {
            watched.last = Some(event.clone());
            // The last watcher may be about to leave.
            let _ = watched.events.send(event);
        }
    }

    /// The last event of an office, and later ones. If there was none yet, the first one tells the state of the office.
    pub(crate) fn watch(&self, office: &str) -> (Option<Bytes>, broadcast::Receiver<Bytes>) {
        let inner = &mut *self.inner();
        if let Some(watched) = inner.watched.get(office) {
            return (watched.last.clone(), watched.events.subscribe());
        }
        let name: Arc<str> = office.into();
        let (sender, events) = broadcast::channel(MAX_BEHIND);
        inner.watched.insert(name.clone(), Watched { last: None, events: sender });
        inner.new.insert(name);
        self.has_changed.notify_one();
        (None, events)
    }

    /// Forgets an office if nobody watches it.
    pub(crate) fn forget_unwatched(&self, office: &str) {
        let inner = &mut *self.inner();
        if inner.watched.get(office).is_some_and(|watched| watched.events.receiver_count() == 0) {
            inner.watched.remove(office);
            inner.new.remove(office);
            self.has_changed.notify_one();
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server-sent event with the state of an office. All its watchers share the bytes.
fn event(view: &OfficeView) -> Bytes {
    let data = String::from_utf8(json::encode(view)).expect("JSON is UTF-8");
    format!("event: office\nid: {}\ndata: {data}\n\n", view.change_id()).into()
}

#[cfg(test)]
mod tests;
