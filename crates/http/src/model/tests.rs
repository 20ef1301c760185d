use super::*;

#[test]
fn ids_of_changes_survive_a_round_trip_and_nothing_else_is_one() {
    for id in [ChangeId { token: 17, is_vacant: false }, ChangeId { token: u64::MAX, is_vacant: true }] {
        assert_eq!(ChangeId::parse(&id.to_string()), Some(id));
    }
    for wrong in ["", "17", "17.2", "x.0", "+1.0", "-1.0", ".0", "99999999999999999999.0", "1.0.0"] {
        assert_eq!(ChangeId::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn every_reason_role_and_mode_is_described() {
    // The schema of an enum lists its values.
    let listed = |schema: utoipa::openapi::RefOr<utoipa::openapi::Schema>| {
        let text = serde_json::to_value(schema).expect("plain data");
        text["enum"].as_array().expect("it is an enum").clone()
    };
    use utoipa::PartialSchema;
    let reasons = listed(ReasonSchema::schema());
    for reason in [
        ChangeReason::Vacant,
        ChangeReason::Disconnected,
        ChangeReason::Silent,
        ChangeReason::Expired,
        ChangeReason::Resigned,
        ChangeReason::Left,
        ChangeReason::Preempted,
        ChangeReason::Transferred,
        ChangeReason::Unhealthy,
        ChangeReason::Removed,
        ChangeReason::Elected,
        ChangeReason::ModeMismatch,
    ] {
        assert!(reasons.contains(&serde_json::to_value(reason).expect("plain data")), "{reason:?}");
    }
    for mode in [Mode::Exclusive, Mode::Fenced] {
        assert!(listed(ModeSchema::schema()).contains(&serde_json::to_value(mode).expect("plain data")));
    }
    for role in [Role::Elector, Role::Witness, Role::Observer] {
        assert!(listed(RoleSchema::schema()).contains(&serde_json::to_value(role).expect("plain data")));
    }
}
