//! A set of ports: one word for nodes with up to 64 neighbours, a list of words for others.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use hustings_protocol::Port;

/// A set of ports of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ports(Words);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Words {
    Few(u64),
    /// Boxed, so that the common case stays small.
    Many(Box<Many>),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Many {
    /// The number of ports in the set, because most queries ask whether it is empty.
    count: u32,
    words: Vec<u64>,
}

const BITS: u32 = u64::BITS;

impl Ports {
    /// The empty set.
    pub(crate) const NONE: Ports = Ports(Words::Few(0));

    /// All ports of a node with this degree.
    #[inline(always)]
    pub(crate) fn all(degree: u32) -> Self {
        if degree <= BITS { Ports(Words::Few(first_bits(degree))) } else { Ports(Words::Many(many(degree))) }
    }

    /// All ports but one.
    #[inline(always)]
    pub(crate) fn all_but(degree: u32, except: Port) -> Self {
        let mut ports = Ports::all(degree);
        ports.remove(except);
        ports
    }

    /// Whether the set is empty.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        match &self.0 {
            Words::Few(bits) => *bits == 0,
            Words::Many(many) => many.count == 0,
        }
    }

    /// Whether the set contains a port.
    #[inline(always)]
    pub(crate) fn contains(&self, port: Port) -> bool {
        match &self.0 {
            Words::Few(bits) => port.0 < BITS && bits >> port.0 & 1 != 0,
            Words::Many(many) => many.words.get(word_of(port)).is_some_and(|word| word & bit_of(port) != 0),
        }
    }

    /// Removes a port; returns whether it was in the set.
    #[inline(always)]
    pub(crate) fn remove(&mut self, port: Port) -> bool {
        match &mut self.0 {
            Words::Few(bits) => {
                let bit = if port.0 < BITS { bit_of(port) } else { 0 };
                let was_in = *bits & bit != 0;
                *bits &= !bit;
                was_in
            }
            Words::Many(many) => many.remove(port),
        }
    }

    /// Adds a port.
    pub(crate) fn insert(&mut self, port: Port) {
        match &mut self.0 {
            Words::Few(bits) if port.0 < BITS => *bits |= bit_of(port),
            Words::Few(bits) => {
                let mut many = Many { count: bits.count_ones(), words: vec![*bits] };
                many.insert(port);
                self.0 = Words::Many(Box::new(many));
            }
            Words::Many(many) => many.insert(port),
        }
    }

    /// The ports in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Port> + '_ {
        let words = match &self.0 {
            Words::Few(bits) => core::slice::from_ref(bits),
            Words::Many(many) => &many.words,
        };
        (0..).zip(words).flat_map(|(place, &word)| bits_of(word).map(move |bit| Port(place * BITS + bit)))
    }
}

impl Many {
    #[inline(never)]
    fn remove(&mut self, port: Port) -> bool {
        let Some(word) = self.words.get_mut(word_of(port)) else { return false };
        let was_in = *word & bit_of(port) != 0;
        *word &= !bit_of(port);
        self.count -= u32::from(was_in);
        was_in
    }

    fn insert(&mut self, port: Port) {
        if self.words.len() <= word_of(port) {
            self.words.resize(word_of(port) + 1, 0);
        }
        let word = &mut self.words[word_of(port)];
        self.count += u32::from(*word & bit_of(port) == 0);
        *word |= bit_of(port);
    }
}

#[cold]
#[inline(never)]
fn many(degree: u32) -> Box<Many> {
    let mut words = vec![u64::MAX; (degree / BITS) as usize];
    words.push(first_bits(degree % BITS));
    Box::new(Many { count: degree, words })
}

/// A word with this many ones, at most 64.
#[inline(always)]
const fn first_bits(count: u32) -> u64 {
    if count == 0 { 0 } else { u64::MAX >> (BITS - count) }
}

#[inline(always)]
const fn word_of(port: Port) -> usize {
    (port.0 / BITS) as usize
}

#[inline(always)]
const fn bit_of(port: Port) -> u64 {
    1 << (port.0 % BITS)
}

fn bits_of(mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn behaves_like_a_plain_set_for_every_degree() {
        for degree in [0, 1, 2, 63, 64, 65, 128, 200] {
            let mut ports = Ports::all(degree);
            let mut plain: BTreeSet<u32> = (0..degree).collect();
            for step in 0..3 * degree + 3 {
                assert_eq!(ports.iter().map(|port| port.0).collect::<BTreeSet<_>>(), plain);
                assert_eq!(ports.is_empty(), plain.is_empty());
                let port = step * 7 % (degree + 1);
                assert_eq!(ports.contains(Port(port)), plain.contains(&port));
                assert_eq!(ports.remove(Port(port)), plain.remove(&port), "{degree} {port}");
                if step % 3 == 0 {
                    ports.insert(Port(step % 70));
                    plain.insert(step % 70);
                }
            }
        }
    }

    #[test]
    fn all_but_leaves_one_port_out() {
        assert_eq!(Ports::all_but(3, Port(1)).iter().collect::<Vec<_>>(), [Port(0), Port(2)]);
        assert_eq!(Ports::all_but(100, Port(99)), {
            let mut ports = Ports::all(100);
            ports.remove(Port(99));
            ports
        });
        assert!(Ports::all_but(1, Port(0)).is_empty());
    }
}
