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
pub fn resident_memory() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// Ends a run that fills the memory. It looks each time when a number of messages more were sent.
#[derive(Clone, Debug)]
pub(crate) struct MemoryWatch {
    max: u64,
    resident: fn() -> Option<u64>,
    /// The number of messages at which it looks again.
    next: u64,
    is_exceeded: bool,
}

/// A message in flight takes about a hundred bytes, so that a run occupies at most a few megabytes more than allowed.
/// Looking takes about as long as a few hundred messages.
const MESSAGES_BETWEEN_LOOKS: u64 = 1 << 15;

impl MemoryWatch {
    /// Watches that the process does not occupy more than this many bytes; `None`: any number is allowed.
    pub(crate) fn new(max: Option<u64>) -> Self {
        let next = if max.is_some() { 0 } else { u64::MAX };
        MemoryWatch { max: max.unwrap_or(u64::MAX), resident: resident_memory, next, is_exceeded: false }
    }

    /// Whether there is a maximum.
    pub(crate) fn is_on(&self) -> bool {
        self.max != u64::MAX
    }

    /// So many messages were sent so far.
    #[inline(always)]
    pub(crate) fn sent(&mut self, messages: u64) {
        if messages >= self.next {
            self.look(messages);
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, messages: u64) {
        self.next = messages + MESSAGES_BETWEEN_LOOKS;
        self.is_exceeded |= (self.resident)().is_some_and(|used| used > self.max);
    }

    /// Whether it occupied more than the maximum.
    #[inline(always)]
    pub(crate) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }
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

    /// Counts the looks, in place of bytes.
    fn looks() -> Option<u64> {
        thread_local!(static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
        LOOKS.set(LOOKS.get() + 1);
        Some(LOOKS.get())
    }

    #[test]
    fn a_watch_looks_now_and_then_and_remembers_what_it_saw() {
        let mut watch = MemoryWatch { resident: looks, ..MemoryWatch::new(Some(3)) };
        let mut exceeded_at = None;
        for messages in 0..10 * MESSAGES_BETWEEN_LOOKS {
            watch.sent(messages);
            exceeded_at = exceeded_at.or(watch.is_exceeded().then_some(messages));
        }
        assert_eq!(exceeded_at, Some(3 * MESSAGES_BETWEEN_LOOKS), "the fourth look sees 4");
        assert_eq!(looks(), Some(11));
        let mut idle = MemoryWatch { resident: looks, ..MemoryWatch::new(None) };
        idle.sent(u64::MAX - 1);
        assert_eq!((looks(), idle.is_exceeded(), idle.is_on()), (Some(12), false, false));
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
