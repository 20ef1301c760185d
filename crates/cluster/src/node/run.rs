//! The event loop: waits for events and hands them to the core.

use std::io;
use std::time::Duration;

use mio::Events;

use super::clients::ClientEvent;
use super::error::system;
use super::health::Checked;
use super::{Exit, FIRST_CLIENT, FIRST_GUARDIAN, FIRST_PEER, Node, NodeError};
use crate::api::{NOT_PERMITTED, Reply, Request};
use crate::clock::Timestamp;
use crate::config::Config;
use crate::core::{ClientId, Output};
use crate::faults::Rule;
use crate::store::{SubmitError, Write};
use crate::transport::{CloseReason, Event};
use crate::wire::Message;

/// The largest number of events of one pass.
const MAX_EVENTS: usize = 256;
/// The largest number of writes that wait for the disk before the node gives up.
const MAX_BACKLOG: usize = 4096;

impl Node {
    /// Runs until the node has left, was removed, or cannot continue.
    pub fn run(mut self) -> Result<Exit, NodeError> {
        let mut events = Events::with_capacity(MAX_EVENTS);
        self.process_outputs()?;
        self.report_state();
        loop {
            self.wait(&mut events)?;
            self.pass(&events)?;
            if let Some(exit) = self.exit {
                return Ok(self.close(exit.into()));
            }
        }
    }

    /// Waits until there is something to do.
    fn wait(&mut self, events: &mut Events) -> Result<(), NodeError> {
        let programs = self.clients.due().min(self.guards.due());
        let upkeep = self.certificates.due().min(self.systemd.poll_timeout());
        let due = self.core.poll_timeout().min(self.transport.next_tick()).min(programs).min(upkeep);
        let is_due = due <= self.clock.now();
        if !is_due {
            self.timer.set(&self.clock, due).map_err(system("set the timer"))?;
        }
        self.scheduling.rest(self.clock.now());
        let timeout = is_due.then_some(Duration::ZERO);
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            result => result.map_err(system("wait for events")),
        }
    }

    /// Handles all events: peers first, then the disk, then programs. Finally sends the resulting messages.
    fn pass(&mut self, events: &Events) -> Result<(), NodeError> {
        self.core.set_unix_ms(self.clock.wall_time().as_millis() as u64);
        let now = self.clock.now();
        for event in events {
            match event.token().0 {
                FIRST_GUARDIAN.. => self.guards.ready(event.token().0),
                FIRST_CLIENT.. => self.clients.ready(event),
                FIRST_PEER.. => self.transport.ready(event, now, &mut self.transport_events),
                _ => {}
            }
        }
        if self.transport.next_tick() <= now {
            self.transport.tick(now, &mut self.transport_events);
        }
        self.handle_transport_events()?;
        self.core.set_listened_until(now);
        self.handle_disk_results()?;
        self.handle_health()?;
        self.handle_shutdown_requests()?;
        self.handle_reloaded()?;
        self.handle_clients()?;
        self.handle_ended_guardians()?;
        self.report_killed_guardians();
        let now = self.clock.now();
        if self.core.poll_timeout() <= now {
            self.core.handle_timeout(now);
            self.process_outputs()?;
        }
        self.kill_overdue_guardians();
        self.request_times();
        self.send()?;
        self.log_rejections();
        self.certificates.check(self.clock, &mut self.logger);
        // Only here, so that a loop that is stuck does not feed the watchdog.
        self.systemd.handle_time(self.clock.now());
        Ok(())
    }

    /// Sends messages and replies, and handles the events that this causes, until nothing is left to send.
    fn send(&mut self) -> Result<(), NodeError> {
        loop {
            self.transport.flush(self.clock.now(), &mut self.transport_events);
            self.clients.flush(|client| self.core.has_pending_reply(client), &mut self.events);
            if self.transport_events.is_empty() && self.events.is_empty() {
                return Ok(());
            }
            self.handle_transport_events()?;
            self.handle_client_events()?;
        }
    }

    fn handle_transport_events(&mut self) -> Result<(), NodeError> {
        while !self.transport_events.is_empty() {
            for event in std::mem::take(&mut self.transport_events) {
                self.handle_transport_event(event);
                self.process_outputs()?;
            }
        }
        Ok(())
    }

    fn handle_transport_event(&mut self, event: Event) {
        let now = self.clock.now();
        match event {
            Event::Up { peer, incarnation, streams } => {
                self.observer.handle_up(peer, incarnation, streams, now);
                self.logger.info(format_args!("connected to {}", self.logged.name(peer)));
                self.core.handle_connected(peer, incarnation, now);
            }
            Event::Frame { peer, bytes } => {
                let decoded = Message::decode(&bytes);
                self.observer.record_received(peer, decoded.as_ref().ok(), bytes.len(), now);
                match decoded {
                    Ok(message) => {
                        let message = self.handle_time_message(peer, message, now);
                        if let Some(message) = message.filter(|message| self.is_authentic(peer, message, now)) {
                            self.core.handle_message(peer, message, now);
                        }
                    }
                    Err(error) => {
                        self.logger.warn_rate_limited(
                            now,
                            format_args!("invalid message from {}: {error}", self.logged.name(peer)),
                        );
                    }
                }
                self.transport.recycle(bytes);
            }
            Event::Down { peer, reason } => {
                self.observer.handle_down(peer, reason, now);
                // One of the two took the other for dead. A process that ends closes nothing.
                let is_given_up = matches!(reason, CloseReason::Dropped | CloseReason::Closed);
                let cause = if is_given_up { self.host_cause() } else { String::new() };
                let name = self.logged.name(peer);
                self.logger.info(format_args!("connection to {name} closed: {reason}{cause}"));
                self.core.handle_disconnected(peer, now);
            }
        }
    }

    fn handle_disk_results(&mut self) -> Result<(), NodeError> {
        while let Ok(result) = self.written.try_recv() {
            let now = self.clock.now();
            match result {
                Ok(number) => {
                    self.host.handle_written(number, now);
                    self.core.handle_persisted(number, now);
                    self.process_outputs()?;
                    self.drain_backlog()?;
                }
                Err(error) if error.is_transient() => {
                    self.core.handle_disk_failed(&error.to_string(), now);
                    self.process_outputs()?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn handle_health(&mut self) -> Result<(), NodeError> {
        while let Some(Checked { score, problem }) = self.health.as_ref().and_then(|health| health.try_recv()) {
            let threshold = self.config.health.as_ref().map_or(0, |health| health.threshold);
            match problem {
                Some(problem) => {
                    self.logger.error(format_args!("health score is {score}: the check cannot run: {problem}"));
                }
                None if score < threshold => self.logger.warn(format_args!(
                    "health score is {score}, below the threshold {threshold}: this node campaigns for no office"
                )),
                None => self.logger.info(format_args!("health score is {score}")),
            }
            self.core.set_health(score, self.clock.now());
            self.process_outputs()?;
        }
        Ok(())
    }

    /// Handles signals and the shutdown handle.
    fn handle_shutdown_requests(&mut self) -> Result<(), NodeError> {
        let told = self.shutdown.take();
        if told.sighup {
            self.reload()?;
        }
        if told.abort || told.stop + usize::from(self.leaving) > 1 {
            self.logger.warn(format_args!("stopping at once"));
            return Err(NodeError::StoppedAtOnce);
        }
        if told.stop == 1 {
            self.logger.info(format_args!("shutting down: handing offices over"));
            self.systemd.stopping();
            self.leaving = true;
            self.core.leave(self.clock.now());
            self.process_outputs()?;
        }
        Ok(())
    }

    fn handle_clients(&mut self) -> Result<(), NodeError> {
        self.clients.read_requests(self.clock.now(), &mut self.events);
        self.handle_client_events()
    }

    fn handle_client_events(&mut self) -> Result<(), NodeError> {
        for event in std::mem::take(&mut self.events) {
            let now = self.clock.now();
            match event {
                ClientEvent::Request(client, request) => self.handle_request(client, request, now),
                ClientEvent::Silent(client, ttl) => {
                    let ttl = humantime::format_duration(ttl);
                    self.logger
                        .warn(format_args!("program {} was silent for {ttl}: its connection is closed", client.0));
                }
                ClientEvent::NotPermitted(client, request) => self.audit_refusal(client, &request, NOT_PERMITTED),
                ClientEvent::Disconnected(client) => {
                    self.guards.handle_client_gone(client);
                    self.core.handle_client_gone(client, now);
                }
            }
            self.process_outputs()?;
        }
        Ok(())
    }

    fn handle_request(&mut self, client: ClientId, request: Request, now: Timestamp) {
        self.logger.debug(format_args!("program {}: {request:?}", client.0));
        if let Err(refusal) = self.check_holder(client, &request) {
            self.audit_refusal(client, &request, &refusal.code);
            return self.clients.queue_reply(client, &Reply::Error(refusal));
        }
        if let Request::Settings { offset } = request {
            return self.clients.queue_reply(client, &settings_part(&self.config, offset));
        }
        if let Some(ttl) = request.time_to_live() {
            match ttl {
                Ok(ttl) => self.clients.keep_alive(client, ttl, now),
                Err(refusal) => return self.clients.queue_reply(client, &Reply::Error(refusal)),
            }
        }
        self.audit_request(client, &request);
        let descriptor = self.clients.take_descriptor(client, &request);
        match self.guards.handle_request(client, &request, self.clients.stream(client), descriptor) {
            Ok(()) if request.right().is_none() => self.core.handle_question(client, request, now),
            Ok(()) => self.core.handle_request(client, request, now),
            Err(refusal) => self.clients.queue_reply(client, &Reply::Error(refusal)),
        }
    }

    /// Carries out the core's outputs.
    pub(super) fn process_outputs(&mut self) -> Result<(), NodeError> {
        loop {
            self.report_changes();
            let outputs = self.core.take_outputs();
            if outputs.is_empty() {
                return Ok(());
            }
            let now = self.clock.now();
            let mut renews = false;
            for output in outputs {
                match output {
                    Output::Send(to, message) => {
                        renews |= matches!(message, Message::Heartbeat(_));
                        self.send_sealed(to, message, now);
                    }
                    Output::Disconnect(peer) => {
                        let now = self.clock.now();
                        self.transport.drop_peer(peer, now, &mut self.transport_events);
                    }
                    Output::Write(write) => self.submit(write)?,
                    Output::Reply(client, mut reply) => {
                        match &mut reply {
                            Reply::Status(status) => self.complete_status(status),
                            Reply::Metrics(metrics) => self.complete_metrics(metrics),
                            Reply::Trace(page) => self.complete_trace(page),
                            _ => {}
                        }
                        self.guards.handle_reply(client, &reply);
                        self.clients.queue_reply(client, &reply);
                    }
                    Output::Outcome { client, request, result } => self.audit_outcome(client, &request, &result),
                    Output::Members { members, max_id } => {
                        let now = self.clock.now();
                        self.transport.set_max_member_id(max_id);
                        self.logged.names.extend(members.iter().map(|member| (member.id, member.name.clone())));
                        self.observer.handle_members(|id| members.iter().any(|member| member.id == id));
                        self.transport.set_members(&members, now, &mut self.transport_events);
                    }
                    Output::ConfigDiffers { member, parts } => self.log_difference(member, &parts),
                    Output::MissingFounders(missing) => self.log_missing_founders(&missing),
                    Output::Exit(exit) => self.exit = Some(exit),
                }
            }
            if renews {
                // Leases and connections depend on it, so it does not wait for whatever else this pass has to do.
                self.transport.flush(self.clock.now(), &mut self.transport_events);
            }
        }
    }

    /// Hands a write to the disk writer, or keeps it until there is room.
    fn submit(&mut self, write: Write) -> Result<(), NodeError> {
        if self.disabled_rules.contains(Rule::DurableBeforeSend) {
            return Ok(());
        }
        self.host.handle_submitted(write.number, self.clock.now());
        if !self.backlog.is_empty() {
            self.backlog.push_back(write);
            return self.check_backlog();
        }
        match self.disk.submit(write) {
            Ok(()) => Ok(()),
            // A long queue is no failure. A disk that finishes nothing is one, and the arbiter notices that.
            Err(SubmitError::Full(write)) => {
                self.backlog.push_back(*write);
                Ok(())
            }
            Err(SubmitError::Stopped) => Err(self.disk_ended()),
        }
    }

    fn check_backlog(&self) -> Result<(), NodeError> {
        match self.backlog.len() {
            waiting if waiting > MAX_BACKLOG => Err(NodeError::DiskTooSlow { waiting }),
            _ => Ok(()),
        }
    }

    fn drain_backlog(&mut self) -> Result<(), NodeError> {
        while let Some(write) = self.backlog.pop_front() {
            match self.disk.submit(write) {
                Ok(()) => {}
                Err(SubmitError::Full(write)) => {
                    self.backlog.push_front(*write);
                    return Ok(());
                }
                Err(SubmitError::Stopped) => return Err(self.disk_ended()),
            }
        }
        Ok(())
    }

    /// Why the disk thread ended: it reports the error first.
    fn disk_ended(&self) -> NodeError {
        let error = self.written.try_iter().find_map(|result| result.err().filter(|error| !error.is_transient()));
        error.map_or_else(|| NodeError::DiskEnded { folder: self.folder.clone() }, NodeError::from)
    }

    /// Closes all connections and lets the disk thread finish.
    fn close(mut self, exit: Exit) -> Exit {
        let reason = exit_reason(&exit);
        match exit {
            Exit::Left => self.logger.info(format_args!("stopped: {reason}")),
            _ => self.logger.error(format_args!("stopped: {reason}")),
        }
        self.transport.close(self.clock.now());
        exit
    }
}

/// What this node was configured with, from an offset on.
fn settings_part(config: &Config, offset: usize) -> Reply {
    /// With every character escaped, two of them fit into a line.
    const MAX_BYTES: usize = 256 * 1024;
    let all = config.settings();
    let rest = all.get(offset..).unwrap_or_default();
    let end = (0..=rest.len().min(MAX_BYTES)).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or_default();
    Reply::Settings { text: rest[..end].to_string(), next: (end < rest.len()).then_some(offset + end) }
}

fn exit_reason(exit: &Exit) -> String {
    let text = match exit {
        Exit::Left => "the node left the cluster and holds no office",
        Exit::Removed => "the node was removed from the cluster",
        Exit::UnknownDisk => {
            "its data folder is not the one that its votes were stored in; remove this member and add it as a new one"
        }
        Exit::OldDisk => {
            "its data folder is an older copy of the one that it ran with before, and lacks votes; put the newest folder \
             back, or remove this member and add it as a new one"
        }
        Exit::Superseded => {
            "another process that was started later runs as this member, with its certificate; stop one of the two, and \
             the copy of the machine or the folder that it runs from"
        }
        Exit::OldProgram { version, reads } => {
            return format!(
                "the cluster writes version {version} of its formats, but this program reads versions up to {reads}; run \
                 the version of the program that the other members run"
            );
        }
        Exit::Unreadable { index, error } => {
            return format!("at log index {index}, {error}; run a version of the program that reads it");
        }
    };
    text.to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use hustings_protocol::Id;

    use super::super::observe::tests::open_nodes;
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[test]
    fn a_heartbeat_does_not_wait_for_the_end_of_a_pass() {
        let (_folder, mut nodes) = open_nodes();
        nodes.truncate(2);
        let (mut events, began) = (Events::with_capacity(MAX_EVENTS), Instant::now());
        while nodes[0].transport.certificate_end(Id(2)).is_none() {
            assert!(began.elapsed() < TIMEOUT, "they do not connect");
            for node in &mut nodes {
                node.wait(&mut events).expect("it can wait");
                node.pass(&events).expect("it can run");
            }
        }
        let node = &mut nodes[0];
        let sent = node.transport.counters().bytes_out;
        // Without a leader, it sends heartbeats to all.
        node.core.handle_timeout(node.clock.now() + 2 * node.config.timing.heartbeat);
        node.process_outputs().expect("it can run");
        assert!(node.transport.counters().bytes_out > sent);
    }
}
