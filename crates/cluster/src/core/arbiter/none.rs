//! No arbiter: the node that an election elects holds the office, in each partition of the cluster.
//!
//! This is how the algorithms were published. A token only counts the changes that this node has seen, over all
//! offices. Tokens of different nodes cannot be compared, and there are no leases. Nobody coordinates.

use std::collections::VecDeque;

use hustings_protocol::Id;

use super::{Arbiter, ArbiterEvent, Elected};
use crate::api::{ChangeReason, RequestError};
use crate::clock::Timestamp;
use crate::core::context::Context;
use crate::core::requests::errors;
use crate::core::table::{Command, Holder, Table};

/// A cluster without an arbiter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::core) struct NoArbiter {
    table: Table,
    /// Tokens count over all offices, so that an office that is forgotten and comes back continues with a higher token.
    last_token: u64,
    events: VecDeque<ArbiterEvent>,
}

impl NoArbiter {
    pub(in crate::core) fn new(table: Table) -> Self {
        NoArbiter { table, last_token: 0, events: VecDeque::new() }
    }
}

impl Arbiter for NoArbiter {
    fn name(&self) -> &str {
        "none"
    }

    fn has_authority(&self) -> bool {
        false
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn coordinator(&self) -> Option<Id> {
        None
    }

    fn epoch(&self) -> u64 {
        0
    }

    fn is_established(&self) -> bool {
        false
    }

    fn coordinator_since(&self) -> Timestamp {
        Timestamp::ZERO
    }

    fn confirmed_at(&self) -> Timestamp {
        Timestamp::NEVER
    }

    fn lease_start(&self, _holder: Holder) -> Timestamp {
        Timestamp::ZERO
    }

    fn submit(&mut self, _request: u64, _command: Command, _context: &mut Context<'_>) -> Result<(), RequestError> {
        Err(errors::no_arbiter())
    }

    fn revoke(&mut self, _holder: Id) {}

    /// There is nothing to confirm.
    fn can_confirm_reads(&self) -> bool {
        true
    }

    fn read(&mut self, number: u64, _context: &mut Context<'_>) {
        self.events.push_back(ArbiterEvent::ReadConfirmed(number));
    }

    fn handle_elected(&mut self, elected: Elected<'_>, context: &mut Context<'_>) {
        let Elected { office, leader, is_regrant } = elected;
        let known = self.table.offices.get(office);
        let is_same = known.and_then(|known| known.holder) == leader;
        if is_same && !(is_regrant && leader.is_some()) {
            return;
        }
        let expected_token = self.table.token(office);
        let (office, unix_ms) = (office.clone(), context.unix_ms);
        let command = match leader {
            Some(holder) => {
                let policy = context.settings.policy(&office);
                let (mode, cause, pinned) = (policy.mode, ChangeReason::Elected, false);
                let terms = policy.terms(&context.settings.timing);
                Command::Grant { office: office.clone(), holder, expected_token, mode, terms, cause, pinned, unix_ms }
            }
            None => {
                let cause = ChangeReason::Resigned;
                Command::Vacate { office: office.clone(), token: expected_token, cause, unix_ms }
            }
        };
        self.last_token += 1;
        let took_effect = self.table.apply(self.last_token, command);
        let is_grant = leader.is_some() && took_effect;
        self.events.push_back(ArbiterEvent::Applied { office: Some(office), request: None, took_effect, is_grant });
    }

    fn process(&mut self, _context: &mut Context<'_>) -> bool {
        false
    }

    fn poll_event(&mut self) -> Option<ArbiterEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Timestamp {
        Timestamp::NEVER
    }
}
