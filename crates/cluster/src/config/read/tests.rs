mod arbitrary_text;

use std::time::Duration;

use hustings_protocol::Id;

use super::*;
use crate::config::environment::VARIABLES;
use crate::config::{Limits, Mode, Preempt, Probe};
use crate::member::{Member, Role};
use crate::timing::{Timing, TimingError};

const SMALL: &str = r#"
cluster = "shop"
node = "a"
[[member]]
id = 1
name = "a"
address = "127.0.0.1:7401"
"#;

const FULL: &str = r#"
cluster = "shop"
node = "b"
listen = "0.0.0.0:7402"
data = "/var/lib/hustings"
socket = "run/hustings.sock"
socket-group = "web"
algorithm = "chang-roberts"
params = ["x=1"]
arbiter = "none"
[tls]
authority = "ca.pem"
certificate = "b.pem"
key = "/etc/b.key"
[timing]
heartbeat = "20ms"
silence-floor = "60ms"
silence-ceiling = "1s 500ms"
lease = "300ms"
drift-ppm = 500
stop = "30ms"
tick = "2ms"
settle = "5s"
hand-over = "1s"
[[member]]
id = 7
name = "b"
address = "[::1]:7402"
priority = 3
[[member]]
id = 2
name = "a"
address = "host-a.example:7401"
role = "witness"
[office-default]
mode = "fenced"
[[office]]
name = "cron"
mode = "exclusive"
preempt = "better"
[[office]]
name = "mail"
preempt = { better-after = "30s" }
[health]
command = ["/usr/bin/check", "-q"]
every = "3s"
timeout = "1s"
threshold = 40
"#;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("/etc/hustings"))
}

fn parse_error(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

/// The error for the full example with one replacement.
fn error_after(from: &str, to: &str) -> String {
    assert!(FULL.contains(from), "{from} is in the example");
    parse_error(&FULL.replacen(from, to, 1))
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn a_minimal_file_gets_defaults() {
    let config = parse(SMALL).expect("the example is right");
    let member = Member {
        id: Id(1),
        name: "a".to_string(),
        address: "127.0.0.1:7401".to_string(),
        priority: 0,
        role: Role::Elector,
    };
    let expected = Config {
        cluster: "shop".to_string(),
        node: Id(1),
        listen: member.address.clone(),
        members: vec![member],
        algorithm: AlgorithmConfig::named("bully", Some(vec!["highest=announce".to_string()])),
        arbiter: ArbiterKind::Raft,
        timing: Timing::default(),
        offices: Vec::new(),
        default_policy: Policy::default(),
        health: None,
        log: Default::default(),
        limits: Limits::default(),
        http: None,
        data: "/etc/hustings/data".into(),
        socket: "/etc/hustings/hustings.sock".into(),
        socket_group: None,
        join: false,
        scheduling: Scheduling::Normal,
        tls: Tls {
            authority: "/etc/hustings/authority.crt".into(),
            certificate: "/etc/hustings/node.crt".into(),
            key: "/etc/hustings/node.key".into(),
        },
    };
    assert_eq!(config, expected);
}

#[test]
fn the_example_of_the_manual_is_valid_and_has_every_key() {
    let manual = include_str!("../../../../../docs/configuration.md");
    let example = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let example = example.expect("it begins with an example");
    parse(example).unwrap_or_else(|error| panic!("{error}"));
    // A name that is invalid is answered with all that are right: in the file, and in its tables.
    for (text, table) in [
        ("z = 1", ""),
        ("[tls]\nz = 1", "tls"),
        ("[timing]\nz = 1", "timing"),
        ("[health]\nz = 1", "health"),
        ("[limits]\nz = 1", "limits"),
        ("[http]\nz = 1", "http"),
        ("[http.limits]\nz = 1", "http.limits"),
        ("[http.tls]\nz = 1", "http.tls"),
    ] {
        for key in parse_error(text).split("expected one of").nth(1).expect(text).split('`').skip(1).step_by(2) {
            let given = |line: &str| line.trim_start_matches(['#', '[', ' ']).starts_with(key);
            assert!(example.lines().any(given), "{table} {key} is not in the manual");
        }
    }
}

#[test]
fn reads_every_key() {
    let config = parse(FULL).expect("the example is right");
    assert_eq!((config.node, config.listen.as_str()), (Id(7), "0.0.0.0:7402"));
    assert_eq!(config.members.iter().map(|member| member.id.0).collect::<Vec<_>>(), [2, 7]);
    assert_eq!((config.members[0].role, config.members[1].priority), (Role::Witness, 3));
    assert_eq!(config.algorithm, AlgorithmConfig::named("chang-roberts", Some(vec!["x=1".to_string()])));
    assert_eq!(config.arbiter, ArbiterKind::None);
    let timing = Timing {
        heartbeat: ms(20),
        silence_floor: ms(60),
        silence_ceiling: ms(1500),
        lease: ms(300),
        drift_ppm: 500,
        stop: ms(30),
        tick: ms(2),
        settle: ms(5000),
        hand_over: ms(1000),
    };
    assert_eq!(config.timing, timing);
    assert_eq!(config.policy("cron"), Policy { mode: Mode::Exclusive, preempt: Preempt::Better, ..Policy::default() });
    assert_eq!(
        config.policy("mail"),
        Policy { mode: Mode::Fenced, preempt: Preempt::BetterAfter(ms(30_000)), ..Policy::default() }
    );
    assert_eq!(config.policy("else"), Policy { mode: Mode::Fenced, preempt: Preempt::Never, ..Policy::default() });
    let health = config.health.expect("the example has one");
    assert_eq!(health.probe, Probe::Command(vec!["/usr/bin/check".to_string(), "-q".to_string()]));
    assert_eq!((health.every, health.timeout, health.threshold), (ms(3000), ms(1000), 40));
    assert_eq!(config.data, Path::new("/var/lib/hustings"));
    assert_eq!(config.socket, Path::new("/etc/hustings/run/hustings.sock"));
    assert_eq!(config.socket_group.as_deref(), Some("web"));
    assert_eq!(config.tls.authority, Path::new("/etc/hustings/ca.pem"));
    assert_eq!(config.tls.key, Path::new("/etc/b.key"));
}

#[test]
fn toml_errors_name_line_column_and_suggestion() {
    assert_eq!(
        parse_error("cluster = \"shop\"\nlisten = 5\n"),
        "line 2, column 10: invalid type: integer `5`, expected a string\n  listen = 5"
    );
    let unknown = parse_error("cluster = \"shop\"\nlisen = \"a:1\"\n");
    assert!(unknown.starts_with("line 2, column 1: unknown field `lisen`, expected one of `cluster`"), "{unknown}");
    assert!(unknown.contains("; did you mean `listen`?"), "{unknown}");
    let role = error_after("\"witness\"", "\"witnes\"");
    assert!(role.contains("unknown variant `witnes`, expected one of `elector`, `witness`, `observer`"), "{role}");
    assert!(parse_error("cluster = \"ä\" ]").starts_with("line 1, column 15: "));
    let preempt = error_after("preempt = \"better\"", "preempt = 5");
    assert!(preempt.contains("\"never\", \"better\" or { better-after = \"30s\" }"), "{preempt}");
    let after = error_after("better-after", "beter-after");
    assert!(after.contains("did you mean `better-after`?"), "{after}");
}

#[test]
fn errors_name_missing_keys() {
    assert_eq!(parse_error(""), "`cluster` is missing: set it to the name of the cluster");
    assert!(parse_error("cluster = \"a\"").starts_with("`member` is missing: "));
    assert_eq!(
        parse_error(&SMALL.replace("node = \"a\"", "")),
        "`node` is missing: set it to the name of the member that this node is"
    );
    assert!(parse_error(&SMALL.replace("id = 1", "")).contains("missing field `id`"));
    assert!(error_after("command = [\"/usr/bin/check\", \"-q\"]", "").starts_with("`health.command` is missing"));
}

#[test]
fn errors_name_invalid_values_and_what_is_allowed() {
    for (from, to, expected) in [
        ("\"shop\"", "\"Shop\"", "`cluster` is `Shop`: a name has 1 to 63 characters of a-z"),
        (
            "node = \"b\"",
            "node = \"bb\"",
            "`node` is `bb`: no member has this name (did you mean `b`?); the members are a, b",
        ),
        ("\"0.0.0.0:7402\"", "\"0.0.0.0\"", "`listen` is `0.0.0.0`: an address is HOST:PORT"),
        ("\"[::1]:7402\"", "\"::1:7402\"", "`member 1: address` is `::1:7402`: an address is HOST:PORT"),
        ("id = 7", "id = 0", "`member 1: id` is `0`: ids start at 1"),
        ("id = 7", "id = 2", "`member: id` is `2`: both `b` and `a` have it"),
        ("name = \"a\"", "name = \"b\"", "`member: name` is `b`: it occurs twice"),
        ("host-a.example:7401", "[::1]:7402", "`member: address` is `[::1]:7402`: it occurs twice"),
        ("priority = 3", "role = \"observer\"", "`member: role` is `witness`: no member can lead; at least one"),
        ("\"mail\"", "\"cron\"", "`office: name` is `cron`: it occurs twice"),
        ("\"mail\"", "\"m l\"", "`office 2: name` is `m l`: a name has"),
        ("\"30s\"", "\"30\"", "`office 2: preempt.better-after` is `30`: a duration is a number with a unit"),
        ("\"none\"", "\"nobody\"", "`arbiter` is `nobody`: expected `raft` or `none`"),
        ("\"x=1\"", "\"x\"", "`params` is `x`: a parameter has the form"),
        ("\"20ms\"", "\"fast\"", "`timing.heartbeat` is `fast`: a duration is a number with a unit"),
        ("\"run/hustings.sock\"", "\"\"", "`socket` is ``: expected a path"),
        ("every = \"3s\"", "every = \"0s\"", "`health.every` is `0s`: it must be longer than 0s"),
        ("timeout = \"1s\"", "timeout = \"4s\"", "`health.timeout` is `4s`: it must be at most health.every, 3s"),
        ("threshold = 40", "threshold = 101", "`health.threshold` is `101`: expected a number from 0 to 100"),
        ("threshold = 40", "http = \"http://a\"", "`health.http` is `http://a`: health.command is set too"),
        ("[\"/usr/bin/check\", \"-q\"]", "[]", "`health.command` is `[]`: the first element must be the program"),
        ("lease = \"300ms\"", "lease = \"90ms\"", "timing.lease is 90ms: less 500 ppm"),
    ] {
        let error = error_after(from, to);
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
    let long = format!("\"{}\"", "x".repeat(200));
    assert!(error_after("\"run/hustings.sock\"", &long).contains("a socket path has at most 107 bytes"));
}

#[test]
fn accepts_only_algorithms_that_elect_the_highest_ranked_member() {
    let error = error_after("chang-roberts", "chang-robert");
    assert!(error.contains("there is no such algorithm (did you mean `chang-roberts`?)"), "{error}");
    assert!(error_after("chang-roberts", "itai-rodeh").contains("is for nodes without ids"));
    assert!(error_after("chang-roberts", "anonymous-echo").contains("is for nodes without ids"));
    assert!(error_after("chang-roberts", "ring-size").contains("estimates the number of nodes"));
    let with = |lines: &str| parse(&format!("{lines}{SMALL}")).expect("all of these elect").algorithm;
    assert_eq!(with("algorithm = \"bully\"\n"), AlgorithmConfig::default());
    assert_eq!(with("algorithm = \"bully\"\nparams = []\n").params(), Vec::<String>::new());
    assert_eq!(with("algorithm = \"franklin\"\n").params(), Vec::<String>::new());
    for entry in hustings_algorithms::catalogue::ENTRIES.iter().filter(|entry| !entry.about.aliases.is_empty()) {
        let alias = entry.about.aliases[0];
        if let Ok(config) = parse(&format!("algorithm = \"{alias}\"\n{SMALL}")) {
            assert_eq!(config.algorithm.name(), entry.about.name);
        }
    }
}

#[test]
fn limits_the_number_of_members_and_offices_and_the_length() {
    let member = |id: usize| format!("[[member]]\nid = {id}\nname = \"a{id}\"\naddress = \"h:{id}\"\n");
    let many = |count: usize| (2..=count).map(member).collect::<String>();
    assert_eq!(parse(&format!("{SMALL}{}", many(64))).expect("as many as there may be").members.len(), 64);
    assert!(
        parse_error(&format!("{SMALL}{}", many(65))).starts_with("`member` is `65 blocks`: at most 64 are allowed")
    );
    let offices = |count: usize| (0..count).map(|id| format!("[[office]]\nname = \"o{id}\"\n")).collect::<String>();
    assert!(parse(&format!("{SMALL}{}", offices(10_000))).is_ok());
    assert!(parse_error(&format!("{SMALL}{}", offices(10_001))).contains("at most 10000 are allowed"));
    let long = format!("{SMALL}#{}", "x".repeat(MAX_BYTES));
    assert!(matches!(parse(&long), Err(ConfigError::TooLong)));
}

#[test]
fn reads_and_checks_limits() {
    let with = |limits: &str| parse(&format!("{SMALL}\n[limits]\n{limits}"));
    let text = "connections = 10000\ncampaigns = 1\nwatches = 7\nstate = \"16MiB\"\nstate-total = \"100 KiB\"";
    let read = with(text).expect("they are valid").limits;
    let (state, state_total) = (16 << 20, 100 << 10);
    assert_eq!(read, Limits { connections: 10_000, campaigns: 1, watches: 7, state, state_total });
    for wrong in ["state = \"17MiB\"", "state = \"0B\"", "state-total = \"1 MB\"", "state-total = \"9\""] {
        let error = with(wrong).expect_err(wrong).to_string();
        assert!(error.contains("limits.state") && error.contains("with the unit B, KiB or MiB"), "{error}");
    }
    for wrong in ["connections = 0", "connections = 10001", "campaigns = 0", "watches = 10001"] {
        let error = with(wrong).expect_err(wrong).to_string();
        let key = wrong.split(' ').next().expect("it has a key");
        assert!(error.contains(&format!("limits.{key}")) && error.contains("from 1 to"), "{error}");
    }
}

#[test]
fn limits_the_nesting_depth() {
    for deep in ["a = ".to_string() + &"[".repeat(500_000), "a.".repeat(300_000) + "a = 1", {
        let tables: String = (1..400).map(|depth| format!("[{}]\n", vec!["a"; depth].join("."))).collect();
        tables
    }] {
        assert!(parse_error(&deep).starts_with("line 1, column "), "{}", parse_error(&deep));
    }
}

#[test]
fn a_group_gets_no_folder_with_a_secret_in_it() {
    for (path, folder) in [("/etc/hustings.sock", "/etc,"), ("/var/lib/hustings/x/y.sock", "/var/lib/hustings/x,")] {
        let error = error_after("\"run/hustings.sock\"", &format!("\"{path}\""));
        assert!(error.starts_with("`socket-group` is `web`: the group must be able to enter"), "{error}");
        assert!(error.contains(folder) && error.contains("in a folder of its own"), "{error}");
    }
    for name in ["", "a b", "a:b", "ä"] {
        let error = error_after("\"web\"", &format!("\"{name}\""));
        assert!(error.contains("expected the name or the number of a group"), "{error}");
    }
}

#[test]
fn environment_variables_override_the_file() {
    let with = |name: &'static str, value: &'static str| {
        Config::parse_with(FULL, Path::new("/f"), &move |asked| (asked == name).then(|| OsString::from(value)))
    };
    let taken = |name, value| with(name, value).expect("allowed values");
    assert_eq!(taken("HUSTINGS_NODE", "a").node, Id(2));
    assert_eq!(taken("HUSTINGS_LISTEN", "h:1").listen, "h:1");
    assert_eq!(taken("HUSTINGS_DATA", "d").data, Path::new("/f/d"));
    assert_eq!(taken("HUSTINGS_SOCKET", "/s").socket, Path::new("/s"));
    assert_eq!(taken("HUSTINGS_SOCKET_GROUP", "100").socket_group.as_deref(), Some("100"));
    assert_eq!(taken("HUSTINGS_ALGORITHM", "bully").algorithm, AlgorithmConfig::default());
    assert_eq!(taken("HUSTINGS_ARBITER", "raft").arbiter, ArbiterKind::Raft);
    assert_eq!(taken("HUSTINGS_SCHEDULING", "realtime").scheduling, Scheduling::Realtime);
    assert_eq!(taken("HUSTINGS_TLS_KEY", "k").tls.key, Path::new("/f/k"));
    assert_eq!(taken("HUSTINGS_TIMING_HAND_OVER", "3s").timing.hand_over, ms(3000));
    assert_eq!(taken("HUSTINGS_TIMING_DRIFT_PPM", "9").timing.drift_ppm, 9);
    assert_eq!(taken("HUSTINGS_LISTEN", "").listen, "0.0.0.0:7402");
    let error = with("HUSTINGS_LISTEN", "h").expect_err("no port").to_string();
    assert!(error.starts_with("`HUSTINGS_LISTEN` is `h`: an address is HOST:PORT"), "{error}");
    assert!(with("HUSTINGS_TIMING_DRIFT_PPM", "x").is_err());
    assert!(matches!(with("HUSTINGS_TIMING_LEASE", "1ms"), Err(ConfigError::Timing(TimingError::Lease { .. }))));
}

#[test]
fn every_listed_variable_takes_effect() {
    for variable in VARIABLES {
        // Nothing of the file may be this: no name, address, path, word, time or number.
        let lookup = |asked: &str| (asked == variable).then(|| OsString::from("\0"));
        let error = Config::parse_with(FULL, Path::new(""), &lookup).expect_err(variable).to_string();
        assert!(error.starts_with(&format!("`{variable}` is ")), "{error}");
    }
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("hustings.toml");
    let read = || Config::read_with(&path, &|_| None);
    let error = read().expect_err("it is not there").to_string();
    assert!(error.starts_with(&format!("{}: cannot be read", path.display())), "{error}");
    std::fs::write(&path, SMALL).expect("the folder is ours");
    assert_eq!(read().expect("the example is right").data, folder.path().join("data"));
    std::fs::write(&path, [b'a', 0xff]).expect("the folder is ours");
    assert!(
        read().expect_err("no text").to_string().ends_with("byte 1 is not UTF-8; a configuration must be UTF-8 text")
    );
    std::fs::write(&path, vec![b'#'; MAX_BYTES + 1]).expect("the folder is ours");
    assert!(read().expect_err("too long").to_string().contains("longer than"));
}

#[test]
fn a_client_need_not_know_the_algorithm_of_the_node() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("hustings.toml");
    std::fs::write(&path, format!("algorithm = \"own\"\n{SMALL}")).expect("the folder is ours");
    let error = Config::read_with(&path, &|_| None).expect_err("it is not built in").to_string();
    assert!(error.contains("there is no such algorithm"), "{error}");
    let config = Config::read_as_client_with(&path, &|_| None).expect("everything else is right");
    assert_eq!(config.algorithm.name(), "own");
    assert!(crate::election::Election::check(&config.algorithm).is_err(), "no node runs with it");
}
