use super::*;
use crate::api::ChangeReason;
use crate::config::Mode;
use crate::core::table::{Command, Holder};
use crate::timing::LeaseTerms;

fn grant(table: &mut Table, index: u64, office: &str) {
    let holder = Holder { id: Id(1), incarnation: 7 };
    let (expected_token, cause) = (table.token(office), ChangeReason::Vacant);
    let (mode, terms, pinned, unix_ms) = (Mode::Exclusive, LeaseTerms::default(), false, 0);
    let office = office.into();
    let command = Command::Grant { office, holder, expected_token, mode, terms, cause, pinned, unix_ms };
    assert!(table.apply(index, command));
}

/// The pieces of a state.
fn pieces(office: &str, token: u64, number: u64, data: &[u8]) -> Vec<StatePiece> {
    let upload = UploadId { node: Id(2), incarnation: 5, number };
    let all = (0..piece_count(data.len() as u64)).map(|index| StatePiece {
        office: office.into(),
        token,
        upload,
        size: data.len() as u64,
        checksum: checksum_of(0, data),
        unix_ms: 9,
        index,
        data: data.chunks(PIECE_BYTES).nth(index as usize).unwrap_or_default().to_vec().into(),
    });
    all.collect()
}

fn table() -> Table {
    let mut table = Table::default();
    grant(&mut table, 10, "job");
    table
}

#[test]
fn a_state_is_visible_when_its_last_piece_is_there() {
    let mut table = table();
    let first = pieces("job", 10, 1, &[1; 3 * PIECE_BYTES]);
    assert_eq!(table.receive_piece(20, &first[0]), PieceEffect::Appended { blob: 20, next: Some(1) });
    assert_eq!(table.receive_piece(21, &first[2]), PieceEffect::Expected(1), "there is a gap");
    assert_eq!(table.receive_piece(22, &first[0]), PieceEffect::Expected(1), "it was there before");
    assert_eq!(table.receive_piece(23, &first[1]), PieceEffect::Appended { blob: 20, next: Some(2) });
    assert_eq!(table.states.get("job"), None);
    assert_eq!(table.receive_piece(24, &first[2]), PieceEffect::Appended { blob: 20, next: None });
    assert_eq!(table.states.get("job").map(|entry| (entry.blob, entry.size)), Some((20, 3 << 14)));
    assert_eq!(table.receive_piece(25, &first[2]), PieceEffect::Stored);
    // An empty state has a piece as well.
    let empty = pieces("job", 10, 2, &[]);
    assert_eq!(table.receive_piece(26, &empty[0]), PieceEffect::Appended { blob: 26, next: None });
    assert_eq!(table.receive_piece(27, &first[0]), PieceEffect::Superseded, "a later state must not be replaced");
    assert_eq!(table.states.get("job").map(|entry| (entry.blob, entry.size)), Some((26, 0)));
}

#[test]
fn a_later_upload_supersedes_an_unfinished_one() {
    let mut table = table();
    let [first, second] = [1, 2].map(|number| pieces("job", 10, number, &[number as u8; 2 * PIECE_BYTES]));
    assert_eq!(table.receive_piece(20, &first[1]), PieceEffect::UnknownUpload, "the first piece is lost");
    table.receive_piece(21, &first[0]);
    assert_eq!(table.receive_piece(22, &second[0]), PieceEffect::Appended { blob: 22, next: Some(1) });
    assert_eq!(table.receive_piece(23, &first[1]), PieceEffect::Superseded);
    assert_eq!(table.receive_piece(24, &second[1]), PieceEffect::Appended { blob: 22, next: None });
}

#[test]
fn a_stale_token_changes_nothing_and_ends_the_upload() {
    let mut table = table();
    let first = pieces("job", 10, 1, &[1; 2 * PIECE_BYTES]);
    table.receive_piece(20, &first[0]);
    grant(&mut table, 21, "job");
    let before = table.clone();
    assert_eq!(table.receive_piece(22, &first[1]), PieceEffect::StaleToken);
    assert_eq!(table.receive_piece(23, &pieces("other", 10, 3, b"x")[0]), PieceEffect::StaleToken);
    assert_eq!(table, before);
    assert_eq!(table.states.blobs().count(), 0, "nobody can complete the upload");
}

#[test]
fn what_does_not_fit_is_not_stored() {
    let mut table = table();
    let good = pieces("job", 10, 1, &[1; PIECE_BYTES + 1]);
    let damage: [fn(&mut StatePiece); 4] = [
        |piece| piece.data = vec![2].into(),
        |piece| piece.data = vec![1, 1].into(),
        |piece| piece.size += 1,
        |piece| piece.checksum += 1,
    ];
    for (number, damage) in damage.into_iter().enumerate() {
        table.receive_piece(20 + 2 * number as u64, &good[0]);
        let mut last = good[1].clone();
        damage(&mut last);
        assert_eq!(table.receive_piece(21 + 2 * number as u64, &last), PieceEffect::Damaged, "{number}");
        assert_eq!((table.states.get("job"), table.states.blobs().count()), (None, 0), "{number}");
    }
    let large = StatePiece { size: MAX_STATE_BYTES + 1, ..good[0].clone() };
    assert_eq!(table.receive_piece(40, &large), PieceEffect::Damaged);
}

#[test]
fn a_deleted_state_does_not_come_back_with_a_piece_that_arrives_again() {
    let mut table = table();
    let [first, second] = [1, 2].map(|number| pieces("job", 10, number, b"x"));
    table.receive_piece(20, &first[0]);
    table.receive_piece(21, &second[0]);
    assert!(!table.delete_state("job", Some(9)), "another token");
    assert!(!table.delete_state("other", Some(10)), "another office");
    assert_eq!(table.states.after(None).count(), 1);
    assert!(table.delete_state("job", Some(10)));
    let is_gone = |table: &Table| {
        let states = &table.states;
        states.get("job").is_none() && states.after(None).next().is_none() && states.blobs().next().is_none()
    };
    assert!(is_gone(&table));
    assert_eq!(table.receive_piece(22, &second[0]), PieceEffect::Stored, "it arrives again");
    assert_eq!(table.receive_piece(23, &first[0]), PieceEffect::Superseded);
    assert!(is_gone(&table) && table.delete_state("job", Some(10)) && is_gone(&table));
    let third = pieces("job", 10, 3, b"y");
    assert_eq!(table.receive_piece(24, &third[0]), PieceEffect::Appended { blob: 24, next: None });
    assert_eq!(table.states.get("job").map(|entry| entry.blob), Some(24));
}

#[test]
fn an_operator_deletes_the_state_of_an_office_that_has_another_holder_or_none() {
    let mut table = table();
    table.receive_piece(20, &pieces("job", 10, 1, b"x")[0]);
    grant(&mut table, 21, "job");
    assert!(!table.delete_state("job", Some(10)) && table.states.get("job").is_some(), "it was the writer's");
    assert!(table.delete_state("job", None));
    assert_eq!(table.states, States::default(), "no piece of the former holder counts any more");
    table.receive_piece(22, &pieces("job", 21, 2, b"y")[0]);
    assert!(table.delete_state("job", None) && table.states != States::default());
    grant(&mut table, 23, "job");
    assert_eq!(table.states, States::default(), "nothing is left when the office changes hands");
}

#[test]
fn states_are_listed_after_a_name() {
    let mut table = Table::default();
    for (number, office) in ["a", "b", "c"].into_iter().enumerate() {
        let token = 100 + 2 * number as u64;
        grant(&mut table, token, office);
        table.receive_piece(token + 1, &pieces(office, token, 1, b"x")[0]);
    }
    table.delete_state("b", None);
    let names = |after| table.states.after(after).map(|(name, _)| name.to_string()).collect::<Vec<_>>();
    assert_eq!(
        (names(None), names(Some("a")), names(Some("c"))),
        (vec!["a".into(), "c".into()], vec!["c".into()], vec![])
    );
}

#[test]
fn unfinished_uploads_are_bounded() {
    let mut table = Table::default();
    for number in 0..40 {
        let office = format!("job-{number}");
        grant(&mut table, 100 + 2 * number, &office);
        let piece = &pieces(&office, 100 + 2 * number, number, &[1; 2 * PIECE_BYTES])[0];
        table.receive_piece(101 + 2 * number, piece);
    }
    let kept: Vec<u64> = table.states.blobs().map(|needed| needed.blob).collect();
    assert_eq!(kept.len(), MAX_UPLOADS);
    assert!(kept.iter().all(|blob| *blob > 101 + 2 * (40 - MAX_UPLOADS as u64 - 1)), "{kept:?}");
}
