//! Files are written whole or not at all.

pub(crate) use hustings_papers::files::write_whole;
