//! What the node knows of all offices, and who watches them.
//!
//! One connection to the node watches every office, for all HTTP clients together. What it says is kept, for lists, and
//! sent on to those who watch.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hustings_cluster::api::{OfficeStatus, Reply, Request};
use tokio::sync::broadcast;

use crate::error::{ApiError, Code};
use crate::json;
use crate::link;
use crate::model::{OfficeView, Texts};

/// The pause before the next attempt to reach the node.
const RETRY: Duration = Duration::from_millis(100);
/// How many events a slow watcher may be behind. After that it is told of the gap, and of the last state.
const MAX_BEHIND: usize = 16;

/// All offices.
#[derive(Default)]
pub(crate) struct Offices(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// Whether everything that the node knew when the connection began has arrived.
    is_complete: bool,
    by_name: BTreeMap<Arc<str>, OfficeView>,
    texts: Texts,
    /// Where the events of an office go that somebody watches.
    channels: HashMap<Arc<str>, broadcast::Sender<Bytes>>,
}

impl Offices {
    /// Follows the node for as long as the process lives.
    pub(crate) async fn follow(&self, socket: &Path) {
        loop {
            // What ended the connection is in the log of the node, if it is worth a line.
            let _ = self.follow_once(socket).await;
            self.inner().is_complete = false;
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn follow_once(&self, socket: &Path) -> std::io::Result<()> {
        let (mut requests, mut replies) = link::connect(socket).await?;
        requests.send(&Request::Watch { office: None }).await?;
        // The node answers reads in order: when this one is answered, all offices have arrived.
        requests.send(&Request::Status).await?;
        loop {
            match replies.recv().await? {
                Reply::Office(status) => self.update(status),
                Reply::Status(_) => self.inner().is_complete = true,
                Reply::Error(error) => return Err(std::io::Error::other(error)),
                _ => {}
            }
        }
    }

    pub(crate) fn update(&self, status: OfficeStatus) {
        let inner = &mut *self.inner();
        let view = OfficeView::new(status, &mut inner.texts);
        if inner.by_name.get(&*view.office) == Some(&view) {
            return;
        }
        if let Some(channel) = inner.channels.get(&view.office)
            && channel.send(event(&view)).is_err()
        {
            // Nobody watches it any more.
            inner.channels.remove(&view.office);
        }
        inner.by_name.insert(view.office.clone(), view);
    }

    /// The offices after a name, and whether there are more.
    pub(crate) fn page(&self, after: Option<&str>, limit: usize) -> Result<(Vec<OfficeView>, bool), ApiError> {
        let inner = self.inner();
        if !inner.is_complete {
            return Err(ApiError::new(Code::NodeUnavailable, "the node does not know the offices yet; try again"));
        }
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = inner.by_name.range::<str, _>((after, Bound::Unbounded)).map(|(_, view)| view);
        let page = rest.by_ref().take(limit).cloned().collect();
        Ok((page, rest.next().is_some()))
    }

    /// The last known state of an office and its later events.
    pub(crate) fn watch(&self, office: &str) -> (Option<OfficeView>, broadcast::Receiver<Bytes>) {
        let inner = &mut *self.inner();
        let name = inner.by_name.get_key_value(office).map_or_else(|| office.into(), |(name, _)| name.clone());
        let channel = inner.channels.entry(name).or_insert_with(|| broadcast::Sender::new(MAX_BEHIND));
        let events = channel.subscribe();
        (inner.by_name.get(office).cloned(), events)
    }

    /// Forgets the channel of an office if nobody watches it.
    pub(crate) fn forget_unwatched(&self, office: &str) {
        let inner = &mut *self.inner();
        if inner.channels.get(office).is_some_and(|channel| channel.receiver_count() == 0) {
            inner.channels.remove(office);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server-sent event with the state of an office. All its watchers share the bytes.
pub(crate) fn event(view: &OfficeView) -> Bytes {
    let data = String::from_utf8(json::encode(view)).expect("JSON is UTF-8");
    format!("event: office\nid: {}\ndata: {data}\n\n", view.change_id()).into()
}

#[cfg(test)]
mod tests {
    use hustings_cluster::api::ChangeReason;
    use hustings_cluster::config::Mode;

    use super::*;

    fn status(office: &str, token: u64) -> OfficeStatus {
        OfficeStatus {
            office: office.to_string(),
            mode: Mode::Exclusive,
            holder: Some("a".to_string()),
            address: Some("h:1".to_string()),
            token,
            since_unix_ms: 5,
            reason: ChangeReason::Vacant,
            current: true,
        }
    }

    #[test]
    fn pages_are_in_order_and_end() {
        let offices = Offices::default();
        assert!(offices.page(None, 10).is_err(), "nothing is known yet");
        ["c", "a", "d", "b"].iter().for_each(|name| offices.update(status(name, 1)));
        offices.inner().is_complete = true;
        let names = |after, limit| {
            let (page, more) = offices.page(after, limit).expect("it is complete");
            (page.iter().map(|view| view.office.to_string()).collect::<Vec<_>>().join(""), more)
        };
        assert_eq!(names(None, 3), ("abc".to_string(), true));
        assert_eq!(names(Some("c"), 3), ("d".to_string(), false));
        assert_eq!(names(Some("bb"), 2), ("cd".to_string(), false));
        assert_eq!(names(Some("z"), 2), (String::new(), false));
    }

    #[test]
    fn watchers_get_changes_and_no_repetitions() {
        let offices = Offices::default();
        let (state, mut events) = offices.watch("job");
        assert_eq!(state, None);
        offices.update(status("job", 7));
        offices.update(status("job", 7));
        offices.update(status("other", 8));
        let first = events.try_recv().expect("it changed");
        let text = String::from_utf8(first.to_vec()).expect("events are text");
        assert!(text.starts_with("event: office\nid: 7.0\ndata: {\"office\":\"job\","), "{text}");
        assert!(events.try_recv().is_err());
        drop(events);
        offices.update(status("job", 9));
        assert!(offices.inner().channels.is_empty(), "nobody watches");
    }
}
