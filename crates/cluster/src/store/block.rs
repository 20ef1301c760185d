//! Batches in blocks: how a write that a crash cut short is told from one that was damaged later.
//!
//! A file is a row of blocks of 512 bytes. A batch takes as many as it needs and leaves the rest of its last one empty.
//! Every block has a checksum of its own, over its contents, its place in the file and the store it belongs to.

use super::StoreError;

/// The unit that a disk writes wholly or not at all.
pub(super) const BLOCK: usize = 512;
const HEADER: usize = 28;
const PAYLOAD: usize = BLOCK - HEADER;
const EMPTY: [u8; BLOCK] = [0; BLOCK];
/// What a batch may hold at most.
pub(super) const LIMIT: usize = 64 << 20;

/// What the blocks of a batch have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Batch {
    /// Batches of a file are counted from 0.
    pub(super) number: u64,
    /// How many blocks of the file were known to be durable when it was written.
    pub(super) durable: u32,
    /// How many blocks the file had, durably, when it was written.
    pub(super) allocated: u32,
}

/// How many blocks a batch of so many bytes takes.
pub(super) fn blocks(length: usize) -> usize {
    length.div_ceil(PAYLOAD)
}

/// What is wrong with a file, and where.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Damage {
    pub(super) offset: u64,
    pub(super) expected: String,
    pub(super) found: String,
}

/// What is in a file.
#[derive(Debug)]
pub(super) struct Found {
    /// The contents of all batches that are complete.
    pub(super) batches: Vec<Vec<u8>>,
    /// The first block of each.
    pub(super) starts: Vec<usize>,
    /// The first block of a batch that was being written when the node or its host went down.
    pub(super) torn: Option<usize>,
}

fn checksum(block: &[u8], position: usize, salt: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(salt);
    hasher.update(&(position as u64).to_le_bytes());
    hasher.update(&block[4..]);
    hasher.finalize()
}

/// The blocks of a batch that begins at a block of the file.
pub(super) fn encode(contents: &[u8], batch: Batch, position: usize, salt: u32) -> Result<Vec<u8>, StoreError> {
    if contents.len() > LIMIT {
        return Err(StoreError::TooLarge { bytes: contents.len() as u64, limit: LIMIT as u64 });
    }
    let mut bytes = vec![0; blocks(contents.len()) * BLOCK];
    for (index, (block, part)) in bytes.chunks_exact_mut(BLOCK).zip(contents.chunks(PAYLOAD)).enumerate() {
        block[4..12].copy_from_slice(&batch.number.to_le_bytes());
        block[12..16].copy_from_slice(&(index as u32).to_le_bytes());
        block[16..20].copy_from_slice(&(contents.len() as u32).to_le_bytes());
        block[20..24].copy_from_slice(&batch.durable.to_le_bytes());
        block[24..28].copy_from_slice(&batch.allocated.to_le_bytes());
        block[HEADER..HEADER + part.len()].copy_from_slice(part);
        seal(block, position + index, salt);
    }
    Ok(bytes)
}

/// Puts the checksum into a block at this place.
pub(super) fn seal(block: &mut [u8], position: usize, salt: u32) {
    let sum = checksum(block, position, salt);
    block[..4].copy_from_slice(&sum.to_le_bytes());
}

/// The header of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    batch: Batch,
    index: u32,
    length: u32,
}

/// The blocks of a file, as they are read.
struct Reader<'a> {
    bytes: &'a [u8],
    salt: u32,
    /// The greatest number of blocks that any of them says the file has.
    allocated: u32,
}

impl<'a> Reader<'a> {
    fn count(&self) -> usize {
        self.bytes.len() / BLOCK
    }

    /// A block: `None` if it was never written.
    fn read(&mut self, position: usize) -> Result<Option<(Header, &'a [u8])>, Damage> {
        let block = &self.bytes[position * BLOCK..(position + 1) * BLOCK];
        if *block == EMPTY {
            return Ok(None);
        }
        let word = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
        let sum = checksum(block, position, self.salt);
        if word(0) != sum {
            return Err(damage(position, format!("a block with checksum {sum:08x}"), format!("{:08x}", word(0))));
        }
        let number = u64::from(word(4)) | u64::from(word(8)) << 32;
        let batch = Batch { number, durable: word(20), allocated: word(24) };
        self.allocated = self.allocated.max(batch.allocated);
        Ok(Some((Header { batch, index: word(12), length: word(16) }, &block[HEADER..])))
    }

    /// The batch that begins at a block: `None` if it is not there, or not all of it.
    fn batch(&mut self, start: usize, number: u64) -> Result<Option<Vec<u8>>, Damage> {
        let Some((first, _)) = self.read(start)? else { return Ok(None) };
        let length = first.length as usize;
        if first.batch.number != number || first.index != 0 || length == 0 || length > LIMIT {
            let expected = format!("the beginning of batch {number}");
            let found = format!("block {} of batch {} with {length} bytes", first.index, first.batch.number);
            return Err(damage(start, expected, found));
        }
        let mut contents = Vec::new();
        for index in 0..blocks(length) {
            if start + index >= self.count() {
                return Err(damage(start + index, format!("{length} bytes of batch {number}"), "the end".to_string()));
            }
            let Some((header, part)) = self.read(start + index)? else { return Ok(None) };
            if header != (Header { index: index as u32, ..first }) {
                let expected = format!("block {index} of batch {number}");
                let found = format!("block {} of batch {}", header.index, header.batch.number);
                return Err(damage(start + index, expected, found));
            }
            contents.extend_from_slice(&part[..part.len().min(length - contents.len())]);
        }
        Ok(Some(contents))
    }

    /// Looks at everything after the last complete batch. Whether anything is there at all.
    fn tail(&mut self, from: usize, number: u64) -> Result<bool, Damage> {
        let mut torn = false;
        for position in from..self.count() {
            let Some((header, _)) = self.read(position)? else { continue };
            if header.batch.durable as usize > from {
                let expected = format!("batch {number}, which was made durable before batch {}", header.batch.number);
                return Err(damage(from, expected, "nothing, or only a part of it".to_string()));
            }
            torn = true;
        }
        Ok(torn)
    }
}

fn damage(position: usize, expected: String, found: String) -> Damage {
    Damage { offset: (position * BLOCK) as u64, expected, found }
}

/// Reads a whole file.
pub(super) fn scan(bytes: &[u8], salt: u32) -> Result<Found, Damage> {
    let mut reader = Reader { bytes, salt, allocated: 0 };
    if !bytes.len().is_multiple_of(BLOCK) {
        let expected = format!("whole blocks of {BLOCK} bytes");
        return Err(damage(reader.count(), expected, format!("the end after {} bytes", bytes.len())));
    }
    let (mut batches, mut starts, mut position) = (Vec::new(), Vec::new(), 0);
    while position < reader.count() {
        let Some(contents) = reader.batch(position, batches.len() as u64)? else { break };
        starts.push(position);
        position += blocks(contents.len());
        batches.push(contents);
    }
    let torn = reader.tail(position, batches.len() as u64)?.then_some(position);
    if reader.allocated as usize > reader.count() {
        let expected = format!("{} blocks of {BLOCK} bytes", reader.allocated);
        return Err(damage(reader.count(), expected, "the end".to_string()));
    }
    // The first batch is durable before the file has its name: no crash can tear it.
    if batches.is_empty() {
        return Err(damage(0, "the batch that every log begins with".to_string(), "none".to_string()));
    }
    Ok(Found { batches, starts, torn })
}
