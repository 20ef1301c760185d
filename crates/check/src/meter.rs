//! The work of evaluating properties, which a limit can end.

use std::cell::Cell;
use std::fmt;

/// A limit was reached before the work was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LimitReached;

/// Counts work, and looks at the limits now and then.
pub(crate) struct Meter {
    is_over: Box<dyn Fn() -> bool>,
    left: Cell<u32>,
}

/// The number of states or steps that are handled between two looks: less than a millisecond's work.
pub(crate) const WORK_BETWEEN_LOOKS: u32 = 1 << 14;

impl Meter {
    /// Ends the work once `is_over` says so.
    pub(crate) fn new(is_over: impl Fn() -> bool + 'static) -> Self {
        Meter { is_over: Box::new(is_over), left: Cell::new(WORK_BETWEEN_LOOKS) }
    }

    /// One more state or step is handled.
    #[inline]
    pub(crate) fn work(&self) -> Result<(), LimitReached> {
        self.left.set(self.left.get() - 1);
        if self.left.get() > 0 { Ok(()) } else { self.look() }
    }

    /// Looks at the limits: before work that cannot be interrupted.
    #[cold]
    pub(crate) fn look(&self) -> Result<(), LimitReached> {
        self.left.set(WORK_BETWEEN_LOOKS);
        if (self.is_over)() { Err(LimitReached) } else { Ok(()) }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("left", &self.left).finish_non_exhaustive()
    }
}
