//! The guard of a held office.

use std::sync::Arc;
use std::time::Duration;

use hustings_cluster::api::{Client, ClientError, StoredState};
use hustings_cluster::clock::{Clock, Timestamp};
use tokio::sync::{oneshot, watch};

use super::deadline::Deadline;
use super::end_reason::EndReason;
use super::updates::Phase;
use super::{Handle, ResignError};

/// How long the node may take to answer a request about a state.
const STATE_TIMEOUT: Duration = Duration::from_secs(30);

/// A campaign that ends when it is dropped.
#[derive(Debug)]
pub(super) struct CampaignGuard {
    pub(super) office: String,
    pub(super) receiver: watch::Receiver<Phase>,
    pub(super) deadline: Deadline,
    pub(super) handle: Arc<Handle>,
    /// Whether the withdrawal was already sent.
    is_resigned: bool,
}

impl CampaignGuard {
    pub(super) fn new(
        office: String,
        receiver: watch::Receiver<Phase>,
        deadline: Deadline,
        handle: Arc<Handle>,
    ) -> Self {
        CampaignGuard { office, receiver, deadline, handle, is_resigned: false }
    }
}

impl Drop for CampaignGuard {
    fn drop(&mut self) {
        if !self.is_resigned {
            self.handle.change(|state, _| ((), state.withdraw(&self.office, None)));
        }
    }
}

/// An office that this program holds. Dropping it releases the office, so drop it only after the work has stopped.
///
/// Work only while [`Leadership::is_held`] is true. Send the [`Leadership::token`] with every write, and let the
/// storage reject writes with a lower token than it has seen: the host can suspend this program between the check and
/// the write.
#[derive(Debug)]
pub struct Leadership {
    campaign: CampaignGuard,
    token: u64,
    clock: Clock,
}

impl Leadership {
    pub(super) fn new(campaign: CampaignGuard, token: u64) -> Self {
        Leadership { campaign, token, clock: Clock::new() }
    }

    /// The name of the office.
    pub fn office(&self) -> &str {
        &self.campaign.office
    }

    /// The fencing token: greater than the token of every earlier holder of this office.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Until when the work may go on, by this host's clock. Every renewal moves it; it is zero once the office is lost.
    pub fn deadline(&self) -> Timestamp {
        self.campaign.deadline.get()
    }

    /// The time until the deadline.
    pub fn remaining(&self) -> Duration {
        self.deadline().since(self.clock.now())
    }

    /// Whether this program holds the office now. The clock is read at every call, so this turns false at the deadline
    /// even if nothing else happens.
    pub fn is_held(&self) -> bool {
        self.clock.now() < self.deadline()
    }

    /// Waits until the work should stop, and returns the reason: the office goes to another member, the node is lost,
    /// or the office is lost already. The office is still held until the guard is dropped or the deadline passes.
    pub async fn stopping(&self) -> EndReason {
        self.until(|phase| match phase {
            Phase::Stopping(_, reason) | Phase::Lost(reason) => Some(*reason),
            Phase::Waiting | Phase::Held(_) | Phase::Rejected(_) => None,
        })
        .await
    }

    /// Waits until the office is lost, and returns the reason. The work must have stopped by then.
    pub async fn lost(&self) -> EndReason {
        self.until(|phase| match phase {
            Phase::Lost(reason) => Some(*reason),
            _ => None,
        })
        .await
    }

    async fn until(&self, wanted: impl Fn(&Phase) -> Option<EndReason>) -> EndReason {
        let mut receiver = self.campaign.receiver.clone();
        loop {
            if let Some(ending) = wanted(&receiver.borrow_and_update()) {
                return ending;
            }
            if receiver.changed().await.is_err() {
                // Without a sender, nothing renews the lease.
                return EndReason::NodeLost;
            }
        }
    }

    /// Reads what the holders of this office have stored for their successors: everything that was stored before this
    /// office was granted. `None` if there is nothing. Read it before you act.
    pub async fn state(&self) -> Result<Option<StoredState>, ClientError> {
        let office = self.campaign.office.clone();
        self.on_own_connection(move |client| client.get_state(&office, STATE_TIMEOUT)).await
    }

    /// Stores something for the next holders of this office, at most 1 MiB unless the cluster's configuration says
    /// otherwise. When this returns, a majority has stored it. It is rejected with the code `stale-token` if another
    /// holder was appointed meanwhile, and then changes nothing.
    pub async fn put_state(&self, data: &[u8]) -> Result<(), ClientError> {
        let (office, token, data) = (self.campaign.office.clone(), self.token, data.to_vec());
        self.on_own_connection(move |client| client.put_state(&office, token, &data, STATE_TIMEOUT)).await
    }

    /// Deletes what is stored for the next holders of this office. It is rejected with the code `no-state` if there is
    /// nothing, and with `stale-token` if another holder was appointed meanwhile.
    pub async fn delete_state(&self) -> Result<(), ClientError> {
        let (office, token) = (self.campaign.office.clone(), self.token);
        self.on_own_connection(move |client| client.delete_state(&office, Some(token), STATE_TIMEOUT)).await
    }

    /// Talks to the node on a connection and a thread of their own, so that a large state delays no renewal.
    async fn on_own_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Client) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, ClientError> {
        let socket = self.campaign.handle.socket().to_path_buf();
        let (done, result) = oneshot::channel();
        let path = socket.clone();
        let thread = std::thread::Builder::new().name("hustings-state".to_string()).spawn(move || {
            let result = Client::connect(&path, Duration::ZERO).and_then(|mut client| work(&mut client));
            // If nobody waits any more, the result does not matter.
            let _ = done.send(result);
        });
        match thread {
            Ok(_) => result.await.unwrap_or(Err(ClientError::Closed { path: socket })),
            Err(error) => Err(ClientError::Io { path: socket, error }),
        }
    }

    /// Releases the office after the work has stopped. Returns when the node knows, so that another member can be
    /// appointed at once. If the node cannot be told, the office is free when the lease expires.
    pub async fn resign(mut self) -> Result<(), ResignError> {
        let (waiter, acknowledged) = oneshot::channel();
        self.campaign.is_resigned = true;
        self.campaign.handle.change(|state, _| ((), state.withdraw(&self.campaign.office, Some(waiter))));
        acknowledged.await.map_err(|_| ResignError)
    }
}
