//! `hustings` alone: what it can do, in one screen.

use clap::CommandFactory;
use hustings_elections::Catalogue;

use super::args::Cli;
use super::console::{Console, Exit, Paint};
use super::failure::Failure;

/// Commands that share a line, and what it says of them. All others have a line and their own words.
const TOGETHER: &[(&[&str], &str)] = &[
    (&["up", "init", "node", "token"], "Clusters, their nodes, tokens of the API"),
    (&["status", "metrics", "trace"], "Show members, counters, messages"),
    (&["leader", "watch", "history"], "Show who holds an office, and since when"),
    (&["resign", "transfer", "pause", "resume"], "Hand over, suspend, resume"),
    (&["members", "config", "backup", "recover", "debug"], "Change, copy, recover"),
    (&["sweep", "plot"], "Run an experiment of many elections; draw its charts"),
    (&["completions", "man"], "Print shell completions, or manual pages"),
];

/// What stands above a command, after an empty line; and how wide names are from there on.
const HEADINGS: &[(&str, &str, usize)] =
    &[("up", "A cluster\n", 24), ("list", "The laboratory\n", 13), ("completions", "", 17)];

pub(crate) fn print(catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let program = Cli::command();
    let about = program.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(console.out, "{}: {about}", Paint::Strong.on("hustings", console.colour))?;
    let mut width = 0;
    for command in program.get_subcommands() {
        let name = command.get_name();
        if let Some((_, heading, wide)) = HEADINGS.iter().find(|(first, ..)| *first == name) {
            write!(console.out, "\n{heading}")?;
            width = *wide;
        }
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        match TOGETHER.iter().find(|(names, _)| names.contains(&name)) {
            Some((names, about)) if names[0] == name => {
                writeln!(console.out, "  hustings {:<width$} {about}", names.join(" | "))?;
            }
            Some(_) => {}
            None => writeln!(console.out, "  hustings {name:<width$} {about}")?,
        }
    }
    writeln!(
        console.out,
        "\nTry `hustings sim chang-roberts -n 5 --trace text`, one of {} algorithms, and\n\
         `hustings COMMAND --help`, which has examples.",
        catalogue.all().len()
    )?;
    Ok(Exit::Done)
}
