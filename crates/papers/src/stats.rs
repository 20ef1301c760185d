//! Statistics of repeated runs: summaries with a confidence interval, fits, ratios.
//!
//! Intervals are those of Student's t, at 95 %. Only square roots come from the system's mathematical library, so
//! that the results are the same on every machine.

/// The summary of a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Summary {
    /// The number of values.
    pub count: usize,
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation (divided by n-1); 0 for a single value.
    pub sd: f64,
    /// The median.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// Half of the width of the 95 % confidence interval of the mean; `None` for a single value.
    pub margin: Option<f64>,
}

impl Summary {
    /// Summarises the finite values; `None` if there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let count = values.len();
        if count == 0 {
            return None;
        }
        // Values are summed in sorted order, so that the order of the rows does not matter.
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (values[0], values[count - 1]);
        let median = values[(count - 1) / 2] / 2.0 + values[count / 2] / 2.0;
        // Rounding must not move the mean beyond the extremes.
        let mean = (values.iter().sum::<f64>() / count as f64).clamp(min, max);
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let sd = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let margin = (count > 1).then(|| t_quantile(count - 1) * sd / (count as f64).sqrt());
        Some(Summary { count, mean, sd, median, min, max, margin })
    }

    /// The 95 % confidence interval of the mean; the mean itself for a single value.
    pub(crate) fn interval(&self) -> (f64, f64) {
        let margin = self.margin.unwrap_or(0.0);
        (self.mean - margin, self.mean + margin)
    }
}

/// The 95 % confidence interval of a probability (Wilson's, which stays between 0 and 1).
pub(crate) fn probability_interval(successes: usize, trials: usize) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (trials as f64, NORMAL);
    let part = successes.min(trials) as f64 / n;
    let (below, middle) = (1.0 + z * z / n, part + z * z / (2.0 * n));
    let margin = z * (part * (1.0 - part) / n + z * z / (4.0 * n * n)).sqrt();
    // Rounding must not move the ends beyond 0, 1 or the observed proportion.
    let low = if successes == 0 { 0.0 } else { ((middle - margin) / below).clamp(0.0, part) };
    let high = if successes >= trials { 1.0 } else { ((middle + margin) / below).clamp(part, 1.0) };
    (low, high)
}

/// The probability that chance alone puts a proportion as far from this probability as it is, on either side. `None`
/// for 0 and 1, which leave nothing to chance.
pub(crate) fn proportion_p_value(successes: usize, trials: usize, probability: f64) -> Option<f64> {
    let n = trials as f64;
    let error = (probability * (1.0 - probability) / n).sqrt();
    // Many degrees of freedom are a normal distribution.
    (error > 0.0).then(|| two_tails((successes as f64 / n - probability).abs() / error, usize::MAX))
}

/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// An estimate with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Half of the width of the interval; `None` without degrees of freedom.
    pub margin: Option<f64>,
    /// The degrees of freedom.
    pub freedom: usize,
}

impl Estimate {
    /// The probability that chance alone puts the estimate as far from this value as it is, on either side. `None` if
    /// it does not depend on chance: without degrees of freedom, or if nothing varies.
    pub(crate) fn p_value(&self, value: f64) -> Option<f64> {
        /// Less is a rounding error.
        const LEAST: f64 = 1e-9;
        let margin = self.margin.filter(|margin| *margin > LEAST * self.value.abs().max(1.0))?;
        Some(two_tails((self.value - value).abs() / margin * t_quantile(self.freedom), self.freedom))
    }

    /// The interval; the estimate itself if there is none.
    pub(crate) fn interval(&self) -> (f64, f64) {
        let margin = self.margin.unwrap_or(0.0);
        (self.value - margin, self.value + margin)
    }
}

/// A least-squares line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Line {
    /// The slope.
    pub slope: Estimate,
    /// The value at 0.
    pub intercept: f64,
    /// The proportion of the variance that it explains.
    pub r_squared: f64,
}

/// Fits `intercept + slope * x`; `None` for fewer than two different x, or if the result is not finite.
pub(crate) fn linear_fit(points: &[(f64, f64)]) -> Option<Line> {
    let count = points.len() as f64;
    let (mean_x, mean_y) =
        (points.iter().map(|(x, _)| x).sum::<f64>() / count, points.iter().map(|(_, y)| y).sum::<f64>() / count);
    let sum = |term: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| term(x - mean_x, y - mean_y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    let slope = xy / xx;
    let rest = sum(&|x, y| (y - slope * x) * (y - slope * x));
    let line = Line {
        slope: estimate(slope, rest, points.len().saturating_sub(2), xx),
        intercept: mean_y - slope * mean_x,
        r_squared: explained(rest, yy),
    };
    (line.slope.value.is_finite() && line.intercept.is_finite()).then_some(line)
}

/// A least-squares factor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Factor {
    /// The factor.
    pub factor: Estimate,
    /// The proportion of the variance that it explains; negative if a constant explains more.
    pub r_squared: f64,
}

/// Fits c in `y = c * f` to points (f, y) by least squares; `None` if all f are 0, or if the result is not finite.
pub(crate) fn factor_fit(points: &[(f64, f64)]) -> Option<Factor> {
    let ff: f64 = points.iter().map(|(f, _)| f * f).sum();
    let fy: f64 = points.iter().map(|(f, y)| f * y).sum();
    let factor = fy / ff;
    let rest: f64 = points.iter().map(|(f, y)| (y - factor * f) * (y - factor * f)).sum();
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / points.len() as f64;
    let yy: f64 = points.iter().map(|(_, y)| (y - mean_y) * (y - mean_y)).sum();
    let estimate = estimate(factor, rest, points.len().saturating_sub(1), ff);
    factor.is_finite().then_some(Factor { factor: estimate, r_squared: explained(rest, yy) })
}

/// The ratio of the mean of the first numbers to that of the second, measured in pairs (for example on the same
/// networks). `None` without pairs, or if the mean of the second is 0.
pub(crate) fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let count = pairs.len() as f64;
    let (above, below) = (
        pairs.iter().map(|(above, _)| above).sum::<f64>() / count,
        pairs.iter().map(|(_, below)| below).sum::<f64>() / count,
    );
    let value = above / below;
    let rest: f64 = pairs.iter().map(|(above, below)| (above - value * below) * (above - value * below)).sum();
    let estimate = estimate(value, rest, pairs.len().saturating_sub(1), count * below * below);
    value.is_finite().then_some(estimate)
}

/// The difference of the means of two independent samples (Welch's interval). `None` without values.
pub(crate) fn difference(first: &[f64], second: &[f64]) -> Option<Estimate> {
    let (first, second) = (Summary::of(first.iter().copied())?, Summary::of(second.iter().copied())?);
    let part = |sample: &Summary| sample.sd * sample.sd / sample.count as f64;
    let (a, b) = (part(&first), part(&second));
    let term = |part: f64, count: usize| if count > 1 { part * part / (count - 1) as f64 } else { 0.0 };
    let below = term(a, first.count) + term(b, second.count);
    // Rounded down: the interval is then wider, not narrower.
    let freedom = if below > 0.0 { (((a + b) * (a + b) / below) as usize).max(1) } else { 0 };
    let margin = (freedom > 0).then(|| t_quantile(freedom) * (a + b).sqrt());
    Some(Estimate { value: first.mean - second.mean, margin, freedom })
}

/// An estimate, from the residual sum of squares, its degrees of freedom, and the divisor.
fn estimate(value: f64, rest: f64, freedom: usize, below: f64) -> Estimate {
    Estimate { value, margin: margin(rest, freedom, below), freedom }
}

/// The probability that Student's t is as far from 0 as this, on either side. For an odd number of degrees of freedom,
/// that of one fewer, which is larger: so only square roots are needed.
fn two_tails(t: f64, freedom: usize) -> f64 {
    /// More degrees differ from a normal distribution in the fifth digit, and cost a term each.
    const MAX_FREEDOM: usize = 20_000;
    /// At least 2/π.
    const ABOVE_TWO_BY_PI: f64 = 0.636_619_773;
    let freedom = freedom.min(MAX_FREEDOM);
    if freedom < 2 {
        // Cauchy's distribution: an upper bound of its tails.
        return (ABOVE_TWO_BY_PI / t).min(1.0);
    }
    let freedom = freedom - freedom % 2;
    let (v, square) = (freedom as f64, t * t);
    let (sine, cosine_squared) = (t / (v + square).sqrt(), v / (v + square));
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..freedom / 2 {
        term *= cosine_squared * (2 * k - 1) as f64 / (2 * k) as f64;
        sum += term;
    }
    (1.0 - sine * sum).clamp(0.0, 1.0)
}

/// Half of the width of an interval, from the residual sum of squares, its degrees of freedom, and the divisor.
fn margin(rest: f64, freedom: usize, below: f64) -> Option<f64> {
    let margin = t_quantile(freedom) * (rest / freedom as f64 / below).sqrt();
    (freedom > 0 && margin.is_finite()).then_some(margin)
}

fn explained(rest: f64, total: f64) -> f64 {
    if total > 0.0 { 1.0 - rest / total } else { 1.0 }
}

/// The 97.5 % quantile of Student's t; infinite without degrees of freedom.
fn t_quantile(freedom: usize) -> f64 {
    /// For 1 to 12 degrees.
    const SMALL: [f64; 12] = [
        12.70620474,
        4.30265273,
        3.182446305,
        2.776445105,
        2.570581836,
        2.446911851,
        2.364624252,
        2.306004135,
        2.262157163,
        2.228138852,
        2.20098516,
        2.17881283,
    ];
    if freedom == 0 {
        return f64::INFINITY;
    }
    if let Some(quantile) = SMALL.get(freedom - 1) {
        return *quantile;
    }
    // An expansion around the normal quantile in powers of 1/freedom, correct to six digits from here on.
    let (v, z) = (freedom as f64, NORMAL);
    let (z3, z5, z7, z9) = (z * z * z, z.powi(5), z.powi(7), z.powi(9));
    z + (z3 + z) / (4.0 * v)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * v * v * v)
        + (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * z) / (92160.0 * v * v * v * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{found} is not {expected}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in
            [(1, 12.7062), (4, 2.77645), (12, 2.17881), (13, 2.16037), (19, 2.09302), (30, 2.04227)]
        {
            near(t_quantile(freedom), expected);
        }
        near(t_quantile(120), 1.97993);
        near(t_quantile(1_000_000), 1.95997);
        assert_eq!(t_quantile(0), f64::INFINITY);
    }

    #[test]
    fn a_sample_is_summed_up() {
        let summary = Summary::of([2.0, f64::NAN, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((summary.count, summary.mean, summary.median), (8, 5.0, 4.5));
        assert_eq!((summary.min, summary.max), (2.0, 9.0));
        near(summary.sd, (32.0f64 / 7.0).sqrt());
        near(summary.margin.unwrap(), 2.364624252 * (32.0f64 / 7.0 / 8.0).sqrt());
        let one = Summary::of([3.0]).unwrap();
        assert_eq!((one.mean, one.sd, one.margin, one.interval()), (3.0, 0.0, None, (3.0, 3.0)));
        assert_eq!(Summary::of([f64::INFINITY]), None);
        assert_eq!(Summary::of([0.1, 0.2, 0.3]), Summary::of([0.3, 0.1, 0.2]), "the order does not matter");
    }

    #[test]
    fn probabilities_stay_between_0_and_1() {
        assert_eq!(probability_interval(0, 0), (0.0, 1.0));
        // Checked against published values of Wilson's interval: 8 of 10, and 12 of 12.
        let (low, high) = probability_interval(8, 10);
        near(low, 0.490162);
        near(high, 0.943318);
        let (low, high) = probability_interval(12, 12);
        near(low, 0.757506);
        assert_eq!(high, 1.0);
        assert_eq!(probability_interval(0, 12).0, 0.0);
    }

    #[test]
    fn lines_and_factors_are_found_again() {
        let line = linear_fit(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]).unwrap();
        near(line.slope.value, 2.0);
        near(line.intercept, 3.0);
        near(line.r_squared, 1.0);
        // By hand: slope 1.5, one degree of freedom, sum of squares 2, residuals -1/6, 1/3, -1/6.
        let fit = linear_fit(&[(0.0, 0.0), (1.0, 2.0), (2.0, 3.0)]).unwrap();
        near(fit.slope.value, 1.5);
        near(fit.slope.margin.unwrap(), 12.70620474 * ((1.0f64 / 36.0 + 1.0 / 9.0 + 1.0 / 36.0) / 2.0).sqrt());
        assert_eq!(linear_fit(&[(1.0, 5.0), (1.0, 7.0)]), None);
        assert_eq!(linear_fit(&[]), None);
        let factor = factor_fit(&[(8.0, 16.0), (24.0, 48.0), (64.0, 128.0)]).unwrap();
        near(factor.factor.value, 2.0);
        near(factor.factor.margin.unwrap(), 0.0);
        assert_eq!(factor_fit(&[(0.0, 1.0)]), None);
        assert_eq!(factor_fit(&[(2.0, 1.0)]).unwrap().factor, Estimate { value: 0.5, margin: None, freedom: 0 });
    }

    /// The probability beyond a quantile is what the quantile is of.
    #[test]
    fn tails_belong_to_the_quantiles() {
        for freedom in [2, 4, 10, 120, 2000, 20_000] {
            near(two_tails(t_quantile(freedom), freedom), 0.05);
        }
        // 1 % and 0.1 % at 10 degrees, from tables.
        near(two_tails(3.169273, 10), 0.01);
        near(two_tails(4.586894, 10), 0.001);
        near(two_tails(0.0, 6), 1.0);
        // Odd degrees, and one: never less than the truth.
        assert!(two_tails(t_quantile(9), 9) > 0.05 && two_tails(t_quantile(1), 1) >= 0.05 - 1e-6);
        assert_eq!(two_tails(0.0, 1), 1.0);
    }

    #[test]
    fn an_estimate_knows_how_far_chance_carries_it() {
        let estimate = Estimate { value: 5.0, margin: Some(t_quantile(10)), freedom: 10 };
        near(estimate.p_value(5.0 + 3.169273).unwrap(), 0.01);
        assert_eq!(estimate.p_value(8.0), estimate.p_value(2.0));
        assert_eq!(Estimate { margin: None, ..estimate }.p_value(8.0), None);
        assert_eq!(Estimate { margin: Some(0.0), ..estimate }.p_value(8.0), None, "nothing varies");
    }

    #[test]
    fn differences_of_independent_samples_have_an_interval() {
        // By hand: means 2 and 5, variances 1 and 4, 3 values each: 1/3 + 4/3, and (5/3)² / ((1/9 + 16/9) / 2) degrees.
        let found = difference(&[1.0, 2.0, 3.0], &[3.0, 5.0, 7.0]).unwrap();
        assert_eq!((found.value, found.freedom), (-3.0, 2));
        near(found.margin.unwrap(), t_quantile(2) * (5.0f64 / 3.0).sqrt());
        assert_eq!(difference(&[1.0], &[3.0]).unwrap().margin, None);
        assert_eq!(difference(&[], &[3.0]), None);
    }

    #[test]
    fn ratios_of_pairs_have_an_interval() {
        let exact = paired_ratio(&[(1.0, 2.0), (3.0, 6.0)]).unwrap();
        assert_eq!((exact.value, exact.interval()), (0.5, (0.5, 0.5)));
        // Rests 0.5 and -0.5 around a ratio of 1/2; one degree of freedom; 2 * 4 below.
        let ratio = paired_ratio(&[(2.0, 3.0), (0.0, 1.0)]).unwrap();
        near(ratio.value, 0.5);
        near(ratio.margin.unwrap(), 12.70620474 * (0.5f64 / 8.0).sqrt());
        assert_eq!(paired_ratio(&[]), None);
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
    }
}
