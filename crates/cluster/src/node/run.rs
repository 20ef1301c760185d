//! Waiting and telling.

use std::io;
use std::time::Duration;

use mio::Events;

use super::clients::ClientEvent;
use super::error::system;
use super::{FIRST_CLIENT, FIRST_PEER, Node, NodeError, WIRE_BYTES};
use crate::api::Reply;
use crate::core::{Exit, Output};
use crate::faults::Rule;
use crate::store::{Refused, StoreError, Write};
use crate::transport::{Ended, Event};
use crate::wire::Message;

/// So many events are taken in one pass.
const EVENTS: usize = 256;
/// So many writes may wait when the disk has no room: it has not written for a very long time.
const MAX_BACKLOG: usize = 4096;

impl Node {
    /// Runs until the node has left, was removed, or cannot go on.
    pub fn run(mut self) -> Result<Exit, NodeError> {
        let mut events = Events::with_capacity(EVENTS);
        self.act()?;
        loop {
            self.wait(&mut events)?;
            self.pass(&events)?;
            if let Some(exit) = self.exit {
                return Ok(self.close(exit));
            }
        }
    }

    /// Waits until there is something to do.
    fn wait(&mut self, events: &mut Events) -> Result<(), NodeError> {
        let due = self.core.poll_timeout().min(self.transport.next_tick()).min(self.clients.due());
        let is_due = due <= self.clock.now();
        if !is_due {
            self.alarm.set(&self.clock, due).map_err(system("set the timer"))?;
        }
        let timeout = is_due.then_some(Duration::ZERO);
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            result => result.map_err(system("wait for events")),
        }
    }

    /// Everything that has come: peers first, then the disk, then programs; at last what was said in return is sent.
    fn pass(&mut self, events: &Events) -> Result<(), NodeError> {
        self.core.set_unix_ms(self.clock.time_of_day().as_millis() as u64);
        let now = self.clock.now();
        for event in events {
            match event.token().0 {
                FIRST_PEER.. => self.transport.ready(event, now, &mut self.heard),
                FIRST_CLIENT.. => self.clients.ready(event),
                _ => {}
            }
        }
        if self.transport.next_tick() <= now {
            self.transport.tick(now, &mut self.heard);
        }
        self.tell_heard()?;
        self.tell_written()?;
        self.tell_health()?;
        self.obey()?;
        self.tell_deeds()?;
        let now = self.clock.now();
        if self.core.poll_timeout() <= now {
            self.core.handle_timeout(now);
            self.act()?;
        }
        self.send()?;
        self.look();
        Ok(())
    }

    /// Sends what was said, and hears what that brought to light, until there is nothing more to send.
    fn send(&mut self) -> Result<(), NodeError> {
        loop {
            self.transport.flush(self.clock.now(), &mut self.heard);
            self.clients.flush(|client| self.core.has_pending_reply(client), &mut self.events);
            if self.heard.is_empty() && self.events.is_empty() {
                return Ok(());
            }
            self.tell_heard()?;
            self.tell_deeds_so_far()?;
        }
    }

    fn tell_heard(&mut self) -> Result<(), NodeError> {
        while !self.heard.is_empty() {
            for event in std::mem::take(&mut self.heard) {
                self.tell_event(event);
                self.act()?;
            }
        }
        Ok(())
    }

    fn tell_event(&mut self, event: Event) {
        let now = self.clock.now();
        match event {
            Event::Up { peer, incarnation } => {
                self.journal.note(format_args!("connected to {}", self.seen.name(peer)));
                self.core.handle_connected(peer, incarnation, now);
            }
            Event::Frame { peer, bytes } => {
                match Message::decode(&bytes) {
                    Ok(message) => self.core.handle_message(peer, message, now),
                    Err(error) => {
                        self.journal.note_refusal(now, format_args!("from {}: {error}", self.seen.name(peer)));
                    }
                }
                self.transport.recycle(bytes);
            }
            Event::Down { peer, why } => {
                self.journal.note(format_args!("lost the connection to {}: {why}", self.seen.name(peer)));
                self.core.handle_disconnected(peer, now);
            }
        }
    }

    fn tell_written(&mut self) -> Result<(), NodeError> {
        while let Ok(result) = self.written.try_recv() {
            let now = self.clock.now();
            match result {
                Ok(number) => {
                    if !std::mem::replace(&mut self.disk_is_well, true) {
                        self.journal.note(format_args!("the disk takes writes again"));
                    }
                    self.core.handle_persisted(number, now);
                    self.act()?;
                    self.empty_backlog()?;
                }
                Err(error) if error.may_pass() => self.disk_fails(&error)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn disk_fails(&mut self, error: &StoreError) -> Result<(), NodeError> {
        if std::mem::replace(&mut self.disk_is_well, false) {
            self.journal.note(format_args!("the disk fails: {error}; it is tried again"));
        }
        self.core.handle_disk_failed(self.clock.now());
        self.act()
    }

    fn tell_health(&mut self) -> Result<(), NodeError> {
        while let Some(score) = self.health.as_ref().and_then(|health| health.news()) {
            self.journal.note(format_args!("health is {score}"));
            self.core.set_health(score, self.clock.now());
            self.act()?;
        }
        Ok(())
    }

    /// Does what signals and the stopper say.
    fn obey(&mut self) -> Result<(), NodeError> {
        let told = self.orders.take();
        if told.hang_up {
            self.journal.note(format_args!("SIGHUP is ignored: a changed configuration needs a restart"));
        }
        if told.abort || told.stop + usize::from(self.leaving) > 1 {
            self.journal.note(format_args!("stops at once"));
            return Err(NodeError::StoppedAtOnce);
        }
        if told.stop == 1 {
            self.journal.note(format_args!("is leaving"));
            self.leaving = true;
            self.core.leave(self.clock.now());
            self.act()?;
        }
        Ok(())
    }

    fn tell_deeds(&mut self) -> Result<(), NodeError> {
        self.clients.hear(self.clock.now(), &mut self.events);
        self.tell_deeds_so_far()
    }

    fn tell_deeds_so_far(&mut self) -> Result<(), NodeError> {
        for event in std::mem::take(&mut self.events) {
            let now = self.clock.now();
            match event {
                ClientEvent::Asked(client, request) => self.core.handle_request(client, request, now),
                ClientEvent::Gone(client) => self.core.handle_client_gone(client, now),
            }
            self.act()?;
        }
        Ok(())
    }

    /// Does what the core wants done.
    fn act(&mut self) -> Result<(), NodeError> {
        loop {
            let outputs = self.core.take_outputs();
            if outputs.is_empty() {
                return Ok(());
            }
            for output in outputs {
                match output {
                    // If it cannot be sent, the core hears of the end of that connection.
                    Output::Send(to, message) => drop(self.transport.send(to, &message.encode())),
                    Output::Disconnect(peer) => {
                        let now = self.clock.now();
                        self.transport.drop_peer(peer, now, &mut self.heard);
                    }
                    Output::Write(write) => self.submit(write)?,
                    Output::Reply(client, mut reply) => {
                        if let Reply::Status(status) = &mut reply {
                            status.counters.extend(self.transport.counters().list());
                            status.counters.push((WIRE_BYTES.to_string(), self.transport.wire().bytes()));
                        }
                        self.clients.tell(client, &reply);
                    }
                    Output::Members(members) => {
                        let now = self.clock.now();
                        self.seen.names.extend(members.iter().map(|member| (member.id, member.name.clone())));
                        self.transport.set_members(&members, now, &mut self.heard);
                    }
                    Output::Exit(exit) => self.exit = Some(exit),
                }
            }
        }
    }

    /// Hands a write to the disk, or keeps it until there is room.
    fn submit(&mut self, write: Write) -> Result<(), NodeError> {
        if self.disabled_rules.contains(Rule::DurableBeforeSend) {
            return Ok(());
        }
        if !self.backlog.is_empty() {
            self.backlog.push_back(write);
            return self.mind_backlog();
        }
        match self.disk.submit(write) {
            Ok(()) => Ok(()),
            Err(Refused::Full(write)) => {
                self.backlog.push_back(*write);
                self.core.handle_disk_failed(self.clock.now());
                if std::mem::replace(&mut self.disk_is_well, false) {
                    self.journal.note(format_args!("the disk does not keep up"));
                }
                Ok(())
            }
            Err(Refused::Ended(_)) => Err(self.disk_ended()),
        }
    }

    fn mind_backlog(&self) -> Result<(), NodeError> {
        match self.backlog.len() {
            waiting if waiting > MAX_BACKLOG => Err(NodeError::DiskTooSlow { waiting }),
            _ => Ok(()),
        }
    }

    fn empty_backlog(&mut self) -> Result<(), NodeError> {
        while let Some(write) = self.backlog.pop_front() {
            match self.disk.submit(write) {
                Ok(()) => {}
                Err(Refused::Full(write)) => {
                    self.backlog.push_front(*write);
                    return Ok(());
                }
                Err(Refused::Ended(_)) => return Err(self.disk_ended()),
            }
        }
        Ok(())
    }

    /// Why the disk's thread has ended: it says so before it does.
    fn disk_ended(&self) -> NodeError {
        let said = self.written.try_iter().find_map(|result| result.err().filter(|error| !error.may_pass()));
        said.map_or_else(|| NodeError::DiskEnded { folder: self.folder.clone() }, NodeError::Store)
    }

    /// Tells the journal what has changed.
    fn look(&mut self) {
        let leader = self.core.arbiter_leader();
        if leader != self.seen.arbiter_leader {
            self.seen.arbiter_leader = leader;
            match leader {
                Some(leader) => self.journal.note(format_args!("{} leads the arbiter", self.seen.name(leader))),
                None => self.journal.note(format_args!("nobody is known to lead the arbiter")),
            }
        }
        let known = self.seen.held.iter().map(|(office, token)| (office.as_str(), *token));
        if !self.core.held_offices().eq(known) {
            let held: Vec<(String, u64)> =
                self.core.held_offices().map(|(office, token)| (office.to_string(), token)).collect();
            for (office, token) in self.seen.held.iter().filter(|known| !held.contains(known)) {
                self.journal.note(format_args!("no longer holds the office {office} (token {token})"));
            }
            for (office, token) in held.iter().filter(|held| !self.seen.held.contains(held)) {
                self.journal.note(format_args!("holds the office {office} with token {token}"));
            }
            self.seen.held = held;
        }
        let counters = self.transport.counters();
        let refused =
            Ended::ALL.iter().filter(|why| tells_of_a_stranger(**why)).map(|why| counters.refused(*why)).sum();
        if refused != self.seen.refused {
            let list: Vec<String> = Ended::ALL
                .iter()
                .filter(|why| tells_of_a_stranger(**why) && counters.refused(**why) > 0)
                .map(|why| format!("{why} {}", counters.refused(*why)))
                .collect();
            self.seen.refused = refused;
            let now = self.clock.now();
            self.journal.note_refusal(now, format_args!("connections refused so far: {}", list.join(", ")));
        }
    }

    /// Says good-bye and lets the disk finish.
    fn close(mut self, exit: Exit) -> Exit {
        self.journal.note(format_args!("stops: {}", reason(exit)));
        self.transport.close(self.clock.now());
        exit
    }
}

/// Whether a connection that never came about was not for want of a network.
fn tells_of_a_stranger(why: Ended) -> bool {
    !matches!(
        why,
        Ended::Closed | Ended::Lost | Ended::Reset | Ended::Failed | Ended::Replaced | Ended::Dropped | Ended::Removed
    )
}

fn reason(exit: Exit) -> &'static str {
    match exit {
        Exit::Left => "it has left, and holds nothing",
        Exit::Removed => "it was removed from the cluster",
        Exit::UnknownDisk => {
            "its disk is not the one that its votes were kept on; remove this member and add it as a new one"
        }
    }
}
