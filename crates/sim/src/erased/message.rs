//! Messages with an erased type.

use std::any::TypeId;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use std::sync::Arc;

use crate::engine::{MAX_KINDS, encoded_len};
use hustings_protocol::Message;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A message of any type.
///
/// A small one, as almost all are, is stored in place. An allocation for each would take most of the time of a large
/// election.
pub struct DynMessage {
    place: Place,
    table: &'static Table,
    kind: u8,
    is_periodic: bool,
}

/// Room for a small message, or for an `Arc` of a large one.
type Place = MaybeUninit<[u64; 6]>;

/// What is known of a type of messages.
struct Table {
    of: TypeId,
    /// These functions may be called only with a place that holds a message of this type.
    message: unsafe fn(&Place) -> &dyn AnyMessage,
    clone: unsafe fn(&Place) -> Place,
    /// The place may not be used again. `None` if there is nothing to do.
    drop: Option<unsafe fn(&mut Place)>,
}

trait AnyMessage: erased_serde::Serialize + fmt::Debug {
    fn kind_name(&self) -> &'static str;
    fn encoded_len(&self) -> u64;
    fn eq_dyn(&self, other: &DynMessage) -> bool;
    fn hash_dyn(&self, hasher: &mut dyn Hasher);
}

impl<M: Message> AnyMessage for M {
    fn kind_name(&self) -> &'static str {
        Message::kind_name(self)
    }
    fn encoded_len(&self) -> u64 {
        encoded_len(self)
    }
    fn eq_dyn(&self, other: &DynMessage) -> bool {
        other.typed_ref() == Some(self)
    }
    fn hash_dyn(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

/// Whether messages of this type are stored in place.
const fn is_small<M>() -> bool {
    size_of::<M>() <= size_of::<Place>() && align_of::<M>() <= align_of::<Place>()
}

impl Table {
    const fn of<M: Message>() -> &'static Self {
        const {
            let is_trivial = is_small::<M>() && !needs_drop::<M>();
            &Table {
                of: TypeId::of::<M>(),
                message: any_message::<M>,
                clone: cloned::<M>,
                drop: if is_trivial { None } else { Some(dropped::<M>) },
            }
        }
    }
}

/// Moves a message to a new place.
#[inline(always)]
fn stored<M>(message: M) -> Place {
    let mut place = Place::uninit();
    // SAFETY: a small message fits by definition, and so does a pointer.
    unsafe {
        if is_small::<M>() {
            place.as_mut_ptr().cast::<M>().write(message);
        } else {
            place.as_mut_ptr().cast::<Arc<M>>().write(Arc::new(message));
        }
    }
    place
}

/// The message in a place.
///
/// # Safety
/// The place must hold a message of this type.
#[inline(always)]
unsafe fn message<M>(place: &Place) -> &M {
    // SAFETY: guaranteed by the caller. Whether there is an `Arc` depends on the type alone.
    unsafe { if is_small::<M>() { &*place.as_ptr().cast::<M>() } else { &*place.as_ptr().cast::<Arc<M>>() } }
}

/// The same without its type.
///
/// # Safety
/// The place must hold a message of this type.
unsafe fn any_message<M: Message>(place: &Place) -> &dyn AnyMessage {
    // SAFETY: guaranteed by the caller.
    unsafe { message::<M>(place) }
}

/// Moves the message out of a place.
///
/// # Safety
/// The place must hold a message of this type, and may not be used again.
#[inline(always)]
unsafe fn taken<M: Clone>(place: &Place) -> M {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if is_small::<M>() {
            place.as_ptr().cast::<M>().read()
        } else {
            Arc::unwrap_or_clone(place.as_ptr().cast::<Arc<M>>().read())
        }
    }
}

/// A copy of a place with its message.
///
/// # Safety
/// The place must hold a message of this type.
unsafe fn cloned<M: Clone>(place: &Place) -> Place {
    // SAFETY: guaranteed by the caller. A pointer fits into a place.
    unsafe {
        if is_small::<M>() {
            return stored(message::<M>(place).clone());
        }
        let mut copy = Place::uninit();
        copy.as_mut_ptr().cast::<Arc<M>>().write(Arc::clone(&*place.as_ptr().cast::<Arc<M>>()));
        copy
    }
}

/// Drops the message in a place.
///
/// # Safety
/// The place must hold a message of this type, and may not be used again.
unsafe fn dropped<M>(place: &mut Place) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if is_small::<M>() {
            place.as_mut_ptr().cast::<M>().drop_in_place();
        } else {
            place.as_mut_ptr().cast::<Arc<M>>().drop_in_place();
        }
    }
}

impl DynMessage {
    /// A message of a protocol with `kinds` kinds. A kind beyond them is mapped to the last one, because a message that
    /// contains a message does not know how many kinds that one has.
    #[inline(always)]
    pub(super) fn new<M: Message>(message: M, kinds: usize) -> Self {
        let kind = message.kind().min(kinds.saturating_sub(1)) as u8;
        let is_periodic = message.is_periodic();
        DynMessage { place: stored(message), table: Table::of::<M>(), kind, is_periodic }
    }

    fn message(&self) -> &dyn AnyMessage {
        // SAFETY: the table is the one of the message.
        unsafe { (self.table.message)(&self.place) }
    }

    /// The length of the encoded message. Erased serialization would find the same number, but much more slowly.
    pub(crate) fn encoded_len(&self) -> u64 {
        self.message().encoded_len()
    }

    fn typed_ref<M: Message>(&self) -> Option<&M> {
        // SAFETY: the message has this type.
        (self.table.of == TypeId::of::<M>()).then(|| unsafe { message(&self.place) })
    }

    /// The message itself. The type must match: every protocol gets its own messages only.
    #[inline(always)]
    pub(super) fn typed<M: Message>(self) -> M {
        assert!(self.table.of == TypeId::of::<M>(), "a message is given to the protocol that sent it");
        let message = ManuallyDrop::new(self);
        // SAFETY: the message has this type, and it is not dropped.
        unsafe { taken(&message.place) }
    }
}

impl Drop for DynMessage {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(drop) = self.table.drop {
            // SAFETY: the table is the one of the message.
            unsafe { drop(&mut self.place) };
        }
    }
}

impl Clone for DynMessage {
    fn clone(&self) -> Self {
        // SAFETY: the table is the one of the message.
        let place = unsafe { (self.table.clone)(&self.place) };
        DynMessage { place, ..*self }
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
        self.message().kind_name()
    }
    fn is_periodic(&self) -> bool {
        self.is_periodic
    }
}

impl PartialEq for DynMessage {
    fn eq(&self, other: &Self) -> bool {
        self.message().eq_dyn(other)
    }
}

impl Eq for DynMessage {}

impl Hash for DynMessage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.message().hash_dyn(state);
    }
}

impl fmt::Debug for DynMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl Serialize for DynMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(self.message(), serializer)
    }
}

impl<'de> Deserialize<'de> for DynMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Unread::deserialize(deserializer).map(|unread| DynMessage::new(unread, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With its length as its kind.
    #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    struct Small(Vec<u8>, Arc<()>);

    /// Too large to be stored in place.
    #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    struct Large(Small, [u64; 5]);

    impl Message for Small {
        const KINDS: &'static [&'static str] = &["empty", "short", "long"];
        fn kind(&self) -> usize {
            self.0.len()
        }
        fn is_periodic(&self) -> bool {
            self.0.is_empty()
        }
    }

    impl Message for Large {
        const KINDS: &'static [&'static str] = Small::KINDS;
        fn kind(&self) -> usize {
            self.0.kind()
        }
    }

    fn survives<M: Message>(message: &M, shared: &Arc<()>) {
        let before = Arc::strong_count(shared);
        let erased = DynMessage::new(message.clone(), M::KINDS.len());
        let copy = erased.clone();
        assert_eq!(erased, copy);
        assert_eq!((erased.kind(), Message::kind_name(&erased)), (message.kind(), Message::kind_name(message)));
        assert_eq!(erased.is_periodic(), message.is_periodic());
        assert_eq!(erased.encoded_len(), encoded_len(message));
        assert_eq!(format!("{erased:?}"), format!("{message:?}"));
        assert_eq!(serde_json::to_value(&erased).unwrap(), serde_json::to_value(message).unwrap());
        assert_eq!(&erased.typed::<M>(), message);
        drop(copy.clone());
        assert_eq!(&copy.typed::<M>(), message);
        assert_eq!(Arc::strong_count(shared), before, "each copy was dropped once");
    }

    #[test]
    fn small_and_large_messages_survive() {
        assert!(is_small::<Small>() && !is_small::<Large>());
        let shared = Arc::new(());
        for length in 0..3 {
            let small = Small(vec![7; length], Arc::clone(&shared));
            survives(&small, &shared);
            survives(&Large(small, [length as u64; 5]), &shared);
        }
    }

    #[test]
    fn messages_of_different_types_differ() {
        let small = Small(Vec::new(), Arc::new(()));
        let large = Large(small.clone(), [0; 5]);
        assert_ne!(DynMessage::new(small, 3), DynMessage::new(large, 3));
    }

    #[test]
    fn a_kind_beyond_the_last_is_the_last() {
        assert_eq!(DynMessage::new(Small(vec![1, 2], Arc::new(())), 2).kind(), 1);
    }

    #[test]
    #[should_panic(expected = "given to the protocol that sent it")]
    fn a_message_is_not_taken_for_another() {
        DynMessage::new(Small(Vec::new(), Arc::new(())), 3).typed::<Large>();
    }
}
