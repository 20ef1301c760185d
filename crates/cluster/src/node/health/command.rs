//! Health checks by a command.

use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use mio::unix::SourceFd;
use mio::unix::pipe::Receiver;
use mio::{Events, Interest, Poll, Token};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

const OUTPUT: Token = Token(1);
const END: Token = Token(2);
/// How much of the output is kept.
const MAX_BYTES: usize = 256;

/// Runs the command and returns its score; or why it cannot be started. It ends when the command ends, its time is
/// up, or the poll's waker is woken. Afterwards nothing of its process group is left.
pub(super) fn probe(command: &[String], until: Instant, poll: &mut Poll) -> io::Result<u8> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program)
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut output_bytes = Vec::new();
    let has_ended = wait_for_end(&mut child, until, poll, &mut output_bytes).unwrap_or(false);
    // The child has not been waited for, so its process id is still its own.
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // Fails if every process of the group has ended.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = child.wait()?;
    Ok(if has_ended && status.success() { score(&output_bytes) } else { 0 })
}

/// Reads the output until the command ends. Returns true if it ends in time.
fn wait_for_end(child: &mut Child, until: Instant, poll: &mut Poll, output_bytes: &mut Vec<u8>) -> Option<bool> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    let end = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let mut output = Receiver::from(child.stdout.take()?);
    output.set_nonblocking(true).ok()?;
    poll.registry().register(&mut SourceFd(&end.as_raw_fd()), END, Interest::READABLE).ok()?;
    poll.registry().register(&mut output, OUTPUT, Interest::READABLE).ok()?;
    let mut events = Events::with_capacity(8);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Some(false);
        }
        match poll.poll(&mut events, Some(left)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result.ok()?,
        }
        read_output(&mut output, output_bytes);
        if events.iter().any(|event| event.token() == super::STOP) {
            return Some(false);
        }
        if events.iter().any(|event| event.token() == END) {
            return Some(true);
        }
    }
}

/// Reads what is there and keeps the beginning. An error counts as the end.
fn read_output(output: &mut Receiver, output_bytes: &mut Vec<u8>) {
    let mut chunk = [0; 4096];
    // Bounded, so that a command that writes without pause cannot delay the timeout.
    for _ in 0..256 {
        let Ok(count @ 1..) = output.read(&mut chunk) else { return };
        let room = MAX_BYTES - output_bytes.len();
        output_bytes.extend_from_slice(&chunk[..count.min(room)]);
    }
}

/// The score on the first line; 100 if there is none.
fn score(output_bytes: &[u8]) -> u8 {
    let line = output_bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let number = std::str::from_utf8(line).ok().and_then(|line| line.trim().parse::<u64>().ok());
    number.map_or(100, |number| number.min(100) as u8)
}
