//! Messages whose type is hidden.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::engine::MOST_KINDS;
use hustings_protocol::Message;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A message of any type.
#[derive(Clone)]
pub struct Parcel {
    spoken: Arc<dyn Spoken>,
    kind: u8,
}

trait Spoken: erased_serde::Serialize + fmt::Debug + Send + Sync {
    fn kind_name(&self) -> &'static str;
    fn is_periodic(&self) -> bool;
    fn is(&self, other: &dyn Spoken) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<M: Message> Spoken for M {
    fn kind_name(&self) -> &'static str {
        Message::kind_name(self)
    }
    fn is_periodic(&self) -> bool {
        Message::is_periodic(self)
    }
    fn is(&self, other: &dyn Spoken) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl Parcel {
    /// A message of a protocol with so many kinds. What is beyond them is of the last one: a message that holds a
    /// parcel does not know how many kinds are in there.
    pub(super) fn new<M: Message>(message: M, kinds: usize) -> Self {
        let kind = message.kind().min(kinds.saturating_sub(1)) as u8;
        Parcel { spoken: Arc::new(message), kind }
    }

    /// The message itself. It must be of that type: every protocol is given its own messages only.
    pub(super) fn typed<M: Message>(self) -> M {
        let message = self.spoken.into_any().downcast().expect("a message is given to the protocol that sent it");
        Arc::unwrap_or_clone(message)
    }
}

/// What was read from a file and not adopted yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Unread(serde_json::Value);

impl Message for Unread {
    const KINDS: &'static [&'static str] = &["message"];
    fn kind(&self) -> usize {
        0
    }
}

/// As many kinds as a message can have; each message knows the name of its own.
const ANY_KINDS: &[&str] = &["message"; MOST_KINDS];

impl Message for Parcel {
    const KINDS: &'static [&'static str] = ANY_KINDS;
    fn kind(&self) -> usize {
        usize::from(self.kind)
    }
    fn kind_name(&self) -> &'static str {
        self.spoken.kind_name()
    }
    fn is_periodic(&self) -> bool {
        self.spoken.is_periodic()
    }
}

impl PartialEq for Parcel {
    fn eq(&self, other: &Self) -> bool {
        self.spoken.is(&*other.spoken)
    }
}

impl Eq for Parcel {}

impl Hash for Parcel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.spoken.feed(state);
    }
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spoken.fmt(f)
    }
}

impl Serialize for Parcel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.spoken, serializer)
    }
}

impl<'de> Deserialize<'de> for Parcel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Parcel { spoken: Arc::new(Unread::deserialize(deserializer)?), kind: 0 })
    }
}
