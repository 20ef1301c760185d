//! A mailbox that sorts messages in buckets of neighbouring receivers.
//!
//! Storing each message at a place of its own in a large array would miss the cache for every message. So messages are
//! appended to one of a few hundred buckets. Each bucket is for so few receivers that it can be sorted in the cache.
//! Senders act in the order of their positions, so within a bucket messages are in sending order, and a stable sort by
//! receiver gives the required order. This includes messages sent by id or by index.
//!
//! A bucket is a list of chunks. Chunks that were read are reused at once, while they are in the cache.

use std::mem::MaybeUninit;
use std::ops::Range;

use hustings_protocol::Port;

use super::links::Links;
use super::mailbox::{Arrival, Link, Mailbox, Origin};

/// The number of entries in a chunk.
const CHUNK: usize = 256;

/// A bucket of this many entries can be sorted in the cache. (Half and twice as many are slightly slower.)
const MESSAGES_PER_BUCKET: usize = 1 << 16;

/// At most 2 to this power receivers share a bucket.
const MAX_BUCKET_BITS: u32 = 13;

/// With fewer entries than receivers divided by this, sorting by comparison is faster than counting.
const MIN_FILL_FOR_COUNTING: usize = 16;

/// Marks an entry that did not come over a link. It holds its sender's position instead of a slot.
const DIRECT_FLAG: u32 = 1 << 31;

/// The receiver in the upper half. In the lower half the slot of the link, or the sender's position with
/// [`DIRECT_FLAG`].
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

/// A message and its address.
pub(super) struct Entry<M> {
    address: Address,
    message: M,
}

/// Up to [`CHUNK`] entries. A chunk without capacity stands for a missing one.
pub(super) type Chunk<M> = Vec<Entry<M>>;

/// The entries for some receivers, in sending order.
struct Bucket<M> {
    full: Vec<Chunk<M>>,
    last: Chunk<M>,
}

/// The messages from one range of positions to another.
pub(super) struct BucketMailbox<M> {
    /// The first receiver.
    first: u32,
    /// A bucket is for 2 to this power receivers.
    width: u32,
    buckets: Vec<Bucket<M>>,
    /// A bit for each bucket that has entries.
    used: Vec<u64>,
    count: usize,
    /// The next bucket to read.
    next: usize,
    /// The sorted entries of the bucket that is being read.
    open: Vec<(Address, MaybeUninit<M>)>,
    /// Where the entries of each receiver begin. Used only while a bucket is sorted.
    begins: Vec<u32>,
    /// The entries of a sparse bucket. Used only while it is sorted.
    few: Chunk<M>,
}

impl<M> BucketMailbox<M> {
    /// Adds an empty chunk to a bucket.
    #[cold]
    #[inline(never)]
    fn new_chunk(&mut self, bucket: usize, pool: &mut Vec<Chunk<M>>) {
        self.used[bucket / 64] |= 1 << (bucket % 64);
        let bucket = &mut self.buckets[bucket];
        let full = std::mem::replace(&mut bucket.last, pool.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK)));
        if !full.is_empty() {
            bucket.full.push(full);
        }
    }

    #[inline(always)]
    fn push(&mut self, pool: &mut Vec<Chunk<M>>, address: Address, message: M) {
        self.count += 1;
        let bucket = ((address.receiver() - self.first) >> self.width) as usize;
        if self.buckets[bucket].last.len() == self.buckets[bucket].last.capacity() {
            self.new_chunk(bucket, pool);
        }
        let last = &mut self.buckets[bucket].last;
        // SAFETY: there is capacity for one more entry: it was checked above, or `new_chunk` has just provided it.
        // (`Vec::push` would check again. Its growth path takes the message's address, so the message would be built in
        // memory.)
        unsafe {
            last.as_mut_ptr().add(last.len()).write(Entry { address, message });
            last.set_len(last.len() + 1);
        }
    }
}

impl<M> Bucket<M> {
    fn chunks(&self) -> impl Iterator<Item = &Chunk<M>> {
        self.full.iter().chain([&self.last])
    }

    /// Hands out all entries and returns the chunks to the pool.
    #[inline(always)]
    fn empty(&mut self, pool: &mut Vec<Chunk<M>>, mut take: impl FnMut(Entry<M>)) {
        for mut chunk in self.full.drain(..).chain([std::mem::take(&mut self.last)]) {
            chunk.drain(..).for_each(&mut take);
            if chunk.capacity() > 0 {
                pool.push(chunk);
            }
        }
    }
}

/// How far the messages have been read.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    /// The next entry of the open bucket, and the number of its entries.
    at: usize,
    length: usize,
    /// The last receiver, its first slot and its degree.
    node: u32,
    first: u32,
    degree: u32,
}

impl<M: Send> Mailbox<M> for BucketMailbox<M> {
    type Reader = Reader;
    type Pool = Vec<Chunk<M>>;

    fn new<L: Links>(links: L, _: Range<u32>, to: Range<u32>) -> Self {
        let slots = links.first(to.end) - links.first(to.start);
        let degree = slots / to.len().max(1) + 1;
        let width = (MESSAGES_PER_BUCKET / degree).max(1).ilog2().min(MAX_BUCKET_BITS);
        let buckets = to.len().div_ceil(1 << width);
        BucketMailbox {
            first: to.start,
            width,
            buckets: (0..buckets).map(|_| Bucket { full: Vec::new(), last: Vec::new() }).collect(),
            used: vec![0; buckets.div_ceil(64)],
            count: 0,
            next: 0,
            open: Vec::new(),
            begins: vec![0; 1 << width],
            few: Vec::new(),
        }
    }

    fn pool<L: Links>(links: L, range: Range<u32>) -> Vec<Chunk<M>> {
        let slots = if L::IS_RING { 0 } else { links.first(range.end) - links.first(range.start) };
        let chunks = slots.min(4 * range.len()) / CHUNK;
        let chunk = |_| {
            let mut chunk = Vec::with_capacity(CHUNK);
            // Touch the memory here, so that the run does not pay for mapping it.
            chunk.spare_capacity_mut().fill_with(MaybeUninit::zeroed);
            chunk
        };
        (0..chunks).map(chunk).collect()
    }

    fn memory(&self) -> usize {
        self.buckets.len() * size_of::<Bucket<M>>()
    }

    fn pool_memory(pool: &Vec<Chunk<M>>) -> usize {
        pool.len() * CHUNK * size_of::<Entry<M>>()
    }

    fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn put(&mut self, pool: &mut Vec<Chunk<M>>, link: Link, message: M) {
        self.push(pool, Address::new(link.receiver, link.slot as u32), message);
    }

    fn put_direct(&mut self, pool: &mut Vec<Chunk<M>>, sender: u32, receiver: u32, message: M) {
        self.push(pool, Address::new(receiver, sender | DIRECT_FLAG), message);
    }

    fn open(boxes: &mut [Self]) -> Reader {
        boxes[0].next = 0;
        // No position has this number.
        Reader { at: 0, length: 0, node: u32::MAX, first: 0, degree: 0 }
    }

    #[inline(always)]
    fn next<L: Links>(
        boxes: &mut [Self],
        pool: &mut Vec<Chunk<M>>,
        reader: &mut Reader,
        links: L,
        bound: u32,
    ) -> Option<Arrival> {
        if reader.at == reader.length {
            (reader.at, reader.length) = (0, next_bucket(boxes, pool));
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
        let origin = if from & DIRECT_FLAG == 0 {
            Origin::Port(Port(from - reader.first))
        } else {
            Origin::Position(from & !DIRECT_FLAG)
        };
        Some(Arrival { node: reader.node, first: reader.first as usize, degree: reader.degree, origin })
    }

    #[inline(always)]
    fn message(boxes: &mut [Self], reader: &mut Reader) -> M {
        let at = reader.at;
        assert!(at < reader.length, "every entry is read once");
        reader.at = at + 1;
        // SAFETY: `sort` filled the entries below `length`, and each is read once: `at` only grows until the next
        // bucket.
        unsafe { boxes[0].open[at].1.assume_init_read() }
    }

    fn close(boxes: &mut [Self]) -> bool {
        for buckets in boxes {
            buckets.used.fill(0);
            buckets.count = 0;
        }
        true
    }
}

/// Opens the next bucket that has entries. Returns their number; 0 after the last bucket.
#[inline(never)]
fn next_bucket<M>(boxes: &mut [BucketMailbox<M>], pool: &mut Vec<Chunk<M>>) -> usize {
    let (mut next, buckets) = (boxes[0].next, boxes[0].buckets.len());
    let mut length = 0;
    while next < buckets && length == 0 {
        let word = boxes.iter().fold(0, |word, buckets| word | buckets.used[next / 64]) >> (next % 64);
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

/// Moves the entries of one bucket from all mailboxes to `open`, sorted. Returns their number.
fn sort<M>(boxes: &mut [BucketMailbox<M>], pool: &mut Vec<Chunk<M>>, bucket: usize) -> usize {
    let (mut open, mut begins) = (std::mem::take(&mut boxes[0].open), std::mem::take(&mut boxes[0].begins));
    let mut few = std::mem::take(&mut boxes[0].few);
    let first = boxes[0].first + ((bucket as u32) << boxes[0].width);
    let sent = || boxes.iter().flat_map(|buckets| buckets.buckets[bucket].chunks());
    let count = sent().map(Vec::len).sum();
    if open.len() < count {
        open.resize_with(count, || (Address::new(0, 0), MaybeUninit::uninit()));
    }
    if count < begins.len() / MIN_FILL_FOR_COUNTING {
        boxes.iter_mut().for_each(|buckets| buckets.buckets[bucket].empty(pool, |entry| few.push(entry)));
        sorted_places(few.iter().map(|entry| entry.address.receiver()), &mut begins);
        for (Entry { address, message }, &place) in few.drain(..).zip(&begins) {
            open[place as usize] = (address, MaybeUninit::new(message));
        }
    } else {
        begins.fill(0);
        for entry in sent().flatten() {
            begins[(entry.address.receiver() - first) as usize] += 1;
        }
        let mut begin = 0;
        for place in &mut begins {
            begin += std::mem::replace(place, begin);
        }
        for buckets in boxes.iter_mut() {
            buckets.buckets[bucket].empty(pool, |Entry { address, message }| {
                let place = &mut begins[(address.receiver() - first) as usize];
                open[*place as usize] = (address, MaybeUninit::new(message));
                *place += 1;
            });
        }
    }
    (boxes[0].open, boxes[0].begins, boxes[0].few) = (open, begins, few);
    count
}

/// For each receiver, its place in the order of all receivers. Equal ones keep their order.
fn sorted_places(receivers: impl Iterator<Item = u32>, places: &mut [u32]) {
    let mut keys: Vec<u64> = receivers.zip(0..).map(|(receiver, at)| u64::from(receiver) << 32 | at).collect();
    keys.sort_unstable();
    for (place, key) in keys.into_iter().enumerate() {
        places[key as u32 as usize] = place as u32;
    }
}
