//! An arbiter of an external store, as etcd would be one: the store decides, and every node has a client of it. The
//! store lives in memory. Messages between it and its clients take time, get lost and overtake each other, and the
//! store can stop answering and be restarted.
//!
//! - [`store`]: the store.
//! - [`client`]: the client, which is the [`Arbiter`](crate::core::arbiter::Arbiter).

mod client;
mod store;

use std::cell::RefCell;
use std::rc::Rc;

use self::client::StoreClient;
pub(crate) use self::store::Network;
use self::store::Store;
use crate::clock::Timestamp;
use crate::core::table::{Holder, Table};
use crate::core::{Core, Setup};
use crate::tests::cluster::{Authority, External};

/// A deliberate error, which the suite must notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    None,
    /// A lost holder is replaced without waiting for its lease.
    LeasesIgnored,
    /// Some nodes miss a change of others' offices now and then, while they do not coordinate.
    EntriesSkipped,
    /// A lease counts from when the answer to the keepalive arrives, not from when the keepalive was sent.
    LeaseFromAnswer,
    /// After a restart, the store starts over.
    StateLost,
}

/// The store and its clients.
pub(crate) struct MemoryAuthority {
    network: Network,
    fault: Fault,
    seed: u64,
    /// Created with the first core, which knows the members.
    store: Option<Rc<RefCell<Store>>>,
    now: u64,
    /// Lets `external` return a reference.
    handle: Handle,
}

/// Passes faults on to the store.
#[derive(Default)]
struct Handle(Option<Rc<RefCell<Store>>>);

impl MemoryAuthority {
    pub(crate) fn new(network: Network, fault: Fault, seed: u64) -> Self {
        MemoryAuthority { network, fault, seed, store: None, now: 0, handle: Handle::default() }
    }

    fn store(&mut self, setup: &Setup) -> Rc<RefCell<Store>> {
        let (now, network, fault, seed) = (self.now, self.network, self.fault, self.seed);
        let store = self.store.get_or_insert_with(|| {
            let table = Table::with_members(&setup.config.members);
            let lease = setup.config.timing.takeover_delay();
            let mut store = Store::new(table, network, fault, lease, seed);
            store.advance(now);
            Rc::new(RefCell::new(store))
        });
        self.handle = Handle(Some(store.clone()));
        store.clone()
    }
}

impl Authority for MemoryAuthority {
    fn core(&mut self, setup: Setup, now: Timestamp) -> Core {
        let store = self.store(&setup);
        let own = Holder { id: setup.config.node, incarnation: setup.incarnation };
        let table = Table::with_members(&setup.config.members);
        let arbiter = StoreClient::new(own, store, table, setup.config.timing, self.fault, now);
        Core::with_arbiter(setup, Box::new(arbiter), now)
    }

    fn next_event(&self) -> u64 {
        self.store.as_ref().map_or(u64::MAX, |store| store.borrow().next_event())
    }

    fn advance(&mut self, now: u64) -> Vec<usize> {
        self.now = now;
        self.store.as_ref().map_or_else(Vec::new, |store| store.borrow_mut().advance(now))
    }

    fn external(&mut self) -> Option<&mut dyn External> {
        Some(&mut self.handle)
    }
}

impl External for Handle {
    fn set_silent(&mut self, is_silent: bool) {
        self.0.iter().for_each(|store| store.borrow_mut().set_silent(is_silent));
    }

    fn restart(&mut self) {
        self.0.iter().for_each(|store| store.borrow_mut().restart());
    }

    fn set_reachable(&mut self, node: usize, is_reachable: bool) {
        self.0.iter().for_each(|store| store.borrow_mut().set_reachable(node, is_reachable));
    }

    fn set_answer_delay(&mut self, node: usize, ms: u64) {
        self.0.iter().for_each(|store| store.borrow_mut().set_answer_delay(node, ms));
    }
}
