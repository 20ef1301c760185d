mod refused;

use super::*;
use crate::table::{Heading, Table, Values};

fn results(columns: &[(&str, &[i64])]) -> Table {
    let mut table = Table::default();
    for (name, numbers) in columns {
        let values = Values::Integers(numbers.iter().copied().map(Some).collect());
        table.push(Heading { name: (*name).into(), about: "".into() }, values).unwrap();
    }
    table
}

/// Compares an item, given as TOML, with these results.
fn answer(item: &str, columns: &[(&str, &[i64])]) -> Result<ItemComparison, CompareError> {
    let cache = ResultCache::new(1, &|_| {});
    cache.insert("made", results(columns));
    let head = "id = 'x'\nplace = 'here'\ntitle = 'x'\nexperiment = 'made'\n";
    let item: Item = toml::from_str(&format!("{head}{item}")).unwrap_or_else(|error| panic!("{error}"));
    let mut answer = ItemComparison::of(Box::leak(Box::new(item)), &cache)?;
    answer::decide(std::slice::from_mut(&mut answer));
    Ok(answer)
}

fn verdicts(item: &str, columns: &[(&str, &[i64])]) -> Vec<Verdict> {
    let answer = answer(item, columns).unwrap_or_else(|error| panic!("{error}"));
    answer.findings.iter().map(|finding| finding.verdict).collect()
}

const GRID: &str = "[grid]\nvalue = 'messages'\nrows = [{ label = 'a', where = { nodes = 5 } }, { label = 'b', where = { nodes = 6 } }]\n\
                    columns = [{ label = '' }]\npublished = [[4], [5]]\n";

const COLUMNS: &[(&str, &[i64])] = &[("nodes", &[5, 6]), ("messages", &[5, 6]), ("lost", &[1, 1])];

#[test]
fn a_difference_is_explained_only_by_reasons_that_add_up_to_it() {
    let reason =
        |amount: &str| format!("{GRID}[[grid.reason]]\nkind = 'counting'\nsays = 'why'\namount = '{amount}'\n");
    let cases = [
        ("lost", [Verdict::Explained, Verdict::Explained]),
        ("lost * (n > 4)", [Verdict::Explained, Verdict::Explained]),
        ("lost * (n == 5)", [Verdict::Explained, Verdict::Open]),
        ("2*lost", [Verdict::Open, Verdict::Open]),
        ("0", [Verdict::Open, Verdict::Open]),
    ];
    for (amount, wanted) in cases {
        assert_eq!(verdicts(&reason(amount), COLUMNS), wanted, "{amount}");
    }
    // With the measured or the printed value, a reason could explain any difference.
    for (amount, name) in [("measured", "measured"), ("n - published", "published")] {
        let error = answer(&reason(amount), COLUMNS).unwrap_err();
        assert_eq!(error.problem, format!("`{name}` has no value here"));
    }
    let two = format!("{}[[grid.reason]]\nkind = 'overlap'\nsays = 'also'\namount = '-lost'\n", reason("2*lost"));
    let explained = answer(&two, COLUMNS).unwrap();
    let amounts: Vec<_> = explained.findings[0].reasons.iter().map(|because| because.amount).collect();
    assert_eq!((explained.findings[0].verdict, amounts), (Verdict::Explained, vec![Some(2.0), Some(-1.0)]));
}

#[test]
fn a_reason_without_a_difference_is_open() {
    let equal = GRID.replace("[[4], [5]]", "[[5], [5]]");
    let stale = format!("{equal}[[grid.reason]]\nkind = 'counting'\nsays = 'why'\namount = 'lost'\n");
    let found = answer(&stale, COLUMNS).unwrap().findings;
    assert_eq!((found[0].verdict, found[1].verdict), (Verdict::Open, Verdict::Explained));
    assert_eq!(found[0].reasons[0].says, "there is no difference, but reasons for 1 are given");
}

#[test]
fn the_interval_of_a_probability_is_within_0_and_1() {
    let rare = "[grid]\nvalue = 'messages < n'\nrows = [{ label = 'a' }]\ncolumns = [{ label = '' }]\n";
    let columns: [(&str, &[i64]); 2] =
        [("nodes", &[5; 20]), ("messages", &[4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5])];
    let measured = answer(rare, &columns).unwrap().findings[0].measured.clone().unwrap();
    let (low, high) = measured.interval.unwrap();
    assert!(measured.value == Some(0.05) && 0.0 < low && low < 0.05 && 0.2 < high, "{}", measured.text);
}

#[test]
fn a_reason_applies_to_its_rows_and_columns_only() {
    let reason = format!("{GRID}[[grid.reason]]\nkind = 'misprint'\nsays = 'why'\namount = '1'\nrows = ['b']\n");
    assert_eq!(verdicts(&reason, COLUMNS), [Verdict::Open, Verdict::Explained]);
    let nowhere = format!("{GRID}[[grid.reason]]\nkind = 'misprint'\nsays = 'why'\namount = '1'\nrows = ['c']\n");
    assert_eq!(answer(&nowhere, COLUMNS).unwrap_err().problem, "there is no row `c`");
}

#[test]
fn a_mean_may_differ_by_chance() {
    let one = "[grid]\nvalue = 'messages'\nrows = [{ label = 'a' }]\ncolumns = [{ label = '' }]\n";
    let cases: [(&str, &[i64], Verdict); 6] = [
        ("published = [[7]]", &[7], Verdict::Equal),
        ("published = [['2*n + 1']]", &[7], Verdict::Equal),
        ("published = [[7]]", &[8], Verdict::Open),
        // The mean is 8, with a standard error of 1: chance may do that.
        ("published = [[7]]", &[6, 8, 8, 10], Verdict::Equal),
        ("published = [[1]]", &[6, 8, 8, 10], Verdict::Open),
        ("formula = 'n + 4'", &[7], Verdict::Equal),
    ];
    for (print, messages, wanted) in cases {
        let nodes = vec![3; messages.len()];
        let columns: [(&str, &[i64]); 2] = [("nodes", &nodes), ("messages", messages)];
        assert_eq!(verdicts(&format!("{one}{print}\n"), &columns), [wanted], "{print} {messages:?}");
    }
    assert_eq!(verdicts(one, &[("messages", &[7])]), [Verdict::Shown]);
    let greatest = format!("{one}published = [[9]]\naggregate = 'max'\n");
    assert_eq!(verdicts(&greatest, &[("messages", &[7, 9, 8])]), [Verdict::Equal]);
}

#[test]
fn a_failed_claim_needs_a_reason_and_a_true_claim_must_have_none() {
    let columns: [(&str, &[i64]); 2] = [("nodes", &[2, 4, 8]), ("messages", &[4, 16, 64])];
    let claim = |test: &str, because: &str| format!("[[claim]]\nsays = 'x'\ntest = {{ {test} }}\n{because}\n");
    let squares = "kind = 'power', y = 'messages', x = 'n', within = [1.99, 2.01]";
    let lines = "kind = 'power', y = 'messages', x = 'n', within = [0.9, 1.1]";
    let cases = [
        (squares, "", Verdict::Yes),
        (lines, "because = 'it is the square'", Verdict::No),
        (lines, "", Verdict::Open),
        (squares, "because = 'stale'", Verdict::Open),
        ("kind = 'max', y = 'messages', within = [64, 64]", "", Verdict::Yes),
        ("kind = 'min', y = 'messages - n', within = [2, 9]", "", Verdict::Yes),
        ("kind = 'every', y = 'messages - n^2', within = [0, 0]", "", Verdict::Yes),
        ("kind = 'every', y = 'messages', within = [5, 64]", "because = '4 is less'", Verdict::No),
        ("kind = 'every', y = 'messages', within = [4, 63]", "because = '64 is more'", Verdict::No),
        ("kind = 'mean', y = 'messages', within = [-1000, 1000]", "", Verdict::Yes),
        // The confidence interval contains the threshold.
        ("kind = 'mean', y = 'messages', within = [27, 29]", "", Verdict::Undecided),
        ("kind = 'mean', y = 'messages', within = [0, 27]", "because = 'it is 28'", Verdict::Undecided),
        ("kind = 'fit', y = 'messages', f = 'n^2', within = [1, 1]", "", Verdict::Yes),
        ("kind = 'falls', y = '-messages', x = 'nodes'", "", Verdict::Yes),
        ("kind = 'falls', y = 'messages', x = 'nodes'", "because = 'it rises'", Verdict::No),
    ];
    for (test, because, wanted) in cases {
        assert_eq!(verdicts(&claim(test, because), &columns), [wanted], "{test} {because}");
    }
    let ratio = "kind = 'ratio', y = 'messages', of = { where = { nodes = 4 } }, to = { where = { nodes = 8 } }, within = [0.25, 0.25]";
    assert_eq!(verdicts(&claim(ratio, ""), &columns), [Verdict::Yes]);
    // Over both sizes together the ratio is right, for each of them it is not.
    let pairs: [(&str, &[i64]); 3] = [("nodes", &[1, 1, 2, 2]), ("half", &[0, 1, 0, 1]), ("messages", &[10, 4, 10, 6])];
    let ratio = "kind = 'ratio', y = 'messages', of = { where = { half = 1 } }, to = { where = { half = 0 } }, within = [0.45, 0.55]";
    for test in [ratio.to_string(), format!("{ratio}, by = 'half'")] {
        let each = answer(&claim(&test, "because = 'neither'"), &pairs);
        if test == ratio {
            let found = &each.unwrap().findings[0];
            let measured = found.measured.as_ref().unwrap().text.as_str();
            assert_eq!((found.verdict, measured), (Verdict::No, "0.4 to 0.6"));
        } else {
            assert!(each.unwrap_err().problem.contains("runs against"), "the sides have no group in common");
        }
    }
}

/// An error planted in each kind of claim is seen: no test of a claim always passes.
#[test]
fn every_kind_of_claim_can_fail() {
    let columns: [(&str, &[i64]); 2] = [("nodes", &[2, 4, 8]), ("messages", &[4, 16, 64])];
    let planted: [(&str, &[i64]); 2] = [("nodes", &[2, 4, 8]), ("messages", &[4, 17, 3])];
    let tests = [
        "kind = 'mean', y = 'messages - n^2', within = [0, 0]",
        "kind = 'max', y = 'messages - n^2', within = [0, 0]",
        "kind = 'min', y = 'messages', within = [4, 4]",
        "kind = 'every', y = 'messages - n^2', within = [0, 0]",
        "kind = 'ratio', y = 'messages', of = { where = { nodes = 4 } }, to = { where = { nodes = 8 } }, within = [0.25, 0.25]",
        "kind = 'power', y = 'messages', x = 'n', within = [1.99, 2.01]",
        "kind = 'falls', y = '-messages', x = 'nodes'",
        "kind = 'fit', y = 'messages', f = 'n^2', within = [1, 1]",
    ];
    for test in tests {
        let claim = format!("[[claim]]\nsays = 'x'\ntest = {{ {test} }}\n");
        assert_eq!(verdicts(&claim, &columns), [Verdict::Yes], "{test}");
        assert_ne!(verdicts(&claim, &planted), [Verdict::Yes], "{test}");
    }
}

/// Five runs on each of two networks are two values: the interval is that of two.
#[test]
fn what_was_drawn_at_random_is_what_counts() {
    let seeds = [1, 1, 1, 1, 1, 2, 2, 2, 2, 2];
    let columns: [(&str, &[i64]); 3] =
        [("nodes", &[3; 10]), ("seed", &seeds), ("messages", &[8, 9, 10, 11, 12, 18, 19, 20, 21, 22])];
    let interval = |item: &str| answer(item, &columns).unwrap().findings[0].measured.clone().unwrap().interval.unwrap();
    let two = crate::stats::Summary::of([10.0, 20.0]).unwrap().interval();
    assert_eq!(interval("[[claim]]\nsays = 'x'\ntest = { kind = 'mean', y = 'messages', within = [5, 9] }\n"), two);
    assert_eq!(interval("[grid]\nvalue = 'messages'\nrows = [{ label = 'a' }]\ncolumns = [{ label = '' }]\n"), two);
}

/// Means that fall by less than chance moves them do not show that they fall.
#[test]
fn a_fall_within_the_intervals_is_undecided() {
    let falls = "[[claim]]\nsays = 'x'\ntest = { kind = 'falls', y = 'messages', x = 'nodes' }\n";
    let nodes = [1, 1, 1, 1, 2, 2, 2, 2];
    let cases: [([i64; 8], Verdict); 3] = [
        ([10, 2, 12, 4, 9, 3, 11, 4], Verdict::Undecided),
        ([100, 102, 112, 104, 9, 3, 11, 4], Verdict::Yes),
        ([7, 7, 7, 7, 7, 7, 7, 7], Verdict::Undecided),
    ];
    for (messages, wanted) in cases {
        let found = answer(falls, &[("nodes", &nodes), ("messages", &messages)]).unwrap();
        assert_eq!(found.findings[0].verdict, wanted, "{messages:?}");
    }
    let because = format!("{falls}because = 'it rises'\n");
    let found = answer(&because, &[("nodes", &nodes), ("messages", &[10, 2, 12, 4, 11, 3, 12, 4])]).unwrap();
    assert_eq!(found.findings[0].verdict, Verdict::Undecided);
    assert!(found.findings[0].reasons.is_empty(), "what is undecided has no reason");
}

/// A claim that is decided alone may be undecided among many.
#[test]
fn the_claims_of_a_paper_are_a_family() {
    let claim = |above: i64| {
        format!("[[claim]]\nsays = 'x'\ntest = {{ kind = 'mean', y = 'messages', within = [{above}, 1e9] }}\n")
    };
    let columns: [(&str, &[i64]); 2] = [("nodes", &[3; 10]), ("messages", &[9, 10, 11, 12, 13, 13, 14, 15, 16, 17])];
    // Four standard errors above its threshold: p is 0.006.
    assert_eq!(verdicts(&claim(10), &columns)[0], Verdict::Yes);
    let many = verdicts(&claim(10).repeat(20), &columns);
    assert_eq!(many, [Verdict::Undecided; 20]);
    // A clear one stays decided.
    let one = verdicts(&(claim(1) + &claim(10).repeat(19)), &columns);
    assert_eq!((one[0], one[1]), (Verdict::Yes, Verdict::Undecided));
}

#[test]
fn a_formula_must_agree_with_the_measurement_beside_a_printed_value() {
    let one = "[grid]\nvalue = 'messages'\nrows = [{ label = 'a' }]\ncolumns = [{ label = '' }]\npublished = [[7]]\n";
    let columns: [(&str, &[i64]); 2] = [("nodes", &[3]), ("messages", &[7])];
    assert_eq!(verdicts(&format!("{one}formula = 'n + 4'\n"), &columns), [Verdict::Equal]);
    let found = &answer(&format!("{one}formula = 'n + 5'\n"), &columns).unwrap().findings[0];
    assert_eq!(
        (found.verdict, found.reasons[0].says.as_str()),
        (Verdict::Open, "the formula gives 8, and 7 is measured")
    );
}

#[test]
fn errors_describe_the_problem() {
    let cases = [
        (
            "[grid]\nvalue = 'messages'\nrows = [{ label = 'a', where = { hops = 5 } }]\ncolumns = [{ label = '' }]\n",
            "there is no column `hops`",
        ),
        (
            "[grid]\nvalue = 'messages'\nrows = [{ label = 'a', where = { nodes = 9 } }]\ncolumns = [{ label = '' }]\n",
            "no row has",
        ),
        (
            "[grid]\nvalue = 'unknown'\nrows = [{ label = 'a' }]\ncolumns = [{ label = '' }]\n",
            "`unknown` has no value here",
        ),
        ("[grid]\nvalue = 'n +'\nrows = [{ label = 'a' }]\ncolumns = [{ label = '' }]\n", "column"),
        ("[grid]\nrows = [{ label = 'a' }]\ncolumns = [{ label = '' }]\n", "no formula is given"),
        (
            "[grid]\nvalue = 'n'\nrows = [{ label = 'a' }]\ncolumns = [{ label = '' }]\npublished = [[1, 2]]\n",
            "its lists do not have 1 rows of 1 entries",
        ),
        ("figures = ['messages']\n", "it has no plot `messages`"),
        ("figures = ['nothing/messages']\n", "unknown experiment"),
    ];
    for (item, wanted) in cases {
        let error = answer(item, COLUMNS).expect_err(item);
        assert!(error.to_string().contains(wanted), "{item}: {error}");
    }
}

#[test]
fn finds_the_winner_of_every_row_and_column() {
    let item = "[[winners]]\ntitle = 'least'\ny = 'messages'\nrows = 'nodes'\ncolumns = 'u'\n\
                candidates = [{ label = 'a', where = { kind = 1 } }, { label = 'b', where = { kind = 2 } }]\n";
    let columns: [(&str, &[i64]); 4] =
        [("kind", &[1, 1, 2, 2]), ("nodes", &[4, 8, 4, 8]), ("u", &[2, 2, 2, 2]), ("messages", &[10, 30, 10, 20])];
    let table = &answer(item, &columns).unwrap().winners[0];
    assert_eq!(table.columns, ["2"]);
    let wanted = [("4".to_string(), vec!["a, b (10)".to_string()]), ("8".to_string(), vec!["b (20)".to_string()])];
    assert_eq!(table.rows, wanted);
}

/// The verdicts of an example on the run of figure 6-20.
fn told(steps: &str, whole: bool) -> Vec<Verdict> {
    let cache = ResultCache::new(1, &|_| {});
    let head = "id = 'x'\nplace = 'here'\ntitle = 'x'\nexperiment = 'crete-example'\n[example]\n";
    let item: Item =
        toml::from_str(&format!("{head}whole = {whole}\n{steps}")).unwrap_or_else(|error| panic!("{error}"));
    let answer = ItemComparison::of(Box::leak(Box::new(item)), &cache).unwrap_or_else(|error| panic!("{error}"));
    let drawing = answer.drawing.expect("a run is drawn");
    assert!(drawing.svg.starts_with("<svg") && drawing.text.contains("election from 4"));
    answer.findings.iter().map(|finding| finding.verdict).collect()
}

#[test]
fn a_step_is_equal_only_if_exactly_its_messages_were_sent() {
    let step = |tick: u64, sends: &str| {
        format!("[[example.step]]\nplace = 'a'\nsays = 'x'\ntick = {tick}\nsends = ['{sends}']\n")
    };
    let cases = [
        (step(0, "4 election 5 6 7"), Verdict::Equal),
        (step(0, "4 election 7 6 5"), Verdict::Equal),
        (step(0, "4 election 5 6"), Verdict::Open),
        (step(0, "4 election 5 6 7 3"), Verdict::Open),
        (step(1, "4 election 5 6 7"), Verdict::Open),
        (step(0, "4 ok 5 6 7"), Verdict::Open),
    ];
    for (step, wanted) in cases {
        assert_eq!(told(&step, false), [wanted], "{step}");
    }
    // More was sent than this one step.
    assert_eq!(told(&step(0, "4 election 5 6 7"), true), [Verdict::Equal, Verdict::Open]);
}
