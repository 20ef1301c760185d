//! What this node gave up stays given up.

use std::time::Duration;

use hustings_protocol::Id;

use crate::api::{ChangeReason, Request};
use crate::clock::Timestamp;
use crate::config::{AlgorithmConfig, ArbiterKind, Config, Tls};
use crate::core::table::OfficeName;
use crate::core::{ClientId, Core, Output, Setup};
use crate::faults::DisabledRules;
use crate::member::{Member, Role};
use crate::store::RaftStorage;
use crate::timing::Timing;

/// The core of a cluster's only member, which holds `job` for a client.
fn holder_of_job() -> (Core, OfficeName) {
    let (name, address) = ("n1".to_string(), "h1:1".to_string());
    let member = Member { id: Id(1), name, address, priority: 0, role: Role::Elector };
    let config = Config {
        cluster: "test".to_string(),
        node: Id(1),
        members: vec![member],
        listen: String::new(),
        algorithm: AlgorithmConfig::default(),
        arbiter: ArbiterKind::Raft,
        timing: Timing::default(),
        offices: Vec::new(),
        default_policy: Default::default(),
        health: None,
        log: Default::default(),
        limits: Default::default(),
        http: None,
        data: Default::default(),
        socket: Default::default(),
        socket_group: None,
        tls: Tls { authority: Default::default(), certificate: Default::default(), key: Default::default() },
        join: false,
    };
    let (storage, disabled_rules) = (RaftStorage::empty(), DisabledRules::default());
    let setup = Setup { config, incarnation: 7, store_id: 71, storage, seed: 1, disabled_rules };
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
