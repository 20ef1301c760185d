//! The command that `hustings run` runs in the experiment: it writes down when it was alive.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use hustings_harness::net::raise_thread_priority;

use crate::clock;

/// The pause between two lines.
const INTERVAL: Duration = Duration::from_millis(1);

/// How to record.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct RecorderOptions {
    /// The file to append lines to.
    file: PathBuf,
    /// Ignores SIGTERM.
    #[arg(long)]
    stubborn: bool,
    /// Starts another recorder in a process group of its own, which nobody waits for.
    #[arg(long)]
    parent: bool,
}

/// Appends a line with the token and the time, again and again. Returns only if that fails.
pub(crate) fn record(options: &RecorderOptions) -> io::Error {
    match append(options) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

fn append(options: &RecorderOptions) -> io::Result<std::convert::Infallible> {
    let token =
        std::env::var("HUSTINGS_TOKEN").map_err(|error| io::Error::other(format!("HUSTINGS_TOKEN: {error}")))?;
    let mut file = OpenOptions::new().create(true).append(true).open(&options.file)?;
    write_line(&mut file, &token)?;
    // A witness that gets no processor time does not see everything.
    raise_thread_priority();
    if options.stubborn {
        signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::new(AtomicBool::new(false)))?;
    }
    if options.parent {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("recorder").arg(&options.file).args(options.stubborn.then_some("--stubborn"));
        command.process_group(0).spawn()?;
    }
    loop {
        thread::sleep(INTERVAL);
        write_line(&mut file, &token)?;
    }
}

/// Writes a line at once, so that lines of several recorders do not mix.
fn write_line(file: &mut impl Write, token: &str) -> io::Result<()> {
    let line = format!("{token} {}\n", clock::now());
    match file.write(line.as_bytes())? {
        written if written == line.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}
