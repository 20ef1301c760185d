//! Options of `hustings node` that inject faults. Only tests use them: the cargo feature `fault-injection` is off by
//! default.

use clap::Args;
use hustings_cluster::clock::Clock;
use hustings_cluster::faults::Rule;
use hustings_cluster::node::Options;

#[derive(Args, Clone, Debug)]
pub(super) struct FaultArgs {
    /// Disables a safety rule.
    #[arg(long, hide = true, value_name = "RULE")]
    test_break: Vec<Rule>,
    /// Makes the node's clock gain this many parts in a million.
    #[arg(long, hide = true, value_name = "N", allow_negative_numbers = true, default_value_t = 0,
          value_parser = clap::value_parser!(i32).range(-100_000..=100_000))]
    test_clock_ppm: i32,
    /// Makes the node's time of day wrong by this many seconds.
    #[arg(long, hide = true, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    test_wall_seconds: i64,
}

impl FaultArgs {
    pub(super) fn apply(&self, options: Options) -> Options {
        Options {
            clock: Clock::skewed(self.test_clock_ppm).with_wall_seconds(self.test_wall_seconds),
            disabled_rules: self.test_break.iter().copied().collect(),
            ..options
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use hustings_testkit::switches;

    use super::*;

    #[derive(Parser, Debug)]
    struct Command {
        #[command(flatten)]
        faults: FaultArgs,
    }

    #[test]
    fn accepts_the_switches_of_the_testkit() {
        let rules = [Rule::DriftMargin, Rule::DurableBeforeSend, Rule::StaleRuns, Rule::SessionPromise];
        for rule in rules {
            let parsed = Command::try_parse_from(["node", switches::BREAK, &rule.to_string()]).expect("a known rule");
            assert_eq!(parsed.faults.test_break, [rule]);
        }
        let (ppm, wall) = (format!("{}=-900", switches::CLOCK_PPM), format!("{}=-86400", switches::WALL_SECONDS));
        let FaultArgs { test_break, test_clock_ppm, test_wall_seconds } =
            Command::try_parse_from(["node".to_string(), ppm, wall]).expect("known options").faults;
        assert_eq!((test_break, test_clock_ppm, test_wall_seconds), (vec![], -900, -86_400));
    }

    #[test]
    fn names_the_rules_that_exist() {
        let error =
            Command::try_parse_from(["node", switches::BREAK, "gravity"]).expect_err("no such rule").to_string();
        assert!(error.contains("drift-margin, durable-before-send, stale-runs, session-promise"), "{error}");
    }
}
