//! Bins: next tick's mail, thrown into bins of neighbouring receivers and sorted there.
//!
//! A message of many bytes must not go to a place of its own in a large array: that misses the cache once for every
//! message. So mail is appended to one of a few hundred bins, each for so few receivers that it can be sorted in the
//! cache when they are due. Senders act in the order of their positions, so within a bin mail lies in the order of
//! sending, and a stable sort by receiver gives the order that the model asks for; mail by id or by the map included.
//!
//! A bin is a list of packs of letters. Packs that were read are written again at once, while they are in the cache.

use std::mem::MaybeUninit;
use std::ops::Range;

use hustings_protocol::Port;

use super::links::Links;
use super::mailbox::{Arrival, Came, Mailbox, Way};

/// How many letters a pack holds.
const PACK: usize = 256;

/// So many letters of a bin can be sorted in the cache. (Half and twice as many are slower, if not by much.)
const LETTERS_IN_A_BIN: usize = 1 << 16;

/// The most receivers that share a bin, as a power of 2.
const MAX_IN_A_BIN: u32 = 13;

/// With fewer letters than receivers divided by this, comparing is faster than counting.
const WORTH_COUNTING: usize = 16;

/// A letter that did not come over a link has this bit, and its sender's position instead of a slot.
const BY_MAP: u32 = 1 << 31;

/// Where a letter goes (the upper half) and what it came over: a slot, or a position with a mark.
#[derive(Clone, Copy)]
struct Address(u64);

impl Address {
    #[inline(always)]
    fn new(receiver: u32, from: u32) -> Self {
        Address(u64::from(receiver) << 32 | u64::from(from))
    }
    #[inline(always)]
    fn receiver(self) -> u32 {
        (self.0 >> 32) as u32
    }
    #[inline(always)]
    fn from(self) -> u32 {
        self.0 as u32
    }
}

/// A message and where it goes.
pub(super) struct Letter<M> {
    address: Address,
    message: M,
}

/// Up to [`PACK`] letters; one without any room stands for none.
pub(super) type Pack<M> = Vec<Letter<M>>;

/// The letters for some receivers, in the order of sending.
struct Bin<M> {
    full: Vec<Pack<M>>,
    last: Pack<M>,
}

/// Mail from one range of positions to one range of positions.
pub(super) struct Bins<M> {
    /// The first receiver.
    first: u32,
    /// A bin is for 2 to this power receivers.
    width: u32,
    bins: Vec<Bin<M>>,
    /// A bit for each bin that has mail.
    used: Vec<u64>,
    count: usize,
    /// The next bin to be read.
    next: usize,
    /// The bin that is being read, sorted.
    open: Vec<(Address, MaybeUninit<M>)>,
    /// Where the letters of each receiver begin; only while a bin is being sorted.
    begins: Vec<u32>,
    /// A bin with few letters; only while it is being sorted.
    few: Pack<M>,
}

impl<M> Bins<M> {
    /// Makes room in a bin.
    #[cold]
    #[inline(never)]
    fn new_pack(&mut self, bin: usize, pool: &mut Vec<Pack<M>>) {
        self.used[bin / 64] |= 1 << (bin % 64);
        let bin = &mut self.bins[bin];
        let full = std::mem::replace(&mut bin.last, pool.pop().unwrap_or_else(|| Vec::with_capacity(PACK)));
        if !full.is_empty() {
            bin.full.push(full);
        }
    }

    #[inline(always)]
    fn push(&mut self, pool: &mut Vec<Pack<M>>, address: Address, message: M) {
        self.count += 1;
        let bin = ((address.receiver() - self.first) >> self.width) as usize;
        if self.bins[bin].last.len() == self.bins[bin].last.capacity() {
            self.new_pack(bin, pool);
        }
        let last = &mut self.bins[bin].last;
        // SAFETY: there is room for one more letter: it was looked for, or a pack with room was just put in place.
        // (`push` would look once more, and have a way out with the message's address, so that it is built in memory.)
        unsafe {
            last.as_mut_ptr().add(last.len()).write(Letter { address, message });
            last.set_len(last.len() + 1);
        }
    }
}

impl<M> Bin<M> {
    fn packs(&self) -> impl Iterator<Item = &Pack<M>> {
        self.full.iter().chain([&self.last])
    }

    /// Hands out all letters; the packs go to the pool.
    #[inline(always)]
    fn empty(&mut self, pool: &mut Vec<Pack<M>>, mut take: impl FnMut(Letter<M>)) {
        for mut pack in self.full.drain(..).chain([std::mem::take(&mut self.last)]) {
            pack.drain(..).for_each(&mut take);
            if pack.capacity() > 0 {
                pool.push(pack);
            }
        }
    }
}

/// How far the mail was read.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    /// The next letter of the open bin, and how many it has.
    at: usize,
    length: usize,
    /// The last receiver, its first slot, and how many it has.
    node: u32,
    first: u32,
    degree: u32,
}

impl<M: Send> Mailbox<M> for Bins<M> {
    type Reader = Reader;
    type Pool = Vec<Pack<M>>;

    fn new<L: Links>(links: L, _: Range<u32>, to: Range<u32>) -> Self {
        let slots = links.first(to.end) - links.first(to.start);
        let degree = slots / to.len().max(1) + 1;
        let width = (LETTERS_IN_A_BIN / degree).max(1).ilog2().min(MAX_IN_A_BIN);
        let bins = to.len().div_ceil(1 << width);
        Bins {
            first: to.start,
            width,
            bins: (0..bins).map(|_| Bin { full: Vec::new(), last: Vec::new() }).collect(),
            used: vec![0; bins.div_ceil(64)],
            count: 0,
            next: 0,
            open: Vec::new(),
            begins: vec![0; 1 << width],
            few: Vec::new(),
        }
    }

    fn pool<L: Links>(links: L, range: Range<u32>) -> Vec<Pack<M>> {
        let slots = if L::IS_RING { 0 } else { links.first(range.end) - links.first(range.start) };
        let packs = slots.min(4 * range.len()) / PACK;
        let pack = |_| {
            let mut pack = Vec::with_capacity(PACK);
            // Touched, so that the run does not pay for mapping it.
            pack.spare_capacity_mut().fill_with(MaybeUninit::zeroed);
            pack
        };
        (0..packs).map(pack).collect()
    }

    fn memory(&self) -> usize {
        self.bins.len() * size_of::<Bin<M>>()
    }

    fn pool_memory(pool: &Vec<Pack<M>>) -> usize {
        pool.len() * PACK * size_of::<Letter<M>>()
    }

    fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn put(&mut self, pool: &mut Vec<Pack<M>>, way: Way, message: M) {
        self.push(pool, Address::new(way.receiver, way.slot as u32), message);
    }

    fn put_direct(&mut self, pool: &mut Vec<Pack<M>>, sender: u32, receiver: u32, message: M) {
        self.push(pool, Address::new(receiver, sender | BY_MAP), message);
    }

    fn open(boxes: &mut [Self]) -> Reader {
        boxes[0].next = 0;
        // No position has this number.
        Reader { at: 0, length: 0, node: u32::MAX, first: 0, degree: 0 }
    }

    #[inline(always)]
    fn next<L: Links>(
        boxes: &mut [Self],
        pool: &mut Vec<Pack<M>>,
        reader: &mut Reader,
        links: L,
        bound: u32,
    ) -> Option<Arrival> {
        if reader.at == reader.length {
            (reader.at, reader.length) = (0, next_bin(boxes, pool));
            if reader.length == 0 {
                return None;
            }
        }
        let address = boxes[0].open[reader.at].0;
        if address.receiver() >= bound {
            return None;
        }
        if address.receiver() != reader.node {
            reader.node = address.receiver();
            reader.first = links.first(reader.node) as u32;
            reader.degree = links.first(reader.node + 1) as u32 - reader.first;
        }
        let from = address.from();
        let came =
            if from & BY_MAP == 0 { Came::Through(Port(from - reader.first)) } else { Came::From(from & !BY_MAP) };
        Some(Arrival { node: reader.node, first: reader.first as usize, degree: reader.degree, came })
    }

    #[inline(always)]
    fn message(boxes: &mut [Self], reader: &mut Reader) -> M {
        let at = reader.at;
        assert!(at < reader.length, "every letter is read once");
        reader.at = at + 1;
        // SAFETY: `sort` filled the places below `length`, and each is read once: `at` only grows until the next bin.
        unsafe { boxes[0].open[at].1.assume_init_read() }
    }

    fn close(boxes: &mut [Self]) -> bool {
        for bins in boxes {
            bins.used.fill(0);
            bins.count = 0;
        }
        true
    }
}

/// Opens the next bin that has mail. Says how many letters there are; 0 after the last bin.
#[inline(never)]
fn next_bin<M>(boxes: &mut [Bins<M>], pool: &mut Vec<Pack<M>>) -> usize {
    let (mut next, bins) = (boxes[0].next, boxes[0].bins.len());
    let mut length = 0;
    while next < bins && length == 0 {
        let word = boxes.iter().fold(0, |word, bins| word | bins.used[next / 64]) >> (next % 64);
        if word == 0 {
            next = (next / 64 + 1) * 64;
        } else {
            next += word.trailing_zeros() as usize;
            length = sort(boxes, pool, next);
            next += 1;
        }
    }
    boxes[0].next = next;
    length
}

/// Empties a bin of all boxes into the place for the open one. Says how many letters there are.
fn sort<M>(boxes: &mut [Bins<M>], pool: &mut Vec<Pack<M>>, bin: usize) -> usize {
    let (mut open, mut begins) = (std::mem::take(&mut boxes[0].open), std::mem::take(&mut boxes[0].begins));
    let mut few = std::mem::take(&mut boxes[0].few);
    let first = boxes[0].first + ((bin as u32) << boxes[0].width);
    let sent = || boxes.iter().flat_map(|bins| bins.bins[bin].packs());
    let count = sent().map(Vec::len).sum();
    if open.len() < count {
        open.resize_with(count, || (Address::new(0, 0), MaybeUninit::uninit()));
    }
    if count < begins.len() / WORTH_COUNTING {
        boxes.iter_mut().for_each(|bins| bins.bins[bin].empty(pool, |letter| few.push(letter)));
        few.sort_by_key(|letter| letter.address.receiver());
        for (place, Letter { address, message }) in open.iter_mut().zip(few.drain(..)) {
            *place = (address, MaybeUninit::new(message));
        }
    } else {
        begins.fill(0);
        for letter in sent().flatten() {
            begins[(letter.address.receiver() - first) as usize] += 1;
        }
        let mut begin = 0;
        for place in &mut begins {
            begin += std::mem::replace(place, begin);
        }
        for bins in boxes.iter_mut() {
            bins.bins[bin].empty(pool, |Letter { address, message }| {
                let place = &mut begins[(address.receiver() - first) as usize];
                open[*place as usize] = (address, MaybeUninit::new(message));
                *place += 1;
            });
        }
    }
    (boxes[0].open, boxes[0].begins, boxes[0].few) = (open, begins, few);
    count
}
