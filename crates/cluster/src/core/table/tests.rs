mod golden;

use std::time::Duration;

use hustings_protocol::SplitMix64;
use raft::eraftpb::{ConfState, Message as RaftLibraryMessage, MessageType};

use super::members::MAX_FORMER_ADDRESSES;
use super::*;
use crate::config::MAX_MEMBERS;
use crate::format::HIGHEST;
use crate::transport::Limits;
use crate::wire::{MAX_INDEX, Message, RaftMessage, Relay, Seal};

fn grant(office: &str, id: u64, after: u64) -> Command {
    Command::Grant {
        office: office.into(),
        holder: Holder { id: Id(id), incarnation: 1 },
        expected_token: after,
        mode: Mode::Exclusive,
        terms: LeaseTerms::default(),
        cause: ChangeReason::Vacant,
        pinned: false,
        unix_ms: 0,
    }
}

fn office<'a>(table: &'a Table, name: &str) -> &'a Office {
    table.offices.get(name).expect("the office is known")
}

fn vacate(office: &str, token: u64) -> Command {
    Command::Vacate { office: office.into(), token, cause: ChangeReason::Resigned, unix_ms: 0 }
}

#[test]
fn ignores_a_grant_with_a_stale_expected_token() {
    let mut table = Table::default();
    assert!(table.apply(5, grant("a", 1, 0)));
    assert!(!table.apply(6, grant("a", 2, 0)), "it was proposed before the first grant was applied");
    assert_eq!((table.token("a"), office(&table, "a").holder.map(|holder| holder.id)), (5, Some(Id(1))));
    assert!(table.apply(7, grant("a", 2, 5)));
    assert_eq!(table.token("a"), 7);
}

#[test]
fn a_vacant_office_keeps_its_last_token() {
    let mut table = Table::default();
    table.apply(5, grant("a", 1, 0));
    assert!(!table.apply(6, vacate("a", 4)));
    assert!(table.apply(7, vacate("a", 5)));
    assert_eq!((table.token("a"), office(&table, "a").holder), (5, None));
    assert!(!table.apply(8, vacate("a", 5)), "the office is already vacant");
}

#[test]
fn keeps_the_last_hundred_changes_of_each_office() {
    let mut table = Table::default();
    table.apply(1, grant("b", 1, 0));
    (2..300).for_each(|index| {
        table.apply(index, grant("a", index, table.token("a")));
    });
    let of = |name: &str| &office(&table, name).history;
    assert_eq!((of("a").len(), of("b").len()), (MAX_CHANGES, 1));
    assert_eq!(of("a").back().map(|entry| entry.token), Some(299));
}

/// The index of all changes is what sorting them all would give, whatever is granted, vacated, trimmed and forgotten,
/// and whether the clock goes back.
#[test]
fn the_last_changes_are_found_without_sorting_all_of_them() {
    let mut table = Table::default();
    let mut random = SplitMix64::new(31);
    for index in 1..4_000 {
        let name = format!("office-{}", random.below(60));
        let unix_ms = index / 7 + random.below(40);
        let held = table.offices.get(&name).is_some_and(|office| office.holder.is_some());
        let token = table.token(&name);
        let is_applied = match held && random.below(3) > 0 {
            true => table
                .apply(index, Command::Vacate { office: name.into(), token, cause: ChangeReason::Resigned, unix_ms }),
            false => {
                let Command::Grant { holder, mode, terms, cause, .. } = grant(&name, index % 5, token) else {
                    unreachable!("it is a grant")
                };
                let (office, expected_token, pinned) = (name.into(), token, false);
                table.apply(
                    index,
                    Command::Grant { office, holder, expected_token, mode, terms, cause, pinned, unix_ms },
                )
            }
        };
        assert!(is_applied);
        match index % 211 {
            0 => _ = table.offices.forget_oldest_vacant(),
            1 => table.offices.trim_histories(random.below(9) as usize),
            _ => {}
        }
        if index % 37 == 0 {
            let all =
                table.offices.iter().flat_map(|(name, office)| office.history.iter().map(move |entry| (name, entry)));
            let mut all: Vec<_> = all.collect();
            all.sort_by_key(|(_, entry)| (entry.unix_ms, entry.token));
            assert_eq!(table.offices.last_changes(), all.split_off(all.len().saturating_sub(MAX_CHANGES)));
        }
    }
    assert_eq!(Table::decode(&table.encode(), HIGHEST), Ok(table), "the index is not stored, and the same again");
}

#[test]
fn registers_a_disk_once_and_never_reuses_ids() {
    let member = |id| Member {
        id: Id(id),
        name: format!("n{id}"),
        address: "h:1".to_string(),
        priority: 0,
        role: Default::default(),
    };
    let mut table = Table::with_members(&[member(1), member(7)]);
    table.apply(1, Command::RegisterStore { id: Id(1), store_id: 11, reads: 1 });
    table.apply(2, Command::RegisterStore { id: Id(1), store_id: 12, reads: 1 });
    assert_eq!(table.members[&Id(1)].store_id, 11);
    table.apply(3, Command::RemoveMember(Id(7)));
    assert_eq!((table.max_member_id, table.member_by_name("n7")), (7, None));
    assert_eq!(Table::decode(&table.encode(), HIGHEST), Ok(table));
}

/// A name of the maximum length.
fn long_name(number: usize) -> String {
    format!("{number:x>63}")
}

/// A table with this many offices, in which every name, number and history has its maximum size.
fn largest_table(offices: usize) -> Table {
    let host = ["h".repeat(63).as_str(); 3].join(".") + "." + &"h".repeat(61);
    let members = (0..MAX_MEMBERS).map(|number| Member {
        id: Id(u64::MAX - number as u64),
        name: long_name(number),
        address: format!("{host}:65535"),
        priority: u32::MAX,
        role: crate::member::Role::Observer,
    });
    let members: Vec<Member> = members.collect();
    assert!(members.iter().all(|member| crate::config::member_problem(member).is_none()), "they are valid members");
    let mut table = Table::with_members(&members);
    for member in &members {
        table.apply(1, Command::RegisterStore { id: member.id, store_id: u64::MAX, reads: u8::MAX });
        for number in 0..=MAX_FORMER_ADDRESSES {
            let address = format!("{number}{}", &member.address[1..]);
            table.apply(1, Command::RetireAddress { id: member.id, address });
        }
    }
    let mut index = MAX_INDEX;
    for number in 0..MAX_SETTINGS {
        let key = format!("{number:x>MAX_SETTING_KEY$}");
        let put = Command::Put { key, expected_revision: Some(0), value: Some(vec![255; MAX_SETTING_BYTES]) };
        assert!(table.apply(index, put), "there is room for all settings");
    }
    // One change more than is kept.
    for _ in 0..=history_limit(offices) {
        for number in 0..offices {
            let office: OfficeName = if number == 0 { LEADER.into() } else { long_name(number).into() };
            let holder = Holder { id: Id(u64::MAX), incarnation: u64::MAX };
            let (expected_token, mode, cause) = (table.token(&office), Mode::Fenced, ChangeReason::Elected);
            let terms = LeaseTerms { lease: Duration::MAX, stop: Duration::MAX };
            let unix_ms = u64::MAX;
            let grant = Command::Grant { office, holder, expected_token, mode, terms, cause, pinned: true, unix_ms };
            index += 1;
            assert!(table.apply(index, grant), "there is room for {offices} offices");
        }
    }
    for number in 0..=completions::MAX_COMPLETIONS {
        let (office, token) = (long_name(offices - 1).into(), table.token(&long_name(offices - 1)));
        let complete = Command::Complete { office, token, key: format!("{number:x>128}"), unix_ms: u64::MAX };
        assert!(table.apply(index, complete), "there is room for all completions");
    }
    table
}

/// The size of a relayed message with a snapshot of this table.
fn bytes_in_a_frame(table: &Table) -> usize {
    let mut message = RaftLibraryMessage::default();
    message.set_msg_type(MessageType::MsgSnapshot);
    (message.term, message.commit) = (u64::MAX, u64::MAX);
    let snapshot = message.mut_snapshot();
    snapshot.data = table.encode().into();
    let voters: Vec<u64> = table.members.keys().map(|id| id.0).collect();
    let meta = snapshot.mut_metadata();
    (meta.index, meta.term) = (u64::MAX, u64::MAX);
    meta.set_conf_state(ConfState { voters, ..ConfState::default() });
    let bytes = Message::Raft(RaftMessage::from(&message)).encode();
    let seal = Some(Seal { scheme: u16::MAX, signature: vec![255; 1 << 10], chain: vec![vec![255; 4 << 10]; 4] });
    let (id, incarnation, number) = (Id(u64::MAX), u64::MAX, u64::MAX);
    let relay =
        Relay { from: id, incarnation, to: id, to_incarnation: incarnation, number, is_bulk: true, bytes, seal };
    Message::Relay(relay).encode().len()
}

#[test]
fn the_largest_table_fits_into_a_frame() {
    let limit = Limits::default().frame;
    // With the maximum number of offices; and with one less, where the total of remembered changes divides evenly.
    for offices in [MAX_OFFICES + 1, MAX_OFFICES] {
        let table = largest_table(offices);
        assert_eq!(table.offices.len(), offices);
        let entries: Vec<usize> = table.offices.iter().map(|(_, office)| office.history.len()).collect();
        assert!(entries.iter().all(|entries| *entries == history_limit(offices)), "every history is full");
        let bytes = bytes_in_a_frame(&table);
        assert!(bytes < limit / 10 * 9, "{offices} offices: {bytes} of {limit} bytes");
    }
}

fn complete(office: &str, token: u64, key: &str) -> Command {
    Command::Complete { office: office.into(), token, key: key.to_string(), unix_ms: 9 }
}

#[test]
fn a_completion_needs_the_current_token() {
    let mut table = Table::default();
    assert!(!table.apply(4, complete("a", 0, "k")), "nobody holds the office");
    table.apply(5, grant("a", 1, 0));
    assert!(table.apply(6, complete("a", 5, "k")));
    table.apply(7, grant("a", 2, 5));
    assert!(!table.apply(8, complete("a", 5, "late")), "another holder has followed");
    assert!(table.apply(9, complete("a", 7, "k")), "it is recorded already");
    let first = table.completions.get("a", "k").expect("it was recorded");
    assert_eq!((first.holder, first.token, table.completions.len()), (Id(1), 5, 1), "the first record is kept");
    table.apply(10, vacate("a", 7));
    assert!(!table.apply(11, complete("a", 7, "later")), "the office is vacant");
    table.apply(12, grant("b", 1, 0));
    assert!(table.completions.get("b", "k").is_none(), "a key belongs to an office");
    for key in ["", "a\tb", &"x".repeat(129)] {
        assert!(!table.apply(13, complete("b", 12, key)), "{key:?}");
    }
    assert_eq!(Table::decode(&table.encode(), HIGHEST), Ok(table));
}

#[test]
fn the_oldest_completions_are_forgotten() {
    let mut table = Table::default();
    table.apply(5, grant("a", 1, 0));
    for number in 0..completions::MAX_COMPLETIONS + 3 {
        assert!(table.apply(6, complete("a", 5, &format!("k{number}"))));
    }
    assert_eq!(table.completions.len(), completions::MAX_COMPLETIONS);
    assert!(table.completions.get("a", "k2").is_none() && table.completions.get("a", "k3").is_some());
}

/// Records a completion at this time, in days.
fn complete_on(table: &mut Table, office: &str, key: &str, day: u64) {
    let unix_ms = day * 24 * 60 * 60 * 1_000;
    let (token, office, key) = (table.token(office), office.into(), key.to_string());
    assert!(table.apply(9, Command::Complete { office, token, key, unix_ms }));
}

#[test]
fn frequent_jobs_do_not_take_the_records_of_rare_ones() {
    let mut table = Table::default();
    table.apply(1, grant("daily", 1, 0));
    complete_on(&mut table, "daily", "first", 1);
    complete_on(&mut table, "daily", "second", 1);
    for job in 0..20 {
        table.apply(2 + job, grant(&format!("job{job}"), 1, 0));
    }
    for (minute, job) in (0..24 * 60).flat_map(|minute| (0..20).map(move |job| (minute, job))) {
        complete_on(&mut table, &format!("job{job}"), &format!("{minute}"), 1);
    }
    assert_eq!(table.completions.len(), completions::MAX_COMPLETIONS);
    assert!(["first", "second"].iter().all(|key| table.completions.get("daily", key).is_some()));
    // The others share the room.
    let share = completions::MAX_COMPLETIONS / 20 - 1;
    let is_known = |job: u64, minute: usize| table.completions.get(&format!("job{job}"), &minute.to_string()).is_some();
    assert!((0..20).all(|job| is_known(job, 24 * 60 - share) && !is_known(job, 24 * 60 - share - 3)));
}

#[test]
fn old_records_are_forgotten_first_and_only_when_there_is_no_room() {
    let mut table = Table::default();
    for (index, office) in (1..).zip(["old", "rare", "job"]) {
        table.apply(index, grant(office, 1, 0));
    }
    complete_on(&mut table, "old", "k", 1);
    complete_on(&mut table, "rare", "k", 99);
    for number in 2..completions::MAX_COMPLETIONS {
        complete_on(&mut table, "job", &number.to_string(), 100);
    }
    complete_on(&mut table, "rare", "k", 450);
    assert!(table.completions.get("old", "k").is_some(), "there is room, and the record exists");
    complete_on(&mut table, "job", "later", 450);
    assert!(table.completions.get("old", "k").is_none());
    assert!(table.completions.get("rare", "k").is_some() && table.completions.get("job", "2").is_some());
    // A clock that is years ahead costs one record for each that is added.
    complete_on(&mut table, "job", "ahead", 10_000);
    assert_eq!(table.completions.len(), completions::MAX_COMPLETIONS);
    assert!(table.completions.get("rare", "k").is_none() && table.completions.get("job", "2").is_some());
}

#[test]
fn former_addresses_are_remembered_until_they_are_used_again() {
    let member = |address: &str| Member {
        id: Id(1),
        name: "a".to_string(),
        address: address.to_string(),
        priority: 0,
        role: crate::member::Role::Elector,
    };
    let mut table = Table::with_members(&[member("x:1")]);
    let mut after = |command| {
        table.apply(1, command);
        table.members[&Id(1)].former_addresses.clone()
    };
    assert_eq!(after(Command::SetMember(member("y:1"))), ["x:1"]);
    assert_eq!(after(Command::RetireAddress { id: Id(1), address: "z:1".to_string() }), ["x:1", "z:1"]);
    assert_eq!(after(Command::SetMember(member("x:1"))), ["z:1", "y:1"]);
    for number in 0..MAX_FORMER_ADDRESSES {
        after(Command::SetMember(member(&format!("h{number}:1"))));
    }
    assert_eq!(table.members[&Id(1)].former_addresses.len(), MAX_FORMER_ADDRESSES);
    assert!(!table.members[&Id(1)].former_addresses.contains(&"z:1".to_string()), "the oldest one is forgotten");
}

#[test]
fn histories_shrink_when_there_are_many_offices() {
    let mut table = Table::default();
    for index in 1..=150 {
        table.apply(index, grant("a", index, table.token("a")));
    }
    let few = MAX_TOTAL_CHANGES / MAX_CHANGES;
    (1..few).for_each(|number| _ = table.apply(1_000 + number as u64, grant(&format!("b{number}"), 1, 0)));
    assert_eq!((table.offices.len(), office(&table, "a").history.len()), (few, MAX_CHANGES));
    (0..few).for_each(|number| _ = table.apply(5_000 + number as u64, grant(&format!("c{number}"), 1, 0)));
    assert_eq!((table.offices.len(), office(&table, "a").history.len()), (2 * few, MAX_CHANGES / 2));
    assert_eq!(office(&table, "a").history.back().map(|entry| entry.token), Some(150), "the latest changes are kept");
}

/// A table with the maximum number of offices, granted in order from log index `first`, and `leader`.
fn full_table(first: u64) -> Table {
    let mut table = Table::default();
    table.apply(first - 1, grant(LEADER, 1, 0));
    for number in 0..MAX_OFFICES {
        assert!(table.apply(first + number as u64, grant(&format!("o{number}"), 1, 0)));
    }
    table
}

#[test]
fn forgets_the_oldest_vacant_office_when_there_is_no_room() {
    let mut table = full_table(10);
    let next = 10 + MAX_OFFICES as u64;
    assert_eq!((table.remaining_capacity(), table.apply(next, grant("new", 1, 0))), (0, false), "all offices are held");
    for (number, office) in [(0, "o7"), (1, "o3"), (2, LEADER)] {
        table.apply(next + number, vacate(office, table.token(office)));
    }
    assert_eq!(table.remaining_capacity(), 2, "`leader` does not count");
    assert!(table.apply(next + 9, grant("new", 1, 0)));
    assert!(
        !table.offices.contains("o3") && table.offices.contains("o7"),
        "the office with the lowest token is forgotten"
    );
    assert_eq!(table.offices.len(), MAX_OFFICES + 1);
    assert!(table.apply(next + 10, grant("newer", 1, 0)));
    assert!(!table.apply(next + 11, grant("newest", 1, 0)), "`leader` is never forgotten");
    assert!(table.apply(next + 12, grant(LEADER, 1, table.token(LEADER))));
}

#[test]
fn there_is_always_room_for_the_office_leader() {
    let mut table = Table::default();
    (0..MAX_OFFICES).for_each(|number| _ = table.apply(10 + number as u64, grant(&format!("o{number}"), 1, 0)));
    assert!(table.apply(1 << 20, grant(LEADER, 1, 0)));
    assert_eq!(table.offices.len(), MAX_OFFICES + 1);
}

#[test]
fn a_forgotten_office_comes_back_with_a_higher_token() {
    let mut table = full_table(10);
    let next = 10 + MAX_OFFICES as u64;
    let before = table.token("o3");
    // This grant is proposed while the office is known and vacant, and is applied after the office was forgotten.
    let stale = grant("o3", 2, before);
    table.apply(next, vacate("o3", before));
    table.apply(next + 1, grant("new", 1, 0));
    assert_eq!(table.token("o3"), 0, "the office is forgotten");
    assert!(!table.apply(next + 2, stale), "its last token is forgotten");
    assert!(!table.apply(next + 3, vacate("o3", before)));
    table.apply(next + 4, vacate("o5", table.token("o5")));
    assert!(table.apply(next + 5, grant("o3", 2, 0)));
    assert!(table.token("o3") > before);
    assert!(!table.apply(next + 6, grant("o3", 1, 0)), "the office is known again");
}

#[test]
fn the_longest_lease_of_forgotten_fenced_offices_is_remembered() {
    let fenced = |office: &str, lease| match grant(office, 1, 0) {
        Command::Grant { office, holder, expected_token, cause, pinned, unix_ms, .. } => {
            let terms = LeaseTerms { lease: Duration::from_secs(lease), stop: Duration::ZERO };
            Command::Grant { office, holder, expected_token, mode: Mode::Fenced, terms, cause, pinned, unix_ms }
        }
        other => other,
    };
    let mut table = full_table(10_000);
    let next = 10_000 + MAX_OFFICES as u64;
    let mut remembered = Vec::new();
    for (step, (office, lease)) in (0..).zip([("f", 60), ("g", 30), ("h", 30)]) {
        let index = next + 10 * step;
        assert!(table.apply(index, vacate(&format!("o{step}"), table.token(&format!("o{step}")))));
        assert!(table.apply(index + 1, fenced(office, lease)), "it takes the place of an exclusive one");
        assert!(table.apply(index + 2, vacate(office, index + 1)));
        assert!(table.apply(index + 3, grant(&format!("p{step}"), 1, 0)), "it takes the place of the fenced one");
        remembered.push((table.forgotten_fenced.index - index, table.fenced_lease(office).as_secs()));
    }
    assert_eq!(remembered, [(3, 60); 3]);
}

#[test]
fn all_nodes_forget_the_same_offices() {
    let mut table = full_table(10);
    let mut restored = Table::decode(&table.encode(), HIGHEST).expect("it was just encoded");
    for number in 0..50u64 {
        let index = 100_000 + 2 * number;
        let office = format!("o{}", number * 7);
        let commands = [vacate(&office, table.token(&office)), grant(&format!("n{number}"), 1, 0)];
        for (command, index) in commands.into_iter().zip(index..) {
            assert_eq!(table.apply(index, command.clone()), restored.apply(index, command));
        }
    }
    assert_eq!(table, restored);
}
