//! What this node holds, and the programs it holds it for.
//!
//! A node stands for the office `leader` by itself, and for every office that a program on its host campaigns for. It
//! holds what the table says it was granted in this incarnation, for as long as its own deadline lasts. Programs are told a
//! deadline that is earlier by the time they need to stop.

use std::collections::BTreeMap;

use super::table::{Holder, MAX_OFFICES};
use super::{ClientId, Core, LEADER, Output};
use crate::api::{Cause, Holding, Reply};
use crate::clock::Moment;
use crate::config::Mode;
use crate::member::Role;
use crate::wire::{Candidacy, Claim, MAX_LISTED, Message};

// What a node stands for is understood by the others: all that its programs may campaign for, and `leader`.
const _: () = assert!(MAX_OFFICES < MAX_LISTED);

/// For how long one who resigned does not stand again.
const REST: std::time::Duration = std::time::Duration::from_secs(10);

/// What this node holds and wants.
#[derive(Default)]
pub(super) struct LocalLeases {
    /// What it holds, by office.
    held: BTreeMap<String, Held>,
    /// The programs that campaign, by office, in the order in which they came.
    campaigns: BTreeMap<String, Vec<Campaign>>,
    /// Offices that it does not stand for, until when.
    resting: BTreeMap<String, Moment>,
    /// Tokens that it gave up, although the table may still show them.
    given_up: BTreeMap<String, u64>,
    /// The deadline that programs were last told of.
    told: Moment,
}

/// A program that wants an office.
#[derive(Clone, Copy)]
struct Campaign {
    client: ClientId,
    /// Of this kind only.
    mode: Option<Mode>,
}

impl Campaign {
    /// Whether it wants an office of this kind.
    fn fits(&self, mode: Mode) -> bool {
        self.mode.is_none_or(|wanted| wanted == mode)
    }
}

/// An office that this node holds.
struct Held {
    token: u64,
    mode: Mode,
    client: Option<ClientId>,
    stage: Stage,
    /// Until when the program was told that it may act.
    told: Moment,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Active,
    /// The program was asked to stop.
    Stopping,
    /// The work has stopped, and the arbiter is told until it knows. It never goes on with this token: the next grant
    /// may be on its way through the log, however long that takes.
    Stopped,
}

impl LocalLeases {
    /// When something here is due.
    pub(super) fn next(&self, deadline: Moment) -> Moment {
        let mut next = if self.held.is_empty() { Moment::NEVER } else { deadline };
        for held in self.held.values() {
            next = next.min(match held.stage {
                Stage::Active | Stage::Stopping => held.told,
                Stage::Stopped => Moment::NEVER,
            });
        }
        self.resting.values().fold(next, |next, until| next.min(*until))
    }

    /// Whether it holds anything.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

impl Core {
    /// The offices that this node holds, with their tokens, by name.
    pub fn held(&self) -> impl Iterator<Item = (&str, u64)> {
        self.local_leases.held.iter().map(|(office, held)| (office.as_str(), held.token))
    }

    /// Whether this node holds an office, and has not stopped.
    pub(super) fn acts_for(&self, office: &str) -> bool {
        self.local_leases.held.get(office).is_some_and(|held| held.stage != Stage::Stopped)
    }

    /// Whether the work for an office that this node holds has stopped.
    pub(super) fn has_stopped(&self, office: &str) -> bool {
        self.local_leases.held.get(office).is_some_and(|held| held.stage == Stage::Stopped)
    }

    /// The offices that this node stands for now, with how well it is. If that is news, everybody is told.
    pub(super) fn announce_candidacy(&mut self) {
        let now = self.now;
        self.local_leases.resting.retain(|_, until| *until > now);
        let may_stand = self.setup.role == Role::Elector && !self.leaving && self.health >= self.setup.threshold;
        let mut offices: Vec<String> = Vec::new();
        if may_stand {
            let wanted = self.local_leases.campaigns.keys().map(String::as_str).chain([LEADER]);
            offices
                .extend(wanted.filter(|office| !self.local_leases.resting.contains_key(*office)).map(str::to_string));
            offices.sort_unstable();
            offices.dedup();
        }
        let (incarnation, store, health) = (self.setup.incarnation, self.setup.store, self.health);
        let waits_us = self.candidacy.waits_us;
        let candidacy = Candidacy { incarnation, store, health, waits_us, offices };
        if candidacy != self.candidacy {
            self.candidacy = candidacy;
            self.view_is_stale = true;
            let message = Message::Candidacy(self.candidacy.clone());
            self.send_all(&message);
        }
    }

    /// What this node was elected for and does not hold. One that may not act could not hold it.
    pub(super) fn own_claims(&self) -> Vec<Claim> {
        if self.deadline - self.setup.timing.stop <= self.now {
            return Vec::new();
        }
        let own = self.own_holder();
        let elected = self.elections.elected().filter(|(_, leader)| *leader == Some(self.setup.own));
        let lacks = elected.filter(|(office, _)| {
            let known = self.table.offices.get(*office);
            let has = known.is_some_and(|known| known.holder == Some(own));
            !has || self.has_stopped(office)
                || known.map(|known| known.token) == self.local_leases.given_up.get(*office).copied()
        });
        lacks.map(|(office, _)| Claim { office: office.to_string(), wish: self.setup.policy(office) }).collect()
    }

    pub(super) fn own_holder(&self) -> Holder {
        Holder { id: self.setup.own, incarnation: self.setup.incarnation }
    }

    /// Compares what is held with what the table and the clock say.
    pub(super) fn hold(&mut self) {
        let own = self.own_holder();
        // What somebody was told has passed: it has stopped, even if there is more time now.
        let (now, deadline) = (self.now, self.deadline);
        let is_late = |held: &Held| deadline <= now || (held.stage == Stage::Active && held.told <= now);
        let late: Vec<String> =
            self.local_leases.held.iter().filter(|(_, held)| is_late(held)).map(|(office, _)| office.clone()).collect();
        late.into_iter().for_each(|office| self.let_go(&office, Cause::Expired));
        let gone: Vec<String> = self
            .local_leases
            .held
            .iter()
            .filter(|(office, held)| {
                self.table
                    .offices
                    .get(*office)
                    .is_none_or(|known| known.token != held.token || known.holder != Some(own))
            })
            .map(|(office, _)| office.clone())
            .collect();
        for office in gone {
            let why = self.table.offices.get(&office).map_or(Cause::Removed, |known| known.why);
            self.let_go(&office, why);
        }
        self.take_up(own);
        self.finish_stops();
        self.tell_deadline();
    }

    /// Takes up what the table says this node was granted.
    fn take_up(&mut self, own: Holder) {
        if self.deadline - self.setup.timing.stop <= self.now {
            // Whatever was granted meanwhile cannot be honoured: give it back as soon as the arbiter listens.
            let granted = self.table.offices.iter().filter(|(_, known)| known.holder == Some(own));
            let late: Vec<(String, u64)> = granted.map(|(office, known)| (office.clone(), known.token)).collect();
            self.local_leases.given_up.extend(late);
            return;
        }
        let mut fresh = Vec::new();
        for (office, known) in &self.table.offices {
            let is_ours = known.holder == Some(own) && !self.local_leases.held.contains_key(office);
            if is_ours && self.local_leases.given_up.get(office) != Some(&known.token) {
                fresh.push((office.clone(), known.token, known.mode));
            }
        }
        for (office, token, mode) in fresh {
            self.dismiss_unfit(&office, token, mode);
            let client = self.local_leases.campaigns.get(&office).and_then(|campaigns| Some(campaigns.first()?.client));
            let told = self.deadline - self.setup.timing.stop;
            self.local_leases.held.insert(office.clone(), Held { token, mode, client, stage: Stage::Active, told });
            if let Some(client) = client {
                self.reply(client, Reply::Held(Holding { office, token, deadline: told }));
            } else if office != LEADER {
                // Whoever wanted it is gone.
                self.stopped(&office, token);
            }
        }
        self.local_leases.given_up.retain(|office, token| {
            self.table.offices.get(office).is_some_and(|known| known.token == *token && known.holder == Some(own))
        });
    }

    /// An office was granted that is not of the kind that some programs asked for: what another node's configuration
    /// says of it came first. They would never get it, and are told so.
    fn dismiss_unfit(&mut self, office: &str, token: u64, mode: Mode) {
        let Some(campaigns) = self.local_leases.campaigns.get_mut(office) else { return };
        let unfit: Vec<ClientId> = campaigns.extract_if(.., |one| !one.fits(mode)).map(|one| one.client).collect();
        if campaigns.is_empty() {
            self.local_leases.campaigns.remove(office);
        }
        for client in unfit {
            self.reply(client, Reply::Lost { office: office.to_string(), token, why: Cause::OtherMode });
        }
    }

    /// Stops holding an office.
    fn let_go(&mut self, office: &str, why: Cause) {
        let Some(held) = self.local_leases.held.remove(office) else { return };
        self.local_leases.given_up.insert(office.to_string(), held.token);
        if let Some(client) = held.client {
            self.reply(client, Reply::Lost { office: office.to_string(), token: held.token, why });
        }
    }

    /// Programs that were asked to stop, and whose time is over, have stopped.
    fn finish_stops(&mut self) {
        let is_due = |held: &Held| held.stage == Stage::Stopping && held.told <= self.now;
        let due = self.local_leases.held.iter().filter(|(_, held)| is_due(held));
        let due: Vec<(String, u64)> = due.map(|(office, held)| (office.clone(), held.token)).collect();
        due.into_iter().for_each(|(office, token)| self.stopped(&office, token));
    }

    /// Tells programs that they may go on for longer.
    fn tell_deadline(&mut self) {
        if self.deadline <= self.local_leases.told {
            return;
        }
        self.local_leases.told = self.deadline;
        let deadline = self.deadline - self.setup.timing.stop;
        let mut replies = Vec::new();
        for (office, held) in self.local_leases.held.iter_mut().filter(|(_, held)| held.stage == Stage::Active) {
            if deadline > held.told {
                held.told = deadline;
                let holding = Holding { office: office.clone(), token: held.token, deadline };
                replies.extend(held.client.map(|client| (client, Reply::Renewed(holding))));
            }
        }
        replies.into_iter().for_each(|(client, reply)| self.reply(client, reply));
    }

    /// The arbiter wants an office back.
    pub(super) fn yield_office(&mut self, office: &str, token: u64, why: Cause) {
        let Some(held) = self.local_leases.held.get_mut(office).filter(|held| held.token == token) else {
            if self.local_leases.given_up.get(office) == Some(&token) {
                self.report_stopped(office, token, Cause::Expired);
            }
            return;
        };
        if held.stage != Stage::Active {
            return;
        }
        match held.client {
            Some(client) => {
                held.stage = Stage::Stopping;
                self.reply(client, Reply::Stop { office: office.to_string(), token, why });
            }
            None => self.stopped(office, token),
        }
    }

    /// A program says that its work for an office has stopped. It cannot say so for another one.
    pub(super) fn client_stopped(&mut self, client: ClientId, office: &str, token: u64) {
        let is_anothers = |held: &Held| held.client.is_some_and(|holder| holder != client);
        if !self.local_leases.held.get(office).is_some_and(is_anothers) {
            self.stopped(office, token);
        }
    }

    /// The work for an office has stopped.
    pub(super) fn stopped(&mut self, office: &str, token: u64) {
        let Some(held) = self.local_leases.held.get_mut(office).filter(|held| held.token == token) else { return };
        if held.stage != Stage::Stopped {
            held.stage = Stage::Stopped;
            self.report_stopped(office, token, Cause::Resigned);
        }
    }

    fn report_stopped(&mut self, office: &str, token: u64, why: Cause) {
        match self.arbiter_leader() {
            Some(leader) if leader == self.setup.own => self.handle_yielded(leader, office, token, why),
            Some(leader) => self.send(leader, Message::Yielded { office: office.to_string(), token, why }),
            None => {}
        }
    }

    /// What this node gave up and the table still shows, it says again.
    pub(super) fn report_given_up(&mut self) {
        let own = self.own_holder();
        let is_shown = |office: &str, token: u64| {
            let known = self.table.offices.get(office);
            known.is_some_and(|known| known.token == token && known.holder == Some(own))
        };
        let stopped = self.local_leases.held.iter().filter(|(_, held)| held.stage == Stage::Stopped);
        let stopped = stopped.map(|(office, held)| (office, held.token, Cause::Resigned));
        let given_up = self.local_leases.given_up.iter().map(|(office, token)| (office, *token, Cause::Expired));
        let stale: Vec<(String, u64, Cause)> = stopped
            .chain(given_up)
            .filter(|(office, token, _)| is_shown(office, *token))
            .map(|(office, token, why)| (office.clone(), token, why))
            .collect();
        stale.into_iter().for_each(|(office, token, why)| self.report_stopped(&office, token, why));
    }

    /// This node does not stand for an office for a while.
    pub(super) fn rest(&mut self, office: &str) {
        self.local_leases.resting.insert(office.to_string(), self.now + REST);
    }

    /// A program wants an office.
    pub(super) fn campaign(&mut self, client: ClientId, office: &str, mode: Option<Mode>) {
        let campaigns = self.local_leases.campaigns.entry(office.to_string()).or_default();
        match campaigns.iter_mut().find(|one| one.client == client) {
            Some(known) => known.mode = mode,
            None => campaigns.push(Campaign { client, mode }),
        }
        let told = self.deadline - self.setup.timing.stop;
        if let Some(held) = self.local_leases.held.get_mut(office)
            && held.client.is_none()
            && held.stage == Stage::Active
            && mode.is_none_or(|mode| mode == held.mode)
        {
            (held.client, held.told) = (Some(client), told);
            let holding = Holding { office: office.to_string(), token: held.token, deadline: told };
            self.reply(client, Reply::Held(holding));
        }
    }

    /// A program no longer wants an office. If it said so, it has stopped; if it is gone, it may act until the end of
    /// what it was told.
    pub(super) fn withdraw(&mut self, client: ClientId, office: &str, has_stopped: bool) {
        if let Some(campaigns) = self.local_leases.campaigns.get_mut(office) {
            campaigns.retain(|other| other.client != client);
            if campaigns.is_empty() {
                self.local_leases.campaigns.remove(office);
            }
        }
        let Some(held) = self.local_leases.held.get_mut(office).filter(|held| held.client == Some(client)) else {
            return;
        };
        held.client = None;
        let token = held.token;
        // Without an arbiter there is no lease that would end.
        if has_stopped || held.mode == Mode::Fenced || self.consensus.is_none() {
            self.stopped(office, token);
        } else if held.stage == Stage::Active {
            held.stage = Stage::Stopping;
        }
    }

    /// A program is gone.
    pub(super) fn handle_client_gone(&mut self, client: ClientId) {
        let offices: Vec<String> = self.local_leases.campaigns.keys().cloned().collect();
        offices.iter().for_each(|office| self.withdraw(client, office, false));
    }

    /// How many offices a program campaigns for.
    pub(super) fn campaigns_of(&self, client: ClientId) -> usize {
        let is_its = |campaigns: &&Vec<Campaign>| campaigns.iter().any(|one| one.client == client);
        self.local_leases.campaigns.values().filter(is_its).count()
    }

    /// Whether a program campaigns for an office.
    pub(super) fn is_campaigning_for(&self, office: &str) -> bool {
        self.local_leases.campaigns.contains_key(office)
    }

    /// How many offices all programs together campaign for.
    pub(super) fn campaigned(&self) -> usize {
        self.local_leases.campaigns.len()
    }

    pub(super) fn reply(&mut self, client: ClientId, reply: Reply) {
        self.out.push(Output::Reply(client, reply));
    }
}
