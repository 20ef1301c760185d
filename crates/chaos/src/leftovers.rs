//! What a harness left behind that was killed before it could clean up: namespaces and mounts, named after its process.
//! (Its nodes die with it.)

use std::fs;
use std::path::Path;
use std::process::Command;

/// What everything that lasts is named after: this and the number of the process that made it.
pub(crate) const PREFIX: &str = "chaos";

/// A name for what this process makes.
pub(crate) fn own_name() -> String {
    format!("{PREFIX}{}", std::process::id())
}

/// Removes what belongs to processes that are gone. What cannot be removed stays: it is in nobody's way.
pub(crate) fn remove() {
    for name in namespaces().iter().filter(|name| is_orphan(name)) {
        let _ = Command::new("ip").args(["netns", "del", name]).output();
    }
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    for place in orphaned_mounts(&mounts) {
        let _ = Command::new("umount").arg(place).output();
    }
}

fn namespaces() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/run/netns") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The places of mounts whose maker is gone.
fn orphaned_mounts(mounts: &str) -> Vec<&str> {
    let words = mounts.lines().filter_map(|line| line.split_once(' '));
    words.filter(|(device, _)| is_orphan(device)).filter_map(|(_, rest)| rest.split(' ').next()).collect()
}

/// Whether a name is one of ours, of a process that is gone.
fn is_orphan(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    digits > 0 && !Path::new("/proc").join(&rest[..digits]).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_belongs_to_the_dead_is_removed() {
        // Numbers of processes do not go that far.
        assert!(is_orphan("chaos999999999s") && is_orphan("chaos999999999"));
        for name in [own_name().as_str(), "chaos", "chaosn1", "other999999999"] {
            assert!(!is_orphan(name), "{name}");
        }
        let mounts =
            format!("chaos999999999 /a/b tmpfs rw 0 0\n{} /c tmpfs rw 0 0\nproc /proc proc rw 0 0\n", own_name());
        assert_eq!(orphaned_mounts(&mounts), ["/a/b"]);
    }
}
