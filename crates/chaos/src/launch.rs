//! Prepares a new process and then executes the node in it. This program does it to itself, so no unsafe code is needed
//! between `fork` and `exec`.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// How a node is launched.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Launch {
    /// The process that launches the node; the node is killed when that process ends.
    #[arg(long)]
    parent: i32,
    /// The network namespace to run in.
    #[arg(long)]
    namespace: Option<String>,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// The arguments of this program that launch another one, which follows them, and end it with this process.
pub(crate) fn arguments(namespace: Option<&str>) -> Vec<String> {
    let mut words = vec!["launch".to_string(), "--parent".to_string(), std::process::id().to_string()];
    words.extend(namespace.iter().flat_map(|name| ["--namespace".to_string(), name.to_string()]));
    words.push("--".to_string());
    words
}

/// Executes the node; returns only if that fails.
pub(crate) fn launch(launch: &Launch) -> io::Error {
    match prepare(launch) {
        Err(error) => error,
        Ok(()) => match launch.command.split_first() {
            Some((program, arguments)) => Command::new(program).args(arguments).exec(),
            None => io::Error::new(io::ErrorKind::InvalidInput, "nothing to launch"),
        },
    }
}

fn prepare(launch: &Launch) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before the signal was requested.
    if getppid().map(Pid::as_raw_nonzero).is_none_or(|parent| parent.get() != launch.parent) {
        return Err(io::Error::other("the parent process is gone"));
    }
    if let Some(namespace) = &launch.namespace {
        let link = File::open(Path::new("/run/netns").join(namespace))?;
        move_into_link_name_space(link.as_fd(), Some(LinkNameSpaceType::Network))?;
    }
    Ok(())
}
