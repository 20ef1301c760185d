//! `hustings plot`: charts of real results, and error messages.

use crate::common;

use std::fs;
use std::process::Command;

use common::{binary, inside};
use serde_json::Value;

const EXPERIMENT: &str = "version = 1\nname = 'small'\nseed = 3\nrepetitions = 4\n[vary]\n\
    algorithm = ['chang-roberts', 'franklin']\nnodes = [4, 8, 16]\nids = 'random'\n\
    [[plot]]\nname = 'messages'\ntitle = 'Messages'\nx = 'nodes'\ny = 'messages'\nby = ['algorithm']\nlog = 'xy'\n\
    formula = [{ label = 'n H(n) + n', y = 'n*H(n) + n' }]\n\
    [[plot]]\nname = 'time'\nx = 'algorithm'\ny = 'elected'\nby = ['nodes']\n";

/// A folder with an experiment and its results.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let place = Place { folder };
        fs::write(place.path("small.toml"), EXPERIMENT).expect("the folder can be written to");
        let ran = inside(&["sweep", &place.path("small.toml"), "--out", &place.path(""), "--threads", "1"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        place
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }
}

#[test]
fn draws_the_plots_of_an_experiment() {
    let place = Place::new();
    let (csv, toml, out) = (place.path("small.csv"), place.path("small.toml"), place.path("figures"));
    let ran = inside(&["plot", &csv, "--experiment", &toml, "--out", &out]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, format!("{out}/messages.svg\n{out}/time.svg\n"));
    let picture = place.read("figures/messages.svg");
    for word in ["<title ", ">Messages</title>", ">chang-roberts</text>", ">n H(n) + n</text>", ">messages sent</text>"]
    {
        assert!(picture.contains(word), "{word} is not in the picture");
    }
    assert!(place.read("figures/time.svg").contains("<pattern "), "text gives bars");
    // Parquet holds the same, and one plot alone goes to standard output.
    let ran = inside(&["plot", &place.path("small.parquet"), "--experiment", &toml, "--plot", "messages"]);
    assert_eq!((ran.code, ran.out), (0, picture));
}

#[test]
fn options_and_experiments_draw_the_same() {
    let place = Place::new();
    let csv = place.path("small.csv");
    let of_experiment = inside(&["plot", &csv, "--experiment", &place.path("small.toml"), "--format", "json"]);
    let first: Value = serde_json::from_str(&of_experiment.out).expect("one object");
    let ran = inside(&[
        "plot",
        &csv,
        "--x",
        "nodes",
        "--y",
        "messages",
        "--by",
        "algorithm",
        "--log",
        "xy",
        "--title",
        "Messages",
        "--formula",
        "n H(n) + n=n*H(n) + n",
        "--format",
        "json",
    ]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let second: Value = serde_json::from_str(&ran.out).expect("one object");
    assert_eq!(first["charts"][0]["panels"], second["charts"][0]["panels"]);
    let line = &second["charts"][0]["panels"][0]["lines"][0];
    assert_eq!(line["series"], "chang-roberts");
    assert_eq!((&line["points"][2]["x"], &line["points"][2]["runs"]), (&16.0.into(), &4.into()));
    assert_eq!(second["charts"][0]["x"]["scale"], "log2");
    assert_eq!(second["charts"][0]["file"], Value::Null);
}

#[test]
fn selects_rows_and_joins_files() {
    let place = Place::new();
    let csv = place.path("small.csv");
    let rows = |more: &[&str]| {
        let line = [&["plot", &csv, "--x", "nodes", "--y", "messages", "--format", "json"], more].concat();
        let ran = inside(&line);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{more:?}");
        let told: Value = serde_json::from_str(&ran.out).expect("one object");
        told["charts"][0]["rows"].as_u64().expect("a number")
    };
    assert_eq!(rows(&[]), 24);
    assert_eq!(rows(&["--where", "algorithm=franklin"]), 12);
    assert_eq!(rows(&["--where", "nodes=4", "--where", "nodes=8", "--where", "algorithm=franklin"]), 8);
    let other = EXPERIMENT.replace("seed = 3", "seed = 4").replace("'small'", "'other'");
    fs::write(place.path("other.toml"), other).expect("the folder can be written to");
    assert_eq!(inside(&["sweep", &place.path("other.toml"), "--out", &place.path("")]).code, 0);
    assert_eq!(rows(&[&place.path("other.parquet")]), 48);
    // The same runs in another format are duplicates.
    let (parquet, axes) = (place.path("small.parquet"), ["--x", "nodes", "--y", "messages"]);
    let twice = inside(&[&["plot", &csv, &parquet], &axes[..]].concat());
    let message = format!("{csv} and {parquet} hold the same run (point ");
    assert!(twice.code == 2 && twice.err.contains(&message), "{}", twice.err);
}

#[test]
fn the_binary_writes_the_same_svg_and_png() {
    let place = Place::new();
    let parquet = place.path("small.parquet");
    let line = ["plot", &parquet, "--x", "nodes", "--y", "messages/n", "--by", "algorithm", "--facet", "repetition"];
    let ran = binary(&line);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran, inside(&line));
    let png = place.path("a.png");
    let ran = binary(&[&line[..], &["--out", &png]].concat());
    assert_eq!((ran.code, ran.out), (0, format!("{png}\n")));
    let to_standard = Command::new(env!("CARGO_BIN_EXE_hustings")).args(line).arg("--png").output();
    let to_standard = to_standard.expect("the binary can be started").stdout;
    assert!(to_standard.starts_with(b"\x89PNG"));
    assert_eq!(fs::read(&png).expect("it was written"), to_standard);
}

#[test]
fn counts_rows_without_a_number() {
    let place = Place::new();
    fs::write(place.path("gap.csv"), "nodes,messages\n1,5\n2,\n3,7\n").expect("the folder can be written to");
    let ran =
        inside(&["plot", &place.path("gap.csv"), "--x", "nodes", "--y", "messages", "--out", &place.path("a.svg")]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.err, "warning: 1 of 3 rows have no drawable values\n");
}

#[test]
fn errors_name_the_problem_and_what_is_allowed() {
    let place = Place::new();
    let (csv, toml) = (place.path("small.csv"), place.path("small.toml"));
    fs::write(place.path("bad.csv"), "a,b\n1\n").expect("the folder can be written to");
    fs::write(place.path("other.csv"), "nodes\n1\n").expect("the folder can be written to");
    fs::write(place.path("bad.parquet"), "a,b\n1\n").expect("the folder can be written to");
    fs::write(place.path("none.toml"), EXPERIMENT.split("[[plot]]").next().unwrap_or_default()).expect("as above");
    let (bad, other, none) = (place.path("bad.csv"), place.path("other.csv"), place.path("none.toml"));
    let (broken, nowhere) = (place.path("bad.parquet"), place.path("no/folder/a.svg"));
    let axes = ["--x", "nodes", "--y", "messages"];
    let cases: Vec<(Vec<&str>, i32, &str)> = vec![
        (vec![&csv], 2, "--x <COL>"),
        (
            vec![&csv, "--x", "node", "--y", "messages"],
            2,
            "x: there is no column `node`; the nearest is `nodes`; there are: ",
        ),
        (
            vec![&csv, "--x", "nodes", "--y", "mesages+1"],
            2,
            "y: there is no column `mesages`; the nearest is `messages`",
        ),
        (vec![&csv, "--x", "nodes", "--y", "(n"], 2, "y: `(n`: column 3: "),
        ([&[&*csv], &axes[..], &["--log", "z"]].concat(), 2, "--log z: `z` does not name axes; allowed: x, y, xy"),
        (
            [&[&*csv], &axes[..], &["--formula", "a="]].concat(),
            2,
            "--formula a=: a part is missing; allowed: LABEL=EXPR",
        ),
        ([&[&*csv], &axes[..], &["--where", "nodes"]].concat(), 2, "--where nodes: the column or `=` is missing"),
        (
            [&[&*csv], &axes[..], &["--where", "nodes=5"]].concat(),
            2,
            "where: no row has nodes = 5; there are: 4, 8, 16",
        ),
        ([&[&*csv], &axes[..], &["--out", &nowhere]].concat(), 3, "--out: cannot write `"),
        ([&[&*csv], &axes[..], &["--png", "--out", "a.svg"]].concat(), 2, "--png: the file's name ends in .svg"),
        ([&[&*csv], &axes[..], &["--format", "json", "--out", "-"]].concat(), 2, "--out -: standard output is used"),
        ([&[&*csv], &axes[..], &["--experiment", &toml]].concat(), 2, "cannot be used with"),
        (vec![&csv, "--experiment", &toml, "--out", "-"], 2, "--out -: an experiment may have several plots"),
        (vec![&csv, "--experiment", &toml, "--plot", "mesages"], 2, "there is no plot `mesages`"),
        (vec![&csv, "--experiment", &none], 2, "has no [[plot]]"),
        (vec![&other, "--experiment", &toml], 2, "plot `messages`: y: there is no column `messages`; there are: nodes"),
        ([&["results.txt"], &axes[..]].concat(), 2, "results.txt: unknown format; allowed: names that end in .csv or"),
        ([&["/nonexistent/a.csv"], &axes[..]].concat(), 3, "/nonexistent/a.csv: cannot be read: "),
        ([&[&*bad], &axes[..]].concat(), 2, "bad.csv: line 2: the row has 1 fields, the first line names 2"),
        ([&[&*broken], &axes[..]].concat(), 2, "bad.parquet: it is not a Parquet file, or it is damaged: "),
        ([&[&*csv, &*other], &axes[..]].concat(), 2, "results are joined only if they have the same columns"),
    ];
    for (line, code, wanted) in cases {
        let ran = inside(&[&["plot"], &line[..]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{line:?}: {}", ran.err);
        assert!(ran.err.contains(wanted), "{line:?}\n  says: {}\n  lacks: {wanted}", ran.err);
    }
}
