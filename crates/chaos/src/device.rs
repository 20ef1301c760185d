//! A disk on a device that can fail: a file system on a loop device, whose file is in memory.
//!
//! When the device fails, its end is cut off. What is at the beginning, such as the file system's tables, can still be
//! read and written; everything else is an input/output error. As with a real device, a write seems to succeed, the
//! sync after it fails, and the kernel may forget what it could not write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is left of a device that fails. The tables of the file system and its folders are there.
const LEFT: u64 = 1 << 20;

/// A file system on a device.
pub(crate) struct Device {
    image: PathBuf,
    place: PathBuf,
    size: u64,
}

impl Device {
    /// Makes a device in a file and mounts it. It is unmounted when this is dropped.
    pub(crate) fn mount(image: PathBuf, place: &Path, size: u64) -> io::Result<Device> {
        File::create(&image)?.set_len(size)?;
        // Without a journal, which would stop the whole file system after the first error.
        let features = "^has_journal,^resize_inode";
        let options = ["-q", "-m", "0", "-N", "2048", "-O", features, "-E", "lazy_itable_init=0"];
        run(Command::new("mkfs.ext4").args(options).arg(&image))?;
        let device = Device { image, place: place.to_path_buf(), size };
        device.attach()?;
        Ok(device)
    }

    fn attach(&self) -> io::Result<()> {
        run(Command::new("mount").args(["-t", "ext4", "-o", "loop,errors=continue"]).arg(&self.image).arg(&self.place))
    }

    fn detach(&self) -> io::Result<()> {
        run(Command::new("umount").arg(&self.place))
    }

    /// Unmounts and mounts it: from now on, what is read is what the device holds, not what the kernel remembers.
    pub(crate) fn remount(&self) -> io::Result<()> {
        self.detach()?;
        self.attach()
    }

    /// Lets the device fail. What was synced before is kept until it is repaired.
    pub(crate) fn fail(&self) -> io::Result<()> {
        if self.copy().exists() {
            return Ok(());
        }
        // Nothing may be written between the copy and the failure.
        run(Command::new("fsfreeze").arg("--freeze").arg(&self.place))?;
        let failed = fs::copy(&self.image, self.copy()).and_then(|_| {
            OpenOptions::new().write(true).open(&self.image)?.set_len(LEFT)?;
            self.update_size()
        });
        run(Command::new("fsfreeze").arg("--unfreeze").arg(&self.place))?;
        failed
    }

    /// Repairs the device: it holds what it held when it failed, and what was written to its beginning since.
    pub(crate) fn repair(&self) -> io::Result<()> {
        if !self.copy().exists() {
            return Ok(());
        }
        let (mut copy, mut image) = (File::open(self.copy())?, OpenOptions::new().write(true).open(&self.image)?);
        copy.seek(SeekFrom::Start(LEFT))?;
        image.seek(SeekFrom::Start(LEFT))?;
        io::copy(&mut copy, &mut image)?;
        image.set_len(self.size)?;
        self.update_size()?;
        fs::remove_file(self.copy())
    }

    fn copy(&self) -> PathBuf {
        self.image.with_extension("copy")
    }

    /// Tells the kernel how long the file is.
    fn update_size(&self) -> io::Result<()> {
        let listed = Command::new("losetup")
            .args(["--noheadings", "--output", "NAME", "--associated"])
            .arg(&self.image)
            .output()?;
        let device = String::from_utf8_lossy(&listed.stdout).trim().to_string();
        run(Command::new("losetup").args(["--set-capacity", &device]))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // What is still in use goes away with its last user.
        let _ = run(Command::new("umount").arg("--lazy").arg(&self.place));
    }
}

/// Runs a command to its end; an error with its output if it fails.
fn run(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))),
    }
}
