//! Guards that are cgroups.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, AtFlags, FsWord, Mode, OFlags, accessat, fstat, fstatfs, open as open_file, openat};
use rustix::process::Uid;

/// The file that kills all processes of a cgroup and of those below.
const KILL_FILE: &str = "cgroup.kill";

/// Opens the folder of a cgroup for a client that runs as `user`. Fails if it is not a cgroup v2 folder that belongs to
/// the user, or if the node itself is in it.
///
/// Only folders in a mounted cgroup hierarchy are touched. Any other file system might keep the node waiting.
pub(super) fn open(path: &Path, user: Uid) -> Result<OwnedFd, String> {
    let shown = path.display();
    let is_plain = path.is_absolute() && path.components().all(|part| !matches!(part, Component::ParentDir));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let Some(mount) = mounts.lines().filter_map(Mount::parse).find(|mount| is_plain && path.starts_with(&mount.at))
    else {
        return Err(format!("{shown} is not in a mounted cgroup v2 hierarchy"));
    };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let folder = open_file(path, flags, Mode::empty()).map_err(|error| format!("cannot open {shown}: {error}"))?;
    let is_cgroup = fstatfs(&folder).is_ok_and(|system| system.f_type == libc::CGROUP2_SUPER_MAGIC as FsWord);
    if !is_cgroup || accessat(&folder, KILL_FILE, Access::EXISTS, AtFlags::empty()).is_err() {
        return Err(format!("{shown} is not a cgroup v2 folder with a file `{KILL_FILE}` (Linux 5.14)"));
    }
    let owner = fstat(&folder).map_err(|error| format!("cannot inspect {shown}: {error}"))?.st_uid;
    if !user.is_root() && owner != user.as_raw() {
        return Err(format!("{shown} belongs to the user {owner}, not to {user}"));
    }
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if mount.place_of(&own).is_none_or(|own| own.starts_with(path)) {
        return Err(format!("{shown} contains the node itself"));
    }
    Ok(folder)
}

/// Kills everything in a cgroup.
pub(super) fn kill(folder: &OwnedFd) -> io::Result<()> {
    let file = openat(folder, KILL_FILE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, b"1")?;
    Ok(())
}

/// A mounted cgroup v2 hierarchy.
struct Mount {
    /// Where it is mounted.
    at: PathBuf,
    /// Which of its cgroups is mounted there.
    root: PathBuf,
}

impl Mount {
    /// Reads a line of `/proc/self/mountinfo`.
    fn parse(line: &str) -> Option<Mount> {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        (system.split(' ').next() == Some("cgroup2")).then(|| Mount { at: at.into(), root: root.into() })
    }

    /// Where a process is in this hierarchy, by its `/proc/PID/cgroup`. A process above what is mounted is at its root.
    fn place_of(&self, cgroups: &str) -> Option<PathBuf> {
        let path = Path::new(cgroups.lines().find_map(|line| line.strip_prefix("0::"))?);
        Some(path.strip_prefix(&self.root).map_or_else(|_| self.at.clone(), |below| self.at.join(below)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "36 25 0:31 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw";

    #[test]
    fn finds_the_hierarchy_and_the_place_in_it() {
        let mount = Mount::parse(LINE).expect("it is a cgroup v2 hierarchy");
        assert_eq!(mount.at, Path::new("/sys/fs/cgroup/unified"));
        let place = mount.place_of("3:cpu:/x\n0::/system.slice/hustings.service\n");
        assert_eq!(place.as_deref(), Some(Path::new("/sys/fs/cgroup/unified/system.slice/hustings.service")));
        assert_eq!(mount.place_of("0::/\n").as_deref(), Some(Path::new("/sys/fs/cgroup/unified/")));
        assert_eq!(mount.place_of("3:cpu:/x\n"), None);
        assert!(Mount::parse(&LINE.replace("cgroup2", "cgroup")).is_none());
        assert!(Mount::parse("").is_none());
        let below = Mount { root: "/box".into(), ..mount };
        assert_eq!(below.place_of("0::/box/a\n").as_deref(), Some(Path::new("/sys/fs/cgroup/unified/a")));
        assert_eq!(below.place_of("0::/other\n"), Some(below.at.clone()));
    }

    #[test]
    fn rejects_what_is_not_a_cgroup() {
        let folder = tempfile::tempdir().expect("create a temporary folder");
        for path in [folder.path(), Path::new("relative"), Path::new("/nowhere"), &folder.path().join("../x")] {
            let problem = open(path, Uid::ROOT).expect_err("it is no cgroup");
            assert!(problem.contains("is not in a mounted cgroup v2 hierarchy"), "{problem}");
        }
    }
}
