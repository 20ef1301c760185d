//! Messages that a third member passes on, because their sender has no connection to their receiver.

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

/// The longest certificate chain of a seal: how many certificates, and how many bytes they have together.
const MAX_CERTIFICATES: usize = 4;
const MAX_CHAIN_BYTES: usize = 16 << 10;
/// The longest signature of a seal.
const MAX_SIGNATURE_BYTES: usize = 1 << 10;
/// What is signed begins with this, so that no signature that a key makes for another purpose is a seal.
const PURPOSE: &str = "hustings relayed message, version 1";

/// A message that a third member passes on. Who that is cannot change anything in it, or repeat it to any effect: the
/// sender seals it, for one process of the receiver, and numbers it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Relay {
    /// The sender.
    pub from: Id,
    /// The sender's incarnation.
    pub incarnation: u64,
    /// The receiver.
    pub to: Id,
    /// The receiver's incarnation, as far as the sender knows; 0 if it knows none.
    pub to_incarnation: u64,
    /// Greater than the numbers of all earlier relayed messages of this incarnation of the sender.
    pub number: u64,
    /// Whether other messages may overtake it, as [`Message::is_bulk`](super::Message::is_bulk) says of the message.
    pub is_bulk: bool,
    /// The encoded message.
    pub bytes: Vec<u8>,
    /// Proves who sent it. The core leaves it out: the node adds it, and checks it before the core sees the message.
    pub seal: Option<Seal>,
}

/// A signature with the key of a member's certificate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Seal {
    /// The signature scheme, by its number in TLS.
    pub scheme: u16,
    /// The signature.
    pub signature: Vec<u8>,
    /// The member's certificate, and those that lead from it to the cluster's authority.
    pub chain: Vec<Vec<u8>>,
}

impl Relay {
    /// What a seal signs: everything but itself.
    pub(crate) fn signed_bytes(&self, cluster: &str) -> Vec<u8> {
        let Relay { from, incarnation, to, to_incarnation, number, is_bulk, bytes, seal: _ } = self;
        let signed = (PURPOSE, cluster, from, incarnation, to, to_incarnation, number, is_bulk, bytes);
        postcard::to_allocvec(&signed).expect("the parts of a message are plain data")
    }

    /// Whether the seal has no more bytes than one may have.
    pub(super) fn is_bounded(&self) -> bool {
        self.seal.as_ref().is_none_or(Seal::is_bounded)
    }
}

impl Seal {
    /// Whether it has no more bytes than a seal may have.
    pub(crate) fn is_bounded(&self) -> bool {
        self.signature.len() <= MAX_SIGNATURE_BYTES
            && self.chain.len() <= MAX_CERTIFICATES
            && self.chain.iter().map(Vec::len).sum::<usize>() <= MAX_CHAIN_BYTES
    }
}
