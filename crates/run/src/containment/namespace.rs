//! Forking into a PID namespace.

use std::fs;
use std::io::{self, Read, Write};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, Signal};

/// In which namespaces a child starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Namespaces {
    /// In those of its parent.
    Same,
    /// As the init of a new PID namespace, with a view of `/proc` that fits.
    Pid,
}

/// Forks. Returns the child's process id to the parent, and `None` to the child.
///
/// The init of a namespace is killed when its parent dies, and with it the namespace. Any other child learns from the
/// end of its connection that its parent is gone.
pub(super) fn fork(namespaces: Namespaces) -> io::Result<Option<Pid>> {
    match namespaces {
        Namespaces::Same => fork_with(0, false),
        Namespaces::Pid => {
            let flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
            match fork_with(flags, false) {
                // An ordinary user may create a PID namespace within a user namespace.
                Err(error) if error.raw_os_error() == Some(libc::EPERM) => fork_with(flags | libc::CLONE_NEWUSER, true),
                result => result,
            }
        }
    }
}

fn fork_with(flags: i32, has_user_namespace: bool) -> io::Result<Option<Pid>> {
    check_single_threaded()?;
    let (mut reader, mut writer) = io::pipe()?;
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    // SAFETY: without CLONE_VM and CLONE_FILES this is fork(2): the child has a copy of everything and returns here.
    // The process has one thread, so no lock is held by a thread that the child does not have. The standard library
    // cannot create namespaces for a child alone.
    let pid = unsafe { libc::syscall(libc::SYS_clone, i64::from(flags | libc::SIGCHLD), 0, 0, 0, 0) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        // The child.
        drop(writer);
        if flags & libc::CLONE_NEWPID != 0 {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        }
        // Blocks until the parent has written the id maps. If the parent died before the line above, nothing comes.
        let mut go = [0];
        if reader.read(&mut go)? == 0 {
            std::process::exit(i32::from(crate::messages::COULD_NOT));
        }
        if flags & libc::CLONE_NEWNS != 0 {
            mount_proc();
        }
        return Ok(None);
    };
    drop(reader);
    let written = if has_user_namespace { write_id_maps(pid, uid, gid) } else { Ok(()) };
    if let Err(error) = written.and_then(|()| writer.write_all(b"1")) {
        drop(writer);
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        return Err(error);
    }
    Ok(Some(pid))
}

/// Maps the user and the group to themselves, so that files and permissions look as they did before.
fn write_id_maps(pid: Pid, uid: u32, gid: u32) -> io::Result<()> {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    fs::write(format!("{folder}/uid_map"), format!("{uid} {uid} 1"))?;
    // Without this, an ordinary user may not map groups.
    fs::write(format!("{folder}/setgroups"), "deny")?;
    fs::write(format!("{folder}/gid_map"), format!("{gid} {gid} 1"))
}

/// Shows the processes of the new namespace in `/proc`, as programs expect that look themselves up there. Other mounts
/// stay shared with the host, so that a command can mount its data. If it is not permitted, `/proc` stays as it is.
fn mount_proc() {
    let is_private = mount_change("/proc", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC);
    if is_private.is_ok() {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        let _ = mount("proc", "/proc", "proc", flags, None::<&std::ffi::CStr>);
    }
}

fn check_single_threaded() -> io::Result<()> {
    match fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(()),
        count => Err(io::Error::other(format!("the process has {count} threads; a guardian can be forked from one"))),
    }
}
