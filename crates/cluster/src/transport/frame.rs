//! Frames: message boundaries in a stream of bytes. No I/O.
//!
//! A frame is the length of its payload (4 bytes, little-endian), a version (1 byte) and the payload.

use std::ops::Range;

/// The version of the frame format.
pub(crate) const FRAME_VERSION: u8 = 1;
/// The size of a frame's header.
pub(crate) const HEADER_BYTES: usize = 5;
/// A larger buffer is released after a large frame.
const KEPT_BYTES: usize = 64 * 1024;

/// Why a stream is invalid. Nothing after the error can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// A frame is larger than the limit.
    #[error("a frame of {0} bytes is too large")]
    Oversize(u32),
    /// The version of a frame is unknown.
    #[error("unknown frame version {0}")]
    Version(u8),
}

/// Appends a frame. The payload must be shorter than 4 GiB, which the limits ensure.
pub(crate) fn encode(payload: &[u8], stream: &mut Vec<u8>) {
    let length = u32::try_from(payload.len()).expect("the limit of a frame is below 4 GiB");
    stream.reserve(HEADER_BYTES + payload.len());
    stream.extend_from_slice(&length.to_le_bytes());
    stream.push(FRAME_VERSION);
    stream.extend_from_slice(payload);
}

/// Splits a stream that arrives in pieces into frames.
///
/// It stores only bytes that were received and not yet consumed, whatever lengths the stream claims.
#[derive(Debug)]
pub(crate) struct Decoder {
    buffer: Vec<u8>,
    start: usize,
    limit: usize,
}

impl Decoder {
    /// Creates a decoder with a limit for payloads, in bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Decoder { buffer: Vec::new(), start: 0, limit }
    }

    /// Changes the limit for payloads.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Adds the next piece of the stream. To keep memory bounded, take all frames out first.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.buffer.shrink_to(KEPT_BYTES);
            self.start = 0;
        } else if self.start > self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete payload, for [`Decoder::payload`]; valid until the next [`Decoder::push`].
    pub(crate) fn next_frame(&mut self) -> Result<Option<Range<usize>>, FrameError> {
        let rest = &self.buffer[self.start..];
        let Some((length, after)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let claimed = u32::from_le_bytes(*length);
        let length = usize::try_from(claimed).map_err(|_| FrameError::Oversize(claimed))?;
        if length > self.limit {
            return Err(FrameError::Oversize(claimed));
        }
        let Some((&version, after)) = after.split_first() else { return Ok(None) };
        if version != FRAME_VERSION {
            return Err(FrameError::Version(version));
        }
        if after.len() < length {
            return Ok(None);
        }
        let payload = self.start + HEADER_BYTES;
        self.start = payload + length;
        Ok(Some(payload..self.start))
    }

    /// The bytes of a payload.
    pub(crate) fn payload(&self, frame: Range<usize>) -> &[u8] {
        &self.buffer[frame]
    }

    /// The capacity of the buffer, in bytes.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.buffer.capacity()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::golden;

    const LIMIT: usize = 300;

    /// All frames of a stream that arrives in pieces of these sizes (the last size repeats), and its error.
    fn decode(stream: &[u8], pieces: &[usize]) -> (Vec<Vec<u8>>, Option<FrameError>) {
        let (mut decoder, mut found, mut rest) = (Decoder::new(LIMIT), Vec::new(), stream);
        let mut pieces = pieces.iter().copied();
        let (mut size, mut largest) = (1, 1);
        loop {
            loop {
                match decoder.next_frame() {
                    Ok(Some(frame)) => found.push(decoder.payload(frame).to_vec()),
                    Ok(None) => break,
                    Err(error) => return (found, Some(error)),
                }
            }
            if rest.is_empty() {
                return (found, None);
            }
            size = pieces.next().unwrap_or(size).min(rest.len());
            let (piece, after) = rest.split_at(size);
            decoder.push(piece);
            largest = largest.max(size);
            // An unfinished frame, as many consumed bytes, and a piece; twice, because a vector doubles its capacity.
            let bound = 2 * (2 * (LIMIT + HEADER_BYTES) + largest);
            assert!(decoder.memory() <= bound, "{} > {bound}", decoder.memory());
            rest = after;
        }
    }

    proptest! {
        #[test]
        fn every_split_yields_the_same_frames(
            payloads in vec(vec(any::<u8>(), 0..=LIMIT), 0..8),
            pieces in vec(1..700usize, 0..40),
            cut in 0..50usize,
        ) {
            let mut stream = Vec::new();
            payloads.iter().for_each(|payload| encode(payload, &mut stream));
            prop_assert_eq!(decode(&stream, &pieces), (payloads.clone(), None));
            stream.truncate(stream.len().saturating_sub(cut));
            let whole = decode(&stream, &[stream.len().max(1)]);
            prop_assert_eq!(decode(&stream, &pieces), whole.clone());
            prop_assert!(payloads.starts_with(&whole.0));
        }

        #[test]
        fn random_bytes_never_panic_and_every_split_ends_alike(
            stream in vec(prop_oneof![Just(0u8), Just(1u8), any::<u8>()], 0..2000),
            pieces in vec(1..700usize, 0..40),
        ) {
            prop_assert_eq!(decode(&stream, &pieces), decode(&stream, &[stream.len().max(1)]));
        }
    }

    #[test]
    fn a_claimed_length_allocates_nothing_and_a_large_one_is_rejected_at_once() {
        let mut decoder = Decoder::new(4 << 20);
        decoder.push(&(4u32 << 20).to_le_bytes());
        assert_eq!(decoder.next_frame(), Ok(None));
        assert!(decoder.memory() < 64, "{}", decoder.memory());
        let mut decoder = Decoder::new(1024);
        decoder.push(&1025u32.to_le_bytes());
        assert_eq!(decoder.next_frame(), Err(FrameError::Oversize(1025)));
        assert_eq!(decoder.next_frame(), Err(FrameError::Oversize(1025)), "it stays so");
    }

    #[test]
    fn rejects_an_unknown_version_before_the_payload_arrives() {
        let mut decoder = Decoder::new(1024);
        decoder.push(&[9, 0, 0, 0, 2]);
        assert_eq!(decoder.next_frame(), Err(FrameError::Version(2)));
    }

    #[test]
    fn frames_of_version_1() {
        let encode = |payload: &Vec<u8>| {
            let mut stream = Vec::new();
            encode(payload, &mut stream);
            stream
        };
        let decode = |bytes: &[u8]| match decode(bytes, &[bytes.len()]) {
            (mut frames, None) if frames.len() == 1 => frames.remove(0),
            other => panic!("{other:?}"),
        };
        golden::check("frame-v1", &[("empty", vec![]), ("payload", (0..=255).collect())], encode, decode);
        assert_eq!(FRAME_VERSION, 1, "a new version gets a new golden file");
    }

    #[test]
    fn releases_the_memory_of_a_large_frame() {
        let mut stream = Vec::new();
        encode(&vec![7; 1 << 20], &mut stream);
        let mut decoder = Decoder::new(1 << 20);
        decoder.push(&stream);
        assert!(matches!(decoder.next_frame(), Ok(Some(frame)) if frame.len() == 1 << 20));
        decoder.push(&[0]);
        assert!(decoder.memory() <= KEPT_BYTES, "{}", decoder.memory());
    }
}
