//! Flooding: the announcement on graphs, and the common parts of the descriptions of graph elections.

use core::mem;

use hustings_protocol::{Context, Port, Protocol};

use crate::ring::set_leader;

/// A flood: its origin sends to all neighbours, every other node on first receipt to all neighbours but the sender.
/// That is 2E-(n-1) messages: one in each direction of every link, but none back over the n-1 links of first receipt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Flood {
    passed: bool,
}

impl Flood {
    /// The flood has not reached this node.
    pub(crate) const QUIET: Flood = Flood { passed: false };

    /// Handles the flood, from a port or started here: on the first call, runs `take_in` and forwards the message.
    #[inline(always)]
    pub(crate) fn spread<P, C>(
        &mut self,
        from: Option<Port>,
        message: P::Message,
        cx: &mut C,
        take_in: impl FnOnce(&mut C),
    ) where
        P: Protocol + ?Sized,
        C: Context<P>,
    {
        if !mem::replace(&mut self.passed, true) {
            take_in(cx);
            cx.send_all_but(from, message);
        }
    }

    /// Floods the announcement of a leader.
    #[inline(always)]
    pub(crate) fn announce<P, C>(&mut self, from: Option<Port>, leader: P::Rank, message: P::Message, cx: &mut C)
    where
        P: Protocol,
        C: Context<P>,
    {
        self.spread::<P, C>(from, message, cx, |cx| set_leader::<P, C>(leader, cx));
    }
}
