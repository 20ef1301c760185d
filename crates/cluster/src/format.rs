//! Versions of encoded values.
//!
//! A value that is stored, or replicated to other nodes, is encoded as one byte with the version of its format and the
//! value in postcard. Bytes of another version are an error, never a default: a node that guesses would diverge from
//! the others. `docs/architecture.md` describes how a later version reads what this one wrote.
//!
//! What members exchange has one version for all of it: log entries, snapshots, kinds of messages. Every member says in
//! its candidacy which one it reads. The table remembers that, so that a member that is down counts with what it last
//! said, and says which version may be written: [`Table::version`](crate::core::table::Table::version).

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::MessageKind;

/// The version that a new cluster writes. Every program reads it.
pub(crate) const FIRST: u8 = 1;
/// The highest version that this program reads. It reads all versions up to it.
pub(crate) const HIGHEST: u8 = 1;

/// What a node knows of versions. Tests replace it by that of a later program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formats {
    /// The highest version that the node reads.
    pub(crate) reads: u8,
    /// The version in which a kind of message came.
    pub(crate) version_of: fn(MessageKind) -> u8,
}

impl Default for Formats {
    fn default() -> Self {
        Formats { reads: HIGHEST, version_of: MessageKind::version }
    }
}

/// Why encoded bytes cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub(crate) enum FormatError {
    /// The bytes have a version that this program does not know.
    #[error("the {format} has version {found}, but this program reads versions up to {supported}")]
    UnknownVersion {
        /// What the bytes are.
        format: &'static str,
        /// Their version.
        found: u8,
        /// The highest version that this program reads.
        supported: u8,
    },
    /// The version is known, but the bytes are not a valid value of it.
    #[error("the {format} is not a valid one of version {version}")]
    Malformed {
        /// What the bytes are.
        format: &'static str,
        /// The version that they claim to have.
        version: u8,
    },
    /// There is not even a version.
    #[error("the {format} is empty")]
    Empty {
        /// What the bytes should be.
        format: &'static str,
    },
}

/// Encodes a value, after the version of its format.
pub(crate) fn encode(version: u8, value: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(value, vec![version]).expect("versioned values are plain data")
}

/// Decodes a value of a version from the first one up to `reads`. It must use up all bytes.
pub(crate) fn decode<T: DeserializeOwned>(format: &'static str, reads: u8, bytes: &[u8]) -> Result<T, FormatError> {
    let Some((&version, rest)) = bytes.split_first() else { return Err(FormatError::Empty { format }) };
    if !(FIRST..=reads).contains(&version) {
        return Err(FormatError::UnknownVersion { format, found: version, supported: reads });
    }
    // A later version of the program decodes each version here as what it was.
    match postcard::take_from_bytes(rest) {
        Ok((value, [])) => Ok(value),
        _ => Err(FormatError::Malformed { format, version }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_version_and_those_before_it_and_all_of_it() {
        let bytes = encode(3, &(7u64, "x"));
        let read = |bytes: &[u8]| decode::<(u64, String)>("value", 3, bytes);
        assert_eq!(bytes, [3, 7, 1, b'x']);
        assert_eq!(read(&bytes), Ok((7, "x".to_string())));
        for earlier in [1, 2] {
            assert_eq!(read(&[&[earlier], &bytes[1..]].concat()), Ok((7, "x".to_string())));
        }
        for found in [0, 4, 255] {
            let error = read(&[&[found], &bytes[1..]].concat()).expect_err("it is another version");
            assert_eq!(error, FormatError::UnknownVersion { format: "value", found, supported: 3 });
            let text = format!("the value has version {found}, but this program reads versions up to 3");
            assert_eq!(error.to_string(), text);
        }
        let malformed = FormatError::Malformed { format: "value", version: 3 };
        assert_eq!(read(&bytes[..3]), Err(malformed), "the end is missing");
        assert_eq!(read(&[&bytes[..], &[0]].concat()), Err(malformed), "there is more than a value");
        assert_eq!(read(&[]), Err(FormatError::Empty { format: "value" }));
    }
}
