//! Messages with an erased type.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::engine::{MAX_KINDS, encoded_len};
use hustings_protocol::Message;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A message of any type.
#[derive(Clone)]
pub struct DynMessage {
    message: Arc<dyn AnyMessage>,
    kind: u8,
}

trait AnyMessage: erased_serde::Serialize + fmt::Debug + Send + Sync {
    fn kind_name(&self) -> &'static str;
    fn is_periodic(&self) -> bool;
    fn encoded_len(&self) -> u64;
    fn eq_dyn(&self, other: &dyn AnyMessage) -> bool;
    fn hash_dyn(&self, hasher: &mut dyn Hasher);
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<M: Message> AnyMessage for M {
    fn kind_name(&self) -> &'static str {
        Message::kind_name(self)
    }
    fn is_periodic(&self) -> bool {
        Message::is_periodic(self)
    }
    fn encoded_len(&self) -> u64 {
        encoded_len(self)
    }
    fn eq_dyn(&self, other: &dyn AnyMessage) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
    fn hash_dyn(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl DynMessage {
    /// A message of a protocol with `kinds` kinds. A kind beyond them is mapped to the last one, because a message that
    /// contains a message does not know how many kinds that one has.
    pub(super) fn new<M: Message>(message: M, kinds: usize) -> Self {
        let kind = message.kind().min(kinds.saturating_sub(1)) as u8;
        DynMessage { message: Arc::new(message), kind }
    }

    /// The length of the encoded message. Erased serialization would find the same number, but much more slowly.
    pub(crate) fn encoded_len(&self) -> u64 {
        self.message.encoded_len()
    }

    /// The message itself. The type must match: every protocol gets its own messages only.
    pub(super) fn typed<M: Message>(self) -> M {
        let message = self.message.into_any().downcast().expect("a message is given to the protocol that sent it");
        Arc::unwrap_or_clone(message)
    }
}

/// A message that was read from a file and has not been converted yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Unread(serde_json::Value);

impl Message for Unread {
    const KINDS: &'static [&'static str] = &["message"];
    fn kind(&self) -> usize {
        0
    }
}

/// The maximum number of kinds. Each message knows the name of its own.
const ANY_KINDS: &[&str] = &["message"; MAX_KINDS];

impl Message for DynMessage {
    const KINDS: &'static [&'static str] = ANY_KINDS;
    fn kind(&self) -> usize {
        usize::from(self.kind)
    }
    fn kind_name(&self) -> &'static str {
        self.message.kind_name()
    }
    fn is_periodic(&self) -> bool {
        self.message.is_periodic()
    }
}

impl PartialEq for DynMessage {
    fn eq(&self, other: &Self) -> bool {
        self.message.eq_dyn(&*other.message)
    }
}

impl Eq for DynMessage {}

impl Hash for DynMessage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.message.hash_dyn(state);
    }
}

impl fmt::Debug for DynMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl Serialize for DynMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.message, serializer)
    }
}

impl<'de> Deserialize<'de> for DynMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(DynMessage { message: Arc::new(Unread::deserialize(deserializer)?), kind: 0 })
    }
}
