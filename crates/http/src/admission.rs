//! Which connections may stay.
//!
//! A connection is a *stranger's* until a caller who is known has sent a request on it. Whoever reaches the address can
//! open connections, begin handshakes and send half of a request, so strangers take no known caller's place: they have
//! places of their own, and if these are full, the newest gets the place of the oldest of that host which has the most
//! of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use crate::rate::network;

/// The connections of one address.
pub(crate) struct Admission {
    max_strangers: usize,
    strangers: Mutex<Strangers>,
    /// The places of known callers.
    known: Arc<Semaphore>,
}

#[derive(Default)]
struct Strangers {
    /// By number, in the order in which they came.
    by_number: HashMap<u64, Stranger>,
    last_number: u64,
}

struct Stranger {
    network: IpAddr,
    /// `None` until the task that serves it exists.
    task: Option<AbortHandle>,
}

/// The place of one connection. Dropping it frees the place.
pub(crate) struct Place {
    admission: Arc<Admission>,
    number: u64,
    /// Held once a known caller has used the connection.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Admission {
    pub(crate) fn new(max_strangers: usize, max_known: usize) -> Arc<Admission> {
        let (strangers, known) = (Mutex::default(), Arc::new(Semaphore::new(max_known)));
        Arc::new(Admission { max_strangers: max_strangers.max(1), strangers, known })
    }

    /// A new connection from this address gets a place.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Arc<Place> {
        let mut strangers = self.strangers();
        if strangers.by_number.len() >= self.max_strangers {
            strangers.evict();
        }
        strangers.last_number += 1;
        let number = strangers.last_number;
        strangers.by_number.insert(number, Stranger { network: network(address), task: None });
        Arc::new(Place { admission: self.clone(), number, permit: Mutex::default() })
    }

    fn strangers(&self) -> MutexGuard<'_, Strangers> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Strangers {
    /// Ends the oldest connection of the network that has the most.
    fn evict(&mut self) {
        let mut networks: HashMap<IpAddr, (usize, u64)> = HashMap::new();
        for (number, stranger) in &self.by_number {
            let (count, oldest) = networks.entry(stranger.network).or_insert((0, *number));
            (*count, *oldest) = (*count + 1, (*oldest).min(*number));
        }
        // Of several, the one whose oldest connection is the oldest.
        let most = networks.into_values().max_by_key(|(count, oldest)| (*count, std::cmp::Reverse(*oldest)));
        if let Some(stranger) = most.and_then(|(_, oldest)| self.by_number.remove(&oldest)) {
            stranger.task.iter().for_each(AbortHandle::abort);
        }
    }
}

impl Place {
    /// This task serves the connection. It is ended if a stranger has to go.
    pub(crate) fn is_served_by(&self, task: AbortHandle) {
        let mut strangers = self.admission.strangers();
        if let Some(stranger) = strangers.by_number.get_mut(&self.number) {
            stranger.task = Some(task);
            return;
        }
        // Whoever admits holds the other lock, and waits for this one.
        drop(strangers);
        if !self.is_known() {
            task.abort();
        }
    }

    /// A known caller uses this connection. Returns false if there is no place for another one.
    pub(crate) fn admit(&self) -> bool {
        let mut permit = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        if permit.is_none() {
            *permit = self.admission.known.clone().try_acquire_owned().ok();
            if permit.is_some() {
                self.admission.strangers().by_number.remove(&self.number);
            }
        }
        permit.is_some()
    }

    fn is_known(&self) -> bool {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.admission.strangers().by_number.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// A connection whose task never ends by itself.
    fn connect(admission: &Arc<Admission>, from: &str) -> (Arc<Place>, tokio::task::JoinHandle<()>) {
        let place = admission.enter(address(from));
        let task = tokio::spawn(std::future::pending());
        place.is_served_by(task.abort_handle());
        (place, task)
    }

    #[tokio::test]
    async fn a_crowd_displaces_its_own_oldest_connections_and_nobody_else() {
        let admission = Admission::new(4, 1);
        let (_quiet, other) = connect(&admission, "10.0.0.9");
        let (known, caller) = connect(&admission, "2001:db8::1");
        assert!(known.admit());
        let crowd: Vec<_> = (2..8).map(|host| connect(&admission, &format!("2001:db8::{host}"))).collect();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let has_ended: Vec<bool> = crowd.iter().map(|(_, task)| task.is_finished()).collect();
        assert_eq!(has_ended, [true, true, true, false, false, false], "they share one network");
        assert!(!other.is_finished() && !caller.is_finished());
    }

    #[tokio::test]
    async fn known_callers_are_limited_and_leave_their_places() {
        let admission = Admission::new(4, 1);
        let [(one, _), (other, _)] = ["10.0.0.1", "10.0.0.2"].map(|from| connect(&admission, from));
        assert!(one.admit() && one.admit(), "once is enough");
        assert!(!other.admit());
        drop(one);
        assert!(other.admit());
        drop(other);
        assert_eq!(admission.strangers().by_number.len(), 0);
        assert_eq!(admission.known.available_permits(), 1);
    }
}
