//! Timeouts that double when they prove too short, for networks with unknown delays.

/// The number of times that a timeout may double.
const MAX_DOUBLINGS: u8 = 10;

/// How often a node has doubled its timeouts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct AdaptiveTimeout {
    /// The number of doublings; [`DOUBLED_FLAG`] is set if one happened for the current question.
    doubled: u8,
}

/// One question may have many late answers; they double the timeout once.
const DOUBLED_FLAG: u8 = 0x80;

impl AdaptiveTimeout {
    /// Scales a timeout.
    pub(super) const fn scale(self, wait: u64) -> u64 {
        wait.saturating_mul(1 << (self.doubled & !DOUBLED_FLAG))
    }

    /// Records that a new question was sent.
    pub(super) const fn new_question(&mut self) {
        self.doubled &= !DOUBLED_FLAG;
    }

    /// Doubles all timeouts because an answer came too late; at most once for each question.
    pub(super) const fn double(&mut self) {
        if self.doubled < MAX_DOUBLINGS {
            self.doubled = (self.doubled + 1) | DOUBLED_FLAG;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_once_for_each_question_up_to_a_limit() {
        let mut timeout = AdaptiveTimeout::default();
        assert_eq!(timeout.scale(3), 3);
        timeout.double();
        timeout.double();
        assert_eq!(timeout.scale(3), 6);
        for _ in 0..300 {
            timeout.new_question();
            timeout.double();
        }
        assert_eq!(timeout.scale(3), 3 * 1024);
        assert_eq!(timeout.scale(u64::MAX), u64::MAX);
    }
}
