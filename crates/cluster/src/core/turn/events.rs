//! What liveness and the arbiter report, and the parts that it concerns.

use hustings_protocol::Id;

use crate::core::arbiter::ArbiterEvent;
use crate::core::liveness::LivenessEvent;
use crate::core::{Core, Exit, Output};
use crate::member::Member;
use crate::wire::Message;

impl Core {
    /// Tells the other parts who connected, came up or went down. Returns whether anybody did.
    pub(in crate::core) fn pass_liveness_events(&mut self) -> bool {
        let mut has_events = false;
        while let Some(event) = self.liveness.poll_event() {
            has_events = true;
            let incarnation = |id| self.liveness.incarnation_of(id).unwrap_or(0);
            if let LivenessEvent::Connected(id) = event {
                self.elections.handle_incarnation(id, incarnation(id));
            }
            let (mut parts, mut context) = self.split();
            let leader = parts.arbiter.coordinator();
            match event {
                LivenessEvent::Connected(id) => {
                    parts.elections.send_candidacy(id, &mut context);
                    if leader == Some(context.own()) {
                        let view = Message::View(context.liveness.view().to_vec());
                        context.send(id, view);
                    }
                    parts.arbiter.handle_connected(id, &mut context);
                    let (coordinator, known) = parts.coordinator();
                    coordinator.handle_member_change(id, &known);
                }
                LivenessEvent::Interrupted(id) => {
                    parts.elections.handle_interruption(id);
                    parts.claims.handle_interruption(id);
                }
                LivenessEvent::Up(id) => {
                    if !context.liveness.is_connected(id) {
                        // It is heard through a relay, and gets through the relay what it gets at a connection.
                        parts.elections.send_candidacy(id, &mut context);
                        if leader == Some(context.own()) {
                            let view = Message::View(context.liveness.view().to_vec());
                            context.send(id, view);
                        }
                    }
                    let (coordinator, known) = parts.coordinator();
                    coordinator.handle_member_change(id, &known);
                }
                LivenessEvent::Down(id, _) => {
                    parts.arbiter.handle_down(id, &mut context);
                    if let Some(leader) = leader.filter(|leader| *leader != id && *leader != context.own()) {
                        context.send(leader, Message::PeerDown(id));
                    }
                    let (coordinator, known) = parts.coordinator();
                    coordinator.handle_member_change(id, &known);
                }
                LivenessEvent::Drop(id) => context.push(Output::Disconnect(id)),
            }
        }
        has_events
    }

    /// Tells the other parts what was decided. Returns whether anything was.
    pub(super) fn pass_arbiter_events(&mut self) -> bool {
        let mut has_events = false;
        while let Some(event) = self.arbiter.poll_event() {
            has_events = true;
            let own = self.settings.own_holder();
            let (mut parts, mut context) = self.split();
            match event {
                ArbiterEvent::Applied { office: Some(office), is_grant, .. } => {
                    if is_grant {
                        context.out.metrics.grants.handle_grant(&office, parts.arbiter.table());
                    }
                    parts.local_leases.handle_applied(&office, own, parts.arbiter.table());
                    parts.requests.handle_office_change(&office);
                    let (coordinator, known) = parts.coordinator();
                    coordinator.handle_applied(&office, &known, &mut context);
                    parts.progress.results.insert(office);
                }
                ArbiterEvent::Applied { office: None, request, .. } => {
                    if let Some(request) = request {
                        parts.coordinator.handle_completed(request, true, &mut context);
                    }
                    let (coordinator, known) = parts.coordinator();
                    coordinator.mark_everything(&known);
                }
                ArbiterEvent::Recorded { request, took_effect } => {
                    if let Some(request) = request {
                        parts.coordinator.handle_completed(request, took_effect, &mut context);
                    }
                }
                ArbiterEvent::PieceReceived { request, effect } => {
                    if let Some(request) = request {
                        parts.coordinator.handle_piece_received(request, effect, &mut context);
                    }
                }
                ArbiterEvent::Unanswered { request, is_replaced } => {
                    parts.coordinator.handle_unanswered(request, is_replaced, &mut context);
                }
                ArbiterEvent::Replaced => {
                    context.out.metrics.grants.handle_replaced(parts.arbiter.table());
                    parts.local_leases.handle_replaced(own, parts.arbiter.table());
                    parts.requests.handle_view_change();
                    parts.progress.results.extend(parts.local_leases.wanted_offices());
                    let (coordinator, known) = parts.coordinator();
                    coordinator.mark_everything(&known);
                }
                ArbiterEvent::MembersChanged { removed } => self.members_changed(&removed),
                ArbiterEvent::ReadConfirmed(number) => parts.requests.handle_read_confirmed(number),
                ArbiterEvent::Exit(exit) => {
                    if exit == Exit::Removed {
                        parts.requests.handle_removed(&mut context);
                    }
                    context.push(Output::Exit(exit));
                    if matches!(exit, Exit::Unreadable { .. }) {
                        self.halted = Some(exit);
                    }
                }
            }
        }
        has_events
    }

    /// Takes over the members of the table.
    pub(super) fn members_changed(&mut self, removed: &[Id]) {
        for id in removed {
            self.liveness.forget(*id);
            self.elections.forget(*id);
        }
        let table = self.arbiter.table();
        let new = self.liveness.handle_members(table);
        let members = table
            .members
            .values()
            .map(|known| Member { address: self.settings.address(known).to_string(), ..known.member.clone() });
        let members: Vec<Member> = members.collect();
        let (is_member, max_id) = (table.members.contains_key(&self.settings.own), table.max_member_id);
        let (parts, mut context) = self.split();
        parts.arbiter.handle_announcements(&mut context);
        for id in new {
            // What it said of its elections is lost. It may have known this node as little.
            parts.elections.handle_interruption(id);
            parts.claims.handle_interruption(id);
            parts.elections.send_candidacy(id, &mut context);
            context.send(id, Message::CandidacyRequest);
        }
        if !is_member {
            parts.requests.handle_removed(&mut context);
            context.push(Output::Exit(Exit::Removed));
        }
        context.push(Output::Members { members, max_id });
    }

    /// Reacts to a change of the coordinator.
    pub(super) fn observe_coordinator(&mut self) {
        let own = self.settings.own;
        let current = self.arbiter.coordinator().map(|id| (id, self.arbiter.epoch()));
        let (mut parts, _) = self.split();
        let (coordinator, known) = parts.coordinator();
        coordinator.handle_coordinator(&known, own);
        let former = std::mem::replace(&mut self.progress.coordinator, current);
        if former == current {
            return;
        }
        if former.map(|(id, _)| id) != current.map(|(id, _)| id) {
            self.liveness.handle_coordinator_change(self.now);
            self.out.metrics.arbiter_leader_changes += u64::from(current.is_some());
        }
        self.progress.announced_view.clear();
        let disconnected: Vec<Id> = self.liveness.disconnected().collect();
        let (parts, mut context) = self.split();
        if current.is_some_and(|(id, _)| id == own) {
            parts.arbiter.handle_announcements(&mut context);
        } else if let Some((leader, _)) = current {
            disconnected.into_iter().for_each(|id| context.send(leader, Message::PeerDown(id)));
        }
    }
}
