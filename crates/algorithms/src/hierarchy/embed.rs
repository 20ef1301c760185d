//! One protocol inside another: [`Inside`] is the surroundings that the inner one sees.

use core::marker::PhantomData;

use hustings_protocol::{Context, Fact, Id, Port, Protocol, Timer};

/// The surroundings of an inner protocol: those of the outer one, with every message put into one of the outer one's.
pub(super) struct Inside<'a, P, C, W> {
    outer: &'a mut C,
    wrap: W,
    protocol: PhantomData<fn(P)>,
}

impl<'a, P: Protocol, C: Context<P>, W> Inside<'a, P, C, W> {
    #[inline(always)]
    pub(super) fn new(outer: &'a mut C, wrap: W) -> Self {
        Inside { outer, wrap, protocol: PhantomData }
    }
}

impl<P, Q, C, W> Context<Q> for Inside<'_, P, C, W>
where
    P: Protocol,
    Q: Protocol<Rank = P::Rank>,
    C: Context<P>,
    W: FnMut(Q::Message) -> P::Message,
{
    #[inline(always)]
    fn rank(&self) -> Q::Rank {
        self.outer.rank()
    }
    #[inline(always)]
    fn index(&self) -> u32 {
        self.outer.index()
    }
    #[inline(always)]
    fn size(&self) -> u32 {
        self.outer.size()
    }
    fn degree(&self) -> u32 {
        self.outer.degree()
    }
    fn peer_rank(&self, port: Port) -> Option<Q::Rank> {
        self.outer.peer_rank(port)
    }
    fn draw(&mut self, bound: u64) -> u64 {
        self.outer.draw(bound)
    }
    #[inline(always)]
    fn send(&mut self, port: Port, message: Q::Message) {
        let message = (self.wrap)(message);
        self.outer.send(port, message);
    }
    fn send_direct(&mut self, to: Id, message: Q::Message) {
        let message = (self.wrap)(message);
        self.outer.send_direct(to, message);
    }
    fn send_to(&mut self, member: u32, message: Q::Message) {
        let message = (self.wrap)(message);
        self.outer.send_to(member, message);
    }
    fn set_timer(&mut self, after: u64, timer: Timer) {
        self.outer.set_timer(after, timer);
    }
    fn lead(&mut self) {
        self.outer.lead();
    }
    fn follow(&mut self, leader: Id) {
        self.outer.follow(leader);
    }
    fn forget(&mut self) {
        self.outer.forget();
    }
    fn learn(&mut self, fact: Fact) {
        self.outer.learn(fact);
    }
    fn skip(&mut self, port: Port) {
        self.outer.skip(port);
    }
}
