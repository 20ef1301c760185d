//! A cluster without an arbiter: the node that an election elects holds the office, in each partition of the cluster.
//!
//! This is how the algorithms were published. A token only counts the changes that this node has seen, over all
//! offices. Tokens of different nodes cannot be compared, and there are no leases.

use super::Core;
use super::table::{Command, Holder};
use crate::api::ChangeReason;
use crate::clock::Timestamp;

impl Core {
    /// Makes the table match the results of the elections.
    pub(super) fn apply_elections_without_arbiter(&mut self) {
        if self.consensus.is_some() {
            return;
        }
        self.deadline = Timestamp::NEVER;
        let own = self.own_holder();
        let elected: Vec<(String, Option<Holder>)> = self
            .elections
            .elected()
            .map(|(office, leader)| {
                (office.to_string(), leader.map(|id| Holder { id, incarnation: self.incarnation_of(id).unwrap_or(0) }))
            })
            .collect();
        // A node does not learn who holds an office that it is no longer a candidate for.
        let held = self.table.offices.iter().filter(|(_, known)| known.holder.is_some());
        let held = held.filter(|(name, _)| !self.elections.contains(name));
        let vacated: Vec<(String, Option<Holder>)> = held.map(|(name, _)| (name.clone(), None)).collect();
        // Tokens count over all offices, so that an office that is forgotten and comes back continues with a higher
        // token.
        let mut last_token = self.table.offices.values().map(|office| office.token).max().unwrap_or(0);
        for (office, holder) in elected.into_iter().chain(vacated) {
            let token = self.table.token(&office);
            let known = self.table.offices.get(&office).and_then(|known| known.holder);
            // The client has stopped, and another client of this node may want the office.
            let is_regrant = holder == Some(own) && self.has_stopped(&office);
            if known == holder && !is_regrant {
                continue;
            }
            let unix_ms = self.unix_ms;
            let command = match holder {
                Some(to) => {
                    let mode = self.settings.policy(&office).mode;
                    let cause = ChangeReason::Elected;
                    Command::Grant {
                        office: office.clone(),
                        holder: to,
                        expected_token: token,
                        mode,
                        cause,
                        pinned: false,
                        unix_ms,
                    }
                }
                None => Command::Vacate { office: office.clone(), token, cause: ChangeReason::Resigned, unix_ms },
            };
            last_token += 1;
            self.table.apply(last_token, command);
        }
    }
}
