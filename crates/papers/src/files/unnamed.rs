//! Files that have no name until they are complete, so that a killed program leaves nothing.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::{drafts, folder};

/// A new file without a name. `None` where the file system has none, or without `/proc`, which gives it one.
pub(super) fn create_in(folder: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).ok()?);
    fs::metadata(by_number(&file)).is_ok().then_some(file)
}

/// Puts the file in its place. Only for this moment, and only where it replaces another file, it has a name of its own.
pub(super) fn put(file: &File, path: &Path, replaces: bool) -> io::Result<()> {
    let link = |name: &Path| rustix::fs::linkat(CWD, by_number(file), CWD, name, AtFlags::SYMLINK_FOLLOW);
    if !replaces {
        match link(path) {
            // Somebody else was faster.
            Err(rustix::io::Errno::EXIST) => {}
            done => return Ok(done?),
        }
    }
    let draft = drafts().make_in(folder(path), |name| Ok(link(name)?))?;
    draft.into_temp_path().persist(path).map_err(|error| error.error)
}

fn by_number(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
