//! The first frame in either direction: who speaks.

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

/// The version of what nodes say to each other.
pub const PROTOCOL_VERSION: u16 = 1;
/// Before the peer has said who it is, no frame may be larger.
pub const MAX_HELLO_BYTES: usize = 1024;

/// Who speaks. The one who dialled says it first; the other's is also its yes to the connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// See [`PROTOCOL_VERSION`].
    pub(super) version: u16,
    /// The cluster's name.
    pub(super) cluster: String,
    /// The member's id, as in its certificate.
    pub(super) id: Id,
    /// A number that the member drew when it started: a restarted one has another.
    pub(super) incarnation: u64,
    /// Greater in every Hello of this incarnation: of two connections, the one with the greater is the one meant.
    pub(super) turn: u64,
}

impl Hello {
    /// As the payload of a frame.
    pub(super) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("plain numbers and a text can always be written to memory")
    }

    /// From the payload of a frame.
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
        let hello = Hello { version: u16::MAX, cluster, id: Id(u64::MAX), incarnation: u64::MAX, turn: u64::MAX };
        let bytes = hello.encode();
        assert!(bytes.len() <= MAX_HELLO_BYTES, "{}", bytes.len());
        assert_eq!(Hello::decode(&bytes), Some(hello));
    }

    proptest! {
        #[test]
        fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..MAX_HELLO_BYTES)) {
            if let Some(hello) = Hello::decode(&bytes) {
                prop_assert!(hello.cluster.len() <= bytes.len());
            }
        }
    }
}
