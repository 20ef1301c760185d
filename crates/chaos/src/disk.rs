//! The nodes' disks: small file systems in memory, if this process may mount them. The real disk is never filled.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cleanup::own_name;

/// The size of a node's disk.
const SIZE: usize = 48 << 20;
const FILLER: &str = "filler";

/// The disks of all nodes. They are unmounted when this is dropped.
pub(crate) struct Disks {
    folders: Vec<PathBuf>,
    mounted: Vec<PathBuf>,
}

impl Disks {
    /// Creates a folder for each node, on a file system of its own if possible.
    pub(crate) fn new(folder: &Path, names: &[String]) -> io::Result<Self> {
        let mut disks = Disks { folders: Vec::new(), mounted: Vec::new() };
        for name in names {
            let place = folder.join(name);
            fs::create_dir_all(&place)?;
            if mount(&place).is_ok() {
                disks.mounted.push(place.clone());
            }
            disks.folders.push(place);
        }
        Ok(disks)
    }

    /// Whether a node has a file system of its own, which may be filled.
    fn is_mounted(&self, node: usize) -> bool {
        self.mounted.contains(&self.folders[node])
    }

    /// The data folder of a node.
    pub(crate) fn data(&self, node: usize) -> PathBuf {
        self.folders[node].join("data")
    }

    /// Fills a node's disk to the last byte, if it has a file system of its own.
    pub(crate) fn fill(&self, node: usize) -> io::Result<()> {
        if !self.is_mounted(node) {
            return Ok(());
        }
        let mut filler = File::create(self.folders[node].join(FILLER))?;
        // Large chunks first, then small ones, so that not even the last page stays free.
        for size in [1 << 20, 4096, 1] {
            let piece = vec![0; size];
            loop {
                match filler.write(&piece) {
                    Ok(written) if written > 0 => {}
                    Ok(_) => break,
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Frees a node's disk.
    pub(crate) fn free(&self, node: usize) -> io::Result<()> {
        ignore_missing(fs::remove_file(self.folders[node].join(FILLER)))
    }

    /// Deletes a node's data.
    pub(crate) fn wipe(&self, node: usize) -> io::Result<()> {
        ignore_missing(fs::remove_dir_all(self.data(node)))
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for place in &self.mounted {
            // One that is still in use cannot be unmounted; the others can.
            let _ = run(Command::new("umount").arg(place));
        }
    }
}

fn mount(place: &Path) -> io::Result<()> {
    let options = format!("size={SIZE},mode=700");
    run(Command::new("mount").args(["-t", "tmpfs", "-o", &options, &own_name()]).arg(place))
}

fn run(command: &mut Command) -> io::Result<()> {
    match command.output()?.status.success() {
        true => Ok(()),
        false => Err(io::Error::other("refused")),
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_frees_and_wipes_a_disk() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let disks = Disks::new(folder.path(), &["n1".to_string(), "n2".to_string()]).expect("folders");
        fs::create_dir(disks.data(0)).expect("room");
        disks.free(0).expect("nothing to free is well");
        disks.fill(0).expect("filled");
        if disks.is_mounted(0) {
            let full = fs::write(disks.data(0).join("file"), "x").expect_err("no room");
            assert_eq!(full.kind(), io::ErrorKind::StorageFull);
            disks.fill(0).expect("it may be filled again");
            fs::write(folder.path().join("n2/file"), "x").expect("the other one has room");
        }
        disks.free(0).expect("freed");
        fs::write(disks.data(0).join("file"), "x").expect("room again");
        disks.wipe(0).expect("wiped");
        assert!(!disks.data(0).exists());
        disks.wipe(0).expect("nothing to wipe is well");
        drop(disks);
        let mounts = fs::read_to_string("/proc/mounts").expect("readable");
        assert!(!mounts.contains(&folder.path().display().to_string()), "all unmounted");
    }
}
