//! Who may send what: a message is checked before anything of it is stored, counted or answered. The table itself is in
//! [`crate::wire::MessageKind`]; here it is applied to what this node knows.
//!
//! **Knowledge.** A node knows the members by its table, which may lag, and the voters by its log. A member that was
//! away may have to follow a leader that it has never heard of. It does if a voter that it does know says that this one
//! votes ([`Message::Voters`]), from a later place in the log than its own. Who has nobody left to tell it needs the
//! new members in its configuration. Nobody's word brings back who was removed: ids are never used again.
//!
//! **Bounds.** A voter raises the term of a node only by so much in a second ([`Arbiter::max_term`]), so that no
//! message uses up all terms. Lists, names and pieces are bounded where messages are decoded. Other numbers are
//! compared, and never added to without a bound.

use hustings_protocol::Id;

use super::Core;
use super::arbiter::Arbiter;
use crate::member::Role;
use crate::wire::{Message, Sender};

impl Core {
    /// Whether this peer may send this message.
    pub(super) fn admits(&self, from: Id, message: &Message) -> bool {
        if from == self.settings.own {
            return true;
        }
        let known = Known { arbiter: &*self.arbiter, from, term: message.leader_term() };
        let parts = match message {
            Message::Heartbeat(heartbeat) => {
                [heartbeat.leader.map(|_| Sender::Claimant), heartbeat.follower.map(|_| Sender::Member)]
            }
            _ => [None, None],
        };
        let is_sender = |sender: Sender| known.is(sender);
        is_sender(message.kind().sender()) && parts.into_iter().flatten().all(is_sender) && known.is_bounded()
    }

    /// Whether a voter is in a term that is too high to be believed at once.
    pub(super) fn is_far_behind(&self, from: Id, message: &Message) -> bool {
        let is_voter = from != self.settings.own && self.arbiter.votes(from) && !self.arbiter.refuses(from);
        is_voter && message.leader_term() > Some(self.arbiter.max_term())
    }
}

/// What a node knows of the sender of a message.
struct Known<'a> {
    arbiter: &'a dyn Arbiter,
    from: Id,
    /// The term that the message claims to be of, if it has one.
    term: Option<u64>,
}

impl Known<'_> {
    fn is(&self, sender: Sender) -> bool {
        let member = || self.arbiter.table().member(self.from);
        let leader = self.arbiter.coordinator();
        let is_later = || self.term.is_some_and(|term| term > self.arbiter.epoch());
        match sender {
            Sender::Anybody => true,
            Sender::Member => member().is_some(),
            Sender::Elector => member().is_some_and(|member| member.role == Role::Elector),
            Sender::Voter => self.arbiter.votes(self.from),
            Sender::Claimant => {
                self.arbiter.votes(self.from)
                    && (leader.is_none_or(|leader| leader == self.from) || is_later() || self.is_outdated())
            }
            Sender::Leader => leader == Some(self.from),
        }
    }

    /// Whether the sender is behind. The answer to its message tells it so.
    fn is_outdated(&self) -> bool {
        self.term.is_some_and(|term| term < self.arbiter.epoch())
    }

    fn is_bounded(&self) -> bool {
        // Whom nobody elects deposes nobody.
        let highest = if self.arbiter.votes(self.from) { self.arbiter.max_term() } else { self.arbiter.epoch() };
        // The library takes a message of term 0 for one of this node itself, and forgets its own term.
        self.term.is_none_or(|term| (1..=highest).contains(&term))
    }
}
