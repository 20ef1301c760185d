//! Waits that grow where they proved too short: for networks whose delays nobody knows.

/// So often a wait may double: beyond a thousandfold nobody would call it waiting.
const MOST: u8 = 10;

/// How often a node has found its waits too short.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Patience {
    /// How often the waits have doubled; with [`GREW`], for the question that is out as well.
    doubled: u8,
}

/// One question may have many late answers, and they all say the same.
const GREW: u8 = 0x80;

impl Patience {
    /// A wait, stretched.
    pub(super) const fn stretch(self, wait: u64) -> u64 {
        wait.saturating_mul(1 << (self.doubled & !GREW))
    }

    /// Another question is out.
    pub(super) const fn asks(&mut self) {
        self.doubled &= !GREW;
    }

    /// An answer came too late: all waits double, once for each question.
    pub(super) const fn grow(&mut self) {
        if self.doubled < MOST {
            self.doubled = (self.doubled + 1) | GREW;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_once_for_each_question_and_does_not_grow_for_ever() {
        let mut patience = Patience::default();
        assert_eq!(patience.stretch(3), 3);
        patience.grow();
        patience.grow();
        assert_eq!(patience.stretch(3), 6);
        for _ in 0..300 {
            patience.asks();
            patience.grow();
        }
        assert_eq!(patience.stretch(3), 3 * 1024);
        assert_eq!(patience.stretch(u64::MAX), u64::MAX);
    }
}
