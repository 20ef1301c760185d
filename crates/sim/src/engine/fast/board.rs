//! A board: next tick's mail to a range of positions, put in order by where it lies.
//!
//! Every directed link has a *slot*; slots are numbered by receiver, then by sender. A message is a bit at its slot
//! (and a payload beside it), so reading the bits from the first to the last gives the order that the model asks for,
//! and nothing is ever sorted. Two levels of summary bits let the reader jump over what is empty: the cost follows the
//! messages.

use std::mem::MaybeUninit;
use std::ops::Range;

use hustings_protocol::Port;

use super::direct::Direct;
use super::large_pages::{filled, touched};
use super::links::{Links, receiver_of};
use super::mailbox::{Arrival, Bound, Came, Mailbox, Way};

/// Mail from one range of positions to one range of positions.
pub(super) struct Board<M> {
    /// The first slot on it.
    first: usize,
    /// A bit per slot; a bit per word of the level below; and once more.
    levels: [Vec<u64>; 3],
    payloads: Vec<MaybeUninit<M>>,
    /// What is sent over a link that has a message already: slot and message, in sending order.
    more: Vec<(usize, M)>,
    direct: Direct<M>,
    /// How many messages are on it, those sent by id left out.
    count: usize,
    cursor: Cursor,
}

/// Which words of the upper levels are open, as far as they were not read yet; the first board keeps it for all.
#[derive(Clone, Copy, Default)]
struct Cursor {
    words: [u64; 3],
    at: [usize; 3],
    started: bool,
}

impl<M> Board<M> {
    fn of(slots: Range<usize>) -> Self {
        let words = |bits: usize| bits.div_ceil(64);
        let count = slots.len();
        let sizes = [words(count), words(words(count)), words(words(words(count)))];
        Board {
            first: slots.start,
            levels: sizes.map(|size| filled(size, 0)),
            payloads: touched(count),
            more: Vec::new(),
            direct: Direct::new(),
            count: 0,
            cursor: Cursor::default(),
        }
    }

    #[inline(always)]
    fn put_at(&mut self, slot: usize, message: M) {
        self.count += 1;
        let word = &mut self.levels[0][slot / 64];
        let (old, bit) = (*word, 1 << (slot % 64));
        *word = old | bit;
        if old & bit != 0 {
            self.more.push((slot, message));
            return;
        }
        if size_of::<M>() != 0 {
            self.payloads[slot].write(message);
        }
        // Not only if `old` is 0: that branch would wait for a word that is seldom in the cache, and often guess wrong.
        self.levels[1][slot / 4096] |= 1 << (slot / 64 % 64);
        self.levels[2][slot / 262_144] |= 1 << (slot / 4096 % 64);
    }

    /// Makes the second messages of links ready to be taken, and empties the count.
    fn open(&mut self) {
        (self.count, self.cursor) = (0, Cursor::default());
        // Stable, and from the back: the last one of the lowest slot is at the end.
        self.more.sort_by_key(|&(slot, _)| slot);
        self.more.reverse();
    }
}

impl<M: Send> Mailbox<M> for Board<M> {
    type Reader = Reader;
    type Pool = ();

    fn new<L: Links>(links: L, _: Range<u32>, to: Range<u32>) -> Self {
        Board::of(links.first(to.start)..links.first(to.end))
    }

    fn pool<L: Links>(_: L, _: Range<u32>) {}

    fn memory(&self) -> usize {
        let words: usize = self.levels.iter().map(Vec::len).sum();
        words * size_of::<u64>() + self.payloads.len() * size_of::<M>()
    }

    fn pool_memory((): &()) -> usize {
        0
    }

    fn len(&self) -> usize {
        self.count + self.direct.len()
    }

    const ASKS_FOR_RECEIVERS: bool = false;

    #[inline(always)]
    fn put(&mut self, (): &mut (), way: Way, message: M) {
        self.put_at(way.slot - self.first, message);
    }

    fn put_direct(&mut self, (): &mut (), sender: u32, receiver: u32, message: M) {
        self.direct.put(sender, receiver, message);
    }

    fn open<L: Links>(boards: &mut [Self], links: L, to: Range<u32>) -> Reader {
        boards.iter_mut().for_each(Board::open);
        let has_direct = Direct::open(boards.iter_mut().map(|board| &mut board.direct));
        Reader {
            word: 0,
            low: 0,
            node: to.start,
            first: links.first(to.start),
            end: links.first(to.start + 1),
            is_rough: has_direct || boards.iter().any(|board| !board.more.is_empty()),
            is_direct: false,
        }
    }

    #[inline(always)]
    fn next<L: Links>(
        boards: &mut [Self],
        (): &mut (),
        reader: &mut Reader,
        links: L,
        bound: Bound,
    ) -> Option<Arrival> {
        if reader.word == 0 {
            (reader.word, reader.low) = next_word(boards);
        }
        if reader.is_rough
            && let Some(letter) = next_direct(boards, *reader, links, bound.node)
        {
            reader.is_direct = true;
            return Some(letter);
        }
        let slot = reader.slot();
        if reader.word == 0 || slot >= bound.slot {
            return None;
        }
        if slot >= reader.end {
            reader.node = receiver_of(links, slot, reader.node + 1);
            (reader.first, reader.end) = (links.first(reader.node), links.first(reader.node + 1));
        }
        Some(Arrival {
            node: reader.node,
            first: reader.first,
            degree: (reader.end - reader.first) as u32,
            came: Came::Through(Port((slot - reader.first) as u32)),
        })
    }

    #[inline(always)]
    fn message(boards: &mut [Self], reader: &mut Reader) -> M {
        if reader.is_rough {
            let (message, is_last) = rough_message(boards, *reader);
            reader.word &= reader.word.wrapping_sub(u64::from(is_last));
            reader.is_direct = false;
            return message;
        }
        let slot = reader.slot();
        reader.word &= reader.word - 1;
        if size_of::<M>() == 0 {
            // SAFETY: a message without bytes needs no memory, and the bit says that there is one. (The boards' own
            // bits are wiped at the end of the tick.)
            return unsafe { std::ptr::NonNull::<M>::dangling().read() };
        }
        take(boards, slot)
    }

    fn close(boards: &mut [Self]) -> bool {
        wipe(boards);
        boards[0].direct.close()
    }
}

/// What was sent by id and comes before the mail at the reader's slot.
#[cold]
#[inline(never)]
fn next_direct<M, L: Links>(boards: &mut [Board<M>], reader: Reader, links: L, bound: u32) -> Option<Arrival> {
    let over_link = (reader.word != 0).then(|| {
        let node = receiver_of(links, reader.slot(), reader.node);
        let first = links.first(node);
        (node, links.receiver(node, first, (reader.slot() - first) as u32))
    });
    let (node, sender) = boards[0].direct.next(over_link, bound)?;
    let (first, end) = (links.first(node), links.first(node + 1));
    Some(Arrival { node, first, degree: (end - first) as u32, came: Came::From(sender) })
}

/// The next message where there is mail by id, or more than one message at a slot; and whether the slot is empty then.
#[cold]
#[inline(never)]
fn rough_message<M>(boards: &mut [Board<M>], reader: Reader) -> (M, bool) {
    if reader.is_direct {
        return (boards[0].direct.take(), false);
    }
    let slot = reader.slot();
    let message = take(boards, slot);
    // A slot has one sender, so the next message is on the same board as this one was.
    for board in boards {
        let place = slot - board.first;
        if let Some((_, next)) = board.more.pop_if(|(other, _)| *other == place) {
            board.levels[0][place / 64] |= 1 << (place % 64);
            if size_of::<M>() != 0 {
                board.payloads[place].write(next);
            }
            return (message, false);
        }
    }
    (message, true)
}

/// Inputs a message whose bit is set.
#[inline(always)]
fn take<M>(boards: &mut [Board<M>], slot: usize) -> M {
    let slot = slot - boards[0].first;
    let bit = 1u64 << (slot % 64);
    // A slot has one sender, so just one of the boards has its mail. Counted, not searched: which one it is cannot be
    // guessed.
    let (mut from, mut not_yet) = (0, true);
    for board in &boards[..boards.len() - 1] {
        not_yet &= board.levels[0][slot / 64] & bit == 0;
        from += usize::from(not_yet);
    }
    let board = &mut boards[from];
    assert!(board.levels[0][slot / 64] & bit != 0, "there is a message at this slot");
    board.levels[0][slot / 64] &= !bit;
    // SAFETY: the bit was set, so the slot holds a message: it was written with the bit. Nobody reads it again.
    unsafe {
        if size_of::<M>() == 0 {
            std::ptr::NonNull::<M>::dangling().read()
        } else {
            board.payloads.get_unchecked(slot).assume_init_read()
        }
    }
}

impl<M> Drop for Board<M> {
    fn drop(&mut self) {
        if std::mem::needs_drop::<M>() {
            for (at, word) in self.levels[0].iter().enumerate() {
                for bit in (0..64).filter(|bit| word >> bit & 1 != 0) {
                    // SAFETY: a set bit means that its slot holds a message.
                    unsafe { self.payloads[at * 64 + bit].assume_init_drop() };
                }
            }
        }
    }
}

/// Reads the boards that all ranges wrote for one range, in the order of the slots.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    /// What is left of the word that is open, and the slot of its lowest bit.
    word: u64,
    low: usize,
    /// The last node that had mail over a link, its first slot, and that of the next one.
    node: u32,
    first: usize,
    end: usize,
    /// Whether any slot holds more than one message, or anything was sent by id.
    is_rough: bool,
    /// Whether what comes next was sent by id.
    is_direct: bool,
}

impl Reader {
    /// The slot that comes next, if the word is not empty.
    #[inline(always)]
    fn slot(&self) -> usize {
        self.low + self.word.trailing_zeros() as usize
    }
}

/// The next word that is not empty, and the slot of its lowest bit.
#[inline(never)]
fn next_word<M>(boards: &mut [Board<M>]) -> (u64, usize) {
    let Cursor { mut words, mut at, started } = boards[0].cursor;
    let word = |level: usize, at: usize| {
        boards.iter().fold(0, |word, board| word | board.levels[level].get(at).copied().unwrap_or(0))
    };
    if !started {
        words[2] = word(2, 0);
    }
    words[0] = 0;
    while words[0] == 0 {
        if words[1] != 0 {
            at[0] = at[1] * 64 + words[1].trailing_zeros() as usize;
            words[1] &= words[1] - 1;
            words[0] = word(0, at[0]);
            continue;
        }
        while words[2] == 0 && at[2] + 1 < boards[0].levels[2].len() {
            at[2] += 1;
            words[2] = word(2, at[2]);
        }
        if words[2] == 0 {
            break;
        }
        at[1] = at[2] * 64 + words[2].trailing_zeros() as usize;
        words[2] &= words[2] - 1;
        words[1] = word(1, at[1]);
    }
    let low = boards[0].first + at[0] * 64;
    boards[0].cursor = Cursor { words, at, started: true };
    (words[0], low)
}

/// Wipes the bits of boards that were read to the end.
fn wipe<M>(boards: &mut [Board<M>]) {
    for board in boards {
        for top in 0..board.levels[2].len() {
            for middle in ones(std::mem::take(&mut board.levels[2][top])).map(|bit| top * 64 + bit) {
                for word in ones(std::mem::take(&mut board.levels[1][middle])).map(|bit| middle * 64 + bit) {
                    debug_assert!(size_of::<M>() == 0 || board.levels[0][word] == 0, "a message was not taken");
                    board.levels[0][word] = 0;
                }
            }
        }
        debug_assert!(board.more.is_empty());
    }
}

/// The places of the ones in a word.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Stream};

    #[test]
    fn mail_comes_out_by_slot_then_in_sending_order() {
        let mut stream = Stream::new(1, Purpose::Coins, 0);
        for round in 0..200u64 {
            let slots = 1 + stream.below(20_000) as usize;
            // Even slots are written by one range, odd ones by the other.
            let mut boards = [Board::of(0..slots), Board::of(0..slots)];
            let mut plain = Vec::new();
            for number in 0..stream.below(1 + round * 10) {
                let slot = stream.below(slots as u64) as usize;
                boards[slot % 2].put_at(slot, Box::new(number));
                plain.push((slot, Box::new(number)));
            }
            plain.sort_by_key(|&(slot, _)| slot);
            let mut read = Vec::new();
            boards.iter_mut().for_each(Board::open);
            loop {
                let (word, low) = next_word(&mut boards);
                if word == 0 {
                    break;
                }
                let mut reader = Reader { word, low, node: 0, first: 0, end: 0, is_rough: true, is_direct: false };
                while reader.word != 0 {
                    read.push((reader.slot(), Board::message(&mut boards, &mut reader)));
                }
            }
            assert_eq!(read, plain);
            wipe(&mut boards);
        }
    }

    #[test]
    fn what_is_left_is_dropped() {
        let kept = std::sync::Arc::new(());
        let mut board = Board::of(0..100);
        [3, 3, 99].iter().for_each(|&slot| board.put_at(slot, std::sync::Arc::clone(&kept)));
        assert_eq!(std::sync::Arc::strong_count(&kept), 4);
        drop(board);
        assert_eq!(std::sync::Arc::strong_count(&kept), 1);
    }
}
