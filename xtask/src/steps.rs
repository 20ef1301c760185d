//! What is checked and what is rewritten, step by step.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::{advisories, features, licences, shipped, tidy};

/// The packages outside of the workspace.
pub(crate) const PROOF: &str = "proofs/no-std/Cargo.toml";
pub(crate) const FUZZ: &str = "fuzz/Cargo.toml";

/// Tests that compare with files write the files instead when this is set.
const REGENERATE: &str = "HUSTINGS_REGENERATE";

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) about: &'static str,
    work: Work,
}

#[derive(Debug)]
enum Work {
    /// Calls of cargo, one after the other.
    Cargo(&'static [Call]),
    /// A function of our own, which tells what is wrong.
    Own(fn(&Path) -> Result<(), String>),
}

/// A call of cargo.
#[derive(Debug)]
struct Call {
    arguments: &'static [&'static str],
    /// What is set in its environment; everything else is inherited, except that files are not rewritten unasked.
    environment: &'static [(&'static str, &'static str)],
}

const fn cargo(arguments: &'static [&'static str]) -> Call {
    Call { arguments, environment: &[] }
}

/// What `check` does, cheap things first. `--locked`, because a check must not change the lock file either.
pub(crate) const CHECK: &[Step] = &[
    Step {
        name: "fmt",
        about: "the code is formatted",
        work: Work::Cargo(&[
            cargo(&["fmt", "--all", "--check"]),
            cargo(&["fmt", "--manifest-path", PROOF, "--check"]),
            cargo(&["fmt", "--manifest-path", FUZZ, "--check"]),
        ]),
    },
    Step {
        name: "tidy",
        about: "house rules: file sizes, leftovers, machine paths, inherited lints",
        work: Work::Own(tidy::check),
    },
    Step {
        name: "licences",
        about: "licences, bans and sources of all dependencies fit deny.toml",
        work: Work::Own(licences::check),
    },
    Step {
        name: "advisories",
        about: "no dependency has a known vulnerability that deny.toml does not explain",
        work: Work::Own(advisories::check),
    },
    Step {
        name: "shipped",
        about: "the default build has no fault switches and nothing else that only tests need",
        work: Work::Own(shipped::check),
    },
    Step {
        name: "clippy",
        about: "no warnings",
        work: Work::Cargo(&[
            cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"]),
            // Again as users build it: without the features that tests switch on.
            cargo(&["clippy", "--locked", "--quiet", "--", "-D", "warnings"]),
        ]),
    },
    Step {
        name: "features",
        about: "every feature compiles alone, and the packages without any",
        work: Work::Own(features::check),
    },
    Step {
        name: "test",
        about: "all tests, among them that generated docs and snapshots are up to date",
        work: Work::Cargo(&[cargo(&["test", "--workspace", "--locked", "--quiet"])]),
    },
    Step {
        name: "doc",
        about: "the documentation builds without warnings",
        work: Work::Cargo(&[Call {
            arguments: &["doc", "--workspace", "--no-deps", "--locked", "--quiet"],
            environment: &[("RUSTDOCFLAGS", "-D warnings")],
        }]),
    },
    Step {
        name: "no-std",
        about: "protocol and algorithms link without the standard library",
        work: Work::Cargo(&[
            cargo(&["build", "--manifest-path", PROOF, "--locked", "--quiet"]),
            cargo(&["clippy", "--manifest-path", PROOF, "--locked", "--quiet", "--", "-D", "warnings"]),
        ]),
    },
];

/// What `fix` does.
pub(crate) const FIX: &[Step] = &[
    Step {
        name: "clippy",
        about: "takes clippy's own suggestions",
        work: Work::Cargo(&[cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--fix",
            "--allow-dirty",
            "--allow-staged",
            "--quiet",
        ])]),
    },
    Step {
        name: "fmt",
        about: "formats the code",
        work: Work::Cargo(&[
            cargo(&["fmt", "--all"]),
            cargo(&["fmt", "--manifest-path", PROOF]),
            cargo(&["fmt", "--manifest-path", FUZZ]),
        ]),
    },
    Step {
        name: "generated",
        about: "rewrites generated docs and snapshots; look at the difference before you commit it",
        work: Work::Cargo(&[Call {
            arguments: &["test", "--workspace", "--quiet"],
            environment: &[(REGENERATE, "1")],
        }]),
    },
    Step {
        name: "words",
        about: "hashes the words of the papers' texts, which are in the folder HUSTINGS_TEXTS",
        work: Work::Cargo(&[Call {
            arguments: &["test", "-p", "hustings-papers", "--lib", "--quiet", "the_words_are_those_of_the_texts"],
            environment: &[(REGENERATE, "1")],
        }]),
    },
    Step {
        name: "lock",
        about: "brings the lock files of the proof and the fuzzers up to date",
        work: Work::Cargo(&[
            cargo(&["build", "--manifest-path", PROOF, "--quiet"]),
            cargo(&["update", "--workspace", "--manifest-path", FUZZ, "--quiet"]),
        ]),
    },
];

/// Runs steps up to the first that fails, and says how long each took.
pub(crate) fn run(root: &Path, steps: &[&Step]) -> ExitCode {
    let begin = Instant::now();
    for (index, step) in steps.iter().enumerate() {
        println!("[{}/{}] {}: {}", index + 1, steps.len(), step.name, step.about);
        let started = Instant::now();
        let result = match &step.work {
            Work::Cargo(calls) => calls.iter().try_for_each(|call| call.run(root)),
            Work::Own(function) => function(root),
        };
        let seconds = started.elapsed().as_secs_f64();
        if let Err(wrong) = result {
            eprintln!("{wrong}\n[{}/{}] {} FAILED after {seconds:.1} s", index + 1, steps.len(), step.name);
            return ExitCode::FAILURE;
        }
        println!("[{}/{}] {} passed in {seconds:.1} s", index + 1, steps.len(), step.name);
    }
    println!("all passed in {:.1} s", begin.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

impl Call {
    fn run(&self, root: &Path) -> Result<(), String> {
        // Cargo tells its children which cargo they run under: the same toolchain then does everything.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(self.arguments)
            .env_remove(REGENERATE)
            .envs(self.environment.iter().copied())
            .current_dir(root)
            .status()
            .map_err(|error| format!("`{self}` could not be started: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("`{self}` failed: {status}")) }
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in self.environment {
            write!(f, "{name}='{value}' ")?;
        }
        write!(f, "cargo {}", self.arguments.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(steps: &'static [Step]) -> impl Iterator<Item = &'static Call> {
        steps.iter().flat_map(|step| match &step.work {
            Work::Cargo(calls) => *calls,
            Work::Own(_) => &[],
        })
    }

    #[test]
    fn a_check_changes_nothing() {
        for call in calls(CHECK) {
            let reads = call.arguments.contains(&"--locked") || call.arguments.contains(&"--check");
            assert!(reads && !call.arguments.contains(&"--fix"), "{call}");
            assert!(call.environment.iter().all(|(name, _)| *name != REGENERATE), "{call}");
        }
    }

    #[test]
    fn names_are_used_once() {
        for steps in [CHECK, FIX] {
            let mut names: Vec<_> = steps.iter().map(|step| step.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
    }

    #[test]
    fn a_call_shows_as_it_would_be_typed() {
        let call = Call { arguments: &["doc", "--no-deps"], environment: &[("RUSTDOCFLAGS", "-D warnings")] };
        assert_eq!(call.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }
}
