//! Means of many runs, and how sure they are.

/// Numbers that were measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    count: f64,
    sum: f64,
    squares: f64,
}

/// Of a thousand samples, one has its mean further from the truth than so many standard errors.
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

    /// Half the length of the interval that holds the truth with 99.9 %.
    pub(crate) fn margin(&self) -> f64 {
        let variance = (self.squares / self.count - self.mean().powi(2)) * self.count / (self.count - 1.0);
        SURE * (variance / self.count).sqrt()
    }

    /// Fails if this cannot well be the truth.
    pub(crate) fn assert_mean(&self, truth: f64, what: &str) {
        let (mean, margin) = (self.mean(), self.margin());
        assert!(margin > 0.0 && (mean - truth).abs() <= margin, "{what}: {mean} ± {margin}, and not {truth}");
    }
}
