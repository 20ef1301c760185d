//! Made-up advisories and lock files.

use super::*;

const ADVISORY: &str = r##"```toml
[advisory]
id = "RUSTSEC-2030-0001"
package = "brittle"
date = "2030-01-02"

[versions]
patched = [">= 1.2.3", "^0.9.4"]
unaffected = ["< 0.5.0"]
```

# It breaks

At length.
"##;

fn advisory() -> Advisory {
    Advisory::parse(ADVISORY).expect("a valid advisory")
}

fn locked(versions: &[&str]) -> Packages {
    let mut packages = Packages::new();
    for version in versions {
        let lock = format!(
            "[[package]]\nname = \"brittle\"\nversion = \"{version}\"\nsource = \"registry\"\n\n\
             [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n"
        );
        add_packages(&lock, &mut packages).expect("a valid lock file");
    }
    packages
}

fn ignored(id: &str) -> Ignored {
    Ignored { id: id.to_string(), reason: "not reachable".to_string() }
}

#[test]
fn reports_a_vulnerable_version() {
    assert_eq!(
        examine(&locked(&["1.2.2"]), &[advisory()], &[]),
        ["RUSTSEC-2030-0001: brittle 1.2.2: It breaks; fixed in >=1.2.3 or ^0.9.4"]
    );
    assert_eq!(examine(&locked(&["0.5.0", "0.9.3", "1.2.3"]), &[advisory()], &[]).len(), 2, "each version by itself");
}

#[test]
fn accepts_patched_and_unaffected_versions() {
    assert_eq!(examine(&locked(&["1.2.3", "2.0.0", "0.9.5", "0.4.9"]), &[advisory()], &[]), Vec::<String>::new());
    let withdrawn = Advisory::parse(&ADVISORY.replace("date =", "withdrawn = \"2030-02-03\"\ndate =")).expect("valid");
    assert_eq!(examine(&locked(&["1.2.2"]), &[withdrawn], &[]), Vec::<String>::new());
}

#[test]
fn does_not_report_an_ignored_advisory() {
    assert_eq!(examine(&locked(&["1.2.2"]), &[advisory()], &[ignored("RUSTSEC-2030-0001")]), Vec::<String>::new());
}

#[test]
fn reports_an_ignore_entry_that_matches_nothing() {
    for versions in [&["1.2.3"][..], &[]] {
        assert_eq!(
            examine(&locked(versions), &[advisory()], &[ignored("RUSTSEC-2030-0001")]),
            ["RUSTSEC-2030-0001 is ignored in deny.toml but concerns no version in use: remove it (not reachable)"]
        );
    }
}

#[test]
fn warns_about_an_old_copy_and_about_packages_it_does_not_know() {
    let today = copy::day("2030-06-01").expect("a date");
    let copy = |date: &str, packages: &[&str]| Copy {
        day: copy::day(date).expect("a date"),
        packages: packages.iter().map(ToString::to_string).collect(),
        advisories: Vec::new(),
    };
    let packages = locked(&["1.0.0"]);
    assert_eq!(warnings(&copy("2030-03-03", &["brittle"]), &packages, today), Vec::<String>::new());
    let old = warnings(&copy("2030-03-02", &["brittle"]), &packages, today);
    assert!(old.len() == 1 && old[0].contains("91 days old"), "{old:?}");
    let unknown = warnings(&copy("2030-05-31", &[]), &packages, today);
    assert!(unknown.len() == 1 && unknown[0].ends_with(": brittle"), "{unknown:?}");
}

#[test]
fn rejects_what_is_not_an_advisory() {
    for (text, expected) in [
        ("# A title", "front matter"),
        ("```toml\n[versions]\n```\n", "`[advisory]`"),
        (&ADVISORY.replace("^0.9.4", "nine"), "`nine`"),
    ] {
        let error = Advisory::parse(text).expect_err(text);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn counts_days_from_1970() {
    let days = ["1970-01-01", "1969-12-31", "2000-02-29", "2000-03-01", "2026-08-21"].map(copy::day);
    assert_eq!(days, [Some(0), Some(-1), Some(11_016), Some(11_017), Some(20_686)]);
    assert_eq!([copy::day("2026-13-01"), copy::day("2026-08"), copy::day("today")], [None; 3]);
}

#[test]
fn the_copy_of_this_repository_can_be_read() {
    let copy = Copy::read(crate::root()).expect("a valid copy");
    assert!(copy.advisories.iter().any(|advisory| advisory.id == "RUSTSEC-2024-0437"));
    assert!(copy.packages.contains("raft"));
}
