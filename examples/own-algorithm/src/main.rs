//! `hustings` with one more algorithm.

fn main() -> std::process::ExitCode {
    hustings::cli::with::<own_algorithm::ThreeLaps>().run()
}
