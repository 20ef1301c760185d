use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::config::{Mode, Preempt};
use crate::member::Role;

fn cluster_spec() -> ClusterSpec {
    let members = ["a=10.0.0.1:7401,priority=3", "b=[::1]:7402", "c=host:7403,role=witness"];
    ClusterSpec::new("shop", members.map(|text| text.parse().expect("valid members")).into())
}

fn spec(text: &str) -> MemberSpec {
    text.parse().expect("a good spec")
}

/// What a node of the cluster tells.
fn settings() -> String {
    let parsed = |text: &str| Config::parse_knowing(text, Path::new(""), &|_| None, None).expect("it is valid");
    let own = "cluster = \"shop\"\nnode = \"a\"\n";
    let member = "[[member]]\nid = 1\nname = \"a\"\naddress = \"h:1\"\n";
    let shared = "algorithm = \"franklin\"\nparams = [\"x=1\"]\n[timing]\nlease = \"7s\"\ndrift-ppm = 77\n\
                  [office-default]\nmode = \"fenced\"\npreempt = \"better\"\nlease = \"9s\"\n\
                  [[office]]\nname = \"one\"\nmode = \"exclusive\"\npreempt = { better-after = \"1m 1s\" }\nstop = \"2s\"\n\
                  [[office]]\nname = \"two\"\npreempt = \"never\"\nlease = \"8s\"\n";
    parsed(&format!("{own}{shared}{member}")).settings()
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
fn bootstrap_creates_files_that_can_be_read_back() {
    let place = tempfile::tempdir().expect("create a temporary folder");
    let folder = place.path().join("shop");
    let mut spec = cluster_spec();
    spec.algorithm = AlgorithmConfig::named("franklin", Some(vec!["odd=\"\\\u{7f}\n".to_string()]));
    spec.arbiter = ArbiterKind::None;
    spec.timing.lease = Duration::from_millis(333);
    let bootstrapped = bootstrap(&folder, &spec).expect("the folder is new");
    let all: Vec<Member> = bootstrapped.iter().map(|files| files.member.clone()).collect();
    assert_eq!(all.iter().map(|member| member.id.0).collect::<Vec<_>>(), [1, 2, 3]);
    for AddedMember { member, folder: path } in &bootstrapped {
        let config = config(path);
        assert_eq!((config.node, &config.listen), (member.id, &member.address));
        assert_eq!((&config.cluster, &config.members), (&spec.cluster, &all));
        assert_eq!((&config.algorithm, config.arbiter, config.timing), (&spec.algorithm, spec.arbiter, spec.timing));
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
fn bootstrap_never_overwrites_files() {
    let place = tempfile::tempdir().expect("create a temporary folder");
    let folder = place.path().join("shop");
    bootstrap(&folder, &cluster_spec()).expect("the folder is new");
    let before = tree(place.path());
    assert!(matches!(bootstrap(&folder, &cluster_spec()), Err(BootstrapError::Exists(path)) if path == folder));
    assert_eq!(tree(place.path()), before);
    let file = place.path().join("file");
    fs::write(&file, "x").expect("the folder is ours");
    assert!(matches!(bootstrap(&file, &cluster_spec()), Err(BootstrapError::File { .. })));
    assert_eq!(fs::read(&file).expect("it is still there"), b"x");
}

#[test]
fn bootstrap_accepts_an_empty_folder() {
    let place = tempfile::tempdir().expect("create a temporary folder");
    let folder = place.path().join("shop");
    fs::create_dir(&folder).expect("the folder is ours");
    assert_eq!(bootstrap(&folder, &cluster_spec()).expect("it is empty").len(), 3);
}

#[test]
fn an_invalid_specification_creates_nothing() {
    let place = tempfile::tempdir().expect("create a temporary folder");
    let folder = place.path().join("shop");
    let error_after = |change: &dyn Fn(&mut ClusterSpec)| {
        let mut spec = cluster_spec();
        change(&mut spec);
        let error = bootstrap(&folder, &spec).expect_err("it makes no cluster").to_string();
        assert!(tree(place.path()).is_empty());
        error
    };
    assert!(error_after(&|spec| spec.cluster = "a b".to_string()).starts_with("`cluster` is `a b`"));
    assert!(error_after(&|spec| spec.members.clear()).starts_with("`member` is missing"));
    assert!(error_after(&|spec| spec.members[1].name = "a".to_string()).starts_with("`member: name` is `a`"));
    assert!(error_after(&|spec| spec.algorithm = AlgorithmConfig::named("itai-rodeh", None)).contains("without ids"));
    assert!(error_after(&|spec| spec.timing.tick = Duration::ZERO).starts_with("timing.tick is 0s"));
    assert!(error_after(&|spec| spec.node_lifetime = DAY * 4000).contains("for members no longer than"));
    assert!(error_after(&|spec| spec.authority_lifetime = Duration::MAX).contains("an hour to 100 years"));
    assert!(error_after(&|spec| spec.node_lifetime = Duration::ZERO).contains("certificates of members"));
}

#[test]
fn a_new_member_gets_an_unused_id() {
    let place = tempfile::tempdir().expect("create a temporary folder");
    let folder = place.path().join("shop");
    bootstrap(&folder, &cluster_spec()).expect("the folder is new");
    let admitted = add_member(&folder, &spec("d=h:4,role=observer,priority=9"), &settings()).expect("there is room");
    assert_eq!((admitted.member.id, admitted.member.role), (Id(4), Role::Observer));
    let config = config(&admitted.folder);
    assert_eq!((config.node, config.members.len()), (Id(4), 4));
    assert_eq!(config.own(), Some(&admitted.member));
    // It has the settings of the cluster.
    assert_eq!((config.settings(), config.algorithm.name()), (settings(), "franklin"));
    assert_eq!((config.timing.lease, config.timing.drift_ppm), (Duration::from_secs(7), 77));
    let [one, two] = ["one", "two"].map(|name| config.policy(name));
    let (lease, preempt) = (Some(Duration::from_secs(9)), Preempt::BetterAfter(Duration::from_secs(61)));
    assert_eq!(config.default_policy, Policy { mode: Mode::Fenced, preempt: Preempt::Better, lease, stop: None });
    assert_eq!(one, Policy { mode: Mode::Exclusive, preempt, lease, stop: Some(Duration::from_secs(2)) });
    let lease = Some(Duration::from_secs(8));
    assert_eq!(two, Policy { mode: Mode::Fenced, preempt: Preempt::Never, lease, stop: None });
    // The certificate comes from the same authority.
    let certificate = |path: &Path| fs::read(path).expect("it was written");
    assert_eq!(certificate(&config.tls.authority), certificate(&folder.join("authority.crt")));
    let again =
        add_member(&folder, &spec("d=h:4,role=observer,priority=9"), &settings()).expect("it is the same member");
    assert_eq!(again, admitted, "its files are reused");
    let other =
        |text: &str| add_member(&folder, &spec(text), &settings()).expect_err("there is another one").to_string();
    assert!(other("d=h:5").contains("`d` was added before with another address"), "{}", other("d=h:5"));
    assert!(other("a=h:1").contains("`a` was added before"), "a founder was not added: {}", other("a=h:1"));
    let same_address = add_member(&folder, &spec("e=h:4"), &settings()).expect_err("d is there").to_string();
    assert!(same_address.starts_with("`member: address` is `h:4`"), "{same_address}");
    // A rejected member uses up no id.
    fs::create_dir(folder.join("f")).and_then(|()| fs::write(folder.join("f/x"), "x")).expect("the folder is ours");
    assert!(matches!(add_member(&folder, &spec("f=h:6"), &settings()), Err(BootstrapError::LeftOver(_))));
    assert_eq!(add_member(&folder, &spec("e=h:5"), &settings()).expect("there is room").member.id, Id(5));
    // A failure after the id was recorded uses it up. The dangling link is found only when the folder is renamed.
    std::os::unix::fs::symlink("nowhere", folder.join("g")).expect("the folder is ours");
    assert!(matches!(add_member(&folder, &spec("g=h:7"), &settings()), Err(BootstrapError::File { .. })));
    fs::remove_file(folder.join("g")).expect("it is still a link");
    assert_eq!(add_member(&folder, &spec("g=h:7"), &settings()).expect("it can be tried again").member.id, Id(7));
}

#[test]
fn ids_of_removed_members_are_not_reused() {
    let place = tempfile::tempdir().expect("create a temporary folder");
    let folder = place.path().join("shop");
    bootstrap(&folder, &cluster_spec()).expect("the folder is new");
    assert_eq!(remove_member(&folder, "c").expect("it is a member").id, Id(3));
    assert!(matches!(remove_member(&folder, "c"), Err(BootstrapError::UnknownMember(name)) if name == "c"));
    assert_eq!(add_member(&folder, &spec("d=h:4,role=observer"), &settings()).expect("there is room").member.id, Id(4));
    remove_member(&folder, "a").expect("b can lead");
    let error = remove_member(&folder, "b").expect_err("nobody else can lead").to_string();
    assert!(error.contains("at least one must be an elector"), "{error}");
    let path = folder.join("authority.toml");
    let mut record = Record::read(&path).expect("it was written");
    assert_eq!((record.highest, record.members.len()), (Id(4), 2));
    record.highest = Id(1);
    replace(&path, &record.text()).expect("the folder is ours");
    let error = add_member(&folder, &spec("e=h:5"), &settings()).expect_err("the record is invalid").to_string();
    assert!(error.contains("`highest-id` is `1`"), "{error}");
}

#[test]
fn concurrent_additions_get_different_ids() {
    let place = tempfile::tempdir().expect("create a temporary folder");
    let folder = place.path().join("shop");
    bootstrap(&folder, &cluster_spec()).expect("the folder is new");
    let mut ids: Vec<u64> = std::thread::scope(|scope| {
        let admitting: Vec<_> = (0..4)
            .map(|index| {
                let (folder, spec) = (&folder, spec(&format!("n{index}=h:{}", index + 1)));
                scope.spawn(move || add_member(folder, &spec, &settings()).expect("there is room").member.id.0)
            })
            .collect();
        admitting.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    ids.sort_unstable();
    assert_eq!(ids, [4, 5, 6, 7]);
    assert_eq!(Record::read(&folder.join("authority.toml")).expect("it was written").members.len(), 7);
}
