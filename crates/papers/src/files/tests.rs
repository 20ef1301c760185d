use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use super::*;

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_whole(path, |out| out.write_all(bytes))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("it can be read").file_name();
    let mut names: Vec<String> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_failure_leaves_the_old_file_and_no_other() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("trace.txt");
    put(&path, b"whole").expect("the folder can be written to");
    let failed = write_whole(&path, |out| {
        out.write_all(b"par")?;
        Err(io::Error::other("the disk is full"))
    });
    assert!(failed.is_err());
    assert_eq!(fs::read(&path).expect("the file is there"), b"whole");
    assert_eq!(names(folder.path()), ["trace.txt"]);
}

#[test]
fn links_stay_and_lead_to_the_new_file() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("deep")).expect("the folder is ours");
    fs::write(at("deep/file"), "old").expect("the folder is ours");
    symlink("deep/file", at("deep/../link")).expect("the folder is ours");
    symlink("link", at("link-to-link")).expect("the folder is ours");
    symlink("deep/new", at("dangling")).expect("the folder is ours");
    put(&at("link-to-link"), b"first").expect("it leads to a file");
    put(&at("dangling"), b"second").expect("it leads to a place for a file");
    assert_eq!(fs::read_link(at("link-to-link")).expect("still a link"), Path::new("link"));
    assert_eq!(fs::read_link(at("link")).expect("still a link"), Path::new("deep/file"));
    assert_eq!(fs::read_link(at("dangling")).expect("still a link"), Path::new("deep/new"));
    assert_eq!(fs::read(at("deep/file")).expect("it is there"), b"first");
    assert_eq!(fs::read(at("deep/new")).expect("it was made"), b"second");
    symlink("circle", at("circle")).expect("the folder is ours");
    assert!(put(&at("circle"), b"x").is_err());
    assert_eq!(names(&at("deep")), ["file", "new"]);
}

#[test]
fn a_file_keeps_its_rights() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("secret");
    fs::write(&path, "old").expect("the folder is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it is ours");
    // Only root can give it away.
    let given = std::os::unix::fs::chown(&path, Some(1), Some(1)).is_ok();
    put(&path, b"new").expect("the folder can be written to");
    let metadata = fs::metadata(&path).expect("it is there");
    assert_eq!(metadata.mode() & 0o7777, 0o640);
    assert!(!given || (metadata.uid(), metadata.gid()) == (1, 1));
    assert_eq!(fs::read(&path).expect("it can be read"), b"new");
}

#[test]
fn a_fifo_is_written_into() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().expect("it is a standard tool").success());
    // Opened for both, so that nobody waits for the other end.
    let mut reader = OpenOptions::new().read(true).write(true).open(&path).expect("it can be opened");
    put(&path, b"through the pipe").expect("it is written into");
    assert!(fs::symlink_metadata(&path).expect("it is there").file_type().is_fifo(), "it was replaced");
    let mut bytes = [0; 16];
    reader.read_exact(&mut bytes).expect("they were written");
    assert_eq!(&bytes, b"through the pipe");
    assert_eq!(names(folder.path()), ["fifo"]);
}

#[test]
fn a_folder_is_no_place_for_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let error = put(folder.path(), b"x").expect_err("it is a folder");
    assert_eq!(error.kind(), io::ErrorKind::IsADirectory, "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn errors_do_not_name_the_temporary_file() {
    let error = put(Path::new("/proc/picture.svg"), b"").expect_err("the folder is not writable");
    assert!(!error.to_string().contains(".tmp"), "{error}");
}
