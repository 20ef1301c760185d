use proptest::prelude::*;

use super::*;

#[test]
fn messages_survive_encoding_and_decoding() {
    let heartbeat =
        Heartbeat { number: 7, leader: None, follower: Some(FollowerHeartbeat { term: 3, round: 9, applied: 5 }) };
    let forwarded = ForwardedRequest::new(5, &Request::Resign { office: "leader".to_string() });
    assert_eq!(forwarded.parse(), Ok(Request::Resign { office: "leader".to_string() }));
    for message in [
        Message::Heartbeat(heartbeat),
        Message::View(vec![Id(1), Id(3)]),
        Message::ForwardedRequest(forwarded),
        Message::Leave,
    ] {
        let bytes = message.encode();
        assert_eq!(Message::decode(&bytes), Ok(message));
    }
    assert!(Message::Heartbeat(heartbeat).encode().len() < 10, "a heartbeat is small");
}

#[test]
fn rejects_trailing_bytes_and_long_lists() {
    let mut bytes = Message::Leave.encode();
    bytes.push(0);
    assert_eq!(Message::decode(&bytes), Err(DecodeError));
    let long = Message::View(vec![Id(1); MAX_LIST_LEN + 1]).encode();
    assert_eq!(Message::decode(&long), Err(DecodeError));
}

#[test]
fn rejects_invalid_office_names() {
    let with = |name: &str| {
        let office: OfficeName = name.into();
        let (token, cause) = (7, ChangeReason::Resigned);
        let (mode, preempt, terms) = Default::default();
        let claim = Claim { office: office.clone(), mode, preempt, terms };
        let lists = [(vec!["leader".into(), office.clone()], vec![]), (vec![], vec![office.clone()])];
        let candidacies = lists.map(|(added, removed)| {
            let disk = DiskState::default();
            let (incarnation, store_id, digest, version, base) = (1, 1, ConfigDigest::default(), 1, None);
            let (health, disk_fails) = (100, false);
            let candidacy = Candidacy {
                incarnation,
                store_id,
                disk,
                health,
                disk_fails,
                digest,
                reads: 1,
                version,
                base,
                added,
                removed,
            };
            Message::Candidacy(candidacy)
        });
        let messages = vec![
            Message::Claims(Claims { replaces_all: false, added: vec![claim], removed: vec![] }),
            Message::Claims(Claims { replaces_all: false, added: vec![], removed: vec![office.clone()] }),
            Message::StepDown { office: office.clone(), token, cause },
            Message::PauseCampaign { office: office.clone() },
            Message::SteppedDown { office: office.clone(), token, cause },
            Message::ReadinessRequest { office: office.clone() },
            Message::ReadinessResponse { office, is_ready: true },
        ];
        messages.into_iter().chain(candidacies).collect::<Vec<_>>()
    };
    for message in with(&"x".repeat(63)) {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
    for name in ["", "A", "a b", "../a", &"x".repeat(64)] {
        for message in with(name) {
            assert_eq!(Message::decode(&message.encode()), Err(DecodeError), "{message:?}");
        }
    }
}

proptest! {
    #[test]
    fn decoding_any_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }
}
