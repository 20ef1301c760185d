use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::member::Role;

fn plan() -> Plan {
    let members = ["a=10.0.0.1:7401,priority=3", "b=[::1]:7402", "c=host:7403,role=witness"];
    Plan::new("shop", members.map(|text| text.parse().expect("good newcomers")).into())
}

fn newcomer(text: &str) -> Newcomer {
    text.parse().expect("a good newcomer")
}

fn config(folder: &Path) -> Config {
    Config::read_with(&folder.join("hustings.toml"), &|_| None).expect("what was written can be read")
}

/// Everything below a folder: its mode, and what files hold.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("its entries can be read").path();
        let mode = fs::metadata(&path).expect("it is there").permissions().mode() & 0o777;
        if path.is_dir() {
            found.extend(tree(&path));
            found.insert(path, (mode, Vec::new()));
        } else {
            let bytes = fs::read(&path).expect("it can be read");
            found.insert(path, (mode, bytes));
        }
    }
    found
}

#[test]
fn a_founded_cluster_has_all_its_files_and_reads_back() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = place.path().join("shop");
    let mut plan = plan();
    plan.algorithm = Choice::named("franklin", Some(vec!["odd=\"\\\u{7f}\n".to_string()]));
    plan.arbiter = ArbiterKind::None;
    plan.timing.lease = Duration::from_millis(333);
    let founded = found(&folder, &plan).expect("the folder is new");
    let all: Vec<Member> = founded.members.iter().map(|(member, _)| member.clone()).collect();
    assert_eq!(all.iter().map(|member| member.id.0).collect::<Vec<_>>(), [1, 2, 3]);
    for (member, path) in &founded.members {
        let config = config(path);
        assert_eq!((config.node, &config.listen), (member.id, &member.address));
        assert_eq!((&config.cluster, &config.members), (&plan.cluster, &all));
        assert_eq!((&config.algorithm, config.arbiter, config.timing), (&plan.algorithm, plan.arbiter, plan.timing));
        assert_eq!((config.offices.len(), config.default_policy, &config.health), (0, Default::default(), &None));
        assert_eq!(config.tls.key, path.join("node.key"));
        for file in [&config.tls.authority, &config.tls.certificate, &config.tls.key] {
            assert!(fs::read_to_string(file).expect("it was written").starts_with("-----BEGIN"));
        }
        assert_eq!(config.data, path.join("data"));
    }
    for (path, (mode, _)) in tree(place.path()) {
        let secret = path.extension().is_some_and(|end| end == "key") || path.ends_with("authority.toml");
        let most = match (path.is_dir(), secret) {
            (true, _) => 0o700,
            (false, true) => 0o600,
            (false, false) => 0o644,
        };
        assert_eq!(mode & !most, 0, "{}: {mode:o}", path.display());
    }
    assert_eq!(fs::read_dir(place.path()).expect("it is there").count(), 1, "no draft is left");
}

#[test]
fn nothing_is_ever_overwritten() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = place.path().join("shop");
    found(&folder, &plan()).expect("the folder is new");
    let before = tree(place.path());
    assert!(matches!(found(&folder, &plan()), Err(BootstrapError::Exists(path)) if path == folder));
    assert_eq!(tree(place.path()), before);
    let file = place.path().join("file");
    fs::write(&file, "x").expect("the folder is ours");
    assert!(matches!(found(&file, &plan()), Err(BootstrapError::File { .. })));
    assert_eq!(fs::read(&file).expect("it is still there"), b"x");
}

#[test]
fn an_empty_folder_is_as_good_as_none() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = place.path().join("shop");
    fs::create_dir(&folder).expect("the folder is ours");
    assert_eq!(found(&folder, &plan()).expect("it is empty").members.len(), 3);
}

#[test]
fn a_plan_that_makes_no_cluster_writes_nothing() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = place.path().join("shop");
    let told = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan();
        change(&mut plan);
        let error = found(&folder, &plan).expect_err("it makes no cluster").to_string();
        assert!(tree(place.path()).is_empty());
        error
    };
    assert!(told(&|plan| plan.cluster = "a b".to_string()).starts_with("`cluster` is `a b`"));
    assert!(told(&|plan| plan.members.clear()).starts_with("`member` is missing"));
    assert!(told(&|plan| plan.members[1].name = "a".to_string()).starts_with("`member: name` is `a`"));
    assert!(told(&|plan| plan.algorithm = Choice::named("itai-rodeh", None)).contains("without ids"));
    assert!(told(&|plan| plan.timing.tick = Duration::ZERO).starts_with("timing.tick is 0s"));
    assert!(told(&|plan| plan.node_lifetime = DAY * 4000).contains("members no longer than the authority"));
    assert!(told(&|plan| plan.authority_lifetime = Duration::MAX).contains("an hour to 100 years"));
    assert!(told(&|plan| plan.node_lifetime = Duration::ZERO).contains("certificates of members"));
}

#[test]
fn a_member_is_admitted_with_a_number_that_nobody_had() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = place.path().join("shop");
    found(&folder, &plan()).expect("the folder is new");
    let admitted = admit(&folder, &newcomer("d=h:4,role=observer,priority=9")).expect("there is room");
    assert_eq!((admitted.member.id, admitted.member.role), (Id(4), Role::Observer));
    let config = config(&admitted.folder);
    assert_eq!((config.node, config.members.len()), (Id(4), 4));
    assert_eq!(config.own(), Some(&admitted.member));
    // It is of the same authority, and its name says who it is.
    let certificate = |path: &Path| fs::read(path).expect("it was written");
    assert_eq!(certificate(&config.tls.authority), certificate(&folder.join("authority.crt")));
    assert!(matches!(admit(&folder, &newcomer("d=h:5")), Err(BootstrapError::Member(name)) if name == "d"));
    let same_address = admit(&folder, &newcomer("e=h:4")).expect_err("d is there").to_string();
    assert!(same_address.starts_with("`member: address` is `h:4`"), "{same_address}");
    // What was refused has used up no number.
    fs::create_dir(folder.join("f")).and_then(|()| fs::write(folder.join("f/x"), "x")).expect("the folder is ours");
    assert!(matches!(admit(&folder, &newcomer("f=h:6")), Err(BootstrapError::Exists(_))));
    assert_eq!(admit(&folder, &newcomer("e=h:5")).expect("there is room").member.id, Id(5));
    // What failed after the number was taken has; a link to nowhere is found when the folder is put in its place.
    std::os::unix::fs::symlink("nowhere", folder.join("g")).expect("the folder is ours");
    assert!(matches!(admit(&folder, &newcomer("g=h:7")), Err(BootstrapError::File { .. })));
    fs::remove_file(folder.join("g")).expect("it is still a link");
    assert_eq!(admit(&folder, &newcomer("g=h:7")).expect("it can be tried again").member.id, Id(7));
}

#[test]
fn numbers_of_members_who_left_are_not_used_again() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = place.path().join("shop");
    found(&folder, &plan()).expect("the folder is new");
    assert_eq!(dismiss(&folder, "c").expect("it is a member").id, Id(3));
    assert!(matches!(dismiss(&folder, "c"), Err(BootstrapError::NoMember(name)) if name == "c"));
    assert_eq!(admit(&folder, &newcomer("d=h:4,role=observer")).expect("there is room").member.id, Id(4));
    dismiss(&folder, "a").expect("b can lead");
    let told = dismiss(&folder, "b").expect_err("nobody else can lead").to_string();
    assert!(told.contains("at least one must be an elector"), "{told}");
    let path = folder.join("authority.toml");
    let mut record = Record::read(&path).expect("it was written");
    assert_eq!((record.highest, record.members.len()), (Id(4), 2));
    record.highest = Id(1);
    replace(&path, &record.text()).expect("the folder is ours");
    let told = admit(&folder, &newcomer("e=h:5")).expect_err("the record is wrong").to_string();
    assert!(told.contains("`highest-id` is `1`"), "{told}");
}

#[test]
fn two_who_admit_at_once_give_two_numbers() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = place.path().join("shop");
    found(&folder, &plan()).expect("the folder is new");
    let mut ids: Vec<u64> = std::thread::scope(|scope| {
        let admitting: Vec<_> = (0..4)
            .map(|index| {
                let (folder, newcomer) = (&folder, newcomer(&format!("n{index}=h:{}", index + 1)));
                scope.spawn(move || admit(folder, &newcomer).expect("there is room").member.id.0)
            })
            .collect();
        admitting.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    ids.sort_unstable();
    assert_eq!(ids, [4, 5, 6, 7]);
    assert_eq!(Record::read(&folder.join("authority.toml")).expect("it was written").members.len(), 7);
}
