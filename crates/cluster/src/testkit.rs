//! What fuzzers need and the public interface does not have.

use std::path::Path;

use crate::api::Request;
pub use crate::transport::frame::{Decoder, FrameError};

/// Reads a line that a client sent.
pub fn read_request(line: &[u8]) -> Result<Request, String> {
    crate::node::read_request(line)
}

/// Opens a store whose files are made from these bytes. Returns whether it could be opened.
pub fn open_store(folder: &Path, bytes: &[u8]) -> bool {
    crate::store::fuzzing::open_store(folder, bytes)
}
