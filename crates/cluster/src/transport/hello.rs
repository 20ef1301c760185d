//! The first frame in each direction: who the sender is.

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

/// The version of the protocol between nodes.
pub(crate) const PROTOCOL_VERSION: u16 = 1;
/// The largest frame before the peer is authenticated.
pub(crate) const MAX_HELLO_BYTES: usize = 1024;

/// Identifies the sender. The dialling node sends it first; the reply also accepts the connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// See [`PROTOCOL_VERSION`].
    pub(super) version: u16,
    /// The name of the cluster.
    pub(super) cluster: String,
    /// The member's id, as in its certificate.
    pub(super) id: Id,
    /// A random number that identifies the member's process.
    pub(super) incarnation: u64,
    /// Increases with every Hello of this process: of two connections, the one with the greater number counts.
    pub(super) sequence: u64,
}

impl Hello {
    /// Encodes the payload of a frame.
    pub(super) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("integers and a string can always be encoded")
    }

    /// Decodes the payload of a frame.
    pub(super) fn decode(payload: &[u8]) -> Option<Hello> {
        postcard::from_bytes(payload).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_names_fit() {
        let cluster = "c".repeat(63);
        let hello = Hello { version: u16::MAX, cluster, id: Id(u64::MAX), incarnation: u64::MAX, sequence: u64::MAX };
        let bytes = hello.encode();
        assert!(bytes.len() <= MAX_HELLO_BYTES, "{}", bytes.len());
        assert_eq!(Hello::decode(&bytes), Some(hello));
    }

    proptest! {
        #[test]
        fn decoding_random_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..MAX_HELLO_BYTES)) {
            if let Some(hello) = Hello::decode(&bytes) {
                prop_assert!(hello.cluster.len() <= bytes.len());
            }
        }
    }
}
