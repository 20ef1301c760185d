//! Many offices: the first thousand have metrics of their own.

use std::time::Duration;

use hustings_cluster::api::{Client, Reply, Request};

use super::Samples;
use crate::processes::{Cluster, TIMEOUT};

/// Together with `leader`.
const OFFICES: usize = 2_000;

#[test]
fn a_thousand_offices_have_labels_and_the_rest_is_aggregated() {
    let mut cluster = Cluster::new(&["a"], &[]);
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |_| true);
    let few = Samples::of(&cluster, "a");
    assert_eq!(
        few.each("hustings_is_leader").collect::<Vec<_>>(),
        [("{office=\"leader\"}", 1.0)],
        "nothing to aggregate"
    );

    let socket = cluster.config("a").with_file_name("hustings.sock");
    let mut program = Client::connect(&socket, Duration::ZERO).expect("the node runs");
    for number in 1..OFFICES {
        program.send(&Request::Campaign { office: format!("o{number}"), mode: None, guard: None }).expect("it reads");
    }
    let mut held = 0;
    while held < OFFICES - 1 {
        match program.recv(Some(TIMEOUT)).expect("the node answers") {
            Reply::Held(_) => held += 1,
            Reply::Error(error) => panic!("{error}"),
            _ => {}
        }
    }
    let samples = Samples::of(&cluster, "a");
    for metric in ["hustings_is_leader", "hustings_has_leader"] {
        let (labelled, others): (Vec<_>, Vec<_>) =
            samples.each(metric).partition(|(labels, _)| *labels != "{office=\"_other\"}");
        assert_eq!(labelled.len(), 1_000, "{metric}");
        assert!(labelled.iter().all(|(_, value)| *value == 1.0), "{metric}");
        assert_eq!(others, [("{office=\"_other\"}", (OFFICES - 1_000) as f64)], "{metric}");
    }
    assert_eq!(samples.sum("hustings_leader_changes_total", ""), OFFICES as f64);
    assert_eq!(samples.get("hustings_is_leader{office=\"leader\"}"), Some(1.0), "it was there first");
    assert_eq!(samples.get("hustings_offices"), Some(OFFICES as f64));
    assert_eq!(samples.get("hustings_offices_without_leader"), Some(0.0));
    let highest = samples.each("hustings_token").map(|(_, token)| token).fold(0.0, f64::max);
    assert_eq!(samples.get("hustings_token{office=\"_other\"}"), Some(highest), "the last one has no label of its own");
    assert!(samples.get("hustings_lease_remaining_seconds{office=\"_other\"}") > Some(0.0));

    drop(program);
    cluster.wait_until("all but one are vacant", || {
        let vacant = Samples::of(&cluster, "a");
        // The first is what the node itself holds; the second is in the table, after a commit.
        let vacated = vacant.get("hustings_offices_without_leader") == Some((OFFICES - 1) as f64);
        (vacant.sum("hustings_is_leader", "") == 1.0 && vacated).then(|| {
            assert_eq!(vacant.sum("hustings_step_downs_total", ""), (OFFICES - 1) as f64);
            assert_eq!(vacant.sum("hustings_candidates", ""), 1.0, "nobody wants them any more");
        })
    });
}
