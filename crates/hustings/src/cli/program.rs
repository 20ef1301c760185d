//! The program: which algorithms its commands know, and its `main`.

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal};
use std::process::ExitCode;

use clap::Parser;
use hustings_algorithms::Algorithm;
use hustings_algorithms::catalogue::NameTaken;
use hustings_cluster::config;
use hustings_elections::Catalogue;

use super::args::Cli;
use super::console::{Console, Exit};
use super::failure::Failure;
use super::perform;

/// The whole command line, with the algorithms that its commands know.
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it is run"]
pub struct Program {
    /// Or why one of them could not be added: a `main` has no better place to tell it than its output.
    known: Result<Algorithms, NameTaken>,
}

/// The algorithms that the commands know, compiled for two purposes.
#[derive(Clone, Debug, Default)]
pub(super) struct Algorithms {
    /// For the simulator and the checker.
    pub(super) simulated: Catalogue,
    /// For the nodes of a cluster.
    pub(super) clustered: config::Algorithms,
}

/// The program `hustings`: it knows the built-in algorithms.
pub fn new() -> Program {
    Program { known: Ok(Algorithms::default()) }
}

/// The program `hustings` with one more algorithm.
pub fn with<A: Algorithm>() -> Program {
    new().with::<A>()
}

impl Program {
    /// Adds an algorithm. If its name or one of its aliases is taken, [`Program::run`] says so and does nothing else.
    pub fn with<A: Algorithm>(self) -> Self {
        let add = |known: Algorithms| {
            Ok(Algorithms { simulated: known.simulated.with::<A>()?, clustered: known.clustered.with::<A>()? })
        };
        Program { known: self.known.and_then(add) }
    }

    /// Runs the command line of this process: a whole `main`.
    pub fn run(&self) -> ExitCode {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let mut console = Console {
            out: &mut BufWriter::new(io::stdout().lock()),
            // Not locked: a progress line is drawn from a thread of its own.
            err: &mut io::stderr(),
            colour: !plain && io::stdout().is_terminal(),
            colour_errors: !plain && io::stderr().is_terminal(),
            progress: io::stderr().is_terminal(),
        };
        self.run_with(std::env::args_os(), &mut console).into()
    }

    /// Runs one command line, the program's name included.
    pub fn run_with(&self, args: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> Exit {
        let answer = self.known.as_ref().map_err(|&taken| Failure::from(taken)).and_then(|known| {
            let cli = Cli::try_parse_from(args).map_err(Failure::Arguments)?;
            let exit = perform(cli, known, console)?;
            console.out.flush()?;
            Ok(exit)
        });
        answer.unwrap_or_else(|failure| failure.tell(console))
    }
}

#[cfg(test)]
mod tests {
    use hustings_algorithms::ring::ChangRoberts;

    use super::*;

    #[test]
    fn a_name_that_is_taken_is_reported_by_whatever_command_is_run() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console =
            Console { out: &mut out, err: &mut err, colour: false, colour_errors: false, progress: false };
        let args = ["hustings", "list"].map(OsString::from);
        assert_eq!(with::<ChangRoberts>().run_with(args, &mut console), Exit::WrongUse);
        let told = String::from_utf8(err).unwrap();
        assert!(told.contains("`chang-roberts` already means `chang-roberts`"), "{told}");
        assert_eq!(out, b"");
    }
}
