//! Copies a data folder while its node runs.
//!
//! A log is only ever appended to, or replaced by a new file under the same name, so most copies are consistent as they
//! are. One that was read in the middle of a write may look damaged; then it is read again. The copy holds a log that
//! was written from what was read, so it ends with a complete entry.
//!
//! A copy is older than its node. A node that started from it would have forgotten its last votes, so the copy is
//! marked, and only [`super::recover`] makes use of it.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::{FolderSummary, RecoverError, describe};
use crate::config::create_folder_atomically;
use crate::core::check_blobs;
use crate::store::{OfflineStore, StoreError, read_running, write_backup};

/// How often a copy that looks damaged is read again, and the pause before that.
const ATTEMPTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Copies the data folder of a node, which may run, to a new folder. Returns what the copy holds.
pub fn back_up(data: &Path, to: &Path) -> Result<FolderSummary, RecoverError> {
    let mut attempts = 1;
    let contents = loop {
        match read_running(data) {
            Err(StoreError::Corrupt { .. }) if attempts < ATTEMPTS => {
                attempts += 1;
                thread::sleep(PAUSE);
            }
            // The node may have removed blobs after the log was read.
            Ok(contents) if check_blobs(&contents.storage()).is_err() && attempts < ATTEMPTS => {
                attempts += 1;
                thread::sleep(PAUSE);
            }
            read => break read?,
        }
    };
    let mut state = None;
    create_folder_atomically(to, |draft: &Path| -> Result<(), RecoverError> {
        check_blobs(&contents.storage()).map_err(|error| RecoverError::start(data, error))?;
        write_backup(draft, contents)?;
        state = Some(describe(&OfflineStore::open(draft)?, draft)?);
        Ok(())
    })?;
    state.ok_or_else(|| StoreError::Missing { folder: PathBuf::from(to) }.into())
}
