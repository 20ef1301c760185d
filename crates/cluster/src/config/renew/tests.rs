use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::clock::Clock;
use crate::config::{ClusterSpec, Config, add_member, bootstrap};
use crate::identity::Identity;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

fn cluster() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().expect("create a temporary folder");
    let folder = place.path().join("shop");
    let members = ["a=10.0.0.1:7401", "b=10.0.0.2:7401"].map(|text| text.parse().expect("valid members"));
    bootstrap(&folder, &ClusterSpec::new("shop", members.into())).expect("the folder is new");
    (place, folder)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Loads what a node of this member would load.
fn identity(folder: &Path, name: &str) -> Result<Identity, String> {
    let config = Config::read_with(&folder.join(name).join("hustings.toml"), &|_| None).expect("it can be read");
    let own = config.own().expect("it is a member").clone();
    Identity::load(&config.tls, &config.cluster, &own, Clock::new()).map_err(|error| error.to_string())
}

fn rotate(folder: &Path, step: RotationStep) -> Result<Vec<Renewed>, String> {
    rotate_authority(folder, step, 9 * YEAR).map_err(|error| error.to_string())
}

#[test]
fn renewing_replaces_key_and_certificate_and_keeps_the_old_ones() {
    let (_place, folder) = cluster();
    let file = |name: &str| folder.join("a").join(name);
    fs::set_permissions(file("node.key"), fs::Permissions::from_mode(0o400)).expect("it is ours");
    let before = (read(&file("node.crt")), read(&file("node.key")), read(&folder.join("b/node.crt")));
    let renewed = renew_members(&folder, &["a".to_string()], Some(Duration::from_secs(90))).expect("it can be renewed");
    assert_eq!(renewed.iter().map(|renewed| renewed.member.name.as_str()).collect::<Vec<_>>(), ["a"]);
    let expiry = identity(&folder, "a").expect("the pair fits").expiry().expect("it is signed");
    assert_eq!(renewed[0].until, UNIX_EPOCH + Duration::from_secs(expiry.own));
    assert_ne!(read(&file("node.crt")), before.0);
    assert_eq!((read(&file("node.crt.old")), read(&file("node.key.old"))), (before.0, before.1));
    assert_eq!(read(&folder.join("b/node.crt")), before.2, "only `a` was asked for");
    let mode = fs::metadata(file("node.key")).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o400, "the rights of the key stay as they are");
    assert!(!unfinished(&file("node.crt")).exists(), "no draft is left");

    assert_eq!(renew_members(&folder, &[], None).expect("all can be renewed").len(), 2);
    fs::remove_dir_all(folder.join("b")).expect("it is ours");
    renew_members(&folder, &["b".to_string()], None).expect("the folder was moved to its host");
    assert!(fits(&read(&folder.join("b/node.crt")), &read(&folder.join("b/node.key"))));
}

#[test]
fn a_crash_between_key_and_certificate_leaves_a_pair_that_fits() {
    let (_place, folder) = cluster();
    let file = |name: &str| folder.join("a").join(name);
    let old = read(&file("node.crt"));
    renew_members(&folder, &[], None).expect("they can be renewed");
    // As after a crash before the last rename: the key is new, and its certificate not yet in place.
    fs::rename(file("node.crt"), file("node.crt.new")).expect("it is ours");
    fs::write(file("node.crt"), &old).expect("it is ours");
    assert!(identity(&folder, "a").is_ok(), "the certificate of the new key is used");
    let (key, certificate) = (read(&file("node.key")), read(&file("node.crt.new")));
    renew_members(&folder, &[], None).expect("it can be repeated");
    assert!(identity(&folder, "a").is_ok());
    assert_eq!(
        (read(&file("node.key.old")), read(&file("node.crt.old"))),
        (key, certificate),
        "the old pair fits, too"
    );

    // A draft that was never used is worth nothing.
    fs::write(file("node.crt.new"), old).expect("it is ours");
    assert!(identity(&folder, "a").is_ok());
    fs::write(file("node.key"), read(&folder.join("b/node.key"))).expect("it is ours");
    let problem = identity(&folder, "a").expect_err("the key is another member's");
    assert!(problem.contains("node.key: keys may not be consistent"), "{problem}");
}

#[test]
fn a_rotation_has_three_steps_in_one_order() {
    let (_place, folder) = cluster();
    let bundle = || read(&folder.join("a/authority.crt")).matches("BEGIN CERTIFICATE").count();
    let old = read(&folder.join("authority.crt"));
    assert!(rotate(&folder, RotationStep::Switch).is_err_and(|error| error.contains("run `begin` first")));
    assert!(rotate(&folder, RotationStep::Finish).is_err_and(|error| error.contains("no rotation has begun")));

    let short = rotate_authority(&folder, RotationStep::Begin, YEAR).expect_err("members' certificates live longer");
    assert!(short.to_string().contains("certificates of the authority cannot be valid for"), "{short}");
    rotate(&folder, RotationStep::Begin).expect("it can begin");
    let next = read(&folder.join("authority.next.crt"));
    rotate(&folder, RotationStep::Begin).expect("it can be repeated");
    assert_eq!((bundle(), read(&folder.join("authority.next.crt"))), (2, next.clone()));
    assert!(rotate(&folder, RotationStep::Finish).is_err_and(|error| error.contains("run `switch` first")));
    renew_members(&folder, &[], None).expect("the old authority still signs");
    let before = identity(&folder, "a").expect("the bundle has its authority").expiry();

    assert_eq!(rotate(&folder, RotationStep::Switch).expect("it follows").len(), 2);
    assert_eq!((bundle(), read(&folder.join("authority.crt"))), (2, next.clone()));
    assert_ne!(identity(&folder, "a").expect("the bundle has its authority").expiry(), before);
    assert!(rotate(&folder, RotationStep::Begin).is_err_and(|error| error.contains("is not over")));
    let added = add_member(&folder, &"c=10.0.0.3:7401".parse().expect("a member"), "").expect("it can be added");
    assert_eq!(read(&added.folder.join("authority.crt")), read(&folder.join("a/authority.crt")));
    assert!(identity(&folder, "c").is_ok());

    rotate(&folder, RotationStep::Finish).expect("it follows");
    assert_eq!((bundle(), read(&folder.join("a/authority.crt"))), (1, next));
    assert!(!read(&folder.join("a/authority.crt")).contains(&old));
    assert!(["a", "b", "c"].iter().all(|name| identity(&folder, name).is_ok()));
    let left = fs::read_dir(&folder).expect("it is there").flatten().map(|entry| entry.file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains(".old")), "the old key is gone");
    rotate(&folder, RotationStep::Begin).expect("the next rotation can begin");
}

#[test]
fn an_interrupted_switch_must_be_repeated() {
    let (_place, folder) = cluster();
    rotate(&folder, RotationStep::Begin).expect("it can begin");
    // As after a crash between the two renames.
    for (from, to) in [("crt", "crt"), ("key", "key")] {
        let (from, to) = (folder.join(format!("authority.{from}")), folder.join(format!("authority.old.{to}")));
        fs::copy(from, to).expect("it is ours");
    }
    fs::rename(folder.join("authority.next.key"), folder.join("authority.key")).expect("it is ours");
    let refused = renew_members(&folder, &[], None).expect_err("the key does not fit the certificate").to_string();
    assert!(refused.contains("a `switch` was interrupted"), "{refused}");
    rotate(&folder, RotationStep::Switch).expect("it can be repeated");
    assert!(identity(&folder, "a").is_ok());
    rotate(&folder, RotationStep::Finish).expect("it follows");
    assert!(identity(&folder, "b").is_ok());
}

#[test]
fn wrong_names_and_lifetimes_change_nothing() {
    let (_place, folder) = cluster();
    let before = read(&folder.join("a/node.crt"));
    let refused = |names: &[&str], lifetime| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_string()).collect();
        renew_members(&folder, &names, lifetime).expect_err("it must be refused").to_string()
    };
    assert_eq!(refused(&["a", "x"], None), "there is no member `x`");
    assert!(refused(&[], Some(Duration::ZERO)).contains("expected a second to 100 years"));
    let long = refused(&[], Some(20 * YEAR));
    assert!(long.contains("that of the authority ends in 9years") && long.contains("rotate-authority"), "{long}");
    assert_eq!(read(&folder.join("a/node.crt")), before);
    let nowhere = renew_members(Path::new("/nonexistent"), &[], None).expect_err("there is no folder").to_string();
    assert!(nowhere.starts_with("/nonexistent: "), "{nowhere}");
}
