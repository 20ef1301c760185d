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
use super::mailbox::{Arrival, Bound, Came, Mailbox, Way};

/// How many letters a pack holds.
const PACK: usize = 256;

/// So many letters of a bin can be sorted in the cache. (Half and twice as many are slower, if not by much.)
const LETTERS_IN_A_BIN: usize = 1 << 16;

/// The most receivers that share a bin, as a power of 2.
const MOST_IN_A_BIN: u32 = 13;

/// With fewer letters than receivers divided by this, comparing is faster than counting.
const WORTH_COUNTING: usize = 16;

/// A letter that did not come over a link has this bit, and its sender's position instead of a slot.
const BY_MAP: u32 = 1 << 31;

/// A message and where it goes.
pub(super) struct Letter<M> {
    receiver: u32,
    /// The slot, or the sender.
    from: u32,
    message: M,
}

/// Up to [`PACK`] letters; one with no room at all stands for none.
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
    /// The bin that is open, sorted.
    open: Vec<Option<Letter<M>>>,
    /// Where the letters of each receiver begin; only while a bin is being sorted.
    begins: Vec<u32>,
}

impl<M> Bins<M> {
    /// Makes room in a bin.
    #[cold]
    #[inline(never)]
    fn new_pack(&mut self, bin: usize, pool: &mut Vec<Pack<M>>) {
        self.used[bin / 64] |= 1 << (bin % 64);
        let pack = pool.pop().unwrap_or_else(|| Vec::with_capacity(PACK));
        let bin = &mut self.bins[bin];
        let full = std::mem::replace(&mut bin.last, pack);
        if !full.is_empty() {
            bin.full.push(full);
        }
    }

    #[inline(always)]
    fn push(&mut self, pool: &mut Vec<Pack<M>>, letter: Letter<M>) {
        self.count += 1;
        let bin = ((letter.receiver - self.first) >> self.width) as usize;
        let last = &self.bins[bin].last;
        if last.len() == last.capacity() {
            self.new_pack(bin, pool);
        }
        self.bins[bin].last.push(letter);
    }
}

impl<M> Bin<M> {
    fn packs(&self) -> impl Iterator<Item = &Pack<M>> {
        self.full.iter().chain([&self.last])
    }

    fn len(&self) -> usize {
        self.packs().map(Vec::len).sum()
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
    /// The next bin.
    bin: usize,
    /// The next letter of the open bin.
    at: usize,
    /// The last receiver, its first slot, and that of the next one.
    node: u32,
    first: usize,
    end: usize,
}

impl<M: Send> Mailbox<M> for Bins<M> {
    type Reader = Reader;
    type Pool = Vec<Pack<M>>;

    fn new<L: Links>(links: &L, _: Range<u32>, to: Range<u32>) -> Self {
        let slots = links.first(to.end) - links.first(to.start);
        let degree = slots / to.len().max(1) + 1;
        let width = (LETTERS_IN_A_BIN / degree).max(1).ilog2().min(MOST_IN_A_BIN);
        let bins = to.len().div_ceil(1 << width);
        Bins {
            first: to.start,
            width,
            bins: (0..bins).map(|_| Bin { full: Vec::new(), last: Vec::new() }).collect(),
            used: vec![0; bins.div_ceil(64)],
            count: 0,
            open: Vec::new(),
            begins: vec![0; 1 << width],
        }
    }

    fn pool<L: Links>(links: &L, range: Range<u32>) -> Vec<Pack<M>> {
        let slots = if L::IS_RING { 0 } else { links.first(range.end) - links.first(range.start) };
        let packs = slots.min(4 * range.len()) / PACK;
        let pack = || {
            let mut pack: Pack<M> = Vec::with_capacity(PACK);
            // Touched, so that the run does not pay for mapping it.
            pack.spare_capacity_mut().fill_with(MaybeUninit::zeroed);
            pack
        };
        (0..packs).map(|_| pack()).collect()
    }

    fn memory(&self) -> usize {
        self.bins.len() * size_of::<Bin<M>>()
    }

    fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn put(&mut self, pool: &mut Vec<Pack<M>>, way: Way, message: M) {
        self.push(pool, Letter { receiver: way.receiver, from: way.slot as u32, message });
    }

    fn put_direct(&mut self, pool: &mut Vec<Pack<M>>, sender: u32, receiver: u32, message: M) {
        self.push(pool, Letter { receiver, from: sender | BY_MAP, message });
    }

    fn open<L: Links>(_: &mut [Self], links: &L, to: Range<u32>) -> Reader {
        let (first, end) = (links.first(to.start), links.first(to.start + 1));
        Reader { bin: 0, at: 0, node: to.start, first, end }
    }

    #[inline(always)]
    fn next<L: Links>(
        boxes: &mut [Self],
        pool: &mut Vec<Pack<M>>,
        reader: &mut Reader,
        links: &L,
        bound: Bound,
    ) -> Option<Arrival<M>> {
        if reader.at == boxes[0].open.len() {
            *reader = next_bin(boxes, pool, *reader);
        }
        let place = boxes[0].open.get_mut(reader.at)?;
        if place.as_ref()?.receiver >= bound.node {
            return None;
        }
        let Letter { receiver, from, message } = place.take()?;
        reader.at += 1;
        if receiver != reader.node {
            reader.node = receiver;
            (reader.first, reader.end) = (links.first(receiver), links.first(receiver + 1));
        }
        let came = if from & BY_MAP == 0 {
            Came::Through(Port((from as usize - reader.first) as u32))
        } else {
            Came::From(from & !BY_MAP)
        };
        let (first, degree) = (reader.first, (reader.end - reader.first) as u32);
        Some(Arrival { node: reader.node, first, degree, came, message })
    }

    fn close(boxes: &mut [Self]) -> bool {
        for bins in boxes {
            bins.used.fill(0);
            bins.open.clear();
            bins.count = 0;
        }
        true
    }
}

/// Opens the next bin that has mail. By value, so that a reader held in registers need not have an address.
#[inline(never)]
fn next_bin<M>(boxes: &mut [Bins<M>], pool: &mut Vec<Pack<M>>, mut reader: Reader) -> Reader {
    reader.at = 0;
    boxes[0].open.clear();
    let bins = boxes[0].bins.len();
    while reader.bin < bins {
        let word = boxes.iter().fold(0, |word, bins| word | bins.used[reader.bin / 64]) >> (reader.bin % 64);
        if word == 0 {
            reader.bin = (reader.bin / 64 + 1) * 64;
            continue;
        }
        reader.bin += word.trailing_zeros() as usize;
        sort(boxes, pool, reader.bin);
        reader.bin += 1;
        break;
    }
    reader
}

/// Empties a bin of all boxes into the place for the open one.
fn sort<M>(boxes: &mut [Bins<M>], pool: &mut Vec<Pack<M>>, bin: usize) {
    let (mut open, mut begins) = (std::mem::take(&mut boxes[0].open), std::mem::take(&mut boxes[0].begins));
    let first = boxes[0].first + ((bin as u32) << boxes[0].width);
    let count: usize = boxes.iter().map(|bins| bins.bins[bin].len()).sum();
    if count < begins.len() / WORTH_COUNTING {
        boxes.iter_mut().for_each(|bins| bins.bins[bin].empty(pool, |letter| open.push(Some(letter))));
        open.sort_by_key(|letter| letter.as_ref().map(|letter| letter.receiver));
    } else {
        begins.fill(0);
        for letter in boxes.iter().flat_map(|bins| bins.bins[bin].packs()).flatten() {
            begins[(letter.receiver - first) as usize] += 1;
        }
        let mut begin = 0;
        for place in &mut begins {
            begin += std::mem::replace(place, begin);
        }
        open.resize_with(count, || None);
        for bins in boxes.iter_mut() {
            bins.bins[bin].empty(pool, |letter| {
                let place = &mut begins[(letter.receiver - first) as usize];
                open[*place as usize] = Some(letter);
                *place += 1;
            });
        }
    }
    (boxes[0].open, boxes[0].begins) = (open, begins);
}
