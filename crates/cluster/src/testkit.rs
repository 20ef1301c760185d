//! What fuzzers need and the public interface does not have.

use std::path::Path;

use crate::api::Request;
use crate::config::{Config, ConfigError};
use crate::transport::frame::Decoder;

/// The payloads of a stream of frames that arrives in pieces of this size, and the error that ended it.
pub fn split_frames(stream: &[u8], size: usize, limit: usize) -> (Vec<Vec<u8>>, Option<String>) {
    let (mut decoder, mut found) = (Decoder::new(limit), Vec::new());
    for piece in stream.chunks(size) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => found.push(decoder.payload(frame).to_vec()),
                Ok(None) => break,
                Err(error) => return (found, Some(error.to_string())),
            }
        }
    }
    (found, None)
}

/// Parses a configuration as if the text were a file in this folder. The environment is ignored.
pub fn parse_config(text: &str, folder: &Path) -> Result<Config, ConfigError> {
    Config::parse(text, folder)
}

/// Reads a line that a client sent.
pub fn read_request(line: &[u8]) -> Result<Request, String> {
    crate::node::read_request(line)
}

/// Opens a store whose files are made from these bytes. Returns whether it could be opened.
pub fn open_store(folder: &Path, bytes: &[u8]) -> bool {
    crate::store::fuzzing::open_store(folder, bytes)
}
