//! Whose program reads what the cluster writes.
//!
//! What a node may write is decided by what all members can read. Every member says in its candidacy which version of
//! the formats its program reads, and the leader has the log say so, together with the registration of the member's
//! disk. So a member that is down counts with what it last said, and one that never said anything holds the others
//! back. When the last member reads a later version, [`Table::version`] rises, at the same entry on every member. The
//! leader writes an entry in a version only after it has applied the entry that allows it, so whoever receives the one
//! has the other before it in its log.
//!
//! The version never becomes lower: the log may contain entries of it. A member that comes with an earlier program
//! after that, be it new or set back, is refused: it is told so and stops, and what it says does not count. Nothing is
//! written to its folder, and with a later program it is welcome. If it is not told, it stops at the first entry or
//! snapshot that it cannot read.
//!
//! [`Table::version`]: crate::core::table::Table::version

use hustings_protocol::Id;

use super::RaftArbiter;
use crate::core::Exit;
use crate::core::arbiter::ArbiterEvent;
use crate::core::context::Context;
use crate::wire::Message;

impl RaftArbiter {
    /// A member reads the formats up to this version. It is refused if the cluster writes a later one.
    pub(super) fn check_program(&mut self, id: Id, reads: u8, context: &mut Context<'_>) {
        let version = self.table.version();
        if reads >= version || !self.table.members.contains_key(&id) {
            self.old_programs.remove(&id);
        } else if self.old_programs.insert(id) {
            context.send(id, Message::OldProgram { version });
            if self.consensus.leader() == Some(id) && id != self.own {
                self.handle_leader_lost(context);
            }
        }
    }

    /// Whether the log must say that a member reads other formats than before. Only who has applied the whole log knows
    /// what it says.
    pub(super) fn has_other_program(&self, id: Id, store_id: u64, reads: u8) -> bool {
        let known = self.table.members.get(&id).filter(|known| known.store_id == store_id && known.reads != reads);
        known.is_some() && self.consensus.is_established() && !self.old_programs.contains(&id)
    }

    /// The others say that the cluster writes this version, which this node does not read.
    pub(super) fn handle_old_program(&mut self, version: u8) {
        let reads = self.reads;
        self.events.push_back(ArbiterEvent::Exit(Exit::OldProgram { version, reads }));
    }
}
