//! The two commands that every change passes: `cargo xtask check` reads only, `cargo xtask fix` rewrites what can be
//! rewritten. Both stop at the first step that fails. `cargo xtask advisories refresh` renews the copy of advisories.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its user")]

mod advisories;
mod lexer;
mod licences;
mod policy;
mod shipped;
mod steps;
mod tidy;
mod vocabulary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use steps::{CHECK, FIX, Step};

/// Wrong use, as opposed to a step that failed.
const WRONG_USE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match plan(&arguments) {
        Ok(Plan::Help) => {
            print!("{}", help());
            ExitCode::SUCCESS
        }
        Ok(Plan::Run(chosen)) => steps::run(root(), &chosen),
        Ok(Plan::Refresh(database)) => match advisories::refresh(root(), &database) {
            Ok(()) => ExitCode::SUCCESS,
            Err(wrong) => {
                eprintln!("error: {wrong}");
                ExitCode::FAILURE
            }
        },
        Err(wrong) => {
            eprintln!("error: {wrong}\n\n{}", help());
            ExitCode::from(WRONG_USE)
        }
    }
}

/// What the user asked for.
#[derive(Debug)]
enum Plan {
    Help,
    Run(Vec<&'static Step>),
    /// Rewrites the copy of the advisories from this checkout of the database.
    Refresh(PathBuf),
}

fn plan(arguments: &[String]) -> Result<Plan, String> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(Plan::Help);
    }
    let Some((command, names)) = arguments.split_first() else { return Ok(Plan::Help) };
    let steps = match command.as_str() {
        "check" => CHECK,
        "fix" => FIX,
        "advisories" => return refresh(names),
        "help" => return Ok(Plan::Help),
        other => return Err(format!("there is no command `{other}`; allowed: check, fix, advisories")),
    };
    if names.is_empty() {
        return Ok(Plan::Run(steps.iter().collect()));
    }
    let find = |name: &String| {
        steps.iter().find(|step| step.name == name).ok_or_else(|| {
            let allowed = steps.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
            format!("`{command}` has no step `{name}`; allowed: {allowed}")
        })
    };
    names.iter().map(find).collect::<Result<_, _>>().map(Plan::Run)
}

fn refresh(arguments: &[String]) -> Result<Plan, String> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["refresh", "--from", database] => Ok(Plan::Refresh(PathBuf::from(database))),
        _ => Err("`advisories` needs `refresh --from DIR`".to_string()),
    }
}

fn help() -> String {
    let list =
        |steps: &[Step]| steps.iter().map(|step| format!("  {:<11}{}\n", step.name, step.about)).collect::<String>();
    format!(
        "Usage: cargo xtask check [STEP…]                    reads, changes nothing\n       \
         cargo xtask fix [STEP…]                      rewrites what can be rewritten\n       \
         cargo xtask advisories refresh --from DIR    copies advisories from a checkout of rustsec/advisory-db\n\n\
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
        match plan(&arguments)? {
            Plan::Help => Ok(vec!["help"]),
            Plan::Run(steps) => Ok(steps.iter().map(|step| step.name).collect()),
            Plan::Refresh(_) => Ok(vec!["refresh"]),
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
    }

    #[test]
    fn wrong_names_are_told_what_is_allowed() {
        assert_eq!(names(&["chek"]), Err("there is no command `chek`; allowed: check, fix, advisories".to_string()));
        let error = names(&["fix", "tidy"]).unwrap_err();
        assert!(error.starts_with("`fix` has no step `tidy`; allowed: "), "{error}");
    }

    #[test]
    fn the_help_names_every_step() {
        let help = help();
        assert!(CHECK.iter().chain(FIX).all(|step| help.contains(step.name) && help.contains(step.about)));
    }
}
