//! The header: a small file that identifies the store and never changes.

use std::fmt;
use std::path::Path;

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use super::{StoreError, StoreOwner};

/// The version of the header and of the log's blocks and records that this code reads and writes.
const FORMAT: u32 = 1;
const MAGIC: &[u8; 16] = b"hustings store\n\0";

/// The identity of a store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The name of the cluster.
    pub cluster: String,
    /// The node's id.
    pub id: Id,
    /// A random number that identifies the store.
    pub store: u128,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} of cluster {:?}, store {:032x}", self.id, self.cluster, self.store)
    }
}

impl Identity {
    /// The identity of a new store.
    pub(super) fn new(owner: &StoreOwner, store: u128) -> Self {
        Identity { cluster: owner.cluster.clone(), id: owner.id, store }
    }

    /// The initial value of the store's checksums, so that a block of another store is never valid.
    pub(super) fn salt(&self) -> u32 {
        crc32fast::hash(&self.store.to_le_bytes())
    }

    /// Encodes the contents of the file.
    pub(super) fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let mut bytes = [MAGIC.as_slice(), &FORMAT.to_le_bytes()].concat();
        bytes = postcard::to_extend(self, bytes)
            .map_err(|error| StoreError::OutOfOrder(format!("cannot encode the identity: {error}")))?;
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        Ok(bytes)
    }

    /// Decodes the file.
    pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<Self, StoreError> {
        let corrupt = |offset: usize, expected: &str, found: String| StoreError::Corrupt {
            file: path.to_path_buf(),
            offset: offset as u64,
            expected: expected.to_string(),
            found,
        };
        let Some((front, sum)) = bytes.split_last_chunk::<4>().filter(|(front, _)| front.len() > MAGIC.len() + 4)
        else {
            return Err(corrupt(bytes.len(), "more data", "the end of the file".to_string()));
        };
        if !front.starts_with(MAGIC) {
            return Err(corrupt(0, "the magic number of a store", "something else".to_string()));
        }
        let (sum, real) = (u32::from_le_bytes(*sum), crc32fast::hash(front));
        if sum != real {
            return Err(corrupt(front.len(), &format!("checksum {real:08x}"), format!("{sum:08x}")));
        }
        let rest = &front[MAGIC.len()..];
        let format = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
        if format != FORMAT {
            return Err(StoreError::UnknownFormat { file: path.to_path_buf(), found: format, supported: FORMAT });
        }
        postcard::from_bytes(&rest[4..])
            .map_err(|error| corrupt(MAGIC.len() + 4, "cluster, node and store", error.to_string()))
    }

    /// Checks that the store in this folder belongs to this node.
    pub(super) fn check_owner(&self, folder: &Path, owner: &StoreOwner) -> Result<(), StoreError> {
        let other = |what, found: String, expected: String| StoreError::Other {
            folder: folder.to_path_buf(),
            what,
            found,
            expected,
        };
        if self.cluster != owner.cluster {
            return Err(other("cluster", format!("{:?}", self.cluster), format!("{:?}", owner.cluster)));
        }
        if self.id != owner.id {
            return Err(other("node", self.id.to_string(), owner.id.to_string()));
        }
        Ok(())
    }
}
