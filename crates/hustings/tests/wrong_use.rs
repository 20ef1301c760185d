//! Wrong options: the exact error messages and the exit codes.

use crate::common;

use common::binary;

/// Arguments of `hustings sim`, separated by spaces; the exit code; what standard error says.
const SIM: &[(&str, i32, &str)] = &[
    (
        "chang-robberts",
        2,
        "error: there is no algorithm `chang-robberts`\n\
         help: the nearest is `chang-roberts`; `hustings list` shows all",
    ),
    (
        "xyzzyxyzzy",
        2,
        "error: there is no algorithm `xyzzyxyzzy`\n\
         help: `hustings list` shows all",
    ),
    (
        "cr -n 0",
        2,
        "error: --nodes 0: `0` is less than 1; allowed: a whole number from 1 to 100000000\n\
         help: the nearest is `1`",
    ),
    (
        "cr -n 100000001",
        2,
        "error: --nodes 100000001: `100000001` is more than 100000000; allowed: a whole number from 1 to 100000000\n\
         help: the nearest is `100000000`",
    ),
    (
        "cr -n eight",
        2,
        "error: --nodes eight: `eight` is not a whole number; allowed: a whole number from 1 to 100000000",
    ),
    (
        "cr -n -3",
        2,
        "error: --nodes -3: `-3` is less than 1; allowed: a whole number from 1 to 100000000\n\
         help: the nearest is `1`",
    ),
    ("cr --ids 5,3,5", 2, "error: --ids: positions 0 and 2 both have the id 5; all ids must be different"),
    (
        "cr --ids 5,3 -n 3",
        2,
        "error: --ids means 2 nodes, but --nodes 3 says 3\n\
         help: leave --nodes out, or say --nodes 2",
    ),
    (
        "cr --ids 5,x",
        2,
        "error: --ids 5,x: `x` is not a whole number; allowed: a list such as `5,3,9`, `@FILE`, `ascending`, `descending` or `random`",
    ),
    (
        "cr --ids decending",
        2,
        "error: --ids decending: `decending` is not known here; allowed: a list such as `5,3,9`, `@FILE`, `ascending`, `descending` or `random`\n\
         help: the nearest is `descending`",
    ),
    (
        "cr --ids @/nonexistent/ids",
        3,
        "error: --ids: cannot read `/nonexistent/ids`: No such file or directory (os error 2)",
    ),
    (
        "cr --values 1,2 -n 3",
        2,
        "error: --values means 2 nodes, but --nodes 3 says 3\n\
         help: leave --nodes out, or say --nodes 2",
    ),
    (
        "cr --values 1,inf",
        2,
        "error: --values 1,inf: `inf` is not a finite number; allowed: a list of finite numbers such as `3.5,1,2`, or `@FILE`",
    ),
    (
        "cr --votes 0:1",
        2,
        "error: --votes: chang-roberts takes no votes; allowed: only with algorithms that do\n\
         help: leave --votes out; --values ranks nodes before their ids",
    ),
    (
        "cr --cheat 1:rank",
        2,
        "error: --cheat: chang-roberts does not define cheating; allowed: only with algorithms that do\n\
         help: leave --cheat out; `hustings list` shows the algorithms that take it",
    ),
    (
        "cr --cheat 1:ackk",
        2,
        "error: --cheat 1:ackk: `ackk` is not known here; allowed: a position and what it does, `rank` or `ack`, such as \
         `3:rank`\n\
         help: the nearest is `1:ack`",
    ),
    (
        "itai-rodeh --values 3,2,1",
        2,
        "error: --values: nodes of itai-rodeh are anonymous and compare nothing; allowed: only with algorithms that compare nodes\n\
         help: leave --values out",
    ),
    (
        "ring-size --best min",
        2,
        "error: --best: nodes of ring-size are anonymous and compare nothing; allowed: only with algorithms that compare nodes\n\
         help: leave --best out",
    ),
    ("ring-size -n 1", 2, "error: ring-size takes 2 nodes or more, and 1 would be up at tick 0"),
    (
        "two-tier -n 3",
        2,
        "error: parameter `subordinates` cannot be `3` with 3 nodes: a leader and its subordinates are all different nodes\n\
         help: say -p subordinates=2",
    ),
    (
        "sun -n 5",
        2,
        "error: parameter `u` cannot be `4` with 5 nodes: the ring is divided once by 4, so it takes a multiple of 4 nodes, or lengths in `parts`\n\
         help: say --nodes 4 or --nodes 8",
    ),
    (
        "sun-divided -n 8",
        2,
        "error: parameter `u` cannot be `4` with 8 nodes: the ring is divided 2 times by 4, so it takes a multiple of 16 nodes, or lengths in `parts`\n\
         help: say --nodes 16",
    ),
    ("bully -p T=0", 2, "error: -p T=0: parameter `T` cannot be `0`; allowed: a whole number of at least 1"),
    (
        "cr --best mix",
        2,
        "error: --best mix: `mix` is not known here; allowed: `max` or `min`\n\
         help: the nearest is `max`",
    ),
    (
        "cr --topology complete",
        2,
        "error: --topology complete: chang-roberts runs on a ring\n\
         help: leave --topology out, or say --topology ring",
    ),
    (
        "cr --topology grid:3x4",
        2,
        "error: --topology grid:3x4: chang-roberts runs on a ring\n\
         help: leave --topology out, or say --topology ring",
    ),
    (
        "cr --topology grid:3x4 -n 10",
        2,
        "error: --topology grid:3x4 means 12 nodes, but --nodes 10 says 10\n\
         help: leave --nodes out, or say --nodes 12",
    ),
    (
        "cr --topology rign",
        2,
        "error: --topology rign: `rign` is not known here; allowed: ring, complete, line, star, tree:K, grid:RxC, torus:RxC, hypercube:D, random:MIN-MAX, small-world:K,P, scale-free:M, geometric:R, file:PATH, links:U-V,…\n\
         help: the nearest is `ring`",
    ),
    (
        "cr --topology torus:1x3",
        2,
        "error: --topology torus:1x3: with fewer than 3 rows or columns, two nodes would be linked twice; allowed: torus:RxC with R and C at least 3\n\
         help: the nearest is `torus:3x3`",
    ),
    (
        "cr --initiators 8",
        2,
        "error: --initiators 8@0: there is no position 8; allowed: 0 to 7\n\
         help: the nearest position is 7",
    ),
    (
        "cr --initiators random:9",
        2,
        "error: --initiators random:9: only 8 nodes are up at tick 0; allowed: random:1 to random:8\n\
         help: the nearest is random:8",
    ),
    (
        "cr --initiators al",
        2,
        "error: --initiators al: `al` is not known here; allowed: `all`, `none`, `random:K`, or positions such as `0,3@5` (position 3 at tick 5)\n\
         help: the nearest is `all`",
    ),
    (
        "cr --initiators 0,0",
        2,
        "error: --initiators 0,0: `0@0` is given twice; allowed: `all`, `none`, `random:K`, or positions such as `0,3@5` (position 3 at tick 5)",
    ),
    (
        "cr --initiators 0@99999",
        2,
        "error: --initiators 0@99999: the last tick is 10800; allowed: ticks 0 to 10800\n\
         help: say --until 99999 or more",
    ),
    (
        "cr --notice poll:3",
        2,
        "error: --notice poll:3: chang-roberts holds one election only, so nothing watches its leader; allowed: oracle\n\
         help: leave --notice out",
    ),
    (
        "cr --notice pol:3",
        2,
        "error: --notice pol:3: `pol:3` is not known here; allowed: `oracle`, `poll:K`, `heartbeat:K` or `term:K`, with K ticks\n\
         help: the nearest is `poll:3`",
    ),
    (
        "cr --notice poll",
        2,
        "error: --notice poll: `poll` lacks `:` and a number of ticks; allowed: `oracle`, `poll:K`, `heartbeat:K` or `term:K`, with K ticks\n\
         help: the nearest is `poll:10`",
    ),
    (
        "cr --crash 8@1",
        2,
        "error: --crash 8@1: there is no position 8; allowed: 0 to 7\n\
         help: the nearest position is 7",
    ),
    ("cr --crash 1", 2, "error: --crash 1: `1` lacks `@` and a tick; allowed: a position and a tick, such as `3@10`"),
    (
        "cr --crash 1@x",
        2,
        "error: --crash 1@x: `x` is not a whole number; allowed: a position and a tick, such as `3@10`",
    ),
    ("cr --crash 1@2 --crash 1@3", 2, "error: --crash 1@3: position 1 is down then; allowed: a node that is up"),
    (
        "cr --crash 1@99999",
        2,
        "error: --crash 1@99999: the last tick is 10800; allowed: ticks 0 to 10800\n\
         help: say --until 99999 or more",
    ),
    ("cr --recover 1@2", 2, "error: --recover 1@2: position 1 is up then; allowed: a node that is down"),
    (
        "cr --crash 1@2 --recover 1@2",
        2,
        "error: --recover 1@2: position 1 has another change at tick 2 already; allowed: one change per node and tick",
    ),
    (
        "cr --join 1@2 --join 1@3",
        2,
        "error: --join 1@3: position 1 is known already then; allowed: a node that is new, with no change before it joins",
    ),
    ("cr --retire 1@2 --crash 1@3", 2, "error: --crash 1@3: position 1 is down then; allowed: a node that is up"),
    ("cr --cut 0-5@1", 2, "error: --cut 0-5@1: positions 0 and 5 are not linked; allowed: neighbours, such as 0-7"),
    (
        "cr --cut 0-0@1",
        2,
        "error: --cut 0-0@1: `0-0` leads from a node to itself; allowed: two neighbours and a tick, such as `0-1@10`",
    ),
    ("cr --cut 0-1@1 --cut 1-0@2", 2, "error: --cut 1-0@2: the link is cut then; allowed: a link that is whole"),
    (
        "cr --cut 0-8@1",
        2,
        "error: --cut 0-8@1: there is no position 8; allowed: 0 to 7\n\
         help: the nearest position is 7",
    ),
    ("cr --heal 0-1@1", 2, "error: --heal 0-1@1: the link is whole then; allowed: a link that is cut"),
    (
        "cr --heal all",
        2,
        "error: --heal all: `all` lacks `@` and a tick; allowed: two neighbours and a tick, such as `0-1@10`, or `all@10`",
    ),
    (
        "cr --partition 0-3/3-7@1",
        2,
        "error: --partition 0-3/3-7@1: `3` is given twice; allowed: groups of positions and a tick, such as `0-3,8/4-7@10`",
    ),
    (
        "cr --partition 0-7@1",
        2,
        "error: --partition 0-7@1: all positions are in one group; allowed: two groups or more",
    ),
    (
        "cr --partition 3-0@1",
        2,
        "error: --partition 3-0@1: the range `3-0` ends before it begins; allowed: groups of positions and a tick, such as `0-3,8/4-7@10`\n\
         help: the nearest is `0-3`",
    ),
    (
        "cr --partition 0-3/4-8@1",
        2,
        "error: --partition 0-3/4-8@1: there is no position 8; allowed: 0 to 7\n\
         help: the nearest position is 7",
    ),
    (
        "cr --delay unifrom:1-2",
        2,
        "error: --delay unifrom:1-2: `unifrom:1-2` is not known here; allowed: `unit`, `uniform:A-B`, `exponential:MEAN` or `pareto:MIN,SHAPE`\n\
         help: the nearest is `uniform:1-2`",
    ),
    (
        "cr --delay uniform:5-2",
        2,
        "error: --delay uniform:5-2: the range `5-2` ends before it begins; allowed: `unit`, `uniform:A-B`, `exponential:MEAN` or `pareto:MIN,SHAPE`\n\
         help: the nearest is `uniform:2-5`",
    ),
    (
        "cr --delay uniform:0-2",
        2,
        "error: --delay uniform:0-2: `0` is less than 1; allowed: `unit`, `uniform:A-B`, `exponential:MEAN` or `pareto:MIN,SHAPE`",
    ),
    (
        "cr --delay exponential:0",
        2,
        "error: --delay exponential:0: `0` is less than 0.001; allowed: `unit`, `uniform:A-B`, `exponential:MEAN` or `pareto:MIN,SHAPE`",
    ),
    (
        "cr --delay pareto:1",
        2,
        "error: --delay pareto:1: `1` lacks `,` and the shape; allowed: `unit`, `uniform:A-B`, `exponential:MEAN` or `pareto:MIN,SHAPE`",
    ),
    (
        "cr --loss 1.5",
        2,
        "error: --loss 1.5: `1.5` is more than 1; allowed: a probability, from 0 to 1\n\
         help: the nearest is `1`",
    ),
    (
        "cr --loss -0.5",
        2,
        "error: --loss -0.5: `-0.5` is less than 0; allowed: a probability, from 0 to 1\n\
         help: the nearest is `0`",
    ),
    ("cr --loss many", 2, "error: --loss many: `many` is not a finite number; allowed: a probability, from 0 to 1"),
    (
        "cr --duplicate 2",
        2,
        "error: --duplicate 2: `2` is more than 1; allowed: a probability, from 0 to 1\n\
         help: the nearest is `1`",
    ),
    (
        "cr --bandwidth 0",
        2,
        "error: --bandwidth 0: `0` is less than 1; allowed: messages per tick, at least 1\n\
         help: the nearest is `1`",
    ),
    ("cr --medium air", 2, "error: --medium air: `air` is not known here; allowed: `links` or `broadcast`"),
    (
        "cr --seed -1",
        2,
        "error: --seed -1: `-1` is less than 0; allowed: a whole number from 0 to 18446744073709551615\n\
         help: the nearest is `0`",
    ),
    (
        "cr --seed 18446744073709551616",
        2,
        "error: --seed 18446744073709551616: `18446744073709551616` is more than 18446744073709551615; allowed: a whole number from 0 to 18446744073709551615\n\
         help: the nearest is `18446744073709551615`",
    ),
    ("cr --until x", 2, "error: --until x: `x` is not a whole number; allowed: a whole number from 0 to 1000000000000"),
    (
        "cr --threads 0",
        2,
        "error: --threads 0: `0` is less than 1; allowed: a whole number from 1 to 256\n\
         help: the nearest is `1`",
    ),
    ("cr -p u=4", 2, "error: -p u=4: there is no parameter `u`; allowed: none, this algorithm has no parameters"),
    ("cr -p u", 2, "error: -p u: this lacks `=`; allowed: name=value"),
    (
        "token-ring -p tokn=max",
        2,
        "error: -p tokn=max: there is no parameter `tokn`; allowed: token\n\
         help: the nearest is `token`",
    ),
    (
        "token-ring -p token=least",
        2,
        "error: -p token=least: parameter `token` cannot be `least`; allowed: max, collect",
    ),
    ("token-ring -p token=max -p token=max", 2, "error: -p token: this parameter is given twice; allowed: once"),
    (
        "cr --trace svgg",
        2,
        "error: --trace svgg: `svgg` is not known here; allowed: text, jsonl, mermaid, svg, shiviz\n\
         help: the nearest is `svg`",
    ),
    (
        "cr --trace svg --format json",
        2,
        "error: --trace svg: with --format json, standard output holds the result alone\n\
         help: say where the trace goes: --trace-to FILE",
    ),
    (
        "cr --trace svg --trace-to /nonexistent/trace.svg",
        3,
        "error: --trace-to: cannot write `/nonexistent/trace.svg`: No such file or directory (os error 2)",
    ),
    (
        "cr --ids 5,3,9,@",
        2,
        "error: --ids 5,3,9,@: `@` is not a whole number; allowed: a list such as `5,3,9`, `@FILE`, `ascending`, `descending` or `random`",
    ),
    (
        "cr --initiators 1@",
        2,
        "error: --initiators 1@: there is nothing where something is needed; allowed: `all`, `none`, `random:K`, or positions such as `0,3@5` (position 3 at tick 5)",
    ),
];

/// The same for everything else; of the argument parser's own messages only the first line counts.
const OTHERS: &[(&str, i32, &str)] = &[
    ("lst", 2, "error: unrecognized subcommand 'lst'"),
    ("sim", 2, "error: the following required arguments were not provided:"),
    ("sim cr --crsh 1@2", 2, "error: unexpected argument '--crsh' found"),
    ("sim cr --rounds-off", 2, "error: unexpected argument '--rounds-off' found"),
    ("sim cr --ids", 2, "error: a value is required for '--ids <IDS>' but none was supplied"),
    ("sim cr -n 3 -n 4", 2, "error: the argument '--nodes <N>' cannot be used multiple times"),
    ("sim cr --trace-to x", 2, "error: the following required arguments were not provided:"),
    ("sim cr --format xml", 2, "error: invalid value 'xml' for '--format <FORMAT>'"),
    ("list franklyn", 2, "error: there is no algorithm `franklyn`"),
    ("man simm", 2, "error: there is no command `simm`"),
    ("completions basch", 2, "error: invalid value 'basch' for '<SHELL>'"),
];

#[test]
fn rejects_every_wrong_election_with_a_reason() {
    for (args, code, err) in SIM {
        let line: Vec<&str> = std::iter::once("sim").chain(args.split(' ')).collect();
        let ran = binary(&line);
        assert_eq!((ran.code, ran.err.trim_end(), ran.out.as_str()), (*code, *err, ""), "sim {args}");
    }
}

#[test]
fn rejects_every_wrong_command_with_a_reason() {
    for (args, code, err) in OTHERS {
        let ran = binary(&args.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.code, ran.err.lines().next(), ran.out.as_str()), (*code, Some(*err), ""), "{args}");
    }
}

#[test]
fn warns_about_unusual_options_and_runs() {
    let ran = binary(&["sim", "franklin", "--unordered"]);
    let warning = "warning: --unordered: franklin needs links that keep the order of messages; it may elect wrongly or never end\n";
    assert_eq!((ran.code, ran.err.as_str()), (0, warning));
    let ran = binary(&["sim", "bully", "--delay", "uniform:1-2"]);
    let warning = "warning: --delay: bully counts on messages that travel for 1 tick at most, and here some take 2; it may elect wrongly\n";
    assert_eq!(ran.err, warning);
    assert_eq!(binary(&["sim", "bully", "--delay", "uniform:1-2", "-p", "T=2"]).err, "");
    let ran = binary(&["sim", "cr", "-n", "4", "--initiators", "0,1@5", "--crash", "1@2"]);
    assert_eq!(ran.err, "warning: --initiators: position 1 is down at tick 5, so its start signal does nothing\n");
}
