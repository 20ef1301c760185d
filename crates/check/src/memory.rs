//! The memory of this process and of the host, where the system tells (Linux).

use std::fs;

/// The memory that is free for programs, in bytes: what the host has left, or the process's control group if that is
/// less.
pub fn available_memory() -> Option<u64> {
    let host = kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    let group = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    let left = group("memory.max").zip(group("memory.current")).map(|(max, current)| max.saturating_sub(current));
    Some(left.map_or(host, |left| left.min(host)))
}

/// The memory that this process occupies, in bytes.
pub(crate) fn resident_memory() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// The value of a line such as `VmRSS:  1234 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lines_of_the_system() {
        assert_eq!(kilobytes("Name: x\nVmRSS:\t    5248 kB\n", "VmRSS:"), Some(5248 * 1024));
        assert_eq!(kilobytes("VmRSS: many\n", "VmRSS:"), None);
        assert_eq!(kilobytes("", "VmRSS:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn knows_its_own_memory() {
        let before = resident_memory().expect("the system tells");
        let filled = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = resident_memory().expect("the system tells");
        assert!(after >= before + (filled.len() as u64) / 2, "{before} {after}");
        assert!(available_memory().is_some_and(|free| free > 0));
    }
}
