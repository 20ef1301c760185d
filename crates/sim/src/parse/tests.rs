use std::fmt::Debug;

use hustings_protocol::Best;
use proptest::prelude::*;

use super::ids::{Ids, Values};
use super::starts::Starts;
use super::*;
use crate::scenario::{Delay, Medium, Notice, Start};

/// What is wrong with a text, and the nearest allowed one.
fn wrong<T: Debug>(result: Result<T, ParseError>) -> (String, Option<String>) {
    let error = result.expect_err("the text is wrong");
    (error.problem.to_string(), error.nearest)
}

fn near(problem: &str, nearest: &str) -> (String, Option<String>) {
    (problem.to_string(), Some(nearest.to_string()))
}

fn far(problem: &str) -> (String, Option<String>) {
    (problem.to_string(), None)
}

#[test]
fn ids_and_values_are_lists_files_or_orders() {
    assert_eq!("5,3,9".parse(), Ok(Ids::List(vec![5, 3, 9])));
    assert_eq!("descending".parse(), Ok(Ids::Descending));
    assert_eq!("@ids.txt".parse(), Ok(Ids::File("ids.txt".into())));
    assert_eq!(wrong("decending".parse::<Ids>()), near("`decending` is not known here", "descending"));
    assert_eq!(wrong("5,x".parse::<Ids>()), far("`x` is not a whole number"));
    assert_eq!(wrong("5,,9".parse::<Ids>()), far("there is nothing where something is needed"));
    assert_eq!(wrong("".parse::<Ids>()), far("there is nothing where something is needed"));
    assert_eq!(
        wrong("99999999999999999999".parse::<Ids>()),
        near("`99999999999999999999` is more than 18446744073709551615", "18446744073709551615")
    );
    assert_eq!(wrong("-1".parse::<Ids>()), near("`-1` is less than 0", "0"));
    assert_eq!(wrong("@".parse::<Ids>()), far("`@` lacks the name of a file"));
    assert!(matches!("3.5,-1".parse(), Ok(Values::List(values)) if values[1].get() == -1.0));
    assert_eq!(wrong("1,inf".parse::<Values>()), far("`inf` is not a finite number"));
    assert_eq!(numbers_in_file("1, 2 # and\n3\n"), Ok(vec![1, 2, 3]));
    assert_eq!(wrong(numbers_in_file("1 2,b")), far("`b` is not a whole number"));
    assert_eq!(wrong(numbers_in_file("# nothing")), far("there is nothing where something is needed"));
}

#[test]
fn votes_name_each_voter_once() {
    assert_eq!(votes("0:3,1:3"), Ok(vec![(0, 3), (1, 3)]));
    assert_eq!(wrong(votes("0:3,0:1")), far("`0` is given twice"));
    assert_eq!(wrong(votes("0")), far("`0` lacks `:` and the position it votes for"));
}

#[test]
fn initiators_may_start_later() {
    assert_eq!("all".parse(), Ok(Starts::All));
    assert_eq!("random:3".parse(), Ok(Starts::Random(3)));
    let listed = vec![Start { at: 2, tick: 0 }, Start { at: 0, tick: 5 }];
    assert_eq!("0@5,2".parse(), Ok(Starts::List(listed)));
    assert_eq!(wrong("2,2@0".parse::<Starts>()), far("`2@0` is given twice"));
    assert_eq!(wrong("al".parse::<Starts>()), near("`al` is not known here", "all"));
    assert_eq!(wrong("random:0".parse::<Starts>()), far("`0` is less than 1"));
}

#[test]
fn faults_have_a_place_and_a_tick() {
    assert_eq!("3@10".parse(), Ok(NodeFault { at: 3, tick: 10 }));
    assert_eq!(wrong("3".parse::<NodeFault>()), far("`3` lacks `@` and a tick"));
    assert_eq!(wrong("3@x".parse::<NodeFault>()), far("`x` is not a whole number"));
    assert_eq!("0-1@4".parse(), Ok(LinkFault { ends: (0, 1), tick: 4 }));
    assert_eq!(wrong("0@4".parse::<LinkFault>()), far("`0` lacks `-` and the other end"));
    assert_eq!(wrong("2-2@4".parse::<LinkFault>()), far("`2-2` leads from a node to itself"));
    assert_eq!("all@9".parse(), Ok(Repair::All { tick: 9 }));
    assert_eq!(wrong("all".parse::<Repair>()), far("`all` lacks `@` and a tick"));
    assert_eq!("0-3,8/4-7@2".parse(), Ok(Partition { groups: vec![vec![0..=3, 8..=8], vec![4..=7]], tick: 2 }));
    assert_eq!(wrong("0-3/3-7@2".parse::<Partition>()), far("`3` is given twice"));
    assert_eq!(wrong("3-0@2".parse::<Partition>()), near("the range `3-0` ends before it begins", "0-3"));
}

#[test]
fn settings_are_words_and_numbers_within_bounds() {
    assert_eq!("uniform:2-5".parse(), Ok(Delay::Uniform(2, 5)));
    assert_eq!("pareto:1,1.5".parse(), Ok(Delay::Pareto { min: 1.0, shape: 1.5 }));
    assert_eq!(wrong("uniform:5-2".parse::<Delay>()), near("the range `5-2` ends before it begins", "uniform:2-5"));
    assert_eq!(wrong("unifrom:1-2".parse::<Delay>()), near("`unifrom:1-2` is not known here", "uniform:1-2"));
    assert_eq!(wrong("unifrom".parse::<Delay>()), near("`unifrom` is not known here", "uniform:1-10"));
    assert_eq!(wrong("exponential".parse::<Delay>()), far("`exponential` lacks `:` and the mean delay"));
    assert_eq!(wrong("exponential:-3".parse::<Delay>()), far("`-3` is less than 0.001"));
    assert_eq!("poll:3".parse(), Ok(Notice::Poll(3)));
    assert_eq!(wrong("poll".parse::<Notice>()), near("`poll` lacks `:` and a number of ticks", "poll:10"));
    assert_eq!(wrong("orakel".parse::<Notice>()), near("`orakel` is not known here", "oracle"));
    assert_eq!(wrong("pol:3".parse::<Notice>()), near("`pol:3` is not known here", "poll:3"));
    assert_eq!("broadcast".parse(), Ok(Medium::Broadcast));
    assert_eq!(best("min"), Ok(Best::Min));
    assert_eq!(wrong(best("mix")), near("`mix` is not known here", "max"));
    assert_eq!(wrong(probability("1.5")), near("`1.5` is more than 1", "1"));
    assert_eq!(wrong(probability("NaN")), far("`NaN` is not a finite number"));
    assert_eq!(wrong(node_count("0")), near("`0` is less than 1", "1"));
    assert_eq!(wrong(thread_count("257")), near("`257` is more than 256", "256"));
}

#[test]
fn an_error_shows_little_of_a_long_text() {
    let error = "7".repeat(10_000).parse::<Ids>().expect_err("too great");
    assert!(error.to_string().len() < 200, "{error}");
}

proptest! {
    /// Whatever is typed, a reader answers; and what it calls nearest is itself allowed.
    #[test]
    fn no_text_panics_and_the_nearest_text_is_allowed(text in "[a-z0-9@:,./-]{0,12}|\\PC{0,8}") {
        fn check<T: Debug>(text: &str, read: impl Fn(&str) -> Result<T, ParseError>) {
            if let Err(error) = read(text)
                && let Some(nearest) = error.nearest
                && !matches!(error.problem, Problem::Backwards(_))
            {
                read(&nearest).expect("the nearest text is allowed");
            }
        }
        check(&text, str::parse::<Ids>);
        check(&text, str::parse::<Values>);
        check(&text, votes);
        check(&text, cheat);
        check(&text, str::parse::<Starts>);
        check(&text, str::parse::<NodeFault>);
        check(&text, str::parse::<LinkFault>);
        check(&text, str::parse::<Repair>);
        check(&text, str::parse::<Partition>);
        check(&text, str::parse::<Delay>);
        check(&text, str::parse::<Notice>);
        check(&text, str::parse::<Medium>);
        check(&text, best);
        check(&text, flag);
        check(&text, probability);
        check(&text, bandwidth);
        check(&text, node_count);
        check(&text, thread_count);
        check(&text, tick);
        check(&text, seed);
    }
}
