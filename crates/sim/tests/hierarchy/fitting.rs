//! Which parameters fit which rings; and that the rules work on any ring, as they must among the members of a view.

use hustings_algorithms::ParamConflict;
use hustings_sim::simulate;

use super::*;

fn refusal<A: Algorithm>(texts: &str, size: u32) -> String {
    let refused: ParamConflict = A::check(&params::<A>(texts), size).expect_err("it does not fit");
    refused.to_string()
}

#[test]
fn what_does_not_fit_is_refused_and_what_is_allowed_is_named() {
    assert_eq!(
        refusal::<Sun>("u=4 depth=2", 40),
        "parameter `u` cannot be `4` with 40 nodes: the ring is divided 2 times by 4, so it takes a multiple of 16 \
         nodes, or lengths in `parts`"
    );
    assert!(refusal::<Divided>("u=3", 64).contains("a multiple of 3 nodes"));
    assert!(refusal::<SunDivided>("u=4 depth=2 sun-depth=2", 64).contains("a multiple of 256 nodes"));
    assert!(refusal::<Sun>("depth=max", 60).contains("a multiple of 16 nodes"));
    assert!(refusal::<Sun>("depth=4000000000", 60).ends_with("divided 4000000000 times by 4, and no ring is so long"));
    assert_eq!(
        refusal::<Sun>("parts=3,4,5", 13),
        "parameter `parts` cannot be `3,4,5` with 13 nodes: the lengths add up to 12, and must add up to 13"
    );
    assert!(refusal::<Sun>("u=2 depth=3 parts=3,4,5,6,7,5", 30).contains("a multiple of 4"));
    assert!(refusal::<Divided>("u=2 depth=2 parts=3,4,5", 12).contains("a multiple of 2"));
}

/// What to type instead is a number of nodes that fits, and there is one for every small ring.
#[test]
fn what_is_said_instead_fits() {
    fn instead<A: Algorithm>(texts: &str) {
        let params = params::<A>(texts);
        for misfit in (1..200).filter_map(|size| A::check(&params, size).err()) {
            let said = misfit.instead.as_deref().unwrap_or_else(|| panic!("{texts}: {misfit}"));
            for nodes in said.split(" or ") {
                let nodes = nodes.strip_prefix("--nodes ").and_then(|nodes| nodes.parse().ok()).expect("nodes");
                assert_eq!(A::check(&params, nodes), Ok(()), "{texts}: {misfit}: {said}");
            }
        }
    }
    each!(instead);
    instead::<Sun>("depth=max");
    instead::<Sun>("parts=3,4,5");
    instead::<Divided>("depth=max");
    instead::<SunDivided>("u=2 depth=max sun-depth=max");
    let said = |size| Divided::check(&params::<Divided>(""), size).expect_err("it does not fit").instead;
    assert_eq!((said(3).as_deref(), said(6).as_deref()), (Some("--nodes 4"), Some("--nodes 4 or --nodes 8")));
}

#[test]
fn what_fits_is_taken() {
    let fits = |size: u32, texts: &str| {
        Sun::check(&params::<Sun>(texts), size).is_ok() && Divided::check(&params::<Divided>(texts), size).is_ok()
    };
    assert!(fits(64, "") && fits(4, "") && fits(3, "depth=max") && fits(64, "depth=max") && fits(64, "u=64"));
    assert!(fits(13, "parts=3,4,6") && fits(13, "parts=13") && fits(20, "u=2 depth=2 parts=1,9,4,6"));
    assert!(SunDivided::check(&params::<SunDivided>("depth=2 sun-depth=1"), 64).is_ok());
    assert!(SunDivided::check(&params::<SunDivided>("parts=7,9"), 16).is_ok());
}

#[test]
fn no_other_parameters() {
    let refused = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        simulate::params::<Divided>(&texts).expect_err("it is refused").to_string()
    };
    assert!(refused(&["u=1"]).contains("a whole number of at least 2"));
    assert!(refused(&["depth=0"]).contains("a whole number of at least 1, max"));
    assert!(refused(&["parts=3,0"]).contains("lengths of at least 1"));
    assert!(refused(&["aggregate=lazy"]).contains("u, depth, parts, backoff"));
}

/// With fewer than two top points the informer divides nothing, and the formula knows it: `run` compares the two.
#[test]
fn one_top_point_divides_nothing() {
    fn counts<A: Algorithm>(texts: &str, size: u32) {
        for starter in 0..size {
            let scenario = ring::<A>(size, &[starter]);
            assert!(expected::<A>(&params::<A>(texts), &scenario).is_some(), "{texts}: there is a formula");
            let outcome = run::<A>(texts, &scenario);
            assert_elects_the_greatest(&outcome, &scenario);
            assert_eq!(outcome.by_kind[..8], [size.into(), size.into(), 1, 1, 1, 0, 0, 0], "{texts}, {starter}");
        }
    }
    counts::<Divided>("parts=16", 16);
    counts::<Divided>("parts=4,6 u=2 depth=2", 10);
    counts::<SunDivided>("parts=16", 16);
    counts::<SunDivided>("parts=4,6 u=2 depth=2 aggregate=eager", 10);
}

/// docs/model.md#runs: over the members of a view, however many; the last segment or part is shorter.
#[test]
fn any_size_will_do() {
    fn any<A: Algorithm>(texts: &str, random: &mut Random) {
        for size in 1..=40 {
            let ids = random.shuffled((0..u64::from(size)).collect());
            for starters in [vec![0], vec![random.below(size)], (0..size).collect()] {
                let scenario = Scenario { ids: ids.clone(), ..ring::<A>(size, &starters) };
                let outcome = run::<A>(texts, &scenario);
                assert_elects_the_greatest(&outcome, &scenario);
                assert!(outcome.time.quiescent < Some(8 * u64::from(size)), "{texts}, {size}: no last resort");
            }
        }
    }
    let random = &mut Random(3);
    each!(any, random);
    any::<Sun>("depth=max", random);
    any::<Sun>("u=2 depth=2 parts=3,1,9", random);
    any::<Divided>("depth=max", random);
    any::<Divided>("u=2 depth=2 parts=3,1,9,5", random);
    any::<SunDivided>("depth=max sun-depth=max u=2", random);
    any::<SunDivided>("parts=3,1,9,5,6 u=2 sun-depth=2", random);
}
