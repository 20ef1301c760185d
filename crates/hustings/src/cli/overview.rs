//! `hustings` alone: what it can do, in one screen.

use clap::CommandFactory;
use hustings_algorithms::catalogue::ENTRIES;

use super::args::Cli;
use super::console::{Console, Exit, Paint};
use super::failure::Failure;

pub(crate) fn print(console: &mut Console<'_>) -> Result<Exit, Failure> {
    let program = Cli::command();
    let about = program.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(console.out, "{}: {about}\n", Paint::Strong.on("hustings", console.colour))?;
    for command in program.get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(console.out, "  hustings {:<13} {about}", command.get_name())?;
    }
    writeln!(
        console.out,
        "\n{} algorithms are in the catalogue. Try:\n\
         \n  hustings sim chang-roberts                    an election on a ring of 8\
         \n  hustings sim chang-roberts -n 5 --trace text  every event of a smaller one\
         \n  hustings check chang-roberts -n 4 --ids all   all its executions\
         \n  hustings list                                 what else there is\
         \n  hustings sim --help                           all options",
        ENTRIES.len()
    )?;
    Ok(Exit::Done)
}
