//! The echo wave as a machine: what [`echo`](super::echo), echo with extinction, and whatever counts nodes are made of.
//!
//! A node is in at most one wave. Waves have tags, and a node that is hit by a wave with a greater tag moves over and
//! forgets the old one; a smaller one it drops. In its wave it does as echo says: the first message sets the parent and
//! goes on to all other neighbours; with a message from every neighbour it answers its parent, or, if the wave is its
//! own, decides. A plain echo is the case in which all tags are equal.
//!
//! On the way back a wave can gather something: see [`Tally`].

use core::fmt::Debug;
use core::hash::Hash;
use core::num::NonZeroU32;

use hustings_protocol::{Context, Port, Protocol};

/// What a wave gathers on its way back.
pub trait Tally: Copy + Eq + Hash + Debug + Send + Sync + 'static {
    /// What a message on its way out carries.
    const NOTHING: Self;
    /// Adds what another branch has gathered.
    fn add(&mut self, more: Self);
    /// The same with this node added.
    fn with_this_node(self) -> Self;
}

/// Nothing is gathered.
impl Tally for () {
    const NOTHING: Self = ();
    #[inline(always)]
    fn add(&mut self, (): ()) {}
    #[inline(always)]
    fn with_this_node(self) {}
}

/// How many nodes there are in a branch of the tree that the wave grows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Nodes(pub u32);

impl Tally for Nodes {
    const NOTHING: Self = Nodes(0);
    #[inline(always)]
    fn add(&mut self, Nodes(more): Nodes) {
        // Only a message that was delivered twice could ever take it beyond the number of nodes.
        self.0 = self.0.saturating_add(more);
    }
    #[inline(always)]
    fn with_this_node(self) -> Self {
        Nodes(self.0.saturating_add(1))
    }
}

/// What a node remembers of waves: the one it is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Wave<T, G>(Option<Part<T, G>>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Part<T, G> {
    tag: T,
    gathered: G,
    /// How many neighbours it has heard in this wave.
    heard: u32,
    parent: Parent,
}

/// The port that the wave first came in at, plus 1; [`Parent::NONE`] at the initiator. Never 0, so that a node's part
/// in a wave and having none fit in the same 8 bytes.
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

impl<T: Copy + Ord, G: Tally> Wave<T, G> {
    /// Not in any wave.
    pub const NONE: Self = Wave(None);

    /// The tag of the wave that the node is in.
    #[inline(always)]
    pub fn tag(&self) -> Option<T> {
        self.0.map(|part| part.tag)
    }

    /// The same, to change it.
    pub fn tag_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut().map(|part| &mut part.tag)
    }

    /// Starts a wave here, in place of the one that the node is in. `say` makes a message of a tag and what was
    /// gathered. Says what was gathered, if the node is alone and decides at once.
    #[inline(always)]
    pub fn begin<P, C>(&mut self, tag: T, say: impl Fn(T, G) -> P::Message, cx: &mut C) -> Option<G>
    where
        P: Protocol + ?Sized,
        C: Context<P>,
    {
        self.0 = Some(Part { tag, gathered: G::NOTHING, heard: 0, parent: Parent::NONE });
        cx.send_all_but(None, say(tag, G::NOTHING));
        (cx.degree() == 0).then(|| G::NOTHING.with_this_node())
    }

    /// A message of a wave came in. Says what was gathered, if the node now decides.
    #[inline(always)]
    pub fn hear<P, C>(
        &mut self,
        from: Port,
        tag: T,
        gathered: G,
        say: impl Fn(T, G) -> P::Message,
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
                cx.send_all_but(Some(from), say(tag, G::NOTHING));
                other.insert(Part { tag, gathered: G::NOTHING, heard: 0, parent: Parent::behind(from) })
            }
        };
        part.heard += 1;
        part.gathered.add(gathered);
        if part.heard != cx.degree() {
            return None;
        }
        let all = part.gathered.with_this_node();
        match part.parent.port() {
            Some(parent) => {
                cx.send(parent, say(tag, all));
                None
            }
            None => Some(all),
        }
    }
}
