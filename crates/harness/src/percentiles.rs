//! Percentiles of measured times.

/// Percentiles of measured times, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Percentiles {
    /// How many times were measured.
    pub count: usize,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
}

impl Percentiles {
    /// The percentiles of these times, given in nanoseconds; `None` if there are no times.
    pub fn of(mut nanoseconds: Vec<u64>) -> Option<Percentiles> {
        nanoseconds.sort_unstable();
        let count = nanoseconds.len();
        let at = |share: f64| nanoseconds[((count as f64 * share).ceil() as usize).clamp(1, count) - 1] as f64 / 1e6;
        (count > 0).then(|| Percentiles { count, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_times_and_not_interpolated() {
        let percentiles = Percentiles::of((1..=10).rev().map(|ms| ms * 1_000_000).collect()).unwrap();
        assert_eq!(percentiles, Percentiles { count: 10, p50: 5.0, p90: 9.0, p99: 10.0, max: 10.0 });
        assert_eq!(Percentiles::of(Vec::new()), None);
    }
}
