//! What `hustings check --all` checks: a command line for each row of the table.
//!
//! The first row of an algorithm also says what `hustings check ALGORITHM` takes where neither size nor parameters are
//! given. Clocks are bounded where an algorithm trusts in a bound, which is the default, and patient where its
//! time-outs are only for trouble.

use clap::Parser;

use super::args::CheckArgs;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The options of `hustings check`.
    pub(super) line: &'static str,
    /// Whether it takes less than a second or so.
    pub(super) is_quick: bool,
}

const fn quick(line: &'static str) -> Row {
    Row { line, is_quick: true }
}

const fn slow(line: &'static str) -> Row {
    Row { line, is_quick: false }
}

/// All of them, by algorithm in the order of the catalogue.
pub(super) const ROWS: &[Row] = &[
    quick("chang-roberts -n 3 --ids all"),
    slow("chang-roberts -n 5 --ids all"),
    quick("chang-roberts -n 3 --initiators every-subset --ids all"),
    quick("chang-roberts -n 3 --runs --crashes 1"),
    quick("le-lann -n 3 --ids all"),
    slow("le-lann -n 5 --ids all"),
    quick("franklin -n 3 --ids all"),
    slow("franklin -n 5 --ids all"),
    quick("dolev-klawe-rodeh -n 3 --ids all"),
    slow("dolev-klawe-rodeh -n 5 --ids all"),
    quick("peterson -n 3 --ids all"),
    slow("peterson -n 5 --ids all"),
    quick("hirschberg-sinclair -n 3 --ids all"),
    slow("hirschberg-sinclair -n 5 --ids all --channels fifo"),
    quick("token-ring -n 3 --ids all"),
    slow("token-ring -n 5 --ids all"),
    quick("token-ring -n 4 --initiators every-subset"),
    quick("sun -n 4 --timing patient"),
    quick("sun -n 4 -p u=2 --timing patient --initiators every-subset"),
    quick("divided -n 4 --timing patient"),
    slow("divided -n 4 -p u=2 --timing patient --initiators every-subset"),
    quick("sun-divided -n 4 -p u=2 --timing patient"),
    slow("sun-divided -n 4 -p u=2 --timing patient --initiators every-subset"),
    quick("bully -n 3"),
    quick("bully -n 3 --initiators every-subset"),
    quick("bully -n 3 --crashes 1"),
    quick("bully -n 3 --runs --crashes 1"),
    quick("improved-bully -n 3"),
    quick("improved-bully -n 3 --initiators every-subset"),
    quick("improved-bully -n 3 --crashes 1"),
    quick("campaigner -n 3"),
    quick("campaigner -n 3 --crashes 1"),
    slow("campaigner -n 4 --initiators every-subset"),
    quick("invitation -n 3 --timing patient"),
    quick("invitation -n 3 --timing patient --initiators every-subset"),
    quick("invitation -n 3 --timing patient --crashes 1"),
    quick("tree -n 4 --ids all"),
    quick("tree -n 4 --initiators every-subset"),
    quick("echo-extinction -n 3 --topology complete --ids all"),
    quick("echo-extinction -n 4 --topology line --ids all"),
    quick("aefa -n 3 --topology complete --timing patient"),
    quick("two-tier -n 3 -p subordinates=2 --topology complete --timing patient"),
    quick("preference -n 3 --topology complete --timing patient"),
    quick("itai-rodeh -n 3"),
    quick("anonymous-echo -n 3 --topology complete"),
    quick("ring-size -n 3 -p R=2"),
    slow("chang-roberts -n 3 --runs --crashes 1 --recoveries 1 --initiators 0 --timing patient"),
    quick("bully -n 2 --runs --crashes 1 --recoveries 1"),
    slow("bully -n 3 --runs --crashes 1 --recoveries 1 --initiators none --timing patient"),
];

/// A row as a command line of its own.
#[derive(Parser, Debug)]
#[command(name = "hustings check")]
struct Line {
    #[command(flatten)]
    args: CheckArgs,
}

impl Row {
    /// Its options; `None` if they are none, which a test rules out.
    pub(super) fn args(&self) -> Option<CheckArgs> {
        let words = std::iter::once("hustings check").chain(self.line.split(' '));
        Line::try_parse_from(words).ok().map(|line| line.args)
    }

    fn algorithm(&self) -> &'static str {
        self.line.split(' ').next().unwrap_or_default()
    }
}

/// The first row of an algorithm.
pub(super) fn first(algorithm: &str) -> Option<CheckArgs> {
    ROWS.iter().find(|row| row.algorithm() == algorithm).and_then(Row::args)
}

#[cfg(test)]
mod tests {
    use hustings_algorithms::catalogue::ENTRIES;

    use super::*;

    #[test]
    fn every_row_is_understood_and_every_algorithm_has_a_quick_one() {
        for row in ROWS {
            assert!(row.args().is_some_and(|args| args.nodes.is_some()), "{}", row.line);
        }
        for entry in ENTRIES {
            let mut own = ROWS.iter().filter(|row| row.algorithm() == entry.about.name);
            assert!(own.any(|row| row.is_quick), "{}", entry.about.name);
        }
    }
}
