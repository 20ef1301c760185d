//! What this node gave up stays given up.

use std::time::Duration;

use crate::api::{ChangeReason, Request};
use crate::clock::Timestamp;
use crate::core::table::OfficeName;
use crate::core::{ClientId, Core, Output, Setup};
use crate::faults::DisabledRules;
use crate::member::Role;
use crate::store::RaftStorage;
use crate::tests::{config, member};

/// The core of a cluster's only member, which holds `job` for a client.
fn holder_of_job() -> (Core, OfficeName) {
    let config = config(1, vec![member(1, Role::Elector)]);
    let (storage, disabled_rules) = (RaftStorage::empty(), DisabledRules::default());
    let setup =
        Setup { config, incarnation: 7, store_id: 71, storage, seed: 1, disabled_rules, formats: Default::default() };
    let mut now = Timestamp(1 << 40);
    let mut core = Core::new(setup, now).expect("the disk is blank");
    core.handle_request(ClientId(1), Request::Campaign { office: "job".to_string(), mode: None, guard: None }, now);
    while core.held_offices().all(|(office, _)| office != "job") {
        for output in core.take_outputs() {
            if let Output::Write(write) = output {
                core.handle_persisted(write.number, now);
            }
        }
        now = now + Duration::from_millis(1);
        assert!(now < Timestamp(1 << 40) + Duration::from_secs(5), "the office is not granted");
        core.handle_timeout(now);
    }
    (core, OfficeName::from("job"))
}

#[test]
fn a_grant_that_was_given_up_is_not_accepted_again() {
    let (mut core, office) = holder_of_job();
    let own = core.settings.own_holder();
    let (mut parts, mut context) = core.split();
    let (local_leases, known) = parts.local_leases();
    local_leases.lose(&office, ChangeReason::Expired, &mut context);
    // Something about the office is decided, but the table still shows the grant.
    local_leases.handle_applied(&office, own, known.table);
    local_leases.update(&known, &mut context);
    assert!(!local_leases.is_active_for("job"), "the next grant may already be in the log");
    local_leases.handle_replaced(own, known.table);
    local_leases.update(&known, &mut context);
    assert!(!local_leases.is_active_for("job"), "the next grant may already be in the log");
}
