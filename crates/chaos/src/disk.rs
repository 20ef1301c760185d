//! The disks of the nodes, and how they get full: small file systems in memory, where they may be mounted. Never the
//! real disk.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::leftovers::own_name;

/// As much as a node can keep.
const SIZE: usize = 48 << 20;
const FILLER: &str = "filler";

/// Dropped, it unmounts what it mounted.
pub(crate) struct Disks {
    folders: Vec<PathBuf>,
    mounted: Vec<PathBuf>,
}

impl Disks {
    /// A folder for each node, each on a file system of its own if that can be.
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

    /// Whether a node's disk is one that may be filled.
    fn is_own(&self, node: usize) -> bool {
        self.mounted.contains(&self.folders[node])
    }

    /// Where a node keeps what it must not forget.
    pub(crate) fn data(&self, node: usize) -> PathBuf {
        self.folders[node].join("data")
    }

    /// Fills a node's disk to the last byte, if it is its own.
    pub(crate) fn fill(&self, node: usize) -> io::Result<()> {
        if !self.is_own(node) {
            return Ok(());
        }
        let mut filler = File::create(self.folders[node].join(FILLER))?;
        // Big pieces first, then small ones: the last page must go too.
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

    /// There is room again.
    pub(crate) fn free(&self, node: usize) -> io::Result<()> {
        absent_is_well(fs::remove_file(self.folders[node].join(FILLER)))
    }

    /// Everything a node kept is gone.
    pub(crate) fn wipe(&self, node: usize) -> io::Result<()> {
        absent_is_well(fs::remove_dir_all(self.data(node)))
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for place in &self.mounted {
            // Nothing can be done about one that is still in use; the others should go.
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

fn absent_is_well(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_filled_freed_and_wiped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let disks = Disks::new(folder.path(), &["n1".to_string(), "n2".to_string()]).expect("folders");
        fs::create_dir(disks.data(0)).expect("room");
        disks.free(0).expect("nothing to free is well");
        disks.fill(0).expect("filled");
        if disks.is_own(0) {
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
