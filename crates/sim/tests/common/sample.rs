//! Means of many runs, and their confidence intervals.

/// A sample of measured numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    count: f64,
    sum: f64,
    squares: f64,
}

/// The mean of a sample is further from the true value than this many standard errors with a probability of 0.1 %.
const SURE: f64 = 3.29;

impl Sample {
    pub(crate) fn add(&mut self, number: f64) {
        self.count += 1.0;
        self.sum += number;
        self.squares += number * number;
    }

    pub(crate) fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// Half the width of the 99.9 % confidence interval.
    pub(crate) fn margin(&self) -> f64 {
        let variance = (self.squares / self.count - self.mean().powi(2)) * self.count / (self.count - 1.0);
        SURE * (variance / self.count).sqrt()
    }

    /// Fails if the true value is outside the confidence interval.
    pub(crate) fn assert_mean(&self, truth: f64, what: &str) {
        let (mean, margin) = (self.mean(), self.margin());
        assert!(margin > 0.0 && (mean - truth).abs() <= margin, "{what}: {mean} ± {margin}, and not {truth}");
    }
}
