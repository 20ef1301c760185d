//! Inputs from peers and clients, on their way to the parts that they concern.

use hustings_protocol::Id;

use super::requests::{self, Requester, handle_forwarded};
use super::table::OfficeName;
use super::{ClientId, Core, Output};
use crate::api::{Reply, Request};
use crate::config::ConfigDigest;
use crate::member::Role;
use crate::wire::{Candidacy, Message};

impl Core {
    pub(super) fn dispatch(&mut self, from: Id, message: Message) {
        if let Message::Relay(relay) = message {
            return self.handle_relay(from, relay);
        }
        if self.liveness.is_known(from) {
            let is_direct = self.out.relayed.is_none();
            self.liveness.record_contact(from, matches!(message, Message::Heartbeat(_)), is_direct, self.now);
            self.out.relayed.into_iter().for_each(|arrival| self.liveness.record_relay(from, arrival.via));
            self.pass_liveness_events();
            self.dispatch_to_part(from, message);
        }
    }

    /// Handles a message, if this peer may send it. Every kind of message has its arm.
    pub(super) fn dispatch_to_part(&mut self, from: Id, message: Message) {
        if self.is_far_behind(from, &message) {
            self.arbiter.approach_term();
            return self.out.increment("invalid-raft-messages");
        }
        if !self.admits(from, &message) {
            return self.out.increment("messages-of-wrong-senders");
        }
        let (mut parts, mut context) = self.split();
        match message {
            Message::View(view) => self.liveness.handle_view(from, self.arbiter.epoch(), view),
            Message::Leave => self.liveness.handle_leave(from, self.now),
            Message::PeerDown(id) => {
                self.liveness.handle_down_report(from, id, self.now);
                let (mut parts, _) = self.split();
                let (coordinator, known) = parts.coordinator();
                coordinator.handle_member_change(id, &known);
            }
            Message::Candidacy(candidacy) => self.handle_candidacy(from, candidacy),
            Message::CandidacyRequest => self.send_list_again(from),
            Message::CandidacyVersions(versions) => parts.elections.handle_versions(from, &versions, &mut context),
            Message::Election { key, bytes } => parts.elections.handle_message(from, key, &bytes, &mut context),
            Message::Claims(claims) => {
                if parts.arbiter.coordinator() == Some(context.own()) {
                    parts.coordinator.handle_claims(from, claims);
                }
            }
            Message::StepDown { office, token, cause } => {
                let (local_leases, known) = parts.local_leases();
                local_leases.step_down(&office, token, cause, &known, &mut context);
            }
            Message::SteppedDown { office, token, cause } => {
                let (coordinator, mut known) = parts.coordinator();
                coordinator.handle_stepped_down(from, &office, token, cause, &mut known, &mut context);
            }
            Message::PauseCampaign { office } => parts.local_leases.pause_campaign(&office, context.now),
            Message::ReadinessRequest { office } => {
                let is_candidate = parts.elections.candidates().contains(context.own(), &office);
                let is_ready = is_candidate && parts.arbiter.disk_failure().is_none();
                context.send(from, Message::ReadinessResponse { office, is_ready });
            }
            Message::ReadinessResponse { office, is_ready } => {
                let (coordinator, known) = parts.coordinator();
                coordinator.handle_readiness(from, &office, is_ready, &known, &mut context);
            }
            Message::ForwardedRequest(forwarded) => {
                let requester = Requester { node: from, number: forwarded.number };
                let (coordinator, mut known) = parts.coordinator();
                handle_forwarded(requester, &forwarded, coordinator, &mut known, &mut context);
            }
            Message::ForwardedResponse { number, result } => {
                parts.requests.handle_response(from, number, result, &mut context);
            }
            Message::StatePiece(piece) => {
                let requester = Requester { node: from, number: piece.upload.number };
                let (coordinator, mut known) = parts.coordinator();
                coordinator.handle_piece(requester, piece, &mut known, &mut context);
            }
            Message::StatePieceResponse { number, result } => {
                parts.requests.handle_piece_response(from, number, result, &mut context);
            }
            message @ (Message::UnknownDisk(_)
            | Message::OldDisk(_)
            | Message::Superseded
            | Message::Removed
            | Message::OldProgram { .. }) => self.handle_doubt(from, message),
            Message::Heartbeat(heartbeat) => {
                parts.arbiter.handle_message(from, message, &mut context);
                if heartbeat.leader.is_some() {
                    // What this node gave up is reported again with the answer.
                    let (local_leases, known) = parts.local_leases();
                    local_leases.report_again(&known, &mut context);
                }
            }
            message @ (Message::Raft(_)
            | Message::ReadIndexRequest { .. }
            | Message::ReadIndexResponse { .. }
            | Message::PollRequest { .. }
            | Message::PollResponse { .. }
            | Message::BlobRequest { .. }
            | Message::BlobPiece { .. }
            | Message::DiskMark(_)
            | Message::Voters { .. }) => parts.arbiter.handle_message(from, message, &mut context),
            // A relayed message is handled before it gets here, and is not relayed twice. The node itself answers what
            // is about clocks.
            Message::Relay(_) | Message::TimeRequest { .. } | Message::TimeResponse { .. } => {}
        }
    }

    /// A member says what it is, and which offices it is a candidate for. Only electors are.
    fn handle_candidacy(&mut self, from: Id, mut candidacy: Candidacy) {
        if !self.arbiter.table().member(from).is_some_and(|member| member.role == Role::Elector) {
            candidacy.added.clear();
        }
        let digest = candidacy.digest;
        if let Some(former) = self.liveness.handle_announcement(from, &candidacy) {
            let differences = |digest: ConfigDigest| self.settings.digest.differences(&digest);
            let (parts, former) = (differences(digest), former.map(differences).unwrap_or_default());
            if parts != former {
                self.out.outputs.push(Output::ConfigDiffers { member: from, parts });
            }
        }
        let (parts, mut context) = self.split();
        parts.arbiter.handle_introduction(from, &candidacy, &mut context);
        if !self.arbiter.refuses(from) && self.out.relayed.is_none() {
            self.liveness.handle_trusted(from);
        }
        let (parts, mut context) = self.split();
        parts.elections.handle_candidacy(from, candidacy, &mut context);
    }

    /// A member asks for this node's list of candidacies, which may be long.
    fn send_list_again(&mut self, to: Id) {
        if self.liveness.may_send_list(to, self.now) {
            let (parts, mut context) = self.split();
            parts.elections.send_candidacy(to, &mut context);
        }
    }

    pub(super) fn dispatch_request(&mut self, client: ClientId, request: Request) {
        let (mut parts, mut context) = self.split();
        match request {
            Request::Campaign { office, mode, .. } => {
                let (_, known) = parts.requests();
                let reply = match requests::check_campaign(client, &office, mode, &known, &context) {
                    Ok(()) => Reply::Done,
                    Err(refusal) => Reply::Error(refusal),
                };
                let is_accepted = reply == Reply::Done;
                context.reply(client, reply);
                if is_accepted {
                    let office = self.name(&office);
                    let (parts, mut context) = self.split();
                    parts.local_leases.campaign(client, &office, mode, &mut context);
                }
            }
            Request::Withdraw { office } => {
                let office = OfficeName::from(office);
                let (local_leases, known) = parts.local_leases();
                local_leases.withdraw(client, &office, true, &known, &mut context);
                context.reply(client, Reply::Done);
            }
            Request::Stopped { office, token } => {
                let office = OfficeName::from(office);
                let (local_leases, known) = parts.local_leases();
                let result = local_leases.handle_client_stopped(client, &office, token, &known, &mut context);
                context.reply(client, result.map_or_else(Reply::Error, |()| Reply::Done));
            }
            request => {
                let (requests, mut known) = parts.requests();
                requests.handle_request(client, request, &mut known, &mut context);
            }
        }
    }

    /// An office's name that shares its memory with the table's.
    fn name(&self, office: &str) -> OfficeName {
        self.arbiter.table().offices.stored_name(office).cloned().unwrap_or_else(|| office.into())
    }
}
