//! The archive: a tar file that only its owner may read, and that is there as a whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The folder that an unpacked archive fills.
const FOLDER: &str = "hustings-bundle";
/// No file in it is larger.
pub(super) const MAX_PART_BYTES: usize = 16 << 20;

pub(super) struct Archive {
    tar: tar::Builder<BufWriter<NamedTempFile>>,
    path: PathBuf,
}

impl Archive {
    /// Refuses a path that exists already.
    pub(super) fn create(path: &Path) -> io::Result<Archive> {
        if path.symlink_metadata().is_ok() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it exists already"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Mode 0600, and removed if this program ends before `finish`.
        let file = NamedTempFile::new_in(folder)?;
        Ok(Archive { tar: tar::Builder::new(BufWriter::new(file)), path: path.to_path_buf() })
    }

    /// Adds a file; what is beyond the limit is left out.
    pub(super) fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let bytes = &bytes[..bytes.len().min(MAX_PART_BYTES)];
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        self.tar.append_data(&mut header, format!("{FOLDER}/{name}"), bytes)
    }

    pub(super) fn finish(self) -> io::Result<()> {
        let mut buffered = self.tar.into_inner()?;
        buffered.flush()?;
        let file = buffered.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}
