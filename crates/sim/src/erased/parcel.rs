//! Messages whose type is hidden.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hustings_protocol::Message;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A message of any type.
#[derive(Clone)]
pub struct Parcel(Arc<dyn Spoken>);

trait Spoken: erased_serde::Serialize + fmt::Debug + Send + Sync {
    fn kind(&self) -> usize;
    fn kind_name(&self) -> &'static str;
    fn is(&self, other: &dyn Spoken) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<M: Message> Spoken for M {
    fn kind(&self) -> usize {
        Message::kind(self)
    }
    fn kind_name(&self) -> &'static str {
        Message::kind_name(self)
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
    pub(super) fn new<M: Message>(message: M) -> Self {
        Parcel(Arc::new(message))
    }

    /// The message itself. It must be of that type: every protocol is given its own messages only.
    pub(super) fn typed<M: Message>(self) -> M {
        let message = self.0.into_any().downcast().expect("a message is given to the protocol that sent it");
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
const ANY_KINDS: &[&str] = &["message"; 16];

impl Message for Parcel {
    const KINDS: &'static [&'static str] = ANY_KINDS;
    fn kind(&self) -> usize {
        self.0.kind()
    }
    fn kind_name(&self) -> &'static str {
        self.0.kind_name()
    }
}

impl PartialEq for Parcel {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(&*other.0)
    }
}

impl Eq for Parcel {}

impl Hash for Parcel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.feed(state);
    }
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Parcel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Parcel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Parcel(Arc::new(Unread::deserialize(deserializer)?)))
    }
}
