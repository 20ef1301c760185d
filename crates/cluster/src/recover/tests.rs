use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, Entry, EntryType};

use super::*;
use crate::api::{ChangeReason, Request};
use crate::clock::Timestamp;
use crate::config::{ArbiterKind, Mode, Policy};
use crate::core::table::{Command, Holder, encode_membership};
use crate::core::{ClientId, Core, Output, Setup};
use crate::faults::DisabledRules;
use crate::store::{Store, StoreOwner, Write};
use crate::tests::member;
use crate::timing::Timing;
use crate::wire::MAX_INDEX;

/// The configuration of node 1 of three electors.
fn config(data: &Path) -> Config {
    Config {
        offices: vec![("fast".to_string(), Policy { mode: Mode::Fenced, ..Policy::default() })],
        data: data.to_path_buf(),
        ..crate::tests::config(1, [1, 2, 3].map(|id| member(id, Role::Elector)).to_vec())
    }
}

fn open(config: &Config) -> (Store, crate::store::Recovered) {
    let owner = StoreOwner { cluster: config.cluster.clone(), id: config.node };
    Store::open(&config.data, &owner).expect("the store is valid")
}

fn grant(office: &str, id: u64) -> Command {
    Command::Grant {
        office: office.into(),
        holder: Holder { id: Id(id), incarnation: 5 },
        expected_token: 0,
        mode: Mode::Exclusive,
        terms: Timing::default().terms(),
        cause: ChangeReason::Vacant,
        pinned: false,
        unix_ms: 0,
    }
}

fn entry(index: u64, term: u64, command: &Command) -> Entry {
    Entry { index, term, data: command.encode(1).into(), ..Entry::default() }
}

/// An entry that adds or removes a member.
fn change(index: u64, id: u64, member: Option<&Member>) -> Entry {
    let mut change = ConfChangeV2::default();
    let mut single = ConfChangeSingle { node_id: id, ..ConfChangeSingle::default() };
    single.set_change_type(if member.is_some() { ConfChangeType::AddNode } else { ConfChangeType::RemoveNode });
    change.mut_changes().push(single);
    let data = protobuf::Message::write_to_bytes(&change).expect("it is plain data");
    let mut entry = Entry { index, term: 4, data: data.into(), ..Entry::default() };
    entry.context = encode_membership(member, 1).into();
    entry.set_entry_type(EntryType::EntryConfChangeV2);
    entry
}

/// A folder with these entries, of which the first three are known to be committed.
fn folder_with(entries: Vec<Entry>) -> (tempfile::TempDir, Config) {
    let place = tempfile::tempdir().expect("a folder");
    let config = config(&place.path().join("data"));
    let (mut store, _) = open(&config);
    let hard_state = HardState { term: 6, vote: 2, commit: 3, ..HardState::default() };
    store.write(&Write { number: 1, hard_state: Some(hard_state), entries, sync: true, ..Write::default() }).unwrap();
    (place, config)
}

/// The first entry of a term, a grant, an added member, a grant that is not known to be committed, and a removal.
fn entries() -> Vec<Entry> {
    vec![
        Entry { index: 1, term: 4, ..Entry::default() },
        entry(2, 4, &grant("job", 2)),
        change(3, 7, Some(&member(7, Role::Witness))),
        entry(4, 4, &grant("late", 1)),
        change(5, 3, None),
    ]
}

/// The names and contents of the files in a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let list = fs::read_dir(folder).expect("it exists").map(|entry| entry.expect("it can be listed"));
    list.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn inspecting_and_planning_change_nothing() {
    let (_place, config) = folder_with(entries());
    let before = files(&config.data);
    let state = FolderSummary {
        cluster: "test".to_string(),
        node: Id(1),
        term: 6,
        last_term: 4,
        last_index: 5,
        committed: 3,
        torn_at: None,
    };
    assert_eq!(inspect(&config.data).expect("it can be read"), state);
    let planned = plan(&config, 0).expect("it can be planned");
    assert_eq!(planned.before, state);
    assert_eq!(planned.survivor, member(1, Role::Elector));
    assert_eq!(planned.removed, [member(2, Role::Elector), member(7, Role::Witness)], "the whole log counts");
    assert_eq!((planned.highest_token, planned.token_floor, planned.term), (4, 5 + INDEX_GAP, 7));
    assert_eq!(planned.backup, None);
    assert!(files(&config.data) == before, "nothing was changed");
}

#[test]
fn a_recovered_folder_holds_one_voter_a_higher_index_and_the_whole_table() {
    let (_place, config) = folder_with(entries());
    let before = files(&config.data);
    let recovered = recover(&config, 0).expect("it can be recovered");
    let backup = recovered.backup.clone().expect("it was replaced");
    assert_eq!(backup, config.data.join("log.backup-1"));
    assert!(fs::read(&backup).unwrap() == before["log"], "the backup is the old log");
    assert_eq!(recovered, Recovery { backup: Some(backup.clone()), ..recovered.clone() });
    let (_, opened) = open(&config);
    let state = opened.storage.initial_state().unwrap();
    let index = 5 + INDEX_GAP;
    assert_eq!((state.hard_state.term, state.hard_state.vote, state.hard_state.commit), (7, 0, index));
    assert_eq!(state.conf_state, ConfState::from((vec![1], Vec::new())));
    assert_eq!((opened.storage.first_index(), opened.storage.last_index()), (Ok(index + 1), Ok(index)));
    let table = stored_table(&opened.storage, 1).unwrap().expect("there is a snapshot");
    assert_eq!(table.members.keys().copied().collect::<Vec<_>>(), [Id(1)]);
    assert_eq!((table.max_member_id, table.recovered), (7, true), "ids are never used again");
    let holder = |office: &str| table.offices.get(office).and_then(|known| known.holder).map(|holder| holder.id);
    assert_eq!((holder("job"), holder("late")), (Some(Id(2)), Some(Id(1))), "their leases must run out");
    // The folder can be recovered again, and the backup restored.
    drop(opened);
    let again = recover(&config, 0).expect("it can be recovered again");
    assert_eq!((again.token_floor, again.term), (index + INDEX_GAP, 8));
    assert_eq!(again.backup, Some(config.data.join("log.backup-2")));
    fs::rename(&backup, config.data.join("log")).unwrap();
    assert_eq!(inspect(&config.data).expect("it can be read").last_index, 5);
}

/// A program without bounds for terms has stored one that nobody could follow: there was no message of a later term.
#[test]
fn terms_begin_again_after_a_forged_one() {
    let (_place, config) = folder_with(entries());
    let (mut store, opened) = open(&config);
    let forged = HardState { term: MAX_INDEX, vote: 0, commit: 3, ..HardState::default() };
    store.write(&Write { number: 1, hard_state: Some(forged), sync: true, ..Write::default() }).unwrap();
    drop((store, opened));
    let recovered = recover(&config, 0).expect("it can be recovered");
    assert_eq!((recovered.before.term, recovered.term), (MAX_INDEX, 1));
    let (_store, opened) = open(&config);
    let mut node = Alone::new(config, opened.storage);
    node.times(&[&|core| core.arbiter_leader() == Some(Id(1))]);
    assert!((2..10).contains(&node.core.arbiter_term()), "{}", node.core.arbiter_term());
}

#[test]
fn tokens_begin_above_the_floor() {
    let (_place, config) = folder_with(entries());
    let floor = |floor| plan(&config, floor).map(|recovery| recovery.token_floor);
    assert_eq!(floor(5 + INDEX_GAP).ok(), Some(5 + INDEX_GAP));
    assert_eq!(floor(6 + INDEX_GAP).ok(), Some(6 + INDEX_GAP));
    assert_eq!(floor(MAX_TOKEN_FLOOR).ok(), Some(MAX_TOKEN_FLOOR));
    assert!(matches!(floor(MAX_TOKEN_FLOOR + 1), Err(RecoverError::FloorTooHigh { .. })));
    assert!(matches!(floor(u64::MAX), Err(RecoverError::FloorTooHigh { .. })));
    recover(&config, MAX_TOKEN_FLOOR).expect("the highest floor");
    assert!(matches!(plan(&config, 0), Err(RecoverError::FloorTooHigh { .. })), "there is no room above");
}

/// Why the store refuses it.
fn store_error(refused: Result<Recovery, RecoverError>) -> StoreError {
    match refused {
        Err(RecoverError::Store(error)) => *error.downcast().expect("an error of the store"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn refuses_what_it_cannot_continue_with() {
    let place = tempfile::tempdir().expect("a folder");
    let nowhere = config(&place.path().join("nowhere"));
    assert!(matches!(store_error(plan(&nowhere, 0)), StoreError::Missing { .. }));
    assert!(!nowhere.data.exists(), "looking creates nothing");
    let blank = config(&place.path().join("blank"));
    drop(open(&blank));
    assert!(matches!(plan(&blank, 0), Err(RecoverError::Blank { .. })));
    let (_folder, used) = folder_with(entries());
    let other = Config { cluster: "other".to_string(), ..used.clone() };
    assert!(matches!(store_error(plan(&other, 0)), StoreError::Other { what: "cluster", .. }));
    let running = open(&used);
    assert!(matches!(recover(&used, 0), Err(RecoverError::InUse { .. })));
    assert!(matches!(inspect(&used.data), Err(RecoverError::InUse { .. })));
    drop(running);
    let observer = Config { members: vec![member(1, Role::Observer), member(2, Role::Elector)], ..used.clone() };
    assert!(matches!(plan(&observer, 0), Err(RecoverError::NotAVoter { .. })));
    let (_folder, removed) = folder_with([entries(), vec![change(6, 1, None)]].concat());
    assert!(matches!(plan(&removed, 0), Err(RecoverError::NotAVoter { .. })));
    let later = Entry { data: vec![2, 0].into(), ..entry(6, 4, &Command::set_paused(true)) };
    let (_folder, unreadable) = folder_with([entries(), vec![later]].concat());
    assert!(matches!(plan(&unreadable, 0), Err(RecoverError::Unreadable { index: 6, .. })));
}

/// A node alone, with this disk, and the milliseconds since it was started.
struct Alone {
    core: Core,
    start: Timestamp,
    ms: u64,
}

impl Alone {
    fn new(config: Config, storage: RaftStorage) -> Self {
        let start = Timestamp(1 << 40);
        let (incarnation, store_id, disabled_rules) = (9, 7, DisabledRules::default());
        let core = Core::new(
            Setup { config, incarnation, store_id, storage, seed: 1, disabled_rules, formats: Default::default() },
            start,
        )
        .unwrap();
        Alone { core, start, ms: 0 }
    }

    /// When each of these conditions holds first, in milliseconds.
    fn times(&mut self, conditions: &[&dyn Fn(&Core) -> bool]) -> Vec<u64> {
        let mut times = vec![None; conditions.len()];
        while times.contains(&None) {
            assert!(self.ms < 10_000, "after 10 s: {times:?}");
            self.ms += 1;
            let now = self.start + Duration::from_millis(self.ms);
            self.core.handle_timeout(now);
            let mut outputs = self.core.take_outputs();
            while !outputs.is_empty() {
                for output in outputs {
                    if let Output::Write(write) = output {
                        self.core.handle_persisted(write.number, now);
                    }
                }
                outputs = self.core.take_outputs();
            }
            for (time, condition) in times.iter_mut().zip(conditions).filter(|(time, _)| time.is_none()) {
                *time = condition(&self.core).then_some(self.ms);
            }
        }
        times.into_iter().flatten().collect()
    }
}

fn token(core: &Core, office: &str) -> Option<u64> {
    core.held_offices().find(|(name, _)| *name == office).map(|(_, token)| token)
}

/// When a node with this disk leads, holds an office that was held, one that nobody knows, and a fenced one.
fn times_alone(config: &Config, storage: RaftStorage) -> (Vec<u64>, Core) {
    let mut alone = Alone::new(config.clone(), storage);
    for (client, office) in (1..).zip(["job", "unknown", "fast"]) {
        let request = Request::Campaign { office: office.to_string(), mode: None, guard: None };
        alone.core.handle_request(ClientId(client), request, alone.start);
    }
    let holds = |office: &'static str| move |core: &Core| token(core, office).is_some();
    let times = alone.times(&[
        &|core: &Core| core.arbiter_leader() == Some(Id(1)),
        &holds("job"),
        &holds("unknown"),
        &holds("fast"),
    ]);
    (times, alone.core)
}

#[test]
fn a_recovered_node_leads_alone_and_waits_for_every_lease_from_before() {
    let (_place, config) = folder_with(entries());
    let floor = recover(&config, 0).expect("it can be recovered").token_floor;
    let (store, opened) = open(&config);
    drop(store);
    let (times, core) = times_alone(&config, opened.storage);
    let wait = config.timing.takeover_delay().as_millis() as u64;
    let [leads, job, unknown, fast] = times[..] else { panic!("{times:?}") };
    // Also an office that the table calls fenced may have become exclusive in an entry that is lost.
    assert!(leads < 100 && [job, unknown, fast].iter().all(|time| *time >= leads + wait), "{times:?}");
    assert!(unknown < leads + wait + 100, "it does not wait for longer: {times:?}");
    for office in ["job", "unknown", "fast"] {
        assert!(token(&core, office) > Some(floor), "{office}");
    }
    // A new cluster of one need not wait for anybody.
    let alone = Config { members: vec![member(1, Role::Elector)], ..config };
    let (times, _) = times_alone(&alone, RaftStorage::empty());
    assert!(times[2] < times[0] + wait, "{times:?}");
}

#[test]
fn a_recovered_node_waits_for_the_longest_lease_that_any_office_may_have_had() {
    let (_place, config) = folder_with(entries());
    recover(&config, 0).expect("it can be recovered");
    let (store, opened) = open(&config);
    drop(store);
    // The office may have been granted in an entry that is lost. Nothing in the table says so.
    let slow = Policy { lease: Some(Duration::from_secs(2)), ..Policy::default() };
    let offices = [config.offices.clone(), vec![("unknown".to_string(), slow)]].concat();
    let (times, _) = times_alone(&Config { offices, ..config }, opened.storage);
    let [leads, job, unknown, fast] = times[..] else { panic!("{times:?}") };
    assert!([job, unknown, fast].iter().all(|time| *time >= leads + 2_000), "{times:?}");
}

#[test]
fn a_new_cluster_begins_above_the_floor_with_all_members() {
    let place = tempfile::tempdir().expect("a folder");
    let config = config(&place.path().join("data"));
    for floor in [0, MAX_TOKEN_FLOOR + 1] {
        assert!(matches!(begin(&config, floor), Err(RecoverError::FloorTooHigh { .. })));
    }
    let without = Config { arbiter: ArbiterKind::None, ..config.clone() };
    assert!(matches!(begin(&without, 500), Err(RecoverError::NoLog)));
    assert!(matches!(begin(&Config { join: true, ..config.clone() }, 500), Err(RecoverError::Joins { .. })));
    assert!(!config.data.exists(), "nothing was changed");
    begin(&config, 500).expect("it can begin");
    assert!(matches!(begin(&config, 600), Err(RecoverError::NotBlank { .. })));
    let (store, opened) = open(&config);
    assert_eq!((opened.storage.first_index(), opened.storage.last_index()), (Ok(501), Ok(500)));
    let state = opened.storage.initial_state().unwrap();
    assert_eq!(state.conf_state, ConfState::from((vec![1, 2, 3], Vec::new())));
    let table = stored_table(&opened.storage, 1).unwrap().expect("there is a snapshot");
    assert_eq!(table, Table::with_members(&config.members));
    drop(store);
    let alone = Config { members: vec![member(1, Role::Elector)], data: place.path().join("alone"), ..config };
    begin(&alone, 1 << 50).expect("it can begin");
    let (store, opened) = open(&alone);
    drop(store);
    let (_, core) = times_alone(&alone, opened.storage);
    assert!(token(&core, "job") > Some(1 << 50));
}

/// A voter of the first election was lost before it had an entry: the others have votes and nothing else.
#[test]
fn a_new_cluster_begins_with_the_votes_of_a_first_election_that_failed() {
    let begun = |write: Write| {
        let place = tempfile::tempdir().expect("a folder");
        let config = config(&place.path().join("data"));
        open(&config).0.write(&Write { number: 1, sync: true, ..write }).unwrap();
        let done = begin(&config, 500);
        done.map(|()| open(&config).1.storage.initial_state().unwrap().hard_state)
    };
    let vote = HardState { term: 3, vote: 2, ..HardState::default() };
    let begins = begun(Write { hard_state: Some(vote), ..Write::default() }).expect("it has no entry");
    assert_eq!((begins.term, begins.vote, begins.commit), (3, 2, 500));
    let refused = Write { refused_as: Some(5), ..Write::default() };
    let entry = Write { entries: vec![Entry { index: 1, term: 1, ..Entry::default() }], ..Write::default() };
    for write in [refused, entry] {
        assert!(matches!(begun(write), Err(RecoverError::NotBlank { .. })));
    }
}

#[test]
fn a_backup_of_a_store_in_use_is_for_recovery_only() {
    let (place, config) = folder_with(entries());
    let copy = place.path().join("copy");
    let (running, _) = open(&config);
    let before = files(&config.data);
    let state = back_up(&config.data, &copy).expect("the folder is new");
    assert_eq!(files(&config.data), before, "the node's own files are not touched");
    assert_eq!((state.node, state.last_index, state.committed, state.torn_at), (Id(1), 5, 3, None));
    drop(running);
    assert_eq!(state, inspect(&config.data).expect("nobody uses it any more"));

    let config = Config { data: copy.clone(), ..config };
    let owner = StoreOwner { cluster: config.cluster.clone(), id: config.node };
    assert!(matches!(Store::open(&copy, &owner), Err(StoreError::Backup { folder }) if folder == copy));
    assert!(matches!(back_up(&config.data, &copy), Err(RecoverError::Folder(_))), "it is not overwritten");
    recover(&config, 0).expect("it is a voter's");
    drop(open(&config));
    let missing = back_up(&place.path().join("nowhere"), &place.path().join("other")).expect_err("there is no node");
    assert!(missing.to_string().contains("holds no state of a node") && !place.path().join("other").exists());
}
