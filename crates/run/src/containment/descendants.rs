//! The descendants of a process, as `/proc` shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::Pid;

/// The live descendants of a process, except `spared` and its own descendants. Zombies do not count.
pub(crate) fn descendants(root: Pid, spared: Option<Pid>) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<(i32, bool)>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // A process that ended in the meantime has no file.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        if let Some((parent, is_alive)) = parse_stat(&stat) {
            children.entry(parent).or_default().push((pid, is_alive));
        }
    }
    let spared = spared.map(|pid| pid.as_raw_nonzero().get());
    let mut found = BTreeSet::new();
    let mut pending = vec![root.as_raw_nonzero().get()];
    let mut alive = Vec::new();
    while let Some(parent) = pending.pop() {
        for (pid, is_alive) in children.get(&parent).into_iter().flatten() {
            if Some(*pid) != spared && found.insert(*pid) {
                pending.push(*pid);
                alive.extend(Pid::from_raw(*pid).filter(|_| *is_alive));
            }
        }
    }
    alive
}

/// The parent of a process, and whether it is alive. The name is in parentheses and may contain anything.
fn parse_stat(stat: &str) -> Option<(i32, bool)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    Some((parent, !matches!(state, "Z" | "X")))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn reads_the_parent_whatever_the_name_is() {
        assert_eq!(parse_stat("12 (a) S 7 12"), Some((7, true)));
        assert_eq!(parse_stat("12 (a) b) (c) Z 9 12"), Some((9, false)));
        assert_eq!(parse_stat("garbage"), None);
    }

    #[test]
    fn finds_grandchildren_and_spares_what_it_is_told_to() {
        let script = "sleep 1000 & echo started; wait";
        let mut shell =
            Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().expect("there is a shell");
        let mut line = String::new();
        let output = shell.stdout.take().expect("it is piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("it starts");
        let pid = Pid::from_child(&shell);
        let all = descendants(pid, None);
        assert_eq!(all.len(), 1, "{all:?}");
        let own = rustix::process::getpid();
        assert!(descendants(own, None).contains(&all[0]));
        assert!(!descendants(own, Some(pid)).contains(&all[0]));
        let _ = rustix::process::kill_process(all[0], rustix::process::Signal::KILL);
        shell.wait().expect("its child is gone");
    }
}
