//! Atomic writing of files.

use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file atomically: under a temporary name in the same folder, renamed when complete.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::metadata(folder)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        // Unlike other temporary files, a result gets the usual permissions; the umask still applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let made = builder.prefix(".hustings-").suffix(".tmp").tempfile_in(folder);
    // The error would name the temporary file.
    let mut file = made.map_err(|error| io::Error::from(error.kind()))?;
    let mut buffered = BufWriter::new(file.as_file_mut());
    fill(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::write_whole;
    use std::fs;
    use std::io;

    #[test]
    fn a_failure_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("trace.txt");
        write_whole(&path, |out| out.write_all(b"whole")).expect("the folder can be written to");
        let failed = write_whole(&path, |out| {
            out.write_all(b"par")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).expect("the file is there"), b"whole");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder is there").count(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn errors_do_not_name_the_temporary_file() {
        let error =
            write_whole(std::path::Path::new("/proc/picture.svg"), |_| Ok(())).expect_err("the folder is not writable");
        assert!(!error.to_string().contains(".tmp"), "{error}");
    }
}
