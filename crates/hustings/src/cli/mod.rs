//! The command line, as a function: arguments in, text out, an [`Exit`] code.
//!
//! Arguments come in two levels: what was typed, and what it means, which the library checks.
//!
//! A program with an algorithm of its own is the same command line with one more algorithm in it. This is all of its
//! `main.rs`, and `examples/own-algorithm` is such a program:
//!
//! ```no_run
//! # use hustings::algorithms::ring::Peterson as MyAlgorithm;
//! fn main() -> std::process::ExitCode {
//!     hustings::cli::with::<MyAlgorithm>().run()
//! }
//! ```

mod args;
mod bench;
mod check;
mod claims;
mod cluster;
mod console;
pub mod docs;
mod election_args;
mod failure;
mod files;
mod flags;
mod lab;
mod list;
mod memory;
mod overview;
mod papers;
mod plot;
mod plot_json;
mod program;
mod read;
mod report;
mod signals;
mod sim;
mod sim_args;
mod sweep;

use std::ffi::OsString;

use clap::CommandFactory;

use args::{Cli, Command};
pub use console::{Console, Exit};
use failure::Failure;
use program::Algorithms;
pub use program::{Program, new, with};

/// Runs one command line with the built-in algorithms, the program's name included.
pub fn run(args: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> Exit {
    new().run_with(args, console)
}

fn perform(cli: Cli, known: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let catalogue = &known.simulated;
    match cli.command {
        None => overview::print(catalogue, console),
        Some(Command::List(args)) => list::run(&args, catalogue, console),
        Some(Command::Sim(args)) => sim::run(&args, catalogue, console),
        Some(Command::Check(args)) => check::run(&args, catalogue, console),
        Some(Command::Sweep(args)) => sweep::run(&args, catalogue, console),
        Some(Command::Papers(args)) => papers::run(&args, console),
        Some(Command::Plot(args)) => plot::run(&args, catalogue, console),
        Some(Command::Bench(args)) => bench::run(&args, console),
        Some(Command::Lab(args)) => lab::run(&args, catalogue, console),
        Some(Command::Cluster(command)) => cluster::run(command, known, console),
        Some(Command::Completions { shell }) => {
            // The generator panics if it cannot write, so it writes to memory.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "hustings", &mut script);
            console.out.write_all(&script)?;
            Ok(Exit::Done)
        }
        Some(Command::Man { command }) => man(command.as_deref(), console),
    }
}

/// The manual page of the program, or of one of its commands.
fn man(name: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut program = Cli::command();
    program.build();
    let page = match name {
        None => program,
        Some(name) => {
            let found = program.get_subcommands().find(|command| command.get_name() == name).cloned();
            let known = || program.get_subcommands().map(clap::Command::get_name);
            found.ok_or_else(|| Failure::unknown("command", name, known()))?.display_name(format!("hustings-{name}"))
        }
    };
    clap_mangen::Man::new(page).render(&mut console.out)?;
    Ok(Exit::Done)
}
