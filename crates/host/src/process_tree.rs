//! The descendants of a process, as `/proc` shows them, and their end.
//!
//! Descendants that leave the tree (their parents end, and no ancestor in the tree is their subreaper) are not found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Sends SIGKILL to the descendants of a process that are alive, except `spared` and its descendants. Returns whether
/// there were any: they may have started others in the meantime, so the caller repeats it until there are none.
pub fn kill_descendants(root: Pid, spared: Option<Pid>) -> bool {
    kill_all(&living_descendants(root, spared))
}

/// A process, whatever becomes of its number. Numbers are used again; with the start, they are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    pid: Pid,
    started: u64,
}

impl Identity {
    /// The process that has a number now. `None` if there is none, or if it may not be looked at.
    pub fn of(pid: Pid) -> Option<Identity> {
        read_process(pid.as_raw_nonzero().get()).map(|process| Identity { pid, started: process.started })
    }

    /// Kills the descendants of the process, as [`kill_descendants`] does, but not those of another one that has its
    /// number by now.
    pub fn kill_descendants(self) -> bool {
        // All from one look at `/proc`: otherwise the number could pass to another process in between.
        let (pid, all) = (self.pid.as_raw_nonzero().get(), processes());
        let is_there = all.iter().any(|process| (process.pid, process.started) == (pid, self.started));
        is_there && kill_all(&descendants(pid, None, &all))
    }
}

/// Whether `/proc` shows the PID namespace of this process. After `unshare --pid` without `--mount-proc`, it shows
/// another one, whose numbers mean other processes here.
pub fn is_proc_own() -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() == own.as_str())
}

/// Whether a process has descendants that are alive, `spared` and its descendants not counted.
pub fn has_descendants(root: Pid, spared: Option<Pid>) -> bool {
    !living_descendants(root, spared).is_empty()
}

fn living_descendants(root: Pid, spared: Option<Pid>) -> Vec<Process> {
    let spared = spared.map(|pid| pid.as_raw_nonzero().get());
    descendants(root.as_raw_nonzero().get(), spared, &processes())
}

/// A process, as `/proc` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Process {
    pid: i32,
    parent: i32,
    /// When it started. With the number, this identifies it: numbers are used again.
    started: u64,
    /// Whether it has ended, and its parent has not noticed.
    is_zombie: bool,
}

/// Kills processes. Returns whether there were any.
fn kill_all(processes: &[Process]) -> bool {
    processes.iter().for_each(kill_if_same);
    !processes.is_empty()
}

/// Kills a process, unless its number belongs to another one by now.
fn kill_if_same(process: &Process) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // The pidfd is of the process that has the number now, so it is looked at once more.
    if read_process(process.pid).is_some_and(|now| now.started == process.started) {
        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    }
}

/// The living descendants of a process, except `spared` and its descendants.
fn descendants(root: i32, spared: Option<i32>, processes: &[Process]) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    processes.iter().for_each(|process| children.entry(process.parent).or_default().push(process));
    let (mut found, mut seen) = (Vec::new(), BTreeSet::from([root]));
    seen.extend(spared);
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for process in children.get(&parent).into_iter().flatten().filter(|process| seen.insert(process.pid)) {
            found.push(**process);
            open.push(process.pid);
        }
    }
    found.retain(|process| !process.is_zombie);
    found
}

fn processes() -> Vec<Process> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| read_process(name.to_str()?.parse().ok()?)).collect()
}

fn read_process(pid: i32) -> Option<Process> {
    parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads `/proc/PID/stat`. The name in parentheses may contain anything.
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields: Vec<&str> = std::str::from_utf8(&stat[end + 1..]).ok()?.split_whitespace().collect();
    let is_zombie = matches!(*fields.first()?, "Z" | "X" | "x");
    // The parent is the fourth field, the start the twenty-second.
    Some(Process { pid, parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()?, is_zombie })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_process_whatever_its_name() {
        let stat = b"42 (a) b \xff(c) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 100 200";
        let process = Process { pid: 42, parent: 7, started: 98_765, is_zombie: false };
        assert_eq!(parse(42, stat), Some(process));
        assert_eq!(parse(42, b"42 (a) S 7"), None);
        assert_eq!(parse(42, b""), None);
        assert!(is_proc_own());
        let own = std::process::id() as i32;
        assert!(processes().iter().any(|process| process.pid == own && !process.is_zombie));
    }

    #[test]
    fn descendants_of_another_process_with_the_number_are_spared() {
        let mut shell = std::process::Command::new("sh");
        let mut shell = shell.args(["-c", "sleep 1000 & wait"]).spawn().expect("a shell is there");
        let identity = Identity::of(Pid::from_child(&shell)).expect("it is alive");
        while !has_descendants(identity.pid, None) {
            std::thread::yield_now();
        }
        let later = Identity { started: identity.started + 1, ..identity };
        assert!(!later.kill_descendants() && has_descendants(identity.pid, None), "they are not its");
        assert!(identity.kill_descendants());
        // The shell ends when its child has.
        assert!(shell.wait().expect("it is our child").success());
    }

    #[test]
    fn finds_living_descendants_only() {
        let process = |pid, parent, is_zombie| Process { pid, parent, started: 0, is_zombie };
        let all = [
            process(1, 0, false),
            process(5, 1, false),
            process(6, 5, false),
            process(7, 6, true),
            process(8, 7, false),
            process(9, 1, false),
            // Read at different times, parents may form a cycle.
            process(11, 12, false),
            process(12, 11, false),
        ];
        let mut found: Vec<i32> = descendants(5, None, &all).iter().map(|process| process.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [6, 8]);
        assert_eq!(descendants(11, None, &all).len(), 1);
        assert_eq!(descendants(1, Some(5), &all).len(), 1);
    }
}
