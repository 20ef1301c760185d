//! What a core is created from: the configuration, and what the disk holds.

use std::collections::BTreeMap;
use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::ConfState;
use raft::{GetEntriesContext, Storage};

use super::Core;
use super::arbiter::Arbiter;
use super::arbiter::none::NoArbiter;
use super::arbiter::raft::RaftArbiter;
use super::table::{Holder, MemberEntry, Table, decode_entry};
use crate::clock::Timestamp;
use crate::config::{AlgorithmConfig, ArbiterKind, Config, ConfigDigest, Limits, Policy};
use crate::faults::{DisabledRules, Rule};
use crate::format::{FormatError, Formats, HIGHEST};
use crate::member::{Member, Role};
use crate::store::RaftStorage;
use crate::timing::{LeaseTerms, Timing};

/// How long an operator's request may take in addition to a handover.
const REQUEST_MARGIN: Duration = Duration::from_secs(2);

/// The inputs for creating a [`Core`].
pub(crate) struct Setup {
    /// The node's configuration.
    pub config: Config,
    /// Identifies this process: a random number, not 0.
    pub incarnation: u64,
    /// Identifies the disk: a random number that was drawn when its store was created.
    pub store_id: u64,
    /// The contents of the disk.
    pub storage: RaftStorage,
    /// Seeds the algorithms' random numbers.
    pub seed: u64,
    /// The safety rules that a test disables.
    pub disabled_rules: DisabledRules,
    /// The versions of what members exchange.
    pub formats: Formats,
}

/// Why a core cannot start from what the disk holds.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The raft library rejects the stored state.
    #[error(transparent)]
    Raft(#[from] raft::Error),
    /// A snapshot or a committed entry cannot be read.
    #[error("at log index {index}, {error}")]
    Unreadable {
        /// The index of the log entry, or of the last entry of the snapshot.
        index: u64,
        /// What is wrong with it.
        error: FormatError,
    },
    /// The bytes of an office's state are missing or damaged.
    #[error("the file state-{blob:016x} must hold {bytes} bytes of an office's state, but they are missing or damaged")]
    DamagedState {
        /// The log index of its first piece, which is its name.
        blob: u64,
        /// How many bytes must be there.
        bytes: u64,
    },
}

/// The parts of [`Setup`] that never change.
pub(super) struct Settings {
    pub(super) cluster: String,
    pub(super) own: Id,
    role: Role,
    pub(super) incarnation: u64,
    pub(super) store_id: u64,
    pub(super) timing: Timing,
    pub(super) algorithm: AlgorithmConfig,
    pub(super) offices: BTreeMap<String, Policy>,
    pub(super) default_policy: Policy,
    pub(super) health_threshold: u8,
    pub(super) limits: Limits,
    pub(super) started: Timestamp,
    /// What must be the same on all members.
    pub(super) digest: ConfigDigest,
    /// The addresses of members in this node's configuration.
    addresses: BTreeMap<Id, String>,
    pub(super) disabled_rules: DisabledRules,
    pub(super) formats: Formats,
}

impl Settings {
    fn new(setup: &Setup, now: Timestamp) -> Self {
        let Setup { ref config, incarnation, store_id, disabled_rules, formats, .. } = *setup;
        Settings {
            cluster: config.cluster.clone(),
            own: config.node,
            role: config.own().map_or(Role::Observer, |member| member.role),
            incarnation,
            store_id,
            timing: config.timing,
            algorithm: config.algorithm.clone(),
            offices: config.offices.iter().cloned().collect(),
            default_policy: config.default_policy,
            health_threshold: config.health.as_ref().map_or(0, |health| health.threshold),
            limits: config.limits,
            started: now,
            digest: ConfigDigest::of(config),
            addresses: config.members.iter().map(|member| (member.id, member.address.clone())).collect(),
            disabled_rules,
            formats,
        }
    }

    pub(super) fn own_holder(&self) -> Holder {
        Holder { id: self.own, incarnation: self.incarnation }
    }

    pub(super) fn policy(&self, office: &str) -> Policy {
        self.offices.get(office).copied().unwrap_or(self.default_policy)
    }

    /// A member's address. This node's configuration takes precedence over the table, so that a cluster whose hosts
    /// have all moved can start; unless the table says that the configured address is outdated.
    pub(super) fn address<'a>(&'a self, known: &'a MemberEntry) -> &'a str {
        let configured = self.addresses.get(&known.member.id);
        configured.filter(|address| !known.former_addresses.contains(address)).unwrap_or(&known.member.address)
    }

    /// This node's role: the table's, or the configured one before the table names this node.
    pub(super) fn own_role(&self, table: &Table) -> Role {
        table.member(self.own).map_or(self.role, |member| member.role)
    }

    /// A lease with these terms, by the holder's clock.
    pub(super) fn holder_lease(&self, terms: LeaseTerms) -> Duration {
        if self.disabled_rules.contains(Rule::DriftMargin) {
            return terms.lease;
        }
        self.timing.with_terms(terms).holder_lease()
    }

    /// How long the coordinator waits for a lease with these terms, by its own clock.
    pub(super) fn takeover_delay(&self, terms: LeaseTerms) -> Duration {
        if self.disabled_rules.contains(Rule::DriftMargin) {
            return terms.lease;
        }
        self.timing.with_terms(terms).takeover_delay()
    }

    /// When a lease with these terms ends that counts from this time.
    pub(super) fn deadline(&self, confirmed_at: Timestamp, terms: LeaseTerms) -> Timestamp {
        match confirmed_at {
            Timestamp::NEVER => Timestamp::NEVER,
            // Nothing was confirmed yet.
            Timestamp::ZERO => Timestamp::ZERO,
            at => at + self.holder_lease(terms),
        }
    }

    /// When the holder of such a lease must begin to stop.
    pub(super) fn stop_at(&self, confirmed_at: Timestamp, terms: LeaseTerms) -> Timestamp {
        match self.deadline(confirmed_at, terms) {
            Timestamp::NEVER => Timestamp::NEVER,
            deadline => deadline - terms.stop,
        }
    }

    /// How long a handover of an office with these terms may take.
    pub(super) fn handover_limit(&self, terms: LeaseTerms) -> Duration {
        self.timing.hand_over.max(terms.stop.saturating_add(self.timing.hand_over / 2))
    }

    /// How long an operator's request may take.
    pub(super) fn request_limit(&self) -> Duration {
        let policies = self.offices.values().chain([&self.default_policy]);
        let longest = policies.map(|policy| self.handover_limit(policy.terms(&self.timing))).max();
        longest.unwrap_or(self.timing.hand_over).saturating_add(REQUEST_MARGIN)
    }
}

impl Core {
    /// Creates the core of a node that starts now.
    pub(crate) fn new(setup: Setup, now: Timestamp) -> Result<Self, StartError> {
        let settings = Settings::new(&setup, now);
        let Setup { config, store_id, storage, seed, disabled_rules, formats: Formats { reads, .. }, .. } = setup;
        let table = Table::with_members(&config.members);
        let arbiter: Box<dyn Arbiter> = match config.arbiter {
            ArbiterKind::None => Box::new(NoArbiter::new(table)),
            ArbiterKind::Raft => {
                check_entries(&storage, reads)?;
                let stored = stored_table(&storage, reads)?;
                if stored.is_none() {
                    storage.set_conf_state(initial_conf_state(&config));
                }
                let table = stored.unwrap_or(table);
                let skips_durability = disabled_rules.contains(Rule::DurableBeforeSend);
                let program = (reads, skips_durability);
                Box::new(RaftArbiter::new(&config, store_id, storage, table, program, now)?)
            }
        };
        let health = if config.health.is_some() { 0 } else { 100 };
        Ok(Core::with_parts(settings, arbiter, health, seed, now))
    }

    /// Creates the core of a node with an arbiter of the caller's.
    #[cfg(test)]
    pub(crate) fn with_arbiter(setup: Setup, arbiter: Box<dyn Arbiter>, now: Timestamp) -> Self {
        let settings = Settings::new(&setup, now);
        let Setup { config, seed, .. } = setup;
        let health = if config.health.is_some() { 0 } else { 100 };
        Core::with_parts(settings, arbiter, health, seed, now)
    }
}

/// The table of the stored snapshot; `None` if there is no snapshot yet.
pub(crate) fn stored_table(storage: &RaftStorage, reads: u8) -> Result<Option<Table>, StartError> {
    let snapshot = storage.latest_snapshot();
    if snapshot.is_empty() {
        return Ok(None);
    }
    let index = snapshot.get_metadata().index;
    Table::decode(&snapshot.data, reads).map(Some).map_err(|error| StartError::Unreadable { index, error })
}

/// Checks that the bytes of all states that the stored snapshot refers to are there.
pub(crate) fn check_blobs(storage: &RaftStorage) -> Result<(), StartError> {
    let stored = storage.take_blobs();
    stored_table(storage, HIGHEST)?.map_or(Ok(()), |table| super::arbiter::raft::check_blobs(stored, &table))
}

/// Checks that every committed entry can be read. Entries that are not committed may still be replaced.
fn check_entries(storage: &RaftStorage, reads: u8) -> Result<(), StartError> {
    let commit = storage.initial_state()?.hard_state.commit;
    let first = storage.first_index()?;
    let entries = storage.entries(first, commit.max(first - 1) + 1, None, GetEntriesContext::empty(false))?;
    entries.iter().try_for_each(|entry| {
        decode_entry(entry, reads).map(drop).map_err(|error| StartError::Unreadable { index: entry.index, error })
    })
}

/// The initial Raft membership. A node that joins an existing cluster is not part of it.
pub(crate) fn initial_conf_state(config: &Config) -> ConfState {
    let founders = config.members.iter().filter(|member| !config.join || member.id != config.node);
    let (voters, learners): (Vec<&Member>, Vec<&Member>) = founders.partition(|member| member.role.votes());
    let ids = |members: Vec<&Member>| members.into_iter().map(|member| member.id.0).collect::<Vec<u64>>();
    ConfState::from((ids(voters), ids(learners)))
}
