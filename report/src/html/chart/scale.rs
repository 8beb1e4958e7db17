//! From values to places on an axis.

/// An axis from its low end (place 0) to its high end (place 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Equal steps are equally long.
    Linear {
        /// The low end.
        low: f64,
        /// The high end, above the low one.
        high: f64,
    },
    /// Equal ratios are equally long.
    Log {
        /// The low end, above zero.
        low: f64,
        /// The high end, above the low one.
        high: f64,
    },
}

/// The most parts that ticks cut an axis of values into.
pub(crate) const VALUE_STEPS: u8 = 5;
/// The most parts that ticks cut an axis of time into: its labels are short, and it is longer.
pub(crate) const TIME_STEPS: u8 = 7;

/// With a greater ratio between the least and the greatest value, a linear axis would hide the small ones.
const LOG_FROM_RATIO: f64 = 30.0;

impl Scale {
    /// From zero to a round number that `most` does not exceed.
    pub(crate) fn from_zero(most: f64) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most, VALUE_STEPS);
        Self::Linear {
            low: 0.0,
            high: (most / step - 1e-9).ceil() * step,
        }
    }

    /// Whole decades around the positive values from `least` to `most`.
    pub(crate) fn decades(least: f64, most: f64) -> Self {
        let low = 10_f64.powf((least.log10() + 1e-9).floor());
        let high = 10_f64.powf((most.log10() - 1e-9).ceil());
        Self::Log {
            low,
            high: high.max(low * 10.0),
        }
    }

    /// Decades where the values differ a lot, from zero otherwise. `values` that are not positive have no place on a
    /// logarithmic axis and go to its low end.
    pub(crate) fn fitting(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values
            .filter(|value| *value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        if most > least * LOG_FROM_RATIO {
            Self::decades(least, most)
        } else {
            Self::from_zero(most)
        }
    }

    /// The place of a value, 0 to 1.
    pub(crate) fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear { low, high } => (value - low) / (high - low),
            Self::Log { low, high } => (value.max(low) / low).log10() / (high / low).log10(),
        };
        place.clamp(0.0, 1.0)
    }

    /// The values at its low and its high end.
    pub(crate) fn ends(self) -> (f64, f64) {
        match self {
            Self::Linear { low, high } | Self::Log { low, high } => (low, high),
        }
    }

    /// Whether it is logarithmic.
    pub(crate) fn is_log(self) -> bool {
        matches!(self, Self::Log { .. })
    }

    /// Round values to label, a linear axis cut into at most `most` parts.
    pub(crate) fn ticks(self, most: u8) -> Vec<f64> {
        match self {
            Self::Linear { low, high } => {
                let step = round_step(high - low, most);
                multiples(step, low / step, high / step)
            }
            Self::Log { low, high } => {
                let (first, last) = (low.log10(), high.log10());
                let every = if last - first > 5.5 { 2.0 } else { 1.0 };
                multiples(every, first / every, last / every)
                    .into_iter()
                    .map(|power| 10_f64.powf(power))
                    .collect()
            }
        }
    }
}

/// The multiples of `step` from `first` to `last` times it.
#[allow(clippy::cast_possible_truncation, reason = "an axis has a handful of ticks")]
fn multiples(step: f64, first: f64, last: f64) -> Vec<f64> {
    let (first, last) = ((first - 1e-6).ceil() as i32, (last + 1e-6).floor() as i32);
    (first..=last)
        .map(|multiple| f64::from(multiple) * step)
        .collect()
}

/// The least of 1, 2 and 5 times a power of ten that cuts `length` into at most `most` parts.
fn round_step(length: f64, most: u8) -> f64 {
    let power = 10_f64.powf((length / f64::from(most)).log10().floor());
    let fits = |step: &f64| length / step <= f64::from(most) + 1e-9;
    [1.0, 2.0, 5.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(fits)
        .unwrap_or(10.0 * power)
}

/// A tick in few characters: `0.001`, `20`, `1.5k`, `2M`.
pub(crate) fn label(value: f64) -> String {
    let shorten = |value: f64, unit: &str| {
        let digits = format!("{value:.6}");
        format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
    };
    match value.abs() {
        magnitude if magnitude >= 999_999.5 => shorten(value / 1e6, "M"),
        magnitude if magnitude >= 9_999.5 => shorten(value / 1e3, "k"),
        _ => shorten(value, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale) -> Vec<String> {
        scale.ticks(VALUE_STEPS).into_iter().map(label).collect()
    }

    #[test]
    fn a_linear_axis_ends_on_a_round_tick() {
        assert_eq!(labels(Scale::from_zero(3.0)), ["0", "1", "2", "3"]);
        assert_eq!(
            labels(Scale::from_zero(47.0)),
            ["0", "10", "20", "30", "40", "50"]
        );
        assert_eq!(
            labels(Scale::from_zero(0.0)),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(
            labels(Scale::from_zero(23_000.0)),
            ["0", "5000", "10k", "15k", "20k", "25k"]
        );
    }

    #[test]
    fn a_logarithmic_axis_has_whole_decades() {
        assert_eq!(
            labels(Scale::decades(0.03, 40.0)),
            ["0.01", "0.1", "1", "10", "100"]
        );
        assert_eq!(labels(Scale::decades(1.0, 1.0)), ["1", "10"]);
        assert_eq!(
            labels(Scale::decades(0.001, 10_000_000.0)),
            ["0.01", "1", "100", "10k", "1M"]
        );
    }

    #[test]
    fn the_values_choose_the_axis() {
        assert!(!Scale::fitting([10.0, 200.0].into_iter()).is_log());
        assert!(Scale::fitting([0.0, 10.0, 400.0].into_iter()).is_log());
        assert_eq!(Scale::fitting(std::iter::empty()), Scale::from_zero(0.0));
    }

    #[test]
    fn places_stay_on_the_axis() {
        let scale = Scale::decades(1.0, 100.0);
        let places = [-1.0, 0.0, 1.0, 10.0, 100.0, 1e9].map(|value| scale.place(value));
        for (place, expected) in places.into_iter().zip([0.0, 0.0, 0.0, 0.5, 1.0, 1.0]) {
            assert!((place - expected).abs() < 1e-9, "{places:?}");
        }
    }
}
