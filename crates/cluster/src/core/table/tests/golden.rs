//! The encodings of this version, byte by byte.

use super::*;
use crate::core::table::{decode_membership, encode_membership};
use crate::format::FormatError;
use crate::golden;
use crate::member::Role;

fn member() -> Member {
    Member { id: Id(3), name: "c".to_string(), address: "10.0.0.3:7401".to_string(), priority: 7, role: Role::Witness }
}

fn piece() -> StatePiece {
    StatePiece {
        office: "billing".into(),
        token: 302,
        upload: UploadId { node: Id(3), incarnation: 1 << 60, number: 300 },
        size: 5,
        checksum: checksum_of(0, &[1, 2, 3, 4, 5]),
        unix_ms: 1_700_000_000_003,
        index: 0,
        data: vec![1, 2, 3, 4, 5].into(),
    }
}

fn every_command() -> Vec<Command> {
    let (office, holder) = (OfficeName::from("billing"), Holder { id: Id(3), incarnation: 1 << 60 });
    vec![
        Command::Grant {
            office: office.clone(),
            holder,
            expected_token: 300,
            mode: Mode::Fenced,
            terms: LeaseTerms { lease: Duration::from_millis(300), stop: Duration::from_millis(10) },
            cause: ChangeReason::Disconnected,
            pinned: true,
            unix_ms: 1_700_000_000_000,
        },
        Command::Vacate { office, token: 301, cause: ChangeReason::Resigned, unix_ms: 1_700_000_000_001 },
        Command::set_paused(true),
        Command::Put { key: "colour".to_string(), expected_revision: Some(300), value: None },
        Command::RegisterStore { id: Id(3), store_id: u64::MAX, reads: 1 },
        Command::SetMember(member()),
        Command::RemoveMember(Id(3)),
        Command::RetireAddress { id: Id(3), address: "10.0.0.2:7401".to_string() },
        Command::Complete {
            office: "billing".into(),
            token: 301,
            key: "2026-01-01".to_string(),
            unix_ms: 1_700_000_000_002,
        },
        Command::StatePiece(piece()),
        Command::DeleteState { office: "billing".into(), token: Some(302) },
    ]
}

/// Fails to compile when a command is added, which then also belongs into `every_command`.
fn name(command: &Command) -> &'static str {
    match command {
        Command::Grant { .. } => "grant",
        Command::Vacate { .. } => "vacate",
        Command::Put { .. } => "put",
        Command::RegisterStore { .. } => "register-store",
        Command::SetMember(_) => "set-member",
        Command::RemoveMember(_) => "remove-member",
        Command::RetireAddress { .. } => "retire-address",
        Command::Complete { .. } => "complete",
        Command::StatePiece(_) => "state-piece",
        Command::DeleteState { .. } => "delete-state",
    }
}

#[test]
fn log_entries_of_version_1() {
    let commands = every_command();
    let cases: Vec<_> = commands.into_iter().map(|command| (name(&command), command)).collect();
    golden::check(
        "entries-v1",
        &cases,
        |command| command.encode(1),
        |bytes| Command::decode(bytes, 1).expect("a command"),
    );
    let cases = [("added", Some(member())), ("removed", None)];
    let decode = |bytes: &[u8]| decode_membership(bytes, 1).expect("a membership change");
    golden::check("membership-v1", &cases, |member| encode_membership(member.as_ref(), 1), decode);
}

#[test]
fn snapshots_of_version_1() {
    let mut table = Table::with_members(&[member(), Member { id: Id(9), name: "d".to_string(), ..member() }]);
    table.apply(301, Command::RemoveMember(Id(9)));
    for (index, command) in (302..).zip([grant("billing", 3, 0), grant("leader", 3, 0), vacate("leader", 303)]) {
        assert!(table.apply(index, command));
    }
    table.apply(310, Command::set_paused(true));
    table.apply(311, Command::RegisterStore { id: Id(3), store_id: u64::MAX, reads: 1 });
    assert!(table.apply(312, complete("billing", 302, "2026-01-01")));
    assert!(table.apply(313, Command::StatePiece(piece())));
    let upload = UploadId { node: Id(3), incarnation: 1 << 60, number: 301 };
    let unfinished = StatePiece { upload, size: 1 << 20, data: vec![0; PIECE_BYTES].into(), ..piece() };
    assert!(table.apply(314, Command::StatePiece(unfinished)));
    let cases = [("empty", Table::default()), ("offices", table)];
    golden::check("snapshot-v1", &cases, Table::encode, |bytes| Table::decode(bytes, 1).expect("a snapshot"));
}

#[test]
fn other_versions_and_invalid_bytes_are_errors() {
    let encodings = [Command::set_paused(true).encode(1), Table::default().encode(), encode_membership(None, 1)];
    for (place, bytes) in encodings.into_iter().enumerate() {
        let error = |bytes: &[u8]| match place {
            0 => Command::decode(bytes, 1).expect_err("it is invalid"),
            1 => Table::decode(bytes, 1).expect_err("it is invalid"),
            _ => decode_membership(bytes, 1).expect_err("it is invalid"),
        };
        let later = [&[bytes[0] + 1], &bytes[1..]].concat();
        assert!(matches!(error(&later), FormatError::UnknownVersion { found: 2, supported: 1, .. }));
        assert!(matches!(error(&bytes[..1]), FormatError::Malformed { version: 1, .. }));
        assert!(matches!(error(&[bytes.as_slice(), &[0]].concat()), FormatError::Malformed { version: 1, .. }));
        assert!(matches!(error(&[]), FormatError::Empty { .. }));
    }
}
