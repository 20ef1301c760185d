//! Removes the namespaces and mounts of earlier runs that were killed before they could clean up. (Their nodes die with
//! them.)

use std::fs;
use std::path::Path;
use std::process::Command;

/// The prefix of the names of namespaces and mounts; the id of the process that made them follows.
pub(crate) const PREFIX: &str = "chaos";

/// A name for the namespaces and mounts of this process.
pub(crate) fn own_name() -> String {
    format!("{PREFIX}{}", std::process::id())
}

/// Removes the namespaces and mounts of processes that no longer exist. What cannot be removed stays: it does no harm.
pub(crate) fn remove_orphans() {
    for name in namespaces().iter().filter(|name| is_orphan(name)) {
        let _ = Command::new("ip").args(["netns", "del", name]).output();
    }
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let places = orphaned_mounts(&mounts);
    for place in devices_in(&mounts, &places).into_iter().chain(places) {
        let _ = Command::new("umount").arg(place).output();
    }
}

fn namespaces() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/run/netns") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The mount points of processes that no longer exist.
fn orphaned_mounts(mounts: &str) -> Vec<&str> {
    let words = mounts.lines().filter_map(|line| line.split_once(' '));
    words.filter(|(device, _)| is_orphan(device)).filter_map(|(_, rest)| rest.split(' ').next()).collect()
}

/// The mount points of loop devices whose files are in one of these places.
fn devices_in<'a>(mounts: &'a str, places: &[&str]) -> Vec<&'a str> {
    let is_in = |device: &str| {
        let file = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("loop/backing_file");
        fs::read_to_string(file).is_ok_and(|file| places.iter().any(|place| Path::new(&file).starts_with(place)))
    };
    let words = mounts.lines().filter_map(|line| line.split_once(' '));
    words.filter(|(device, _)| is_in(device)).filter_map(|(_, rest)| rest.split(' ').next()).collect()
}

/// Whether a name was made by a process that no longer exists.
fn is_orphan(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    digits > 0 && !Path::new("/proc").join(&rest[..digits]).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_processes_that_are_gone_are_orphans() {
        // Process ids are smaller than that.
        assert!(is_orphan("chaos999999999s") && is_orphan("chaos999999999"));
        for name in [own_name().as_str(), "chaos", "chaosn1", "other999999999"] {
            assert!(!is_orphan(name), "{name}");
        }
        let mounts =
            format!("chaos999999999 /a/b tmpfs rw 0 0\n{} /c tmpfs rw 0 0\nproc /proc proc rw 0 0\n", own_name());
        assert_eq!(orphaned_mounts(&mounts), ["/a/b"]);
    }
}
