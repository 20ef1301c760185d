//! Guards that are cgroups.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::fs::{
    Access, AtFlags, FsWord, Mode, OFlags, accessat, fcntl_getfl, fstat, fstatfs, open as open_file, openat, statat,
};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Uid, pidfd_open};

use super::kill_process;

/// The file that kills all processes of a cgroup and of those below.
const KILL_FILE: &str = "cgroup.kill";

/// The longest list of processes that is read.
const MAX_LIST_BYTES: u64 = 1 << 20;
/// How long processes that are killed one by one may take to be gone.
const PATIENCE: Duration = Duration::from_secs(2);

/// A cgroup whose processes the node may have to kill.
pub(super) struct Cgroup {
    folder: OwnedFd,
    /// Its file that kills, opened by the client. A node that is not root may not open the files of root's cgroups.
    kill_file: Option<OwnedFd>,
}

impl Cgroup {
    /// Opens the folder of a cgroup for a client that runs as `user`. Fails if it is not a cgroup v2 folder that
    /// belongs to the user, if the node itself is in it, or if the descriptor that the client passed is not its
    /// `cgroup.kill`.
    ///
    /// Only folders in a mounted cgroup hierarchy are touched. Any other file system might keep the node waiting.
    pub(super) fn open(path: &Path, user: Uid, kill_file: Option<OwnedFd>) -> Result<Cgroup, String> {
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
        if kill_file.as_ref().is_some_and(|file| !is_kill_file(file, &folder)) {
            return Err(format!("the descriptor that came with the request is not `{KILL_FILE}` of {shown}, to write"));
        }
        Ok(Cgroup { folder, kill_file })
    }

    /// Kills everything in the cgroup: at once with its file, or one by one if the node may not write to that.
    pub(super) fn kill(&self) -> io::Result<()> {
        let own = || openat(&self.folder, KILL_FILE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        let written = match &self.kill_file {
            Some(file) => rustix::io::write(file, b"1"),
            None => own().and_then(|file| rustix::io::write(&file, b"1")),
        };
        match written {
            Ok(_) => Ok(()),
            // It was removed, for which it must have been empty.
            Err(Errno::NOENT | Errno::NODEV) => Ok(()),
            Err(_) => self.kill_each(),
        }
    }

    fn kill_each(&self) -> io::Result<()> {
        let folder = PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()));
        let end = Instant::now() + PATIENCE;
        loop {
            let listed = processes_below(&folder)?;
            if listed.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                let what = format!("{} processes of the cgroup are still there", listed.len());
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            let opened: Vec<(Pid, OwnedFd)> =
                listed.into_iter().filter_map(|pid| Some((pid, pidfd_open(pid, PidfdFlags::empty()).ok()?))).collect();
            // A number may have passed to another process before it was opened. What is listed once more is the one.
            let still = processes_below(&folder)?;
            for (_, pidfd) in opened.iter().filter(|(pid, _)| still.contains(pid)) {
                kill_process(pidfd)?;
            }
            thread::yield_now();
        }
    }
}

/// Whether a descriptor is the file that kills the cgroup with this folder, opened to write. Whoever passed it is
/// trusted not to let the node wait: see `clients/descriptors.rs`.
fn is_kill_file(file: &OwnedFd, folder: &OwnedFd) -> bool {
    let is_writable = fcntl_getfl(file).is_ok_and(|flags| {
        let mode = flags & OFlags::RWMODE;
        (mode == OFlags::WRONLY || mode == OFlags::RDWR) && !flags.contains(OFlags::PATH)
    });
    let place = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
    let there = statat(folder, KILL_FILE, AtFlags::SYMLINK_NOFOLLOW).map(place);
    is_writable && there.is_ok() && fstat(file).map(place) == there
}

/// The processes in a cgroup and in those below.
fn processes_below(folder: &Path) -> io::Result<Vec<Pid>> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        let mut text = String::new();
        match fs::File::open(folder.join("cgroup.procs")) {
            Ok(file) => _ = file.take(MAX_LIST_BYTES).read_to_string(&mut text)?,
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        found.extend(text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)));
        let below = fs::read_dir(&folder)?.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(below.map(|entry| entry.path()));
    }
    Ok(found)
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
            let problem = Cgroup::open(path, Uid::ROOT, None).err().expect("it is no cgroup");
            assert!(problem.contains("is not in a mounted cgroup v2 hierarchy"), "{problem}");
        }
    }

    /// A cgroup with a process in it, which is killed in the end. `None` where the tests may not make one.
    struct Occupied {
        path: PathBuf,
        process: std::process::Child,
    }

    impl Occupied {
        fn new(name: &str) -> Option<Occupied> {
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            let mount = mounts.lines().find_map(Mount::parse);
            let path = mount.map(|mount| mount.at.join(format!("hustings-test-{name}-{}", std::process::id())));
            let Some(path) = path.filter(|path| fs::create_dir(path).is_ok()) else {
                crate::tests::skip("cgroups of guards: needs a cgroup v2 hierarchy that the tests may write to");
                return None;
            };
            let process = std::process::Command::new("sleep").arg("1000").spawn().expect("it is everywhere");
            fs::write(path.join("cgroup.procs"), process.id().to_string()).expect("the cgroup is ours");
            Some(Occupied { path, process })
        }

        /// One of its files, opened to write or to read.
        fn file(&self, name: &str, flags: OFlags) -> Option<OwnedFd> {
            Some(open_file(self.path.join(name), flags | OFlags::CLOEXEC, Mode::empty()).expect("it is there"))
        }

        fn open(&self, passed: Option<OwnedFd>) -> Result<Cgroup, String> {
            Cgroup::open(&self.path, Uid::ROOT, passed)
        }

        fn was_killed(&mut self) -> bool {
            use std::os::unix::process::ExitStatusExt;
            self.process.wait().expect("it is our child").signal() == Some(libc::SIGKILL)
        }
    }

    impl Drop for Occupied {
        fn drop(&mut self) {
            let _ = (self.process.kill(), self.process.wait());
            // A process leaves its cgroup a moment after it was reaped.
            let end = Instant::now() + PATIENCE;
            while fs::remove_dir(&self.path).is_err() && Instant::now() < end {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn a_client_passes_the_file_that_kills_its_own_cgroup_and_no_other() {
        let (Some(mut own), Some(other)) = (Occupied::new("own"), Occupied::new("other")) else { return };
        let write = OFlags::WRONLY;
        for wrong in [
            other.file(KILL_FILE, write),
            own.file("cgroup.procs", write),
            own.file("cgroup.events", OFlags::RDONLY),
            own.file(KILL_FILE, OFlags::PATH),
            open_file("/dev/null", OFlags::RDWR, Mode::empty()).ok(),
        ] {
            let refusal = own.open(wrong).err().expect("it is another file");
            assert!(refusal.contains("is not `cgroup.kill` of"), "{refusal}");
        }
        own.open(own.file(KILL_FILE, write)).expect("it is the file").kill().expect("it is open");
        assert!(own.was_killed());
    }

    #[test]
    fn processes_are_killed_one_by_one_where_the_file_cannot_be_written() {
        let Some(mut own) = Occupied::new("each") else { return };
        let cgroup = own.open(None).expect("it is a cgroup");
        fs::create_dir(own.path.join("below")).expect("the cgroup is ours");
        let reaper = thread::spawn(move || {
            assert!(own.was_killed());
            own
        });
        cgroup.kill_each().expect("root may kill it");
        let own = reaper.join().expect("it does not panic");
        assert_eq!(processes_below(&own.path).expect("it is there"), []);
        fs::remove_dir(own.path.join("below")).expect("it is empty");
    }
}
