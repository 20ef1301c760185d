//! Versions of encoded values.
//!
//! A value that is stored, or replicated to other nodes, is encoded as one byte with the version of its format and the
//! value in postcard. Bytes of another version are an error, never a default: a node that guesses would diverge from
//! the others. `docs/architecture.md` describes how a later version reads what this one wrote.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why encoded bytes cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub(crate) enum FormatError {
    /// The bytes have a version that this program does not know.
    #[error("the {format} has version {found}, but this program reads version {supported}")]
    UnknownVersion {
        /// What the bytes are.
        format: &'static str,
        /// Their version.
        found: u8,
        /// The version that this program reads.
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

/// Decodes a value of this version, which must use up all bytes.
pub(crate) fn decode<T: DeserializeOwned>(format: &'static str, version: u8, bytes: &[u8]) -> Result<T, FormatError> {
    let Some((&found, rest)) = bytes.split_first() else { return Err(FormatError::Empty { format }) };
    if found != version {
        return Err(FormatError::UnknownVersion { format, found, supported: version });
    }
    match postcard::take_from_bytes(rest) {
        Ok((value, [])) => Ok(value),
        _ => Err(FormatError::Malformed { format, version }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_its_own_version_and_all_of_it() {
        let bytes = encode(3, &(7u64, "x"));
        let read = |bytes: &[u8]| decode::<(u64, String)>("value", 3, bytes);
        assert_eq!(bytes, [3, 7, 1, b'x']);
        assert_eq!(read(&bytes), Ok((7, "x".to_string())));
        for found in [0, 2, 4, 255] {
            let error = read(&[&[found], &bytes[1..]].concat()).expect_err("it is another version");
            assert_eq!(error, FormatError::UnknownVersion { format: "value", found, supported: 3 });
            assert_eq!(error.to_string(), format!("the value has version {found}, but this program reads version 3"));
        }
        let malformed = FormatError::Malformed { format: "value", version: 3 };
        assert_eq!(read(&bytes[..3]), Err(malformed), "the end is missing");
        assert_eq!(read(&[&bytes[..], &[0]].concat()), Err(malformed), "there is more than a value");
        assert_eq!(read(&[]), Err(FormatError::Empty { format: "value" }));
    }
}
