//! Wrong experiment files, each with the very words it is refused with.

use super::Experiment;

const HEAD: &str = "version = 1\nname = 'wrong'\n";

/// What follows the head; what is said; the nearest that is offered.
const FILES: &[(&str, &str, Option<&str>)] = &[
    ("[vary", "line 3: this is not TOML: unclosed table, expected `]`", None),
    ("seed = 1\nseed = 2", "line 4: this is not TOML: duplicate key: `seed`", None),
    (
        "sed = 4",
        "line 3: sed: unknown key `sed`; allowed: version, name, title, about, seed, repetitions, \
         pair, vary, skip, plot",
        Some("seed"),
    ),
    (
        "seed = -1",
        "line 3: seed = -1: this is not an allowed number; allowed: a whole number from 0 to 9223372036854775807",
        None,
    ),
    (
        "seed = 'x'",
        "line 3: seed = x: this is not an allowed number; allowed: a whole number from 0 to 9223372036854775807",
        None,
    ),
    (
        "repetitions = 0",
        "line 3: repetitions = 0: this is not an allowed number; allowed: a whole number from 1 to 1000000",
        None,
    ),
    (
        "repetitions = 10000001",
        "line 3: repetitions = 10000001: this is not an allowed number; allowed: a whole number from 1 to 1000000",
        None,
    ),
    ("title = 3", "line 3: title = 3: this is not text; allowed: text in quotes", None),
    ("vary = 3", "line 3: vary = 3: this is not a table; allowed: [vary] and keys below it", None),
    ("", "line 1: vary: this key is missing; allowed: [vary] with the settings below it", None),
    (
        "[vary]\nnodes = 3",
        "line 3: vary.algorithm: this key is missing; allowed: an algorithm or a list of them; `hustings \
         list` shows all",
        None,
    ),
    (
        "[vary]\nalgorithm = 'chang-robberts'",
        "line 4: vary.algorithm = chang-robberts: there is no algorithm `chang-robberts`; allowed: \
         chang-roberts, le-lann, franklin, dolev-klawe-rodeh, peterson, hirschberg-sinclair, token-ring, sun, \
         divided, sun-divided, bully, improved-bully, campaigner, invitation, tree, echo-extinction, aefa, \
         two-tier, preference, itai-rodeh, anonymous-echo, ring-size",
        Some("chang-roberts"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnode = 3",
        "line 5: vary.node: unknown key `node`; allowed: algorithm, nodes, ids, values, votes, best, \
         topology, initiators, notice, runs, crash, recover, join, retire, cut, heal, partition, delay, \
         unordered, loss, duplicate, bandwidth, medium, cheat, until, p.NAME, let.NAME",
        Some("nodes"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = [3, 'four']",
        "line 5: vary.nodes = four: `four` is not a whole number; allowed: a whole number from 1 to 100000000",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = [\n  3,\n  0,\n]",
        "line 7: vary.nodes = 0: `0` is less than 1; allowed: a whole number from 1 to 100000000",
        Some("1"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = 2.5",
        "line 5: vary.nodes = 2.5: `2.5` is not a whole number; allowed: a whole number from 1 to 100000000",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = []",
        "line 5: vary.nodes = […]: the list is empty; allowed: one value or more",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = [3, 3]",
        "line 5: vary.nodes = 3: this value is given twice; allowed: each value once",
        None,
    ),
    (
        "[vary]\nalgorithm = ['cr', 'chang-roberts']",
        "line 4: vary.algorithm = chang-roberts: this value is given twice; allowed: each value once",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = [[3]]",
        "line 5: vary.nodes = […]: this is not a value of a setting; allowed: text, a number, true, false, or a \
         list of these",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = 2026-01-01",
        "line 5: vary.nodes = 2026-01-01: this is not a value of a setting; allowed: text, a number, true, \
         false, or a list of these",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = '9..3'",
        "line 5: vary.nodes = 9..3: the range ends before it begins; allowed: a range such as `1..5`, \
         `10..100 step 10`, `0..1 step 0.1` or `2^4..2^20`",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = '2^3..2^40'",
        "line 5: vary.nodes = 2^3..2^40: `134217728` is more than 100000000; allowed: a whole number from 1 \
         to 100000000",
        Some("100000000"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\nids = 'decending'",
        "line 5: vary.ids = decending: `decending` is not known here; allowed: a list such as `5,3,9`, \
         `@FILE`, `ascending`, `descending` or `random`",
        Some("descending"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\ntopology = 'rng'",
        "line 5: vary.topology = rng: `rng` is not known here; allowed: ring, complete, line, star, tree:K, \
         grid:RxC, torus:RxC, hypercube:D, random:MIN-MAX, small-world:K,P, scale-free:M, geometric:R, \
         file:PATH, links:U-V,…",
        Some("ring"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\ndelay = 'exponentil:3'",
        "line 5: vary.delay = exponentil:3: `exponentil:3` is not known here; allowed: `unit`, `uniform:A-B`, \
         `exponential:MEAN` or `pareto:MIN,SHAPE`",
        Some("exponential:3"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\nloss = 1.5",
        "line 5: vary.loss = 1.5: `1.5` is more than 1; allowed: a probability, from 0 to 1",
        Some("1"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\nruns = 'ture'",
        "line 5: vary.runs = ture: there is no boolean `ture`; allowed: true, false",
        Some("true"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\ncrash = '3@'",
        "line 5: vary.crash = 3@: there is nothing where something is needed; allowed: a position and a tick, \
         such as `3@10`; `leader` or `other` may be the position, `quiet+K` the tick",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\ncrash = '3@5, 4'",
        "line 5: vary.crash = 3@5, 4: `4` lacks `@` and a tick; allowed: a position and a tick, such as \
         `3@10`; `leader` or `other` may be the position, `quiet+K` the tick",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\ncrash = 'leader@quiet-1'",
        "line 5: vary.crash = leader@quiet-1: `quiet-1` is not a tick; allowed: a tick, `quiet`, or `quiet+` and \
         a number of ticks",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\ncrash = 'lader@quiet+1'",
        "line 5: vary.crash = lader@quiet+1: `lader` is not a whole number; allowed: a position and a tick, \
         such as `3@10`; `leader` or `other` may be the position, `quiet+K` the tick",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\ninitiators = 'al'",
        "line 5: vary.initiators = al: `al` is not known here; allowed: `all`, `none`, `random:K`, or \
         positions such as `0,3@5` (position 3 at tick 5)",
        Some("all"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\np.k = 3",
        "line 5: vary.p.k: there is no parameter `k` of these algorithms; allowed: none, because they \
         have no parameters",
        None,
    ),
    (
        "[vary]\nalgorithm = 'sun'\np.dept = 1",
        "line 5: vary.p.dept: there is no parameter `dept` of these algorithms; allowed: aggregate, depth, \
         parts, u",
        Some("p.depth"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\nlet.n = 3",
        "line 5: vary.let.n: a variable cannot be called `n`; allowed: a letter, then letters, digits and _; \
         not n, and, or, nor an option",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nlet.u = 'three'",
        "line 5: vary.let.u = three: `three` is not a number; allowed: a finite number",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\ncrash = '{n-1@0'",
        "line 5: vary.crash = {n-1@0: a `{` has no `}`; allowed: a formula in braces, such as `{n-1}`",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\ncrash = '{n-}@0'",
        "line 5: vary.crash = {n-}@0: column 3 of `n-`: the formula ends too early; allowed: a number, a \
         name, a function, `(` or `-`",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nlet.up = 1\ncrash = '{un}@0'",
        "line 6: vary.crash = {un}@0: `un` is not a number of this experiment; allowed: n, up",
        Some("n"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\ncrash = '{n}@0'",
        "line 5: vary.crash = {n}@0: `n` has no value here; allowed: settings that are numbers at every point",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = [3, 4]\ncrash = '{3-n}@0'",
        "line 6: vary.crash = {3-n}@0: where nodes = 4: this evaluates to `-1@0`: `-1` is less than 0; allowed: a \
         position and a tick, such as `3@10`; `leader` or `other` may be the position, `quiet+K` the tick",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nlet.u = '{n}'\nnodes = '{u}'",
        "line 5: vary.let.u = {n}: this formula depends on itself; allowed: formulas over other settings",
        None,
    ),
    (
        "pair = ['algorithms']\n[vary]\nalgorithm = 'cr'",
        "line 3: pair = algorithms: there is no setting `algorithms`; allowed: algorithm",
        Some("algorithm"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\n[[skip]]\nnodes = 3",
        "line 6: skip.nodes: there is no setting `nodes`; allowed: algorithm",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = 3\n[[skip]]\nwhen = 'm > 3'",
        "line 7: skip.when = m > 3: `m` is not a number of this experiment; allowed: n, nodes",
        Some("n"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = 3\n[[skip]]\nwhen = 'n >'",
        "line 7: skip.when = n >: column 4 of `n >`: the formula ends too early; allowed: a number, a name, a \
         function, `(` or `-`",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = 3\n[[skip]]\nwhen = 'n == 3'",
        "line 7: skip: every point is left out; allowed: skips that leave some points",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = 3\n[[skip]]\nnodes = '{n}'",
        "line 7: skip.nodes = {n}: formulas in braces are not allowed here; allowed: values; `when` takes a formula",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = 3\n[skip]\nnodes = 3",
        "line 6: skip = {…}: this is not a list of tables; allowed: [[skip]]",
        None,
    ),
    (
        "repetitions = 1000000\n[vary]\nalgorithm = 'cr'\nnodes = '1..6'",
        "line 3: repetitions = 1000000: 6 points, 1000000 times each, are 6000000 runs; allowed: at most \
         5000000 runs",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\nnodes = '1..2000'\nbandwidth = '1..2000'",
        "line 4: vary: there are 4000000 combinations; allowed: at most 1000000",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\n[[plot]]\nname = 'a'\nx = 'node'\ny = 'messages'",
        "line 7: plot.x = node: the results have no column `node`; allowed: algorithm, nodes, point, \
         repetition, seed, version, links, leader, agreement, live, hung, messages, notice_messages, bytes, \
         lost, load_mean, load_max, collisions, collisions_max, elected, agreed, quiescent, estimate, \
         expected, before.messages, before.bytes, before.elected, before.agreed, before.quiescent, \
         messages.KIND",
        Some("nodes"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\n[[plot]]\nname = 'a'\nx = 'nodes'\ny = 'mesages * 2'",
        "line 8: plot.y = mesages * 2: the results have no column `mesages`; allowed: algorithm, nodes, \
         point, repetition, seed, version, links, leader, agreement, live, hung, messages, notice_messages, \
         bytes, lost, load_mean, load_max, collisions, collisions_max, elected, agreed, quiescent, estimate, \
         expected, before.messages, before.bytes, before.elected, before.agreed, before.quiescent, \
         messages.KIND",
        Some("messages"),
    ),
    (
        "[vary]\nalgorithm = 'cr'\n[[plot]]\nname = 'a'\nx = 'nodes'",
        "line 6: plot.y: this key is missing; allowed: a column or a formula, such as y = \"messages\"",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\n[[plot]]\nname = 'a/b'\nx = 'nodes'\ny = 'messages'",
        "line 6: plot.name = a/b: this is not valid in a file name; allowed: letters a to z, digits, - \
         and _, not starting with -",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\n[[plot]]\nname = 'a'\nx = 'nodes'\ny = 'messages'\nlog = 'z'",
        "line 9: plot.log = z: this does not name axes; allowed: \"\", \"x\", \"y\", \"xy\"",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\n\
         [[plot]]\nname = 'a'\nx = 'nodes'\ny = 'messages'\nformula = [{ y = 'n' }]",
        "line 9: plot.formula: `label` is missing; allowed: { label = \"…\", y = \"a formula\" }",
        None,
    ),
    (
        "[vary]\nalgorithm = 'cr'\n\
         [[plot]]\nname = 'a'\nx = 'nodes'\ny = 'messages'\n\
         [[plot]]\nname = 'a'\nx = 'nodes'\ny = 'bytes'",
        "line 10: plot.name = a: two plots have this name; allowed: a name for each",
        None,
    ),
];

#[test]
fn every_error_has_its_position() {
    let mut wrong = Vec::new();
    for (rest, expected, nearest) in FILES {
        let mistake = Experiment::parse("wrong.toml", &format!("{HEAD}{rest}")).expect_err(rest);
        let told = mistake.to_string();
        if told != format!("wrong.toml, {expected}") || mistake.diagnostic.nearest.as_deref() != *nearest {
            wrong.push(format!("{rest:?}\n  {told}\n  {:?}", mistake.diagnostic.nearest));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_needs_a_version_and_a_name() {
    let told = |text: &str| Experiment::parse("wrong.toml", text).expect_err(text).to_string();
    assert_eq!(told("name = 'a'"), "wrong.toml, line 1: version: this key is missing; allowed: version = 1");
    assert_eq!(
        told("version = 2\nname = 'a'"),
        "wrong.toml, line 1: version = 2: this is not an allowed number; allowed: a whole number from 1 to 1"
    );
    assert_eq!(
        told("version = 1"),
        "wrong.toml, line 1: name: this key is missing; allowed: a name for the files, such as name = \"candidates\""
    );
    assert_eq!(
        told("version = 1\nname = '../a'\n[vary]\nalgorithm = 'cr'"),
        "wrong.toml, line 2: name = ../a: this is not valid in a file name; allowed: letters a to z, digits, - and _, \
         not starting with -"
    );
    let long = " ".repeat(super::super::MAX_BYTES + 1);
    assert_eq!(told(&long), "wrong.toml, line 1: the file has 1048577 bytes; allowed: at most 1048576");
}

#[test]
fn refusals_of_the_simulator_name_the_line() {
    let told = |vary: &str| {
        let experiment = Experiment::parse("wrong.toml", &format!("{HEAD}[vary]\n{vary}")).expect("it can be read");
        crate::sweep::check(&experiment).expect_err(vary).to_string()
    };
    for (vary, expected) in [
        (
            "algorithm = ['aefa', 'cr']\nnodes = 12\ntopology = 'grid:3x4'",
            "line 6: vary.topology = grid:3x4: where algorithm = chang-roberts: chang-roberts runs on a \
             ring",
        ),
        (
            "algorithm = 'cr'\nnodes = [3, 4]\ncrash = '3@0'",
            "line 6: vary.crash = 3@0: where nodes = 3: there is no position 3; allowed: 0 to 2",
        ),
        (
            "algorithm = 'sun'\nnodes = 16\np.aggregate = 'lazzy'",
            "line 6: vary.p.aggregate = lazzy: parameter `aggregate` cannot be `lazzy`; \
             allowed: lazy, eager",
        ),
    ] {
        assert_eq!(told(vary), format!("wrong.toml, {expected}"));
    }
}
