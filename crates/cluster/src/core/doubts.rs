//! What others say against this node: that its disk, its process or its program is not the right one, or that it was
//! removed.
//!
//! A node that believes it stops, and if it is about the disk, for good. The word of one voter alone must not be enough
//! for that as long as others trust this node: the voter may lie. So this node stops
//!
//! - when two voters say so, or the only other one,
//! - if it is about the disk, when all that it can ask say so, and none has come up for a while,
//! - if its disk is blank, because then there is nothing to lose.
//!
//! Until then, if it is about the disk, it takes no part in the log as long as whoever says so is up: perhaps the
//! others have only not noticed. Who says the rest of it closes the connection, so it counts for a while without one.
//! What this node can disprove by itself does not count at all (see
//! [`Arbiter::is_plausible`](super::arbiter::Arbiter::is_plausible)).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hustings_protocol::Id;

use super::{Core, Exit, Output};
use crate::clock::Timestamp;
use crate::wire::Message;

/// How long a node waits for others to say the same, or to come up.
const PATIENCE: Duration = Duration::from_secs(1);
/// For how long something counts without a connection to who says it.
const MEMORY: Duration = Duration::from_secs(10);

/// What may be said against a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Doubt {
    Member,
    Process,
    Program,
    UnknownDisk,
    OldDisk,
}

impl Doubt {
    fn is_about_disk(self) -> bool {
        matches!(self, Doubt::UnknownDisk | Doubt::OldDisk)
    }
}

/// Who says what against this node, since when, and in which words.
#[derive(Default)]
pub(super) struct Doubts {
    said: BTreeMap<Doubt, Said>,
}

struct Said {
    message: Message,
    by: BTreeSet<Id>,
    since: Timestamp,
}

impl Core {
    /// Somebody says something against this node.
    pub(super) fn handle_doubt(&mut self, from: Id, message: Message) {
        let doubt = match &message {
            Message::UnknownDisk(_) => Doubt::UnknownDisk,
            Message::OldDisk(_) => Doubt::OldDisk,
            Message::Removed => Doubt::Member,
            Message::OldProgram { .. } => Doubt::Program,
            _ => Doubt::Process,
        };
        if self.arbiter.refuses(from) || !self.arbiter.is_plausible(&message) {
            return self.out.increment("disproved-doubts");
        }
        if doubt == Doubt::OldDisk {
            self.arbiter.note_old_disk(self.settings.incarnation);
        }
        let new = Said { message, by: BTreeSet::new(), since: self.now };
        self.doubts.said.entry(doubt).or_insert(new).by.insert(from);
        self.review_doubts();
    }

    /// Somebody has said something, or went down, or time has passed.
    pub(super) fn review_doubts(&mut self) {
        if self.doubts.said.is_empty() {
            return;
        }
        let others: Vec<Id> = self.arbiter.voters().into_iter().filter(|id| *id != self.settings.own).collect();
        let is_up = |id: &Id| self.liveness.is_up(*id);
        self.doubts.said.retain(|doubt, said| {
            match doubt.is_about_disk() {
                true => said.by.retain(is_up),
                false if self.now.since(said.since) > MEMORY => said.by.clear(),
                false => {}
            }
            !said.by.is_empty()
        });
        let is_believed = |(doubt, said): &(&Doubt, &Said)| {
            let is_patient = self.now.since(said.since) < PATIENCE;
            let is_blank = **doubt == Doubt::UnknownDisk && self.arbiter.disk_state().now.index == 0;
            let can_say_so = |id: &&Id| is_up(id) && !self.arbiter.refuses(**id);
            let all_say_so = others.iter().filter(can_say_so).all(|id| said.by.contains(id));
            let is_alone = doubt.is_about_disk() && all_say_so && !is_patient;
            is_blank || said.by.len() >= others.len().clamp(1, 2) || is_alone
        };
        let believed = self.doubts.said.iter().find(is_believed).map(|(doubt, said)| (*doubt, said.message.clone()));
        let is_doubted = self.doubts.said.keys().any(|doubt| doubt.is_about_disk());
        self.arbiter.set_doubted(is_doubted);
        match believed {
            Some((Doubt::Process, _)) => self.out.push(Output::Exit(Exit::Superseded)),
            Some((Doubt::Member, _)) => {
                let (parts, mut context) = self.split();
                parts.requests.handle_removed(&mut context);
                context.push(Output::Exit(Exit::Removed));
            }
            Some((_, message)) => {
                let own = self.settings.own;
                let (parts, mut context) = self.split();
                parts.arbiter.handle_message(own, message, &mut context);
            }
            None => {}
        }
    }
}
