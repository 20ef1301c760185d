//! The messages of runs: views, and the messages of the inner algorithm.

use alloc::sync::Arc;
use core::marker::PhantomData;

use hustings_protocol::{Id, Message, Port};
use serde::{Deserialize, Serialize};

use super::ViewNumber;

/// A view, or a message of the inner algorithm with its view number.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Envelope<M> {
    /// A message of the inner algorithm.
    Inner {
        /// The message.
        says: M,
        /// The view that it belongs to.
        view: ViewNumber,
        /// The port at which it arrives; `None` if it was sent by id.
        port: Option<Port>,
    },
    /// A view that the sender has adopted and that the members should adopt.
    View {
        /// The number of the view, taken by the sender.
        number: ViewNumber,
        /// The ids of its members, ascending.
        members: Arc<[Id]>,
        /// Whether the sender could not reach the receiver before, and may have lost the state it had then.
        fresh: bool,
    },
}

/// The kinds of the inner algorithm, followed by `view`.
struct Kinds<M>(PhantomData<M>);

/// An upper bound for the kinds of any algorithm.
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
    fn view_is_the_last_kind() {
        type Token = <<TokenRing as Algorithm>::Protocol<Id> as Protocol>::Message;
        assert_eq!(Envelope::<Token>::KINDS, ["election", "coordinator", "view"]);
        let view: Envelope<echo::Message> =
            Envelope::View { number: ViewNumber::FIRST, members: Arc::new([]), fresh: false };
        let inner = Envelope::Inner { says: echo::Message::Wave, view: ViewNumber::FIRST, port: None };
        assert_eq!([view.kind(), inner.kind()], [1, 0]);
        assert_eq!([view.kind_name(), inner.kind_name()], ["view", "wave"]);
    }
}
