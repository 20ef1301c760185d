//! What nodes say to each other: views, and the messages of the runs in them.

use alloc::sync::Arc;
use core::marker::PhantomData;

use hustings_protocol::{Id, Message, Port};
use serde::{Deserialize, Serialize};

use super::Number;

/// A message of a run with the number of its view, or a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Envelope<M> {
    /// What the inner algorithm says.
    Inner {
        /// Its message.
        says: M,
        /// The view that it belongs to.
        view: Number,
        /// The port at which it comes in; none if it was sent by id.
        port: Option<Port>,
    },
    /// A view that its sender has adopted, and asks its members to adopt.
    View {
        /// Its number, which the sender took.
        number: Number,
        /// The ids of its members, ascending.
        members: Arc<[Id]>,
        /// The sender could not reach the receiver before: it may have forgotten what it said to it.
        fresh: bool,
    },
}

/// The names of the inner kinds with `view` behind them.
struct Kinds<M>(PhantomData<M>);

/// More than any algorithm has.
const MAX_KINDS: usize = 64;

impl<M: Message> Kinds<M> {
    const ALL: [&'static str; MAX_KINDS] = {
        let mut all = ["view"; MAX_KINDS];
        let mut kind = 0;
        while kind < M::KINDS.len() {
            all[kind] = M::KINDS[kind];
            kind += 1;
        }
        all
    };
    const SHARED: &'static [&'static str; MAX_KINDS] = &Self::ALL;
}

impl<M: Message> Message for Envelope<M> {
    const KINDS: &'static [&'static str] = Kinds::<M>::SHARED.split_at(M::KINDS.len() + 1).0;

    fn kind(&self) -> usize {
        match self {
            Envelope::Inner { says, .. } => says.kind(),
            Envelope::View { .. } => M::KINDS.len(),
        }
    }

    fn is_periodic(&self) -> bool {
        matches!(self, Envelope::Inner { says, .. } if says.is_periodic())
    }

    fn kind_name(&self) -> &'static str {
        match self {
            Envelope::Inner { says, .. } => says.kind_name(),
            Envelope::View { .. } => "view",
        }
    }
}

#[cfg(test)]
mod tests {
    use hustings_protocol::Protocol;

    use super::*;
    use crate::graph::echo;
    use crate::{Algorithm, ring::TokenRing};

    #[test]
    fn view_is_the_kind_after_the_inner_ones() {
        type Token = <<TokenRing as Algorithm>::Protocol<Id> as Protocol>::Message;
        assert_eq!(Envelope::<Token>::KINDS, ["election", "coordinator", "view"]);
        let view: Envelope<echo::Message> =
            Envelope::View { number: Number::FIRST, members: Arc::new([]), fresh: false };
        let inner = Envelope::Inner { says: echo::Message::Wave, view: Number::FIRST, port: None };
        assert_eq!([view.kind(), inner.kind()], [1, 0]);
        assert_eq!([view.kind_name(), inner.kind_name()], ["view", "wave"]);
    }
}
