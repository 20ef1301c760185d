//! Every wrong option, with the very words it is refused with and the exit code.

mod common;

use common::binary;

/// Arguments of `hustings sim`, separated by spaces; the exit code; what standard error says.
const SIM: &[(&str, i32, &str)] = &[];

/// The same for everything else; of the argument parser's own messages only the first line counts.
const OTHERS: &[(&str, i32, &str)] = &[
    ("lst", 2, "error: unrecognized subcommand 'lst'"),
    ("sim", 2, "error: the following required arguments were not provided:"),
    ("sim cr --crsh 1@2", 2, "error: unexpected argument '--crsh' found"),
    ("sim cr --runs", 2, "error: unexpected argument '--runs' found"),
    ("sim cr --ids", 2, "error: a value is required for '--ids <IDS>' but none was supplied"),
    ("sim cr -n 3 -n 4", 2, "error: the argument '--nodes <N>' cannot be used multiple times"),
    ("sim cr --trace-to x", 2, "error: the following required arguments were not provided:"),
    ("sim cr --format xml", 2, "error: invalid value 'xml' for '--format <FORMAT>'"),
    ("list franklyn", 2, "error: there is no algorithm `franklyn`"),
    ("man simm", 2, "error: there is no command `simm`"),
    ("completions basch", 2, "error: invalid value 'basch' for '<SHELL>'"),
];

#[test]
fn every_wrong_election_is_refused_with_reasons() {
    for (args, code, err) in SIM {
        let line: Vec<&str> = std::iter::once("sim").chain(args.split(' ')).collect();
        let ran = binary(&line);
        assert_eq!((ran.code, ran.err.as_str(), ran.out.as_str()), (*code, *err, ""), "sim {args}");
    }
}

#[test]
fn every_wrong_command_is_refused_with_reasons() {
    for (args, code, err) in OTHERS {
        let ran = binary(&args.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.code, ran.err.lines().next(), ran.out.as_str()), (*code, Some(*err), ""), "{args}");
    }
}

#[test]
fn what_is_only_odd_is_run_with_a_warning() {
    let ran = binary(&["sim", "franklin", "--unordered"]);
    let warning = "warning: --unordered: franklin needs links that keep the order of messages; it may elect wrongly or never end\n";
    assert_eq!((ran.code, ran.err.as_str()), (0, warning));
    let ran = binary(&["sim", "cr", "-n", "4", "--initiators", "0,1@5", "--crash", "1@2"]);
    assert_eq!(ran.err, "warning: --initiators: position 1 is down at tick 5, so its start signal does nothing\n");
}
