//! The program `hustings`, with the built-in algorithms.

use std::process::ExitCode;

fn main() -> ExitCode {
    hustings::cli::new().run()
}
