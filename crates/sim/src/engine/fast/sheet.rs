//! A sheet: next tick's mail of a complete network, with a row for every sender and a column for every receiver.
//!
//! A node that sends to everybody fills its row from left to right, which is what memory is best at. To read the column
//! of a receiver would be what it is worst at; so 64 columns are read at once, a word of every row, and turned by 90
//! degrees in the cache. Then the bits of a receiver's senders lie side by side, in the order that the model asks for.

use std::ops::Range;

use hustings_protocol::Port;

use super::direct::Direct;
use super::links::Links;
use super::mailbox::{Arrival, Bound, Came, Mailbox, Way};
use super::pages::filled;

/// Mail from one range of positions to one range of positions, of a complete network.
pub(super) struct Sheet<M> {
    first_sender: u32,
    first_receiver: u32,
    columns: usize,
    /// A bit for each pair, row by row; a row begins with a new word.
    bits: Vec<u64>,
    /// What is said, row by row; it counts only where the bit is set.
    messages: Vec<Option<M>>,
    /// Whether a row, and 64 columns together, have any mail.
    rows: Vec<bool>,
    blocks: Vec<bool>,
    /// What is sent where there is a message already: receiver, sender and message, in sending order.
    more: Vec<(u32, u32, M)>,
    direct: Direct<M>,
    /// How many messages are on it, those sent by id left out.
    count: usize,
    open: Block,
}

/// 64 columns of all sheets for a range, turned.
#[derive(Default)]
struct Block {
    /// The rows with mail, by sheet.
    rows: Vec<(u32, u32)>,
    /// 64 rows each that have mail in this block: the sheet, and the first of the rows.
    groups: Vec<(u32, u32)>,
    /// For each group, for each of the 64 columns: a bit for each row.
    words: Vec<u64>,
}

impl<M> Sheet<M> {
    fn words(&self) -> usize {
        self.blocks.len()
    }
}

/// How far the mail was read.
#[derive(Clone, Copy, Default)]
pub(super) struct Reader {
    /// The next block.
    block: usize,
    /// The receivers of the open block that were not reached yet.
    receivers: u64,
    /// The receiver that is being read, its column in the block, and its first slot.
    node: u32,
    column: usize,
    first: usize,
    /// The next group, and how many there are.
    group: usize,
    groups: usize,
    /// What is left of the group that is being read, its sheet, and the first of its rows.
    word: u64,
    sheet: u32,
    row: u32,
    /// Whether anybody has more than one message from one sender, or mail by id.
    any_more: bool,
    has_direct: bool,
}

impl<M: Clone + Send> Mailbox<M> for Sheet<M> {
    type Reader = Reader;
    type Pool = ();

    fn new<L: Links>(_: &L, from: Range<u32>, to: Range<u32>) -> Self {
        let (rows, columns) = (from.len(), to.len());
        let words = columns.div_ceil(64);
        Sheet {
            first_sender: from.start,
            first_receiver: to.start,
            columns,
            bits: filled(rows * words, 0),
            messages: filled(rows * columns, None),
            rows: vec![false; rows],
            blocks: vec![false; words],
            more: Vec::new(),
            direct: Direct::new(),
            count: 0,
            open: Block::default(),
        }
    }

    fn pool<L: Links>(_: &L, _: Range<u32>) {}

    fn memory(&self) -> usize {
        self.bits.len() * size_of::<u64>() + self.messages.len() * size_of::<Option<M>>()
    }

    fn len(&self) -> usize {
        self.count + self.direct.len()
    }

    #[inline(always)]
    fn put(&mut self, (): &mut (), way: Way, message: M) {
        self.count += 1;
        let (row, column) = ((way.sender - self.first_sender) as usize, (way.receiver - self.first_receiver) as usize);
        let (block, bit) = (column / 64, 1 << (column % 64));
        let word = &mut self.bits[row * self.blocks.len() + block];
        let old = *word;
        *word = old | bit;
        if old & bit != 0 {
            self.more.push((way.receiver, way.sender, message));
            return;
        }
        self.messages[row * self.columns + column] = Some(message);
        self.rows[row] = true;
        self.blocks[block] = true;
    }

    fn put_direct(&mut self, (): &mut (), sender: u32, receiver: u32, message: M) {
        self.direct.put(sender, receiver, message);
    }

    fn open<L: Links>(sheets: &mut [Self], _: &L, _: Range<u32>) -> Reader {
        let mut block = std::mem::take(&mut sheets[0].open);
        block.rows.clear();
        let mut any_more = false;
        for (number, sheet) in (0..).zip(sheets.iter_mut()) {
            sheet.count = 0;
            // Stable, and from the back: the last one of the first receiver is at the end.
            sheet.more.sort_by_key(|&(receiver, sender, _)| (receiver, sender));
            sheet.more.reverse();
            any_more |= !sheet.more.is_empty();
            let used = sheet.rows.iter_mut().zip(0..).filter_map(|(used, row)| std::mem::take(used).then_some(row));
            block.rows.extend(used.map(|row| (number, row)));
        }
        sheets[0].open = block;
        let has_direct = Direct::open(sheets.iter_mut().map(|sheet| &mut sheet.direct));
        Reader { any_more, has_direct, ..Reader::default() }
    }

    #[inline(always)]
    fn next<L: Links>(
        sheets: &mut [Self],
        (): &mut (),
        reader: &mut Reader,
        links: &L,
        bound: Bound,
    ) -> Option<Arrival<M>> {
        if reader.word == 0 {
            *reader = refilled(sheets, *reader, links);
        }
        let sender = sheets[reader.sheet as usize].first_sender + reader.row + reader.word.trailing_zeros();
        if reader.has_direct {
            let over_link = (reader.word != 0).then_some((reader.node, sender));
            if let Some((node, sender, message)) = sheets[0].direct.next(over_link, bound.node) {
                let (first, end) = (links.first(node), links.first(node + 1));
                return Some(Arrival { node, first, degree: (end - first) as u32, came: Came::From(sender), message });
            }
        }
        if reader.word == 0 || reader.node >= bound.node {
            return None;
        }
        let sheet = &mut sheets[reader.sheet as usize];
        let (row, column) = ((sender - sheet.first_sender) as usize, (reader.node - sheet.first_receiver) as usize);
        let place = &mut sheet.messages[row * sheet.columns + column];
        let message = place.clone()?;
        if reader.any_more && sheet.more.last().is_some_and(|other| (other.0, other.1) == (reader.node, sender)) {
            *place = sheet.more.pop().map(|(_, _, next)| next);
        } else {
            reader.word &= reader.word - 1;
        }
        let port = Port(sender - u32::from(sender > reader.node));
        let degree = links.size() - 1;
        Some(Arrival { node: reader.node, first: reader.first, degree, came: Came::Through(port), message })
    }

    fn close(sheets: &mut [Self]) -> bool {
        debug_assert!(sheets.iter().all(|sheet| sheet.more.is_empty()), "a message was not taken");
        sheets[0].direct.close()
    }
}

/// Goes on to the next word that is not empty. By value, so that a reader held in registers need not have an address.
#[inline(never)]
fn refilled<M, L: Links>(sheets: &mut [Sheet<M>], mut reader: Reader, links: &L) -> Reader {
    loop {
        let Block { groups, words, .. } = &sheets[0].open;
        while reader.group < reader.groups {
            let group = reader.group;
            reader.group += 1;
            reader.word = words[group * 64 + reader.column];
            if reader.word != 0 {
                (reader.sheet, reader.row) = groups[group];
                return reader;
            }
        }
        if reader.receivers == 0 {
            let Some(block) = (reader.block..sheets[0].words()).find(|&block| take_block(sheets, block)) else {
                return reader;
            };
            (reader.receivers, reader.groups) = turn(sheets, block);
            reader.block = block + 1;
        }
        reader.column = reader.receivers.trailing_zeros() as usize;
        reader.receivers &= reader.receivers - 1;
        reader.node = sheets[0].first_receiver + ((reader.block - 1) * 64 + reader.column) as u32;
        (reader.first, reader.group) = (links.first(reader.node), 0);
    }
}

/// Whether a block has mail. It is asked once.
fn take_block<M>(sheets: &mut [Sheet<M>], block: usize) -> bool {
    sheets.iter_mut().fold(false, |any, sheet| any | std::mem::take(&mut sheet.blocks[block]))
}

/// Turns a block, whose bits are taken. Says which receivers have mail, and of how many groups of senders.
fn turn<M>(sheets: &mut [Sheet<M>], block: usize) -> (u64, usize) {
    let mut open = std::mem::take(&mut sheets[0].open);
    open.groups.clear();
    open.words.clear();
    let mut receivers = 0;
    for rows in open.rows.chunk_by(|one, other| (one.0, one.1 / 64) == (other.0, other.1 / 64)) {
        let (mut square, mut any) = ([0u64; 64], 0);
        let (number, first) = (rows[0].0, rows[0].1 / 64 * 64);
        let sheet = &mut sheets[number as usize];
        let words = sheet.words();
        for &(_, row) in rows {
            let word = std::mem::take(&mut sheet.bits[row as usize * words + block]);
            square[(row - first) as usize] = word;
            any |= word;
        }
        if any != 0 {
            receivers |= any;
            open.groups.push((number, first));
            open.words.extend_from_slice(&transposed(square));
        }
    }
    let groups = open.groups.len();
    sheets[0].open = open;
    (receivers, groups)
}

/// A square of bits, turned: bit c of row r goes to bit r of row c. Halves, quarters and so on change places.
fn transposed(mut square: [u64; 64]) -> [u64; 64] {
    let (mut half, mut low) = (32, u64::MAX >> 32);
    while half != 0 {
        for pair in square.chunks_exact_mut(2 * half) {
            let (upper, lower) = pair.split_at_mut(half);
            for (one, other) in upper.iter_mut().zip(lower) {
                let changed = (*one >> half ^ *other) & low;
                *other ^= changed;
                *one ^= changed << half;
            }
        }
        half /= 2;
        low ^= low << half;
    }
    square
}
