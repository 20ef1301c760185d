//! The context of an algorithm inside another: it wraps messages and passes everything else through.
//!
//! Used by algorithms that embed another: the fallback of sun and divided, two-tier around a diffusing computation, the
//! follow-up of an anonymous election; and by the nodes of a cluster, for which all messages are bytes. (Runs have a
//! context of their own, because a view has its own topology.)

use core::fmt;
use core::marker::PhantomData;

use hustings_protocol::{Context, Effect, Protocol, Rank};

/// The methods of a [`Context`] other than `emit`, forwarded to the outer context `self.cx`.
macro_rules! forward_getters {
    ($rank:ty) => {
        #[inline(always)]
        fn rank(&self) -> $rank {
            self.cx.rank()
        }
        #[inline(always)]
        fn index(&self) -> u32 {
            self.cx.index()
        }
        #[inline(always)]
        fn size(&self) -> u32 {
            self.cx.size()
        }
        #[inline(always)]
        fn degree(&self) -> u32 {
            self.cx.degree()
        }
        #[inline(always)]
        fn peer_rank(&self, port: ::hustings_protocol::Port) -> Option<$rank> {
            self.cx.peer_rank(port)
        }
        #[inline(always)]
        fn draw(&mut self, bound: u64) -> u64 {
            self.cx.draw(bound)
        }
    };
}
pub(crate) use forward_getters;

/// The context of an inner algorithm, built on the outer one's.
///
/// Timers pass through too, so the two algorithms must use different kinds.
pub struct InnerContext<'a, P, C: ?Sized, F> {
    cx: &'a mut C,
    wrap: F,
    leads: bool,
    outer: PhantomData<fn(P)>,
}

impl<'a, P, C: ?Sized, F> InnerContext<'a, P, C, F> {
    /// The inner context; `wrap` turns an inner message into one of the outer algorithm.
    #[inline(always)]
    pub fn new(cx: &'a mut C, wrap: F) -> Self {
        InnerContext { cx, wrap, leads: false, outer: PhantomData }
    }

    /// Whether the inner algorithm made this node the leader.
    #[inline(always)]
    pub(crate) fn leads(&self) -> bool {
        self.leads
    }
}

impl<P, C: ?Sized, F> fmt::Debug for InnerContext<'_, P, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InnerContext").finish_non_exhaustive()
    }
}

impl<I, P, C, F, R> Context<I> for InnerContext<'_, P, C, F>
where
    R: Rank,
    I: Protocol<Rank = R>,
    P: Protocol<Rank = R>,
    C: Context<P> + ?Sized,
    F: FnMut(I::Message) -> P::Message,
{
    forward_getters!(R);

    #[inline(always)]
    fn emit(&mut self, effect: Effect<I::Message>) {
        match effect {
            Effect::Lead => self.leads = true,
            Effect::Follow(_) | Effect::Forget => self.leads = false,
            _ => {}
        }
        self.cx.emit(effect.map(&mut self.wrap));
    }
}
