//! Hides the types of an algorithm: its messages become bytes. So [`Runs`](hustings_algorithms::runs::Runs) and all
//! that is around them are compiled once, not once for every algorithm.

use std::sync::Arc;

use hustings_algorithms::inner_context::InnerContext;
use hustings_algorithms::runs::{Envelope, ViewNumber};
use hustings_protocol::{Context, DynState, Event, Message, Protocol, handle_events};
use serde::de::Error as _;
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::MessageError;
use crate::member::MemberRank;

/// A protocol of any type.
pub(super) struct DynProtocol(Box<dyn AnyProtocol>);

impl DynProtocol {
    pub(super) fn new<P: Protocol<Rank = MemberRank>>(protocol: P) -> Self {
        DynProtocol(Box::new(Typed(protocol)))
    }

    /// Reads an envelope as [`encode`] writes it.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<Envelope<Encoded>, MessageError> {
        let malformed = |_| MessageError::Malformed;
        let ((stated, variant), rest) = postcard::take_from_bytes::<(u64, u32)>(bytes).map_err(malformed)?;
        let (message, rest) = match variant {
            INNER => {
                let (says, rest) = self.0.take_message(rest)?;
                let ((view, port), rest) = postcard::take_from_bytes(rest).map_err(malformed)?;
                (Envelope::Inner { says, view, port }, rest)
            }
            VIEW => {
                let ((number, members, fresh), rest) = postcard::take_from_bytes(rest).map_err(malformed)?;
                (Envelope::View { number, members, fresh }, rest)
            }
            _ => return Err(MessageError::Malformed),
        };
        if !rest.is_empty() {
            return Err(MessageError::TrailingBytes(rest.len()));
        }
        if stated == counter(&message) { Ok(message) } else { Err(MessageError::CounterMismatch) }
    }
}

/// The numbers of the variants of [`Envelope`] in its encoding.
const INNER: u32 = 0;
const VIEW: u32 = 1;

/// Puts the view's counter before the message, so that it can be read without knowledge of the algorithm.
pub(super) fn encode(message: &Envelope<Encoded>) -> Vec<u8> {
    plain_bytes(&(counter(message), message))
}

fn plain_bytes(data: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(data).expect("messages are plain data of known lengths")
}

fn counter<M>(message: &Envelope<M>) -> u64 {
    let (Envelope::Inner { view: ViewNumber { counter, .. }, .. }
    | Envelope::View { number: ViewNumber { counter, .. }, .. }) = message;
    *counter
}

/// A message of any type, encoded.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Encoded {
    bytes: Arc<[u8]>,
    is_periodic: bool,
}

impl Encoded {
    fn new<M: Message>(message: &M) -> Self {
        Encoded { bytes: plain_bytes(message).into(), is_periodic: message.is_periodic() }
    }

    /// The message itself. The type must match: every protocol gets its own messages only.
    fn typed<M: Message>(&self) -> M {
        postcard::from_bytes(&self.bytes).expect("it was encoded by the protocol that gets it")
    }
}

/// Nobody counts the messages of a cluster by their kinds.
impl Message for Encoded {
    const KINDS: &'static [&'static str] = &["message"];
    fn kind(&self) -> usize {
        0
    }
    fn is_periodic(&self) -> bool {
        self.is_periodic
    }
}

/// The bytes as they are: the encoding is that of the message itself.
impl Serialize for Encoded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(self.bytes.len())?;
        self.bytes.iter().try_for_each(|byte| tuple.serialize_element(byte))?;
        tuple.end()
    }
}

/// Only the protocol knows where a message ends: see [`DynProtocol::decode`].
impl<'de> Deserialize<'de> for Encoded {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("the length of an encoded message is not known"))
    }
}

impl Protocol for DynProtocol {
    type Rank = MemberRank;
    type State = DynState;
    type Message = Encoded;

    fn init(&self) -> DynState {
        self.0.init()
    }
    fn is_progress(&self, before: &DynState, after: &DynState) -> bool {
        self.0.is_progress(before, after)
    }
    handle_events!(handle);
    fn handle<C: Context<Self>>(&self, state: &mut DynState, event: Event<Encoded>, cx: &mut C) {
        self.0.handle(state, event, cx);
    }
}

/// The dyn-compatible part of [`Protocol`] that runs need.
trait AnyProtocol: Send + Sync {
    fn init(&self) -> DynState;
    fn is_progress(&self, before: &DynState, after: &DynState) -> bool;
    fn handle(&self, state: &mut DynState, event: Event<Encoded>, cx: &mut dyn Context<DynProtocol>);
    /// Takes a message from the beginning of `bytes`. Returns it and the remaining bytes.
    fn take_message<'a>(&self, bytes: &'a [u8]) -> Result<(Encoded, &'a [u8]), MessageError>;
}

/// A protocol whose type is known.
struct Typed<P>(P);

impl<P: Protocol<Rank = MemberRank>> AnyProtocol for Typed<P> {
    fn init(&self) -> DynState {
        DynState::new(self.0.init())
    }

    fn is_progress(&self, before: &DynState, after: &DynState) -> bool {
        self.0.is_progress(before.typed(), after.typed())
    }

    fn handle(&self, state: &mut DynState, event: Event<Encoded>, cx: &mut dyn Context<DynProtocol>) {
        let event = event.map(|message| message.typed());
        let mut cx = InnerContext::new(cx, |message: P::Message| Encoded::new(&message));
        self.0.handle(state.typed_mut(), event, &mut cx);
    }

    fn take_message<'a>(&self, bytes: &'a [u8]) -> Result<(Encoded, &'a [u8]), MessageError> {
        let (message, rest) = postcard::take_from_bytes::<P::Message>(bytes).map_err(|_| MessageError::Malformed)?;
        Ok((Encoded::new(&message), rest))
    }
}

#[cfg(test)]
mod tests {
    use hustings_protocol::{Effect, Id, NodeInfo, Peers, Port, Recorder, StartReason, kinds};

    use super::*;

    #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    enum Word {
        Rank(MemberRank),
        List(Vec<u32>),
    }
    kinds!(Word: Rank = "rank", List = "list");

    /// Answers every word with the same word.
    struct Parrot;

    impl Protocol for Parrot {
        type Rank = MemberRank;
        type State = u8;
        type Message = Word;
        fn init(&self) -> u8 {
            0
        }
        fn handle_start<C: Context<Self>>(&self, _: &mut u8, _: StartReason, _: &mut C) {}
        fn handle_message<C: Context<Self>>(&self, heard: &mut u8, from: Port, word: Word, cx: &mut C) {
            *heard += 1;
            cx.send(from, word);
        }
    }

    const VIEW: ViewNumber = ViewNumber { counter: 300, id: Id(7), incarnation: 70_000 };

    fn words() -> [Word; 3] {
        let rank = MemberRank { priority: 9, health: 100, id: Id(500) };
        [Word::Rank(rank), Word::List(vec![1, 200, 70_000]), Word::List(Vec::new())]
    }

    #[test]
    fn the_bytes_are_those_of_the_typed_message() {
        let protocol = DynProtocol::new(Parrot);
        for (word, port) in words().into_iter().zip([None, Some(Port(1)), Some(Port(0))]) {
            let says = Encoded::new(&word);
            let bytes = plain_bytes(&(VIEW.counter, Envelope::Inner { says: word, view: VIEW, port }));
            let inner = Envelope::Inner { says, view: VIEW, port };
            assert_eq!(encode(&inner), bytes);
            assert_eq!(protocol.decode(&bytes), Ok(inner));
            assert_eq!(protocol.decode(&bytes[..bytes.len() - 1]), Err(MessageError::Malformed));
        }
        let members: Arc<[Id]> = Arc::new([Id(1), Id(7)]);
        let view = Envelope::<Word>::View { number: VIEW, members: members.clone(), fresh: true };
        let bytes = plain_bytes(&(VIEW.counter, view));
        let view = Envelope::View { number: VIEW, members, fresh: true };
        assert_eq!(encode(&view), bytes);
        assert_eq!(protocol.decode(&bytes), Ok(view));
    }

    #[test]
    fn rejects_other_variants_counters_and_lengths() {
        let protocol = DynProtocol::new(Parrot);
        let [word, ..] = words();
        let says = Encoded::new(&word);
        let inner =
            |stated: u64| plain_bytes(&(stated, Envelope::Inner { says: says.clone(), view: VIEW, port: None }));
        assert_eq!(protocol.decode(&inner(299)), Err(MessageError::CounterMismatch));
        let longer = [inner(300), vec![0, 0]].concat();
        assert_eq!(protocol.decode(&longer), Err(MessageError::TrailingBytes(2)));
        assert_eq!(protocol.decode(&plain_bytes(&(300_u64, 2_u32))), Err(MessageError::Malformed));
        assert_eq!(protocol.decode(&[]), Err(MessageError::Malformed));
    }

    #[test]
    fn events_and_effects_pass_through() {
        let rank = MemberRank { priority: 0, health: 100, id: Id(1) };
        let info = NodeInfo { rank, index: 0, size: 2, peers: Peers::Unknown(1) };
        let (protocol, mut effects) = (DynProtocol::new(Parrot), Vec::new());
        let mut state = protocol.init();
        let before = state.clone();
        let [word, ..] = words();
        let mut cx = Recorder::new(&info, |_| 0, &mut effects);
        protocol.handle_message(&mut state, Port(0), Encoded::new(&word), &mut cx);
        assert_eq!(effects, [Effect::Send(Port(0), Encoded::new(&word))]);
        assert!(state != before && protocol.is_progress(&before, &state));
        assert_eq!((format!("{before:?}"), format!("{state:?}")), ("0".to_string(), "1".to_string()));
    }
}
