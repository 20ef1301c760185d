//! The initial state of a core: from the configuration, and from what the disk holds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::ConfState;

use super::Core;
use super::consensus::{Campaign, Consensus, Ready};
use super::elections::Elections;
use super::grants::Grants;
use super::lease_rounds::LeaseRounds;
use super::local_leases::LocalLeases;
use super::read_index::ReadIndex;
use super::table::Table;
use crate::clock::Timestamp;
use crate::config::{AlgorithmConfig, ArbiterKind, Config, Policy};
use crate::election::SharedState;
use crate::faults::{DisabledRules, Rule};
use crate::member::{Member, Role};
use crate::store::RaftStorage;
use crate::timing::Timing;
use crate::wire::Candidacy;

/// The inputs for creating a [`Core`].
pub struct Setup {
    /// The node's configuration.
    pub config: Config,
    /// Identifies this process: a random number, not 0.
    pub incarnation: u64,
    /// Identifies the disk: a random number that was drawn when its store was created.
    pub store_id: u64,
    /// The contents of the disk.
    pub mirror: RaftStorage,
    /// Seeds the algorithms' random numbers.
    pub seed: u64,
    /// The safety rules that a test disables.
    pub disabled_rules: DisabledRules,
}

/// The parts of [`Setup`] that never change.
pub(super) struct Settings {
    pub(super) cluster: String,
    pub(super) own: Id,
    pub(super) role: Role,
    pub(super) incarnation: u64,
    pub(super) store_id: u64,
    pub(super) timing: Timing,
    pub(super) choice: AlgorithmConfig,
    pub(super) offices: BTreeMap<String, Policy>,
    pub(super) default_policy: Policy,
    pub(super) threshold: u8,
    pub(super) lease_at_holder: Duration,
    pub(super) lease_at_arbiter: Duration,
    pub(super) started: Timestamp,
    /// The addresses of members in this node's configuration. They take precedence over the table, which learns later
    /// that a host has moved.
    pub(super) addresses: BTreeMap<Id, String>,
    pub(super) disabled_rules: DisabledRules,
}

impl Settings {
    pub(super) fn policy(&self, office: &str) -> Policy {
        self.offices.get(office).copied().unwrap_or(self.default_policy)
    }
}

impl Core {
    /// Creates the core of a node that starts now.
    pub fn new(setup: Setup, now: Timestamp) -> Result<Self, raft::Error> {
        let Setup { config, incarnation, store_id, mirror, seed, disabled_rules } = setup;
        let own = config.node;
        let role = config.own().map_or(Role::Observer, |member| member.role);
        let mut table = Table::with_members(&config.members);
        let mut is_restored = false;
        let consensus = match config.arbiter {
            ArbiterKind::None => None,
            ArbiterKind::Raft => {
                let snapshot = mirror.latest_snapshot();
                if let Some(saved) = Table::decode(&snapshot.data).filter(|_| !snapshot.is_empty()) {
                    (table, is_restored) = (saved, true);
                } else {
                    mirror.set_conf_state(initial_conf_state(&config));
                }
                Some(Consensus::new(
                    own,
                    mirror,
                    Campaign::default(),
                    disabled_rules.contains(Rule::DurableBeforeSend),
                )?)
            }
        };
        let timing = config.timing;
        let (lease_at_holder, lease_at_arbiter) = if disabled_rules.contains(Rule::DriftMargin) {
            (timing.lease, timing.lease)
        } else {
            (timing.holder_lease(), timing.takeover_delay())
        };
        let shared = SharedState::new(seed);
        #[cfg(feature = "fault-injection")]
        let shared = match disabled_rules.contains(Rule::StaleRuns) {
            true => shared.with_fault(crate::faults::InjectedFault::NotDropped),
            false => shared,
        };
        let settings = Settings {
            cluster: config.cluster.clone(),
            own,
            role,
            incarnation,
            store_id,
            timing,
            choice: config.algorithm.clone(),
            offices: config.offices.iter().cloned().collect(),
            default_policy: config.default_policy,
            threshold: config.health.as_ref().map_or(0, |health| health.threshold),
            lease_at_holder,
            lease_at_arbiter,
            started: now,
            addresses: config.members.iter().map(|member| (member.id, member.address.clone())).collect(),
            disabled_rules,
        };
        let health = if config.health.is_some() { 0 } else { 100 };
        let lease_at_arbiter_us = lease_at_arbiter.as_micros() as u64;
        let candidacy = Candidacy { incarnation, store_id, health, lease_at_arbiter_us, offices: Vec::new() };
        let mut core = Core {
            settings,
            now,
            unix_ms: 0,
            next_timeout: Timestamp::NEVER,
            peers: BTreeMap::new(),
            relayed_by: None,
            view: vec![own],
            view_is_stale: true,
            leader_view: None,
            candidacy,
            health,
            leaving: false,
            leave_deadline: Timestamp::NEVER,
            elections: Elections::new(shared),
            consensus,
            ready: Ready::default(),
            table,
            lease_rounds: LeaseRounds::default(),
            grants: Grants::default(),
            local_leases: LocalLeases::default(),
            deadline: Timestamp::ZERO,
            sent_claims: None,
            claims_sent_at: Timestamp::ZERO,
            unknown_disks: BTreeSet::new(),
            pending_registrations: BTreeSet::new(),
            leading_term: 0,
            followed_leader: None,
            disk_failed: false,
            pending_requests: BTreeMap::new(),
            last_request: 0,
            pending_proposals: Vec::new(),
            watchers: BTreeMap::new(),
            published: BTreeMap::new(),
            read_index: ReadIndex::new(incarnation),
            counters: BTreeMap::new(),
            outputs: Vec::new(),
        };
        if is_restored {
            // The stored members may differ from those in the configuration.
            core.members_changed();
        }
        core.campaign_if_quorum_is_up();
        core.reconcile();
        Ok(core)
    }
}

/// The initial Raft membership. A node that joins an existing cluster is not part of it.
fn initial_conf_state(config: &Config) -> ConfState {
    let founders = config.members.iter().filter(|member| !config.join || member.id != config.node);
    let (voters, learners): (Vec<&Member>, Vec<&Member>) = founders.partition(|member| member.role.votes());
    let ids = |members: Vec<&Member>| members.into_iter().map(|member| member.id.0).collect::<Vec<u64>>();
    ConfState::from((ids(voters), ids(learners)))
}
