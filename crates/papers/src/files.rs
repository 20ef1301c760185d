//! Writing of files, each of them whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
mod unnamed;

type Fill<'a> = &'a mut dyn FnMut(&mut (dyn Write + Send)) -> io::Result<()>;

/// Writes a file atomically: it appears under its name when it is complete, with the rights of the file that it
/// replaces. A link stays, and what it leads to is replaced. What is no regular file, such as a device, a FIFO or this
/// program's own standard output, cannot be replaced and is written into.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<()> {
    let mut fill = Some(fill);
    let fill: Fill<'_> = &mut |out| fill.take().map_or(Ok(()), |fill| fill(out));
    let before = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(found) = &before
        && let Some(stream) = stream(path, found)?
    {
        return write_into(&stream, fill);
    }
    replace(&target(path)?, before.as_ref(), fill)
}

/// What is open already or cannot be replaced: standard output or error, a device, a FIFO.
fn stream(path: &Path, found: &Metadata) -> io::Result<Option<File>> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let own = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
        for file in own.into_iter().flatten().map(File::from) {
            let metadata = file.metadata()?;
            if (metadata.dev(), metadata.ino()) == (found.dev(), found.ino()) {
                return Ok(Some(file));
            }
        }
    }
    if found.is_file() { Ok(None) } else { OpenOptions::new().write(true).open(path).map(Some) }
}

/// Where the links of a path lead. Nothing has to be there.
fn target(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MAX_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = folder(&path).join(next),
            // Not a link, or nothing is there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many links"))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn write_into(file: &File, fill: Fill<'_>) -> io::Result<()> {
    let mut buffered = BufWriter::new(file);
    fill(&mut buffered)?;
    buffered.flush()
}

fn replace(path: &Path, before: Option<&Metadata>, fill: Fill<'_>) -> io::Result<()> {
    fs::metadata(folder(path))?;
    #[cfg(target_os = "linux")]
    if let Some(draft) = unnamed::create_in(folder(path)) {
        complete(&draft, before, fill)?;
        return unnamed::put(&draft, path, before.is_some());
    }
    let mut builder = drafts();
    #[cfg(unix)]
    {
        // Unlike other temporary files, a result gets the usual permissions; the umask still applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The error would name the temporary file.
    let draft = builder.tempfile_in(folder(path)).map_err(|error| io::Error::from(error.kind()))?;
    complete(draft.as_file(), before, fill)?;
    draft.persist(path).map(drop).map_err(|error| error.error)
}

/// How files are named until they are complete.
fn drafts() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hustings-").suffix(".tmp");
    builder
}

/// Writes everything, with the rights of the file that will be replaced.
fn complete(draft: &File, before: Option<&Metadata>, fill: Fill<'_>) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(before) = before {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        // The content comes last: nobody reads it before the rights are set. Only root can give a file away; others
        // keep the mode.
        let _ = fchown(draft, Some(before.uid()), Some(before.gid()));
        draft.set_permissions(fs::Permissions::from_mode(before.mode() & 0o777))?;
    }
    write_into(draft, fill)?;
    draft.sync_all()
}

#[cfg(test)]
mod tests;
