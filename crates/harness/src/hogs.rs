//! Processes that keep this host busy: some compute, some write to the disk. They end with the process that started
//! them, even if that is killed.
//!
//! They are processes and not threads, because the scheduler and the disk are to treat them as they treat other
//! programs of the host.

use std::fs::File;
use std::hint;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::error::{HarnessError, io_error};
use crate::idle::{cpu_time, read_proc};
use crate::process::{Process, hustings_command};

/// How many processes compute.
pub const LOOPS: usize = 2;
/// How many processes write.
pub const WRITERS: usize = 3;
/// The size of a writer's file.
const FILE_BYTES: usize = 64 << 20;
/// How much it writes at once.
const BLOCK_BYTES: usize = 1 << 20;

/// Processes that keep the host busy. They are killed when this value is dropped.
pub struct Hogs {
    since: Instant,
    processes: Vec<Process>,
}

/// What hogs have used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Used {
    /// Their CPU time, divided by the time that passed: how many cores they had.
    pub cores: f64,
    /// What they wrote, in MiB a second.
    pub mib_a_second: f64,
}

impl Hogs {
    /// Starts [`LOOPS`] and [`WRITERS`] with this program. The files are in `folder`.
    pub fn start(program: &Path, folder: &Path) -> Result<Hogs, HarnessError> {
        let files = (0..WRITERS).map(|writer| Some(folder.join(format!("hog-{writer}"))));
        let mut processes = Vec::new();
        for file in files.chain([const { None }; LOOPS]) {
            let mut command = hustings_command(program);
            command.args(["bench", "hog"]);
            if let Some(file) = file {
                command.arg("--write").arg(file);
            }
            command.stdin(Stdio::null()).stdout(Stdio::null());
            processes.push(Process::spawn_bound(&mut command).map_err(io_error("cannot start a hog"))?);
        }
        Ok(Hogs { since: Instant::now(), processes })
    }

    /// What they have used since they were started. An error if one of them has ended.
    pub fn used(&mut self) -> Result<Used, HarnessError> {
        let (mut cpu, mut bytes) = (Duration::ZERO, 0);
        for hog in &mut self.processes {
            if let Some(status) = hog.try_wait().map_err(io_error("cannot look after a hog"))? {
                return Err(io_error("a hog has ended")(io::Error::other(status.to_string())));
            }
            cpu += cpu_time(hog.pid())?;
            bytes += written(&read_proc(hog.pid(), "io")?);
        }
        let seconds = self.since.elapsed().as_secs_f64();
        let mib = bytes as f64 / f64::from(1 << 20);
        Ok(Used { cores: cpu.as_secs_f64() / seconds, mib_a_second: mib / seconds })
    }
}

/// How many bytes a process has written, according to its `/proc/PID/io`.
fn written(io: &str) -> u64 {
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).unwrap_or(0)
}

/// Computes until the process is killed.
pub fn compute() -> ! {
    loop {
        hint::spin_loop();
    }
}

/// Writes a file and waits until it is durable, as `dd conv=fsync` does, again and again until the process is killed.
pub fn write(path: &Path) -> io::Result<()> {
    let block = vec![0x5a; BLOCK_BYTES];
    loop {
        write_once(path, &block)?;
    }
}

fn write_once(path: &Path, block: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    for _ in 0..FILE_BYTES / block.len() {
        file.write_all(block)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_begins_its_file_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hog");
        for _ in 0..2 {
            write_once(&path, &[1; BLOCK_BYTES]).expect("there is room");
            assert_eq!(path.metadata().expect("it is there").len(), FILE_BYTES as u64);
        }
    }

    #[test]
    fn what_a_process_has_written_is_a_line_of_its_io() {
        assert_eq!(written("rchar: 3\nwchar: 4096\nsyscr: 1\n"), 4096);
        assert_eq!(written(""), 0);
        let own = read_proc(rustix::process::getpid(), "io").expect("this process runs");
        assert!(own.contains("wchar: "), "{own}");
    }
}
