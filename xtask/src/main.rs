//! The two commands that every change passes: `cargo xtask check` reads only, `cargo xtask fix` rewrites what can be
//! rewritten. Both stop at the first step that fails. `cargo xtask advisories refresh` renews the copy of advisories,
//! `cargo xtask surface` measures the crates, and `cargo xtask mutants` takes guards out to see whether tests notice.
//! `cargo xtask package` builds packages, and `cargo xtask release` everything that a release consists of.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its user")]

mod advisories;
mod features;
mod lexer;
mod licences;
mod mutants;
mod package;
mod policy;
mod release;
mod sbom;
mod shipped;
mod steps;
mod surface;
mod tidy;
mod vocabulary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use steps::{CHECK, FIX, Step};

/// Wrong use, as opposed to a step that failed.
const WRONG_USE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match parse(&arguments) {
        Ok(Request::Help) => {
            print!("{}", help());
            ExitCode::SUCCESS
        }
        Ok(Request::Run(chosen)) => steps::run(root(), &chosen),
        Ok(Request::Refresh(database)) => exit(advisories::refresh(root(), &database)),
        Ok(Request::Surface) => exit(surface::print(root())),
        Ok(Request::Package(options)) => exit(package::run(root(), &options)),
        Ok(Request::Release(options)) => exit(release::run(root(), &options)),
        Ok(Request::Mutants(only)) => exit(mutants::run(root(), &only)),
        Ok(Request::LaboratoryMutants(only)) => exit(mutants::laboratory::run(root(), only.as_deref())),
        Err(wrong) => {
            eprintln!("error: {wrong}\n\n{}", help());
            ExitCode::from(WRONG_USE)
        }
    }
}

fn exit(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// What the user asked for.
#[derive(Debug)]
enum Request {
    Help,
    Run(Vec<&'static Step>),
    /// Rewrites the copy of the advisories from this checkout of the database.
    Refresh(PathBuf),
    /// Prints the number of public items and lines of each crate.
    Surface,
    /// Builds the packages.
    Package(package::Options),
    /// Makes a release.
    Release(release::Options),
    /// Takes out the guards whose names contain this, or all.
    Mutants(Vec<String>),
    /// Makes small errors in the algorithms: those whose names contain this, or all.
    LaboratoryMutants(Option<String>),
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(Request::Help);
    }
    let Some((command, names)) = arguments.split_first() else { return Ok(Request::Help) };
    let steps = match command.as_str() {
        "check" => CHECK,
        "fix" => FIX,
        "advisories" => return refresh(names),
        "surface" if names.is_empty() => return Ok(Request::Surface),
        "surface" => return Err("`surface` takes no arguments".to_string()),
        "mutants" if names.len() <= 2 && names.first().is_some_and(|first| first == "--laboratory") => {
            return Ok(Request::LaboratoryMutants(names.get(1).cloned()));
        }
        "mutants" if names.iter().all(|name| !name.starts_with('-')) => return Ok(Request::Mutants(names.to_vec())),
        "mutants" => {
            return Err("`mutants` takes parts of names, or `--laboratory` and a part of a name".to_string());
        }
        "package" => return package::Options::parse(names).map(Request::Package),
        "release" => return release::Options::parse(names).map(Request::Release),
        "help" => return Ok(Request::Help),
        other => {
            return Err(format!(
                "there is no command `{other}`; allowed: check, fix, advisories, surface, mutants, package, release"
            ));
        }
    };
    if names.is_empty() {
        return Ok(Request::Run(steps.iter().collect()));
    }
    let find = |name: &String| {
        steps.iter().find(|step| step.name == name).ok_or_else(|| {
            let allowed = steps.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
            format!("`{command}` has no step `{name}`; allowed: {allowed}")
        })
    };
    names.iter().map(find).collect::<Result<_, _>>().map(Request::Run)
}

fn refresh(arguments: &[String]) -> Result<Request, String> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["refresh", "--from", database] => Ok(Request::Refresh(PathBuf::from(database))),
        _ => Err("`advisories` needs `refresh --from DIR`".to_string()),
    }
}

fn help() -> String {
    let list =
        |steps: &[Step]| steps.iter().map(|step| format!("  {:<11}{}\n", step.name, step.about)).collect::<String>();
    format!(
        "Usage: cargo xtask check [STEP…]                    reads, changes nothing\n       \
         cargo xtask fix [STEP…]                      rewrites what can be rewritten\n       \
         cargo xtask advisories refresh --from DIR    copies advisories from a checkout of rustsec/advisory-db\n       \
         cargo xtask surface                          counts the public items and lines of each crate\n       \
         cargo xtask mutants [NAME]…                  takes out one guard at a time: does its test fail?\n       \
         cargo xtask mutants --laboratory [NAME]      makes small errors in the algorithms: do tests notice?\n       \
         cargo xtask package [--binary FILE] [--test] builds a .deb and a tarball, and installs them in a container\n       \
         cargo xtask release VERSION [--dry-run] [--out DIR] [--binary FILE]\n                                                    \
         makes tag, notes, packages, checksums and a bill of materials\n\n\
         Without a step: all of them, in this order, up to the first that fails.\n\n\
         Steps of check:\n{}\nSteps of fix:\n{}",
        list(CHECK),
        list(FIX)
    )
}

/// The top of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Result<Vec<&'static str>, String> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        match parse(&arguments)? {
            Request::Help => Ok(vec!["help"]),
            Request::Run(steps) => Ok(steps.iter().map(|step| step.name).collect()),
            Request::Refresh(_) => Ok(vec!["refresh"]),
            Request::Surface => Ok(vec!["surface"]),
            Request::Mutants(_) => Ok(vec!["mutants"]),
            Request::LaboratoryMutants(_) => Ok(vec!["laboratory"]),
            Request::Package(_) => Ok(vec!["package"]),
            Request::Release(_) => Ok(vec!["release"]),
        }
    }

    #[test]
    fn all_steps_or_those_named_in_their_order() {
        assert_eq!(names(&["check"]).unwrap().len(), CHECK.len());
        assert_eq!(names(&["check", "tidy", "fmt"]), Ok(vec!["tidy", "fmt"]));
        assert_eq!(names(&["fix", "fmt"]), Ok(vec!["fmt"]));
        assert_eq!(names(&[]), Ok(vec!["help"]));
        assert_eq!(names(&["check", "fmt", "--help"]), Ok(vec!["help"]));
        assert_eq!(names(&["advisories", "refresh", "--from", "db"]), Ok(vec!["refresh"]));
        assert!(names(&["advisories", "refresh"]).is_err());
        assert_eq!(names(&["surface"]), Ok(vec!["surface"]));
        assert!(names(&["surface", "sim"]).is_err());
        assert_eq!(names(&["mutants", "poll"]), Ok(vec!["mutants"]));
        assert_eq!(names(&["mutants", "a", "b"]), Ok(vec!["mutants"]));
        assert!(names(&["mutants", "a", "--laboratory"]).is_err());
        assert_eq!(names(&["mutants", "--laboratory"]), Ok(vec!["laboratory"]));
        assert_eq!(names(&["mutants", "--laboratory", "ring/"]), Ok(vec!["laboratory"]));
        assert!(names(&["mutants", "--laboratory", "a", "b"]).is_err());
    }

    #[test]
    fn wrong_names_are_told_what_is_allowed() {
        assert_eq!(
            names(&["chek"]),
            Err("there is no command `chek`; allowed: check, fix, advisories, surface, mutants, package, release"
                .to_string())
        );
        let error = names(&["fix", "tidy"]).unwrap_err();
        assert!(error.starts_with("`fix` has no step `tidy`; allowed: "), "{error}");
    }

    #[test]
    fn the_help_names_every_step() {
        let help = help();
        assert!(CHECK.iter().chain(FIX).all(|step| help.contains(step.name) && help.contains(step.about)));
    }
}
