//! The context of an algorithm inside another: it wraps messages and passes everything else through.
//!
//! Used by algorithms that embed another: the fallback of sun and divided, two-tier around a diffusing computation, the
//! follow-up of an anonymous election. (Runs have a context of their own, because a view has its own topology.)

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;

use hustings_protocol::{Context, Fact, Id, Port, Protocol, Rank, Timer};

/// The context of an inner algorithm, built on the outer one's.
///
/// Timers pass through too, so the two algorithms must use different kinds.
pub struct InnerContext<'a, P, C, F> {
    cx: &'a mut C,
    wrap: F,
    leads: bool,
    outer: PhantomData<fn(P)>,
}

impl<'a, P, C, F> InnerContext<'a, P, C, F> {
    /// The inner context; `wrap` turns an inner message into one of the outer algorithm.
    #[inline(always)]
    pub fn new(cx: &'a mut C, wrap: F) -> Self {
        InnerContext { cx, wrap, leads: false, outer: PhantomData }
    }

    /// Whether the inner algorithm made this node the leader.
    #[inline(always)]
    pub fn leads(&self) -> bool {
        self.leads
    }
}

impl<P, C, F> fmt::Debug for InnerContext<'_, P, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InnerContext").finish_non_exhaustive()
    }
}

impl<I, P, C, F, R> Context<I> for InnerContext<'_, P, C, F>
where
    R: Rank,
    I: Protocol<Rank = R>,
    P: Protocol<Rank = R>,
    C: Context<P>,
    F: FnMut(I::Message) -> P::Message,
{
    #[inline(always)]
    fn rank(&self) -> R {
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
    fn peer_rank(&self, port: Port) -> Option<R> {
        self.cx.peer_rank(port)
    }
    #[inline(always)]
    fn draw(&mut self, bound: u64) -> u64 {
        self.cx.draw(bound)
    }
    #[inline(always)]
    fn send(&mut self, port: Port, message: I::Message) {
        let message = (self.wrap)(message);
        self.cx.send(port, message);
    }
    #[inline(always)]
    fn send_all_but(&mut self, except: Option<Port>, message: I::Message) {
        let message = (self.wrap)(message);
        self.cx.send_all_but(except, message);
    }
    #[inline(always)]
    fn send_range(&mut self, ports: Range<u32>, message: I::Message) {
        let message = (self.wrap)(message);
        self.cx.send_range(ports, message);
    }
    fn send_direct(&mut self, to: Id, message: I::Message) {
        let message = (self.wrap)(message);
        self.cx.send_direct(to, message);
    }
    fn send_to(&mut self, member: u32, message: I::Message) {
        let message = (self.wrap)(message);
        self.cx.send_to(member, message);
    }
    fn set_timer(&mut self, after: u64, timer: Timer) {
        self.cx.set_timer(after, timer);
    }
    #[inline(always)]
    fn lead(&mut self) {
        self.leads = true;
        self.cx.lead();
    }
    #[inline(always)]
    fn follow(&mut self, leader: Id) {
        self.leads = false;
        self.cx.follow(leader);
    }
    fn forget(&mut self) {
        self.leads = false;
        self.cx.forget();
    }
    fn learn(&mut self, fact: Fact) {
        self.cx.learn(fact);
    }
    #[inline(always)]
    fn skip(&mut self, port: Port) {
        self.cx.skip(port);
    }
}
