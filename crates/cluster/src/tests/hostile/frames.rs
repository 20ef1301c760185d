//! Valid messages of every kind, with numbers that matter.
//!
//! Messages are read from random numbers as if those were their encoding: so a new kind, and a new part of a message,
//! is drawn without being named here. Messages of the log are put together by hand besides, because few random ones
//! fit together.

use std::time::Duration;

use raft::eraftpb::{self, MessageType};
use serde::Deserialize;
use serde::de::value::Error;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, SeqAccess, VariantAccess, Visitor,
};

use crate::tests::cluster::Rng;
use crate::wire::{Message, RaftMessage};

/// What the sender knows of a cluster, so that its numbers are close to those that count.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    pub(super) term: u64,
    pub(super) last_index: u64,
    /// Tokens, numbers of reads and rounds, disks, incarnations and ids.
    pub(super) others: Vec<u64>,
    pub(super) offices: Vec<String>,
}

/// The kinds of messages, by their names in the code.
pub(super) fn variants() -> &'static [&'static str] {
    struct Names(Option<&'static [&'static str]>);
    impl<'de> Deserializer<'de> for &mut Names {
        type Error = Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            Err(Error::custom("a message is an enum"))
        }

        fn deserialize_enum<V: Visitor<'de>>(
            self,
            _: &'static str,
            variants: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Error> {
            self.0 = Some(variants);
            Err(Error::custom("only the names are wanted"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map struct identifier ignored_any
        }
    }
    let mut names = Names(None);
    let _ = Message::deserialize(&mut names);
    names.0.expect("a message is an enum")
}

/// A random message of a kind, which a node would decode.
pub(super) fn message(variant: usize, numbers: &Numbers, rng: &mut Rng) -> Message {
    if variants()[variant] == "Raft" && rng.below(4) > 0 {
        return raft(numbers, rng);
    }
    loop {
        let mut random = Random { numbers, rng, variant: Some(variant), depth: 0 };
        let Ok(message) = Message::deserialize(&mut random) else { continue };
        if let Ok(decoded) = Message::decode(&message.encode()) {
            return decoded;
        }
    }
}

/// A message of the log that the library would take.
fn raft(numbers: &Numbers, rng: &mut Rng) -> Message {
    use MessageType::*;
    let kinds = [
        MsgAppend,
        MsgAppendResponse,
        MsgRequestVote,
        MsgRequestVoteResponse,
        MsgRequestPreVote,
        MsgRequestPreVoteResponse,
        MsgSnapshot,
        MsgTimeoutNow,
    ];
    let mut message = eraftpb::Message::default();
    message.set_msg_type(kinds[rng.below(kinds.len() as u64) as usize]);
    let near = |value: u64, rng: &mut Rng| match rng.below(4) {
        0 => number(numbers, rng),
        1 => value.saturating_sub(rng.below(3)),
        _ => value.saturating_add(rng.below(3)),
    };
    message.term = near(numbers.term, rng).max(1);
    message.index = near(numbers.last_index, rng);
    message.log_term = near(numbers.term, rng).min(message.term);
    message.commit = near(numbers.last_index, rng);
    message.commit_term = near(numbers.term, rng);
    message.reject = rng.below(2) == 0;
    message.reject_hint = near(numbers.last_index, rng);
    if rng.below(2) == 0 {
        message.context = b"CampaignTransfer".to_vec().into();
    }
    let entries = (0..rng.below(3)).map(|offset| {
        let data: &[u8] = if rng.below(2) == 0 { &[] } else { &[255, 1] };
        let (index, term) = (message.index.saturating_add(1 + offset), message.log_term.max(1));
        eraftpb::Entry { index, term, data: data.to_vec().into(), ..Default::default() }
    });
    message.entries = entries.collect::<Vec<_>>().into();
    if message.get_msg_type() == MsgSnapshot {
        let snapshot = message.mut_snapshot();
        snapshot.data = vec![255; 3].into();
        let meta = snapshot.mut_metadata();
        (meta.index, meta.term) = (near(numbers.last_index, rng).max(1), 1);
        meta.mut_conf_state().voters = vec![1, 2, 3];
    }
    Message::Raft(RaftMessage::from(&message))
}

/// A number that something may depend on.
fn number(numbers: &Numbers, rng: &mut Rng) -> u64 {
    let fixed = [0, 1, 2, 1 << 16, (1 << 32) - 1, 1 << 32, 1 << 61, 1 << 62, (1 << 62) + 1, u64::MAX - 1, u64::MAX];
    let known = [numbers.term, numbers.last_index];
    match rng.below(4) {
        0 => fixed[rng.below(fixed.len() as u64) as usize],
        1 => known[rng.below(2) as usize].saturating_add(fixed[rng.below(6) as usize]),
        2 => known[rng.below(2) as usize].saturating_sub(rng.below(3)),
        _ if numbers.others.is_empty() => rng.below(u64::MAX),
        _ => numbers.others[rng.below(numbers.others.len() as u64) as usize].saturating_add(rng.below(2)),
    }
}

/// Reads every value from random numbers.
struct Random<'a> {
    numbers: &'a Numbers,
    rng: &'a mut Rng,
    /// The variant of the outermost enum.
    variant: Option<usize>,
    depth: u32,
}

impl Random<'_> {
    fn number(&mut self) -> u64 {
        number(self.numbers, self.rng)
    }

    fn bytes(&mut self) -> Vec<u8> {
        let most = if self.rng.below(20) == 0 { 20_000 } else { 12 };
        (0..self.rng.below(most)).map(|_| self.rng.below(256) as u8).collect()
    }

    fn text(&mut self) -> String {
        let count = self.numbers.offices.len() as u64;
        match self.rng.below(8) {
            0 => "new".to_string(),
            1 => r#"{"type":"pause"}"#.to_string(),
            _ if count > 0 => self.numbers.offices[self.rng.below(count) as usize].clone(),
            _ => "leader".to_string(),
        }
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty),+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let number = self.number();
            // Small types are often bytes of an enumeration.
            visitor.$visit(if size_of::<$type>() == 1 { self.rng.below(20) as $type } else { number as $type })
        })+
    };
}

impl<'de> Deserializer<'de> for &mut Random<'_> {
    type Error = Error;

    numbers!(
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64, deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64
    );

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("messages say what they consist of"))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.rng.below(2) == 0)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.text())
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bytes(&self.bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bytes(&self.bytes())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.rng.below(3) == 0 { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let most = if self.rng.below(20) == 0 { 500 } else { 4 };
        let left = self.rng.below(most) as usize;
        visitor.visit_seq(Parts { random: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { random: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { random: self, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.depth += 1;
        if name == "Duration" {
            // Seconds and nanoseconds, of which there are few enough.
            let longest = Duration::MAX.as_secs();
            let seconds = if self.rng.below(4) == 0 { longest } else { self.rng.below(100) };
            let parts = [seconds, self.rng.below(1_000_000_000)];
            return visitor.visit_seq(serde::de::value::SeqDeserializer::new(parts.into_iter()));
        }
        visitor.visit_seq(Parts { random: self, left: fields.len() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let drawn = self.rng.below(variants.len() as u64) as usize;
        let variant = self.variant.take().unwrap_or(drawn);
        visitor.visit_enum(Variant { random: self, variant: variant as u32 })
    }

    serde::forward_to_deserialize_any! { f32 f64 char unit_struct map identifier ignored_any }
}

struct Parts<'a, 'b> {
    random: &'a mut Random<'b>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Parts<'_, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.random).map(Some)
    }
}

struct Variant<'a, 'b> {
    random: &'a mut Random<'b>,
    variant: u32,
}

impl<'de> EnumAccess<'de> for Variant<'_, '_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let value = seed.deserialize(IntoDeserializer::<Error>::into_deserializer(self.variant))?;
        Ok((value, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, '_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.random)
    }

    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { random: self.random, left })
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { random: self.random, left: fields.len() })
    }
}

#[test]
fn every_kind_is_drawn() {
    let numbers = Numbers { term: 3, last_index: 20, others: vec![7, 1_001], offices: vec!["job".to_string()] };
    let mut rng = Rng::new(1);
    let mut kinds = std::collections::BTreeSet::new();
    for variant in 0..variants().len() {
        kinds.extend((0..200).map(|_| message(variant, &numbers, &mut rng).kind()));
    }
    let all: std::collections::BTreeSet<_> = crate::wire::MessageKind::ALL.iter().copied().collect();
    assert_eq!(kinds, all);
}
