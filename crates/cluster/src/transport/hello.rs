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

    /// Decodes the payload of a frame. Later versions add fields at the end, which are ignored here: so the version can
    /// always be read, and a mismatch is reported as such.
    pub(super) fn decode(payload: &[u8]) -> Option<Hello> {
        postcard::from_bytes(payload).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::golden;

    #[test]
    fn the_longest_names_fit() {
        let cluster = "c".repeat(63);
        let hello = Hello { version: u16::MAX, cluster, id: Id(u64::MAX), incarnation: u64::MAX, sequence: u64::MAX };
        let bytes = hello.encode();
        assert!(bytes.len() <= MAX_HELLO_BYTES, "{}", bytes.len());
        assert_eq!(Hello::decode(&bytes), Some(hello));
    }

    #[test]
    fn hellos_of_version_1() {
        let cluster = "shop".to_string();
        let hello = Hello { version: 1, cluster, id: Id(3), incarnation: 1 << 60, sequence: 300 };
        let decode = |bytes: &[u8]| Hello::decode(bytes).expect("a Hello");
        golden::check("hello-v1", &[("hello", hello)], Hello::encode, decode);
        assert_eq!(PROTOCOL_VERSION, 1, "a new version gets a new golden file");
    }

    #[test]
    fn the_version_of_a_later_hello_can_be_read() {
        // Later versions add their fields at the end.
        let hello = Hello { version: 9, cluster: "shop".to_string(), id: Id(3), incarnation: 1, sequence: 1 };
        let longer = [hello.encode(), vec![7; 40]].concat();
        assert_eq!(Hello::decode(&longer), Some(hello));
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
