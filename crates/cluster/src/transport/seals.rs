//! The seals of relayed messages: made with this node's key, and checked before anybody believes them.

use std::collections::BTreeMap;
use std::time::Duration;

use hustings_protocol::Id;

use super::Transport;
use crate::clock::Timestamp;
use crate::identity::{Identity, SealError, check_signature};
use crate::member::Member;
use crate::wire::{Relay, Seal};

/// How long the certificate of a seal counts as checked. It may expire meanwhile.
const TRUST_TIME: Duration = Duration::from_secs(60);
/// After a wrong seal, how long nothing counts that is said to come from the same member through the same one. Checking
/// takes much longer than sending something wrong.
const SUSPICION_TIME: Duration = Duration::from_secs(1);

/// What is known of seals.
#[derive(Debug, Default)]
pub(super) struct Seals {
    /// The members whose certificates were checked: their certificates, and until when that counts.
    checked: BTreeMap<Id, (Vec<Vec<u8>>, Member, Timestamp)>,
    /// Who passed on what was not sealed by whom, and until when that counts.
    suspected: BTreeMap<(Id, Id), Timestamp>,
}

impl Seals {
    /// Forgets whose certificates were checked: other authorities may count.
    pub(super) fn forget_checked(&mut self) {
        self.checked.clear();
    }

    fn check(&mut self, relay: &Relay, sender: &Member, identity: &Identity, now: Timestamp) -> Result<(), SealError> {
        let seal = relay.seal.as_ref().ok_or(SealError::Missing)?;
        if !self.is_checked(seal, sender, now) {
            identity.check_sealer(seal, sender)?;
            self.checked.insert(sender.id, (seal.chain.clone(), sender.clone(), now + TRUST_TIME));
        }
        check_signature(seal, &relay.signed_bytes(identity.cluster()))
    }

    fn is_checked(&self, seal: &Seal, sender: &Member, now: Timestamp) -> bool {
        let known = self.checked.get(&sender.id);
        known.is_some_and(|(chain, member, until)| *until > now && member == sender && *chain == seal.chain)
    }
}

impl Transport {
    /// Seals a message that a third member is to pass on.
    pub(crate) fn seal(&self, relay: &mut Relay) {
        relay.seal = self.identity.seal(&relay.signed_bytes(self.identity.cluster()));
    }

    /// Checks that a message that this member passed on was sealed by the member that it is said to come from.
    pub(crate) fn check_seal(&mut self, via: Id, relay: &Relay, now: Timestamp) -> Result<(), SealError> {
        let known = self.peers.get(relay.from).filter(|peer| !peer.is_guest);
        let sender = &known.ok_or(SealError::UnknownSender)?.member;
        let way = (via, relay.from);
        if self.seals.suspected.get(&way).is_some_and(|until| *until > now) {
            return Err(SealError::Suspected);
        }
        let checked = self.seals.check(relay, sender, &self.identity, now);
        match checked {
            Ok(()) => _ = self.seals.suspected.remove(&way),
            Err(_) => _ = self.seals.suspected.insert(way, now + SUSPICION_TIME),
        }
        checked
    }
}
