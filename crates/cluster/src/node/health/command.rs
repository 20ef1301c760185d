//! A command that says how well the host is.

use std::io::Read;
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
/// The first line need not be longer.
const MAX_BYTES: usize = 256;

/// The score: none if the command cannot be run. It is over when the command ends, its time is up, or the waker of the
/// poll is woken; nothing that it started in its process group is left then.
pub(super) fn probe(command: &[String], until: Instant, poll: &mut Poll) -> Option<u8> {
    let (program, arguments) = command.split_first()?;
    let mut child = Command::new(program)
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut said = Vec::new();
    let has_ended = follow(&mut child, until, poll, &mut said).unwrap_or(false);
    // It has not been waited for, so its number is still its own.
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // There is nothing to kill if everybody is gone.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = child.wait().ok()?;
    Some(if has_ended && status.success() { score(&said) } else { 0 })
}

/// ReadIndex what the command says until it ends: true if it does in time.
fn follow(child: &mut Child, until: Instant, poll: &mut Poll, said: &mut Vec<u8>) -> Option<bool> {
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
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            result => result.ok()?,
        }
        listen(&mut output, said);
        if events.iter().any(|event| event.token() == super::STOP) {
            return Some(false);
        }
        if events.iter().any(|event| event.token() == END) {
            return Some(true);
        }
    }
}

/// Takes what there is and keeps the beginning. Errors are ends.
fn listen(output: &mut Receiver, said: &mut Vec<u8>) {
    let mut piece = [0; 4096];
    // A command that writes faster than this can be read must not keep this from looking at the clock.
    for _ in 0..256 {
        let Ok(count @ 1..) = output.read(&mut piece) else { return };
        let room = MAX_BYTES - said.len();
        said.extend_from_slice(&piece[..count.min(room)]);
    }
}

/// A number on the first line, if there is one.
fn score(said: &[u8]) -> u8 {
    let line = said.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let number = std::str::from_utf8(line).ok().and_then(|line| line.trim().parse::<u64>().ok());
    number.map_or(100, |number| number.min(100) as u8)
}
