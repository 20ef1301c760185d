//! Metrics and traces of real nodes, and the files in `contrib` that use them.

pub(crate) mod contrib;
mod failover;
mod offices;

use std::collections::BTreeMap;

use crate::processes::Cluster;

/// The samples of a node: name with labels, and value.
pub(super) struct Samples(BTreeMap<String, f64>);

impl Samples {
    /// Asks a node.
    pub(super) fn of(cluster: &Cluster, name: &str) -> Samples {
        let ran = cluster.run(name, &["metrics"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        Samples::parse(&ran.out)
    }

    pub(super) fn parse(text: &str) -> Samples {
        let sample = |line: &str| {
            let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
            (name.to_string(), value.parse().unwrap_or_else(|_| panic!("not a number: {line}")))
        };
        Samples(text.lines().filter(|line| !line.starts_with('#')).map(sample).collect())
    }

    /// The value of a sample.
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// The sum of all samples of a metric whose labels contain this text.
    pub(super) fn sum(&self, metric: &str, labels: &str) -> f64 {
        self.each(metric).filter(|(known, _)| known.contains(labels)).map(|(_, value)| value).sum()
    }

    /// All samples of a metric, with their labels.
    pub(super) fn each(&self, metric: &str) -> impl Iterator<Item = (&str, f64)> {
        let all = self.0.iter().filter_map(move |(name, value)| Some((name.strip_prefix(metric)?, *value)));
        all.filter(|(labels, _)| labels.is_empty() || labels.starts_with('{'))
    }
}
