//! A rolling upgrade and downgrade of five nodes, one after the other, while programs campaign on all of them.
//!
//! Without variables, both versions are today's program: that is a rolling restart. `.ci/rolling-upgrade` builds an
//! earlier version and sets them:
//!
//! | variable | meaning |
//! |---|---|
//! | `HUSTINGS_OLD_PROGRAM` | the program that the cluster begins and ends with |
//! | `HUSTINGS_NEW_PROGRAM` | the one that it is upgraded to; today's if it is not set |
//!
//! With them, the timing is the default, and no office may be without a holder for longer than a lease. Without, leases
//! are long, so that a busy machine costs no office, and every office must move by a hand-over.

mod programs;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hustings::cluster::api::{Client, Reply, Request};
use serde_json::Value;

use self::programs::Programs;
use crate::common;
use crate::processes::{Cluster, TIMEOUT};

const MEMBERS: [&str; 5] = ["a", "b", "c", "d", "e"];
const OFFICES: [&str; 6] = ["billing", "cron", "db", "index", "mail", "queue"];
/// The lease of the default timing.
const LEASE: Duration = Duration::from_millis(300);

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// Replaces the program of each of these members in turn.
fn roll(cluster: &mut Cluster, programs: &Programs, members: impl Iterator<Item = &'static str>, program: &Path) {
    cluster.use_program(program);
    for name in members {
        assert_eq!(cluster.terminate(name), Some(0), "{name} leaves in good order:\n{}", cluster.log(name));
        cluster.start(&[name]);
        // As operations.md says: not before the member is up and can be sure again, and nothing is without a holder.
        cluster.wait_until(&format!("{name} is back"), || is_whole(cluster, name).then_some(()));
        programs.wait_until_all_are_held();
        programs.wait_for_writes();
    }
}

/// Whether a member sees all others, in a state that a majority has confirmed.
fn is_whole(cluster: &Cluster, name: &str) -> bool {
    let ran = cluster.run(name, &["status", "--format", "json"]);
    let status: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    let mut members = status["members"].as_array().into_iter().flatten();
    ran.code == 0 && status["current"] == true && members.all(|member| member["up"] == true)
}

#[test]
fn a_rolling_upgrade_and_downgrade_loses_no_office() {
    let today = PathBuf::from(env!("CARGO_BIN_EXE_hustings"));
    let old = variable("HUSTINGS_OLD_PROGRAM");
    let is_measured = old.is_some();
    let (old, new) = (old.unwrap_or_else(|| today.clone()), variable("HUSTINGS_NEW_PROGRAM").unwrap_or(today));
    let mut cluster = Cluster::made_by(&old, &MEMBERS, &[]);
    if !is_measured {
        cluster.be_patient(&MEMBERS);
    }
    cluster.start(&MEMBERS);
    cluster.wait_for_agreement(&MEMBERS, |_| true);
    let sockets: Vec<PathBuf> = MEMBERS.map(|name| cluster.folder().join(name).join("hustings.sock")).into();
    let programs = Programs::start(&sockets, &OFFICES);
    programs.wait_until_all_are_held();

    roll(&mut cluster, &programs, MEMBERS.into_iter(), &new);
    roll(&mut cluster, &programs, MEMBERS.into_iter().rev(), &old);

    let record = programs.stop();
    assert_eq!(record.problems(), Vec::<String>::new(), "{record:#?}");
    let mut client = Client::connect(&sockets[0], TIMEOUT).expect("the node runs");
    for office in OFFICES {
        let count = client
            .get_state(office, TIMEOUT)
            .expect("a majority is up")
            .map_or(0, |state| programs::count(&state.data));
        let (acknowledged, unknown) = record.writes(office);
        assert!(
            (acknowledged..=acknowledged + unknown).contains(&count) && count > 0,
            "{office}: {acknowledged} writes were confirmed and {unknown} may have been done, but {count} are there"
        );
        let Ok(Reply::History { changes }) = client.call(&history(office), Some(TIMEOUT)) else {
            panic!("no history of {office}")
        };
        let reasons: Vec<String> = changes.iter().map(|change| format!("{:?}", change.reason)).collect();
        let is_lost = |reason: &String| matches!(reason.as_str(), "Expired" | "Silent" | "Disconnected");
        assert!(is_measured || !reasons.iter().any(is_lost), "{office} was not handed over: {reasons:?}");
    }
    let longest = record.longest_gap();
    common::say(&format!("rolling: {record}; the longest time without a holder was {longest:?}"));
    assert!(!is_measured || longest <= LEASE, "an office had no holder for {longest:?}");
}

fn history(office: &str) -> Request {
    Request::History { office: Some(office.to_string()) }
}
