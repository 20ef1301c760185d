//! One thread a node, which passes on what the node says about the leader.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use hustings_cluster::api::{Client, OfficeStatus, Reply, Request};
use hustings_cluster::clock::{Clock, Timestamp};

/// The office that every member campaigns for.
const LEADER: &str = "leader";
/// How long one attempt to connect lasts. Between attempts the thread notices that nobody listens any more.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// What a node reported.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The node.
    pub node: usize,
    /// When the report arrived.
    pub at: Timestamp,
    /// What was reported.
    pub kind: ObservationKind,
}

/// See [`Observation`].
#[derive(Clone, Debug)]
pub enum ObservationKind {
    /// Who leads, as far as the node knows.
    Office(OfficeStatus),
    /// The node does not answer, or no longer.
    Disconnected,
}

/// Watches a node from a thread of its own until `observe` returns false. A node that ends is connected to again when
/// it is back.
pub(super) fn watch(node: usize, socket: PathBuf, observe: impl Fn(Observation) -> bool + Send + 'static) {
    thread::spawn(move || {
        let observe = |kind| observe(Observation { node, at: Clock::new().now(), kind });
        loop {
            if let Ok(mut client) = Client::connect(&socket, CONNECT_TIMEOUT)
                && client.send(&Request::Watch { office: Some(LEADER.to_string()) }).is_ok()
            {
                while let Ok(reply) = client.recv(None) {
                    if let Reply::Office(status) = reply
                        && !observe(ObservationKind::Office(status))
                    {
                        return;
                    }
                }
            }
            if !observe(ObservationKind::Disconnected) {
                return;
            }
        }
    });
}
