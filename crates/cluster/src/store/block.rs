//! Batches in blocks: how a torn write is told from later damage.
//!
//! A file is a sequence of blocks of 512 bytes. A batch takes as many blocks as it needs and leaves the rest of its
//! last block empty. Every block has its own checksum over its contents, its position in the file and the store it
//! belongs to.

use super::StoreError;

/// The unit that disks write atomically.
pub(super) const BLOCK: usize = 512;
const HEADER: usize = 28;
const PAYLOAD: usize = BLOCK - HEADER;
const EMPTY: [u8; BLOCK] = [0; BLOCK];
/// The largest batch, in bytes.
pub(super) const MAX_BATCH_BYTES: usize = 64 << 20;

/// What the blocks of a batch have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Batch {
    /// The number of the batch in its file, from 0.
    pub(super) number: u64,
    /// How many blocks of the file were known to be durable when the batch was written.
    pub(super) durable: u32,
    /// How many blocks the file durably had when the batch was written.
    pub(super) allocated: u32,
}

/// How many blocks a batch of this length takes.
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

/// The content of a file.
#[derive(Debug)]
pub(super) struct Found {
    /// The contents of all complete batches.
    pub(super) batches: Vec<Vec<u8>>,
    /// The first block of each batch.
    pub(super) starts: Vec<usize>,
    /// The first block of a batch that a crash interrupted.
    pub(super) torn: Option<usize>,
}

fn checksum(block: &[u8], position: usize, salt: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(salt);
    hasher.update(&(position as u64).to_le_bytes());
    hasher.update(&block[4..]);
    hasher.finalize()
}

/// Encodes a batch that begins at this block of the file.
pub(super) fn encode(contents: &[u8], batch: Batch, position: usize, salt: u32) -> Result<Vec<u8>, StoreError> {
    if contents.len() > MAX_BATCH_BYTES {
        return Err(StoreError::TooLarge { bytes: contents.len() as u64, limit: MAX_BATCH_BYTES as u64 });
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

/// Writes the checksum of a block at this position.
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

/// Reads the blocks of a file.
struct Reader<'a> {
    bytes: &'a [u8],
    salt: u32,
    /// The largest file length, in blocks, that any block claims.
    allocated: u32,
}

impl<'a> Reader<'a> {
    fn count(&self) -> usize {
        self.bytes.len() / BLOCK
    }

    /// Reads a block; `None` if it was never written.
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

    /// Reads the batch that begins at this block; `None` if it is missing or incomplete.
    fn batch(&mut self, start: usize, number: u64) -> Result<Option<Vec<u8>>, Damage> {
        let Some((first, _)) = self.read(start)? else { return Ok(None) };
        let length = first.length as usize;
        if first.batch.number != number || first.index != 0 || length == 0 || length > MAX_BATCH_BYTES {
            let expected = format!("the beginning of batch {number}");
            let found = format!("block {} of batch {} with {length} bytes", first.index, first.batch.number);
            return Err(damage(start, expected, found));
        }
        let mut contents = Vec::new();
        for index in 0..blocks(length) {
            if start + index >= self.count() {
                return Err(damage(
                    start + index,
                    format!("{length} bytes of batch {number}"),
                    "the end of the file".to_string(),
                ));
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

    /// Checks everything after the last complete batch. Returns whether there is anything.
    fn tail(&mut self, from: usize, number: u64) -> Result<bool, Damage> {
        let mut torn = false;
        for position in from..self.count() {
            let Some((header, _)) = self.read(position)? else { continue };
            if header.batch.durable as usize > from {
                let expected = format!("batch {number}, which was made durable before batch {}", header.batch.number);
                return Err(damage(from, expected, "nothing, or only part of it".to_string()));
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
        return Err(damage(reader.count(), expected, "the end of the file".to_string()));
    }
    // The first batch is durable before the file gets its name, so no crash can tear it.
    if batches.is_empty() {
        return Err(damage(0, "the first batch of a log".to_string(), "nothing".to_string()));
    }
    Ok(Found { batches, starts, torn })
}
