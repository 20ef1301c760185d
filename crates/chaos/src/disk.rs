//! The nodes' disks: small file systems in memory, if this process may mount them, or on devices that can fail. The
//! real disk is never filled.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cleanup::own_name;
use crate::device::Device;
use crate::options::DiskKind;

/// The size of a node's disk.
const SIZE: usize = 48 << 20;
const FILLER: &str = "filler";
/// An earlier copy of a node's data.
const COPY: &str = "copy";

/// The names of a node's files.
pub(crate) const LOG: &str = "log";
const STATE: &str = "state-";

/// The disks of all nodes. They are unmounted when this is dropped.
pub(crate) struct Disks {
    folders: Vec<PathBuf>,
    /// One for each node, or none. They are unmounted before the file system that has their images.
    devices: Vec<Device>,
    mounted: Vec<PathBuf>,
}

impl Disks {
    /// Creates a folder for each node, on a file system of its own if possible.
    pub(crate) fn new(folder: &Path, names: &[String], kind: DiskKind) -> io::Result<Self> {
        let mut disks = Disks { folders: Vec::new(), devices: Vec::new(), mounted: Vec::new() };
        let images = folder.join("images");
        if kind == DiskKind::Device {
            fs::create_dir_all(&images)?;
            // Each of them, and a copy of each that fails.
            mount(&images, SIZE * names.len() * 2)?;
            disks.mounted.push(images.clone());
        }
        for name in names {
            let place = folder.join(name);
            fs::create_dir_all(&place)?;
            match kind {
                DiskKind::Device => disks.devices.push(Device::mount(images.join(name), &place, SIZE as u64)?),
                DiskKind::Memory if mount(&place, SIZE).is_ok() => disks.mounted.push(place.clone()),
                DiskKind::Memory => {}
            }
            disks.folders.push(place);
        }
        Ok(disks)
    }

    /// Whether a node has a file system of its own, which may be filled.
    fn is_mounted(&self, node: usize) -> bool {
        !self.devices.is_empty() || self.mounted.contains(&self.folders[node])
    }

    /// The device of a node, if it has one.
    pub(crate) fn device(&self, node: usize) -> Option<&Device> {
        self.devices.get(node)
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
        let mut filler = match File::create(self.folders[node].join(FILLER)) {
            // There is not even room for a name.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(()),
            created => created?,
        };
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

    /// Flips a bit of a stopped node's log, or of a file with a state; the number decides of which and where. Returns
    /// the file's name.
    pub(crate) fn flip_bit(&self, node: usize, number: u64) -> io::Result<String> {
        let mut names: Vec<String> = fs::read_dir(self.data(node))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with(STATE))
            .collect();
        names.sort_unstable();
        // Half of them in the log.
        let name = match (number % 2, names.len() as u64) {
            (1, count) if count > 0 => names.swap_remove((number / 2 % count) as usize),
            _ => LOG.to_string(),
        };
        let path = self.data(node).join(&name);
        let mut bytes = fs::read(&path)?;
        let place = number / 16 % used(&bytes).max(1) as u64;
        if let Some(byte) = bytes.get_mut(place as usize) {
            *byte ^= 1 << (number / 2 % 8);
        }
        fs::write(&path, bytes)?;
        Ok(name)
    }

    /// Keeps a copy of a stopped node's data.
    pub(crate) fn save(&self, node: usize) -> io::Result<()> {
        let copy = self.folders[node].join(COPY);
        ignore_missing(fs::remove_dir_all(&copy))?;
        fs::create_dir(&copy)?;
        for entry in fs::read_dir(self.data(node))? {
            let entry = entry?;
            fs::copy(entry.path(), copy.join(entry.file_name()))?;
        }
        Ok(())
    }

    /// By how many bytes a node's log has grown since the copy was made. 0 if the log was rewritten.
    pub(crate) fn grown(&self, node: usize) -> io::Result<usize> {
        let used = |folder: PathBuf| Ok::<_, io::Error>(used(&fs::read(folder.join(LOG))?));
        Ok(used(self.data(node))?.saturating_sub(used(self.folders[node].join(COPY))?))
    }

    /// Puts the copy in the place of a stopped node's data.
    pub(crate) fn roll_back(&self, node: usize) -> io::Result<()> {
        self.wipe(node)?;
        fs::rename(self.folders[node].join(COPY), self.data(node))
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        self.devices.clear();
        for place in &self.mounted {
            // The kernel may still be closing a device whose file is there. It goes away with its last user.
            let _ = run(Command::new("umount").arg("--lazy").arg(place));
        }
    }
}

/// How many bytes of a file are used. Most of a log is empty.
fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(bytes.len(), |last| last + 1)
}

fn mount(place: &Path, size: usize) -> io::Result<()> {
    let options = format!("size={size},mode=700");
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
        let disks = Disks::new(folder.path(), &["n1".to_string(), "n2".to_string()], DiskKind::Memory);
        let disks = disks.expect("folders");
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
        let log = disks.data(0).join(LOG);
        let before = [b'x'; 64];
        fs::write(&log, before).expect("room again");
        disks.save(0).expect("copied");
        assert_eq!(disks.grown(0).expect("both are there"), 0);
        fs::write(&log, [&[b'x'; 80][..], &[0; 1_000]].concat()).expect("room");
        assert_eq!(disks.grown(0).expect("both are there"), 16, "what is empty does not count");
        fs::write(&log, before).expect("room");
        assert_eq!(disks.flip_bit(0, 1234).expect("there is a log"), LOG);
        let after = fs::read(&log).expect("it is there");
        let flipped: u32 = after.iter().zip(before).map(|(after, before)| (after ^ before).count_ones()).sum();
        assert_eq!((after.len(), flipped), (64, 1));
        fs::write(disks.data(0).join("state-1"), "abc").expect("room");
        assert_eq!(disks.flip_bit(0, 1235).expect("there is a state"), "state-1");
        disks.roll_back(0).expect("there is a copy");
        assert_eq!(fs::read(&log).expect("it is there"), before);
        assert!(!disks.data(0).join("state-1").exists());
        disks.wipe(0).expect("wiped");
        assert!(!disks.data(0).exists());
        disks.wipe(0).expect("nothing to wipe is well");
        drop(disks);
        let mounts = fs::read_to_string("/proc/mounts").expect("readable");
        assert!(!mounts.contains(&folder.path().display().to_string()), "all unmounted");
    }

    #[test]
    fn a_device_fails_and_is_repaired() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let disks = match Disks::new(folder.path(), &["n1".to_string()], DiskKind::Device) {
            Ok(disks) => disks,
            Err(error) => {
                let is_required = std::env::var("HUSTINGS_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
                assert!(!is_required, "no device: {error}");
                let _ = writeln!(io::stderr(), "SKIPPED: no device: {error}");
                return;
            }
        };
        let write = |name: &str| {
            let mut file = File::create(folder.path().join("n1").join(name))?;
            file.write_all(&[7; 2 << 20])?;
            file.sync_all()
        };
        write("before").expect("it works");
        let device = disks.device(0).expect("there is one");
        device.fail().expect("it can fail");
        device.fail().expect("it has failed");
        assert_eq!(write("meanwhile").expect_err("it fails").raw_os_error(), Some(5), "an input/output error");
        device.repair().expect("it can be repaired");
        device.remount().expect("nobody uses it");
        write("after").expect("it works again");
        assert_eq!(fs::read(folder.path().join("n1/before")).expect("it is there"), [7; 2 << 20]);
        drop(disks);
        let mounts = fs::read_to_string("/proc/mounts").expect("readable");
        assert!(!mounts.contains(&folder.path().display().to_string()), "all unmounted");
    }
}
