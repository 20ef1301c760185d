//! Carries out what the raft library wants done, and applies what is committed to the table.

use hustings_protocol::Id;

use super::RaftArbiter;
use super::consensus::{Committed, CommittedChange, Place};
use crate::core::arbiter::ArbiterEvent;
use crate::core::context::Context;
use crate::core::table::{Command, MALFORMED_MEMBERSHIP, PieceEffect, StatePiece, Table, decode_membership};
use crate::core::{Exit, Output};
use crate::format::FormatError;
use crate::wire::Message;

impl RaftArbiter {
    /// Carries out what the raft library wants done, until it wants nothing more. Returns whether it wanted anything.
    pub(super) fn process_ready(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_worked = false;
        self.settle();
        self.consensus.collect_ready(&mut self.ready);
        loop {
            let ready = std::mem::take(&mut self.ready);
            has_worked |= !ready.is_empty();
            for (to, message) in ready.messages {
                // The age of a vote counts from when it leaves, which is after it is durable.
                let message = match message.granted_vote() {
                    Some(_) => message.with_lease_age(context.now.since(self.last_support)),
                    None => message,
                };
                context.send(to, Message::Raft(message));
            }
            for mut write in ready.writes {
                if write.sync {
                    write.disks = self.disks.take_unwritten();
                    write.disks.iter().for_each(|known| self.consensus.note_known_disks(known.clone()));
                }
                self.unwritten.get_or_insert((write.number, context.now)).0 = write.number;
                context.push(Output::Write(write));
            }
            let is_last = ready.committed.is_empty();
            ready.committed.into_iter().for_each(|committed| self.apply(committed, context));
            self.consensus.advance_apply();
            self.flush_blobs();
            if is_last {
                return has_worked;
            }
            // A new member must start from a snapshot that includes its own addition, because the log alone does not
            // contain the initial members and voters. So the log before this point is discarded.
            let has_new_member = self.consensus.take_new_member();
            if has_new_member || self.consensus.wants_snapshot() {
                let obsolete = self.blobs.pin(&self.table.states, self.consensus.applied());
                self.consensus.compact(self.table.encode(), obsolete, has_new_member, &mut self.ready);
            }
            self.settle();
            self.consensus.collect_ready(&mut self.ready);
        }
    }

    fn apply(&mut self, committed: Committed, context: &mut Context<'_>) {
        if self.is_halted {
            return;
        }
        let Committed { place, change } = committed;
        let index = place.index;
        let request = self.take_request(place, matches!(change, CommittedChange::Snapshot(_)));
        match change {
            CommittedChange::Command(data) => match Command::decode(&data, self.reads) {
                Ok(command) => self.apply_command(index, request, command, context),
                Err(error) => self.halt(index, error),
            },
            CommittedChange::Membership(change, member) => match decode_membership(&member, self.reads) {
                Ok(member) => self.apply_membership((place, request), &change, member, context),
                Err(error) => self.halt(index, error),
            },
            CommittedChange::Malformed => self.halt(index, MALFORMED_MEMBERSHIP),
            CommittedChange::Snapshot(data) => match Table::decode(&data, self.reads) {
                Ok(table) => self.replace_table(index, table, context),
                Err(error) => self.halt(index, error),
            },
            CommittedChange::Empty if request.is_some() => {
                self.events.push_back(ArbiterEvent::Applied {
                    office: None,
                    request,
                    took_effect: true,
                    is_grant: false,
                });
            }
            CommittedChange::Empty => {}
        }
    }

    /// The request whose entry is the one in this place. Those whose entries were to come before it, and did not, never
    /// take effect: other leaders' entries are in their places. A snapshot does not tell which entries it contains.
    fn take_request(&mut self, place: Place, is_snapshot: bool) -> Option<u64> {
        let own = if is_snapshot { None } else { self.submitted.remove(&place) };
        while let Some(entry) = self.submitted.first_entry().filter(|entry| entry.key().index <= place.index) {
            self.events.push_back(ArbiterEvent::Unanswered { request: entry.remove(), is_replaced: !is_snapshot });
        }
        own
    }

    fn apply_command(&mut self, index: u64, request: Option<u64>, command: Command, context: &mut Context<'_>) {
        if let Command::StatePiece(piece) = command {
            return self.apply_piece(index, request, &piece);
        }
        let (office, is_member) = (command.office().cloned(), matches!(command, Command::SetMember(_)));
        let is_registration = matches!(command, Command::RegisterStore { .. });
        let is_deletion = matches!(command, Command::DeleteState { .. });
        let is_record = is_deletion || matches!(command, Command::Complete { .. });
        // A member that was removed meanwhile does not come back.
        let is_void = matches!(&command, Command::SetMember(member) if !self.table.members.contains_key(&member.id));
        let is_grant = matches!(command, Command::Grant { .. });
        let took_effect = !is_void && self.table.apply(index, command);
        if is_registration {
            self.check_registrations(context);
        }
        if is_deletion {
            self.blobs.release(&self.table.states);
        }
        self.events.push_back(match is_record {
            true => ArbiterEvent::Recorded { request, took_effect },
            false => ArbiterEvent::Applied { office, request, took_effect, is_grant: is_grant && took_effect },
        });
        if is_member {
            self.events.push_back(ArbiterEvent::MembersChanged { removed: Vec::new() });
        }
    }

    fn apply_piece(&mut self, index: u64, request: Option<u64>, piece: &StatePiece) {
        let effect = self.table.receive_piece(index, piece);
        if let PieceEffect::Appended { blob, next } = effect {
            self.blobs.append(blob, piece);
            if next.is_none() {
                self.blobs.release(&self.table.states);
            }
        }
        self.events.push_back(ArbiterEvent::PieceReceived { request, effect });
    }

    /// This node cannot read what is committed at `index`. Whatever it did from here on could contradict the other
    /// nodes, so it does nothing more and stops.
    fn halt(&mut self, index: u64, error: FormatError) {
        self.is_halted = true;
        self.events.push_back(ArbiterEvent::Exit(Exit::Unreadable { index, error }));
    }

    fn replace_table(&mut self, index: u64, table: Table, context: &mut Context<'_>) {
        let former = std::mem::replace(&mut self.table, table);
        let obsolete = self.blobs.pin(&self.table.states, index);
        self.consensus.write_blobs(vec![obsolete], &mut self.ready);
        let is_gone = |id: &Id| !self.table.members.contains_key(id);
        let removed: Vec<Id> = former.members.into_keys().filter(is_gone).collect();
        removed.iter().for_each(|id| self.forget_member(*id, context));
        self.events.extend([ArbiterEvent::MembersChanged { removed }, ArbiterEvent::Replaced]);
    }
}
