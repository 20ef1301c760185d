//! The state of a node in an echo wave, used by [`echo`](super::echo), echo with extinction and node counts.
//!
//! A node is in at most one wave. Waves have tags: a node leaves its wave for one with a greater tag and drops a
//! smaller one. Within its wave it follows echo: the first message sets the parent and is forwarded to all other
//! neighbours; with a message from every neighbour the node answers its parent, or decides if it is the initiator. In a
//! plain echo all tags are equal.
//!
//! On the way back a wave can gather a value: see [`Accumulator`].

use core::fmt::Debug;
use core::hash::Hash;
use core::num::NonZeroU32;

use hustings_protocol::{Context, Port, Protocol};

/// A value that a wave gathers on its way back.
pub trait Accumulator: Copy + Eq + Hash + Debug + Send + Sync + 'static {
    /// The value of a message on its way out.
    const NOTHING: Self;
    /// Adds the value of another branch.
    fn add(&mut self, more: Self);
    /// The value with this node added.
    fn with_this_node(self) -> Self;
}

/// Gathers nothing.
impl Accumulator for () {
    const NOTHING: Self = ();
    #[inline(always)]
    fn add(&mut self, (): ()) {}
    #[inline(always)]
    fn with_this_node(self) {}
}

/// The number of nodes in a branch of the wave's tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Nodes(pub u32);

impl Accumulator for Nodes {
    const NOTHING: Self = Nodes(0);
    #[inline(always)]
    fn add(&mut self, Nodes(more): Nodes) {
        // Only a duplicated message can exceed the number of nodes.
        self.0 = self.0.saturating_add(more);
    }
    #[inline(always)]
    fn with_this_node(self) -> Self {
        Nodes(self.0.saturating_add(1))
    }
}

/// The wave that a node is in, if any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Wave<T, G>(Option<Participation<T, G>>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Participation<T, G> {
    tag: T,
    gathered: G,
    /// The number of neighbours that have sent a message of this wave.
    received: u32,
    parent: Parent,
}

/// The port at which the wave first arrived, plus 1; [`Parent::NONE`] at the initiator. It is never 0, so that an
/// `Option` takes no extra space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Parent(NonZeroU32);

impl Parent {
    const NONE: Parent = Parent(NonZeroU32::MAX);

    #[inline(always)]
    fn behind(port: Port) -> Self {
        Parent(NonZeroU32::MIN.saturating_add(port.0))
    }

    #[inline(always)]
    fn port(self) -> Option<Port> {
        (self != Parent::NONE).then(|| Port(self.0.get() - 1))
    }
}

impl<T: Copy + Ord, G: Accumulator> Wave<T, G> {
    /// Not in any wave.
    pub(crate) const NONE: Self = Wave(None);

    /// The tag of the wave that the node is in.
    #[inline(always)]
    pub(crate) fn tag(&self) -> Option<T> {
        self.0.map(|part| part.tag)
    }

    /// The tag, mutable.
    pub(crate) fn tag_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut().map(|part| &mut part.tag)
    }

    /// Starts a wave here, replacing the current one. `make_message` builds a message from a tag and a value. Returns
    /// the gathered value if the node has no neighbours and decides at once.
    #[inline(always)]
    pub(crate) fn start<P, C>(&mut self, tag: T, make_message: impl Fn(T, G) -> P::Message, cx: &mut C) -> Option<G>
    where
        P: Protocol + ?Sized,
        C: Context<P>,
    {
        self.0 = Some(Participation { tag, gathered: G::NOTHING, received: 0, parent: Parent::NONE });
        cx.send_all_but(None, make_message(tag, G::NOTHING));
        (cx.degree() == 0).then(|| G::NOTHING.with_this_node())
    }

    /// Handles a message of a wave. Returns the gathered value if the node decides.
    #[inline(always)]
    pub(crate) fn receive<P, C>(
        &mut self,
        from: Port,
        tag: T,
        gathered: G,
        make_message: impl Fn(T, G) -> P::Message,
        cx: &mut C,
    ) -> Option<G>
    where
        P: Protocol + ?Sized,
        C: Context<P>,
    {
        let part = match &mut self.0 {
            Some(part) if part.tag == tag => part,
            Some(part) if part.tag > tag => return None,
            other => {
                cx.send_all_but(Some(from), make_message(tag, G::NOTHING));
                other.insert(Participation { tag, gathered: G::NOTHING, received: 0, parent: Parent::behind(from) })
            }
        };
        part.received += 1;
        part.gathered.add(gathered);
        if part.received != cx.degree() {
            return None;
        }
        let all = part.gathered.with_this_node();
        match part.parent.port() {
            Some(parent) => {
                cx.send(parent, make_message(tag, all));
                None
            }
            None => Some(all),
        }
    }
}
