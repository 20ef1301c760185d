//! The visible range of a scale, its ticks and their labels.

use super::chart::Scale;

/// The visible range of a scale.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Span {
    /// Whether the scale is logarithmic.
    log: bool,
    low: f64,
    high: f64,
}

/// The label of a tick, such as `2×10` with the exponent `-6`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Label {
    /// The text on the baseline.
    pub(super) base: String,
    /// The raised text.
    pub(super) exponent: String,
}

/// Labels and their positions, from 0 to 1.
pub(super) type Placed = [(f64, Label)];

/// The ticks of an axis.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Ticks {
    /// Ticks with a label.
    pub(super) major: Vec<(f64, Label)>,
    /// Ticks without a label.
    pub(super) minor: Vec<f64>,
}

impl Span {
    /// The span of these numbers. `pad` is the margin at both ends, relative to the span; with `zero`, a linear scale
    /// includes 0.
    pub(super) fn of(scale: &Scale, numbers: impl Iterator<Item = f64>, pad: f64, zero: bool) -> Span {
        let log = scale.is_log();
        let usable = numbers.filter(|number| scale.can_show(*number));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let (mut low, mut high) = if low <= high { (low, high) } else { (1.0, 10.0) };
        if log {
            (low, high) = (low.log10(), high.log10());
            if high - low < 0.1 {
                (low, high) = (low - 0.2, high + 0.2);
            }
        } else {
            if zero {
                (low, high) = (low.min(0.0), high.max(0.0));
            }
            // Numbers that differ only by rounding errors count as equal.
            if high - low <= 1e-9 * low.abs().max(high.abs()) {
                let around = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
                (low, high) = (if zero && low >= 0.0 { 0.0 } else { low - around }, high + around);
            }
        }
        let room = (high - low) * pad;
        let at_zero = |end: f64| !log && zero && end == 0.0;
        let (low, high) = (if at_zero(low) { low } else { low - room }, if at_zero(high) { high } else { high + room });
        if log { Span { log, low: 10f64.powf(low), high: 10f64.powf(high) } } else { Span { log, low, high } }
    }

    /// The span of `count` categories, each of width 1.
    pub(super) fn of_categories(count: usize) -> Span {
        Span { log: false, low: -0.5, high: count as f64 - 0.5 }
    }

    /// The position of a number, from 0 to 1; numbers outside of the span are clamped.
    pub(super) fn place(&self, number: f64) -> f64 {
        let place = if self.log {
            let low = self.low.log10();
            (number.max(self.low).log10() - low) / (self.high.log10() - low)
        } else {
            (number - self.low) / (self.high - self.low)
        };
        place.clamp(0.0, 1.0)
    }

    fn contains(&self, number: f64) -> bool {
        let room = if self.log { 0.0 } else { (self.high - self.low) * 1e-9 };
        (self.low - room..=self.high + room).contains(&number)
    }

    /// The largest set of ticks that `fits` accepts. It is called with labels and their positions from 0 to 1.
    pub(super) fn ticks(&self, scale: &Scale, max_ticks: usize, fits: &dyn Fn(&Placed) -> bool) -> Ticks {
        let mut last = Ticks::default();
        for ticks in self.candidates(scale, max_ticks.max(2)) {
            let placed: Vec<(f64, Label)> =
                ticks.major.iter().map(|(at, label)| (self.place(*at), label.clone())).collect();
            if fits(&placed) {
                return ticks;
            }
            last = ticks;
        }
        // No set fits: keep a single tick.
        last.major.truncate(1);
        last
    }

    /// Sets of ticks, the largest first.
    fn candidates(&self, scale: &Scale, max_ticks: usize) -> Vec<Ticks> {
        let mut all = Vec::new();
        if self.log {
            let base: f64 = if *scale == Scale::Log2 { 2.0 } else { 10.0 };
            let exponent = |number: f64| if base == 2.0 { number.log2() } else { number.log10() };
            let (first, last) =
                ((exponent(self.low) - 1e-9).ceil() as i64, (exponent(self.high) + 1e-9).floor() as i64);
            let powers = (last - first + 1).max(0) as usize;
            if powers >= 3 || (powers == 2 && base == 10.0 && exponent(self.high) - exponent(self.low) > 1.9) {
                for step in 1..=powers.div_ceil(2).max(1) {
                    all.push(self.powers(base, first, last, step as i64));
                }
                all.retain(|ticks| ticks.major.len() <= max_ticks);
            } else {
                all.extend(self.multiples(max_ticks));
            }
        }
        // A short logarithmic scale has linear ticks.
        (2..=max_ticks).rev().for_each(|count| all.push(self.even(count)));
        all
    }

    /// Every `step`-th power.
    fn powers(&self, base: f64, first: i64, last: i64, step: i64) -> Ticks {
        let power = |exponent: i64| base.powi(exponent as i32);
        let start = first.div_euclid(step) * step;
        let exponents: Vec<i64> =
            (start..=last).step_by(step as usize).filter(|at| (first..=last).contains(at)).collect();
        let (min, max) = if base == 2.0 { (0, 10) } else { (-2, 3) };
        let plain = exponents.iter().all(|exponent| (min..=max).contains(exponent));
        let label = |exponent: i64| {
            if plain {
                Label { base: format!("{}", power(exponent)), ..Label::default() }
            } else {
                Label { base: format!("{base}"), exponent: minus(exponent.to_string()) }
            }
        };
        let major: Vec<(f64, Label)> = exponents.iter().map(|at| (power(*at), label(*at))).collect();
        let between: Vec<f64> = if step > 1 { vec![1.0] } else { (2..base as u8).map(f64::from).collect() };
        let minor = (first - 1..=last).flat_map(|at| between.iter().map(move |part| part * power(at)));
        let is_major = |at: f64| major.iter().any(|(other, _)| *other == at);
        let minor = minor.filter(|at| self.contains(*at) && !is_major(*at)).collect();
        Ticks { major, minor }
    }

    /// 1, 2 and 5 times powers of ten.
    fn multiples(&self, max_ticks: usize) -> Option<Ticks> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let all = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10f64.powi(power)));
        let places: Vec<f64> = all.filter(|at| self.contains(*at)).collect();
        let labels = places.iter().map(|at| single(*at));
        (3..=max_ticks)
            .contains(&places.len())
            .then(|| Ticks { major: places.iter().copied().zip(labels).collect(), minor: Vec::new() })
    }

    /// At max_ticks `count` even steps of 1, 2 or 5 times a power of ten.
    fn even(&self, count: usize) -> Ticks {
        let least = (self.high - self.low) / count as f64;
        let power = 10f64.powf(least.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|part| part * power).find(|step| *step >= least * (1.0 - 1e-9));
        let step = step.unwrap_or(10.0 * power);
        let (first, last) = ((self.low / step - 1e-9).ceil(), (self.high / step + 1e-9).floor());
        // The number of steps is small by construction; the clamp guards against rounding errors.
        let places: Vec<f64> =
            (0..=(last - first).clamp(0.0, 50.0) as u32).map(|at| (first + f64::from(at)) * step).collect();
        let places: Vec<f64> = places.into_iter().filter(|at| self.contains(*at)).map(|at| at + 0.0).collect();
        let labels = labels(&places, step);
        Ticks { major: places.into_iter().zip(labels).collect(), minor: Vec::new() }
    }

    /// Moves both ends outwards to the next tick.
    pub(super) fn rounded(self, max_ticks: usize) -> Span {
        if self.log {
            return self;
        }
        let ticks = self.even(max_ticks.max(2)).major;
        let [(first, _), .., (last, _)] = &ticks[..] else { return self };
        let step = (last - first) / (ticks.len() - 1) as f64;
        let low = if self.low < first - step * 1e-6 { first - step } else { *first };
        let high = if self.high > last + step * 1e-6 { last + step } else { *last };
        Span { low, high, ..self }
    }

    /// The lower end, where bars and bands that extend further down are cut off.
    pub(super) fn low(&self) -> f64 {
        self.low
    }
}

/// Replaces hyphens with minus signs.
fn minus(text: String) -> String {
    text.replace('-', "−")
}

/// The label of a single tick.
fn single(at: f64) -> Label {
    let power = at.abs().log10().floor();
    let step = if at == 0.0 { 1.0 } else { 10f64.powf(power) };
    labels(&[at], step).pop().unwrap_or_default()
}

/// The labels of ticks that are `step` apart: all in the same unit, with as many digits as the step requires.
fn labels(places: &[f64], step: f64) -> Vec<Label> {
    let largest = places.iter().fold(0f64, |largest, at| largest.max(at.abs()));
    let units = [(1e4, 1.0, ""), (1e6, 1e3, "\u{a0}k"), (1e9, 1e6, "\u{a0}M"), (1e12, 1e9, "\u{a0}G")];
    let unit = units.into_iter().find(|(below, _, _)| largest < *below);
    let unit = unit.filter(|_| largest == 0.0 || largest >= 0.001);
    let number = |value: f64, step: f64| {
        let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 12.0) as usize;
        minus(format!("{value:.decimals$}"))
    };
    let one = |at: &f64| match unit {
        _ if *at == 0.0 => Label { base: "0".to_string(), ..Label::default() },
        Some((_, size, name)) => Label { base: number(at / size, step / size) + name, ..Label::default() },
        None => {
            let power = largest.log10().floor();
            let size = 10f64.powf(power);
            let mantissa = number(at / size, step / size);
            let base = if mantissa == "1" { "10".to_string() } else { format!("{mantissa}×10") };
            Label { base, exponent: minus(format!("{power}")) }
        }
    };
    places.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(scale: &Scale, numbers: &[f64], max_ticks: usize) -> String {
        let span = Span::of(scale, numbers.iter().copied(), 0.02, true);
        let ticks = span.ticks(scale, max_ticks, &|_| true);
        let text = |label: &Label| match label.exponent.as_str() {
            "" => label.base.clone(),
            exponent => format!("{}^{exponent}", label.base),
        };
        ticks.major.iter().map(|(_, label)| text(label)).collect::<Vec<_>>().join(" ").replace('\u{a0}', "")
    }

    #[test]
    fn ticks_are_round_numbers() {
        let cases: &[(Scale, &[f64], usize, &str)] = &[
            (Scale::Linear, &[0.0, 9.7], 6, "0 2 4 6 8"),
            (Scale::Linear, &[3.0, 48_000.0], 6, "0 10k 20k 30k 40k"),
            (Scale::Linear, &[0.0, 1_200_000.0], 8, "0 0.2M 0.4M 0.6M 0.8M 1.0M 1.2M"),
            (Scale::Linear, &[0.1, 0.35], 6, "0 0.1 0.2 0.3"),
            (Scale::Linear, &[-1.0, 1.0], 5, "−1.0 −0.5 0 0.5 1.0"),
            (Scale::Linear, &[7.0, 7.0], 4, "0 2 4 6"),
            (Scale::Linear, &[0.0, 3e20], 4, "0 10^20 2×10^20 3×10^20"),
            (Scale::Linear, &[0.0, 4e-7], 4, "0 2×10^−7 4×10^−7"),
            (Scale::Log10, &[10.0, 1000.0], 6, "10 100 1000"),
            (Scale::Log10, &[1.0, 1e6], 8, "10^0 10^1 10^2 10^3 10^4 10^5 10^6"),
            (Scale::Log10, &[1.0, 1e6], 4, "10^0 10^2 10^4 10^6"),
            (Scale::Log10, &[12.0, 90.0], 6, "20 40 60 80"),
            (Scale::Log10, &[8.0, 250.0], 6, "10 20 50 100 200"),
            (Scale::Log10, &[100.0, 100.0], 6, "80 100 120 140 160"),
            (Scale::Log2, &[16.0, 256.0], 9, "16 32 64 128 256"),
            (Scale::Log2, &[16.0, 1048576.0], 9, "2^4 2^6 2^8 2^10 2^12 2^14 2^16 2^18 2^20"),
        ];
        for (scale, numbers, max_ticks, expected) in cases {
            assert_eq!(shown(scale, numbers, *max_ticks), *expected, "{scale:?} {numbers:?}");
        }
    }

    #[test]
    fn ends_are_rounded_outwards() {
        let span = Span::of(&Scale::Linear, [3.0, 97.0].into_iter(), 0.0, true).rounded(6);
        assert_eq!((span.low, span.high), (0.0, 100.0));
        assert_eq!((span.place(50.0), span.place(-5.0), span.place(1e9)), (0.5, 0.0, 1.0));
    }

    proptest! {
        #[test]
        fn any_numbers_have_ticks_inside(
            numbers in proptest::collection::vec(-1e100..1e100f64, 0..5),
            small in proptest::collection::vec(1e-9..1.0f64, 0..3),
            max_ticks in 0..12usize,
            kind in 0..3usize,
        ) {
            let scale = [Scale::Linear, Scale::Log10, Scale::Log2][kind].clone();
            let all = || numbers.iter().chain(&small).copied();
            for span in [Span::of(&scale, all(), 0.05, true), Span::of(&scale, all(), 0.0, false).rounded(max_ticks)] {
                prop_assert!(span.low < span.high, "{span:?}");
                let ticks = span.ticks(&scale, max_ticks, &|_| true);
                prop_assert!(ticks.major.len() <= max_ticks.max(2) + 1, "{ticks:?}");
                for at in ticks.major.iter().map(|(at, _)| at).chain(&ticks.minor) {
                    let place = span.place(*at);
                    prop_assert!(at.is_finite() && (0.0..=1.0).contains(&place), "{at} in {span:?}");
                }
            }
        }
    }
}
