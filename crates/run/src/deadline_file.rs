//! The deadline that the guardian shares with `run`: a few bytes of memory, readable also while the other is frozen.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use hustings_cluster::clock::Timestamp;
use rustix::fs::{MemfdFlags, memfd_create};

/// The deadline and the token of the work that may be alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SharedDeadline {
    /// By when it must be dead; [`Timestamp::ZERO`] if there is none.
    pub(crate) deadline: Timestamp,
    pub(crate) token: u64,
}

/// A file in memory that both processes have open.
#[derive(Debug)]
pub(crate) struct DeadlineFile(File);

impl DeadlineFile {
    pub(crate) fn create() -> io::Result<DeadlineFile> {
        let file = DeadlineFile(memfd_create("hustings-deadline", MemfdFlags::CLOEXEC)?.into());
        file.write(SharedDeadline { deadline: Timestamp::ZERO, token: 0 })?;
        Ok(file)
    }

    pub(crate) fn write(&self, shared: SharedDeadline) -> io::Result<()> {
        let words = [shared.deadline.0, shared.token, checksum(shared)];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.0.write_all_at(&bytes, 0)
    }

    /// What was written last. `None` while it is being written.
    pub(crate) fn read(&self) -> io::Result<Option<SharedDeadline>> {
        let mut bytes = [0; 24];
        self.0.read_exact_at(&mut bytes, 0)?;
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            u64::from_ne_bytes(word)
        };
        let shared = SharedDeadline { deadline: Timestamp(word(0)), token: word(1) };
        Ok((word(2) == checksum(shared)).then_some(shared))
    }
}

/// Tells a torn value from a whole one.
fn checksum(shared: SharedDeadline) -> u64 {
    !(shared.deadline.0 ^ shared.token.rotate_left(32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_value_is_not_taken_for_a_deadline() {
        let file = DeadlineFile::create().expect("there is memory");
        let shared = SharedDeadline { deadline: Timestamp(123_456), token: 7 };
        file.write(shared).expect("there is memory");
        assert_eq!(file.read().expect("it is open"), Some(shared));
        file.0.write_all_at(&[1], 0).expect("there is memory");
        assert_eq!(file.read().expect("it is open"), None);
    }
}
