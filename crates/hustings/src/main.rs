//! The binary: hands the arguments to the library and turns its answer into an exit code.

use std::io::{self, BufWriter, IsTerminal};
use std::process::ExitCode;

use hustings::cli::{self, Console};

fn main() -> ExitCode {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let mut console = Console {
        out: &mut BufWriter::new(io::stdout().lock()),
        // Not locked: a progress line is drawn from a thread of its own.
        err: &mut io::stderr(),
        colour: !plain && io::stdout().is_terminal(),
        colour_errors: !plain && io::stderr().is_terminal(),
        progress: io::stderr().is_terminal(),
    };
    cli::run(std::env::args_os(), &mut console).into()
}
