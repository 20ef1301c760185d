//! What can be typed: the commands and their options.

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::sim_args::SimArgs;

/// Elects leaders; a laboratory for the published algorithms.
#[derive(Parser, Debug)]
#[command(name = "hustings", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// The catalogue: network, assumptions, complexity, source.
    List(ListArgs),
    /// One simulated election.
    Sim(Box<SimArgs>),
    /// A script that completes commands and options in a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// The manual page, in roff.
    Man {
        /// Of this command only.
        command: Option<String>,
    },
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings list                      all algorithms
  hustings list chang-roberts        everything about one
  hustings list --format json        for programs")]
pub(crate) struct ListArgs {
    /// Only this one, with all that is known of it.
    pub(crate) name: Option<String>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one object.
    Json,
}
