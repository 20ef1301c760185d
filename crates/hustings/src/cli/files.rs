//! Atomic writing of files.

pub(crate) use hustings_papers::files::write_whole;
