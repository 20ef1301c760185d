//! A cgroup v2 for the processes of one command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A cgroup of our own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Creates a cgroup within the one of this process.
    pub(super) fn create() -> io::Result<Cgroup> {
        let unsupported = |what: &str| io::Error::new(io::ErrorKind::Unsupported, what.to_string());
        let mount = mount_point(&fs::read_to_string("/proc/self/mountinfo")?)
            .ok_or_else(|| unsupported("no cgroup v2 is mounted"))?;
        let own = own_path(&fs::read_to_string("/proc/self/cgroup")?)
            .ok_or_else(|| unsupported("this process is in no cgroup v2"))?;
        let parent = mount.join(own.strip_prefix("/").unwrap_or(&own));
        let path = parent.join(format!("hustings-run-{}", rustix::process::getpid().as_raw_nonzero()));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Left behind by an earlier process with the same id. If it is not empty, this fails.
                fs::remove_dir(&path)?;
                fs::create_dir(&path)?;
            }
            result => result?,
        }
        let cgroup = Cgroup { path };
        if !cgroup.path.join("cgroup.kill").exists() {
            cgroup.remove();
            return Err(unsupported("the kernel has no cgroup.kill"));
        }
        Ok(cgroup)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file that moves a process into the cgroup.
    pub(crate) fn open_procs(&self) -> io::Result<fs::File> {
        fs::OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))
    }

    /// The file that kills every process in the cgroup.
    pub(super) fn open_kill(&self) -> io::Result<fs::File> {
        fs::OpenOptions::new().write(true).open(self.path.join("cgroup.kill"))
    }

    /// Kills every process in the cgroup.
    pub(super) fn kill(&self) {
        // If it fails, the signals to each descendant remain.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Whether no process is alive in the cgroup.
    pub(super) fn is_empty(&self) -> bool {
        match fs::read_to_string(self.path.join("cgroup.events")) {
            Ok(events) => events.lines().any(|line| line == "populated 0"),
            // Somebody has removed it, which is possible only if it is empty.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Removes the cgroup if it is empty. A folder that stays does no harm.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// Where cgroup v2 is mounted: usually at `/sys/fs/cgroup`, or below it if v1 is in use as well.
fn mount_point(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, rest) = line.split_once(" - ")?;
        let is_v2 = rest.split(' ').next() == Some("cgroup2");
        is_v2.then(|| mount.split(' ').nth(4).map(PathBuf::from)).flatten()
    })
}

/// The path of this process in the hierarchy of v2.
fn own_path(cgroups: &str) -> Option<PathBuf> {
    cgroups.lines().find_map(|line| line.strip_prefix("0::")).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_point_of_version_2_is_found_in_both_layouts() {
        let unified = "25 30 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_point(unified), Some(PathBuf::from("/sys/fs/cgroup")));
        let hybrid = "31 30 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      32 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_point(hybrid), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount_point("31 30 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"), None);
        assert_eq!(own_path("12:cpu:/x\n0::/user.slice\n"), Some(PathBuf::from("/user.slice")));
        assert_eq!(own_path("12:cpu:/x\n"), None);
    }
}
