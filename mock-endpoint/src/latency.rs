//! How long something takes: a fixed time, or one drawn from a distribution.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// No drawn time is longer than this; the tails of unbounded distributions are cut here.
pub const LONGEST: Duration = Duration::from_hours(1);

/// The 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874_040_841;

/// A time, fixed or drawn anew for each use. Written as a string, see [`Latency::from_str`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency(Shape);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Fixed { ns: u64 },
    Uniform { low_ns: u64, high_ns: u64 },
    Exponential { mean_ns: u64 },
    LogNormal { median_ns: u64, sigma: f64 },
}

/// Why a text is not a latency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LatencyError {
    /// The part before the colon names no distribution.
    #[error(
        "Cannot use latency {text:?}: no distribution is called {name:?}. Write a duration such as 20ms, or \
         fixed:, uniform:, exponential: or lognormal:."
    )]
    UnknownDistribution {
        /// What was written.
        text: String,
        /// The name in it.
        name: String,
    },
    /// A duration in it is none.
    #[error(
        "Cannot use latency {text:?}: {duration:?} is no duration from 0 to 1h. Write a number with ns, us, ms, s or \
         m, such as 20ms or 1.5s."
    )]
    Duration {
        /// What was written.
        text: String,
        /// The part that is no duration.
        duration: String,
    },
    /// The parameters do not fit the distribution.
    #[error("Cannot use latency {text:?}: the parameters do not fit. Write {expected}.")]
    Parameters {
        /// What was written.
        text: String,
        /// What the distribution takes.
        expected: &'static str,
    },
}

impl Latency {
    /// No time at all.
    pub const ZERO: Self = Self(Shape::Fixed { ns: 0 });

    /// Always the same time; at most [`LONGEST`].
    #[must_use]
    pub fn fixed(time: Duration) -> Self {
        Self(Shape::Fixed {
            ns: whole_ns(time.min(LONGEST)),
        })
    }

    /// Draws one time, in nanoseconds. A fixed latency leaves the generator as it was.
    pub(crate) fn draw_ns(&self, random: &mut ChaCha8Rng) -> u64 {
        match self.0 {
            Shape::Fixed { ns } => ns,
            Shape::Uniform { low_ns, high_ns } => {
                low_ns + rounded_ns(unit_interval(random) * (high_ns - low_ns) as f64)
            }
            Shape::Exponential { mean_ns } => {
                rounded_ns(-libm::log(1.0 - unit_interval(random)) * mean_ns as f64)
            }
            Shape::LogNormal { median_ns, sigma } => {
                rounded_ns(median_ns as f64 * libm::exp(sigma * standard_normal(random)))
            }
        }
    }

    /// The sum of `count` draws, in nanoseconds.
    pub(crate) fn draw_sum_ns(&self, count: u32, random: &mut ChaCha8Rng) -> u64 {
        match self.0 {
            Shape::Fixed { ns } => ns.saturating_mul(u64::from(count)),
            _ => (0..count).fold(0, |sum: u64, _| sum.saturating_add(self.draw_ns(random))),
        }
    }
}

/// A number from 0 (included) to 1 (excluded), with 53 random bits.
pub(crate) fn unit_interval(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A draw from the standard normal distribution (Box and Muller 1958, the cosine half).
fn standard_normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit_interval(random)));
    radius * libm::cos(std::f64::consts::TAU * unit_interval(random))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0..=LONGEST, which fits; `as` gives 0 for NaN"
)]
fn rounded_ns(ns: f64) -> u64 {
    libm::round(ns).clamp(0.0, whole_ns(LONGEST) as f64) as u64
}

fn whole_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl FromStr for Latency {
    type Err = LatencyError;

    /// Reads one of these forms; every duration is a decimal number with `ns`, `us`, `ms`, `s` or `m`, or a bare `0`:
    ///
    /// | text | drawn time |
    /// | --- | --- |
    /// | `20ms`, `fixed:20ms` | always 20 ms |
    /// | `uniform:10ms..30ms` | evenly from 10 ms to 30 ms |
    /// | `exponential:20ms` | exponential with mean 20 ms |
    /// | `lognormal:20ms,sigma=0.5` | log-normal with median 20 ms; sigma is the deviation of the logarithm |
    /// | `lognormal:20ms,p99=80ms` | log-normal with median 20 ms and 99th percentile 80 ms |
    fn from_str(text: &str) -> Result<Self, LatencyError> {
        let duration = |part: &str| {
            parse_duration_ns(part).ok_or_else(|| LatencyError::Duration {
                text: text.to_owned(),
                duration: part.to_owned(),
            })
        };
        let wrong = |expected| LatencyError::Parameters {
            text: text.to_owned(),
            expected,
        };
        let Some((name, parameters)) = text.split_once(':') else {
            return Ok(Self(Shape::Fixed { ns: duration(text)? }));
        };
        let shape = match name {
            "fixed" => Shape::Fixed {
                ns: duration(parameters)?,
            },
            "uniform" => {
                let expected = "uniform:LOW..HIGH with LOW at most HIGH, such as uniform:10ms..30ms";
                let (low, high) = parameters.split_once("..").ok_or_else(|| wrong(expected))?;
                let (low_ns, high_ns) = (duration(low)?, duration(high)?);
                if low_ns > high_ns {
                    return Err(wrong(expected));
                }
                Shape::Uniform { low_ns, high_ns }
            }
            "exponential" => Shape::Exponential {
                mean_ns: duration(parameters)?,
            },
            "lognormal" => {
                let expected = "lognormal:MEDIAN,sigma=NUMBER (0 to 10) or lognormal:MEDIAN,p99=DURATION (at least \
                                the median, which is above 0), such as lognormal:20ms,sigma=0.5";
                let (median, spread) = parameters.split_once(',').ok_or_else(|| wrong(expected))?;
                let median_ns = duration(median)?;
                let sigma = match spread.split_once('=') {
                    Some(("sigma", sigma)) => sigma.parse().map_err(|_| wrong(expected))?,
                    Some(("p99", p99)) => libm::log(duration(p99)? as f64 / median_ns as f64) / NORMAL_P99,
                    _ => return Err(wrong(expected)),
                };
                if median_ns == 0 || !(0.0..=10.0).contains(&sigma) {
                    return Err(wrong(expected));
                }
                Shape::LogNormal { median_ns, sigma }
            }
            _ => {
                return Err(LatencyError::UnknownDistribution {
                    text: text.to_owned(),
                    name: name.to_owned(),
                });
            }
        };
        Ok(Self(shape))
    }
}

/// Units, longest name first where one ends like another.
const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9)];

fn parse_duration_ns(text: &str) -> Option<u64> {
    if text == "0" {
        return Some(0);
    }
    let (number, unit_ns) = UNITS
        .iter()
        .find_map(|(unit, ns)| text.strip_suffix(unit).map(|number| (number, ns)))?;
    if !number.starts_with(|first: char| first.is_ascii_digit())
        || !number.chars().all(|c| c.is_ascii_digit() || c == '.')
    {
        return None;
    }
    let ns = number.parse::<f64>().ok()? * unit_ns;
    (ns <= whole_ns(LONGEST) as f64).then(|| rounded_ns(ns))
}

impl fmt::Display for Latency {
    /// Writes the form that [`Latency::from_str`] reads.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Shape::Fixed { ns } => write!(out, "{ns}ns"),
            Shape::Uniform { low_ns, high_ns } => write!(out, "uniform:{low_ns}ns..{high_ns}ns"),
            Shape::Exponential { mean_ns } => write!(out, "exponential:{mean_ns}ns"),
            Shape::LogNormal { median_ns, sigma } => write!(out, "lognormal:{median_ns}ns,sigma={sigma}"),
        }
    }
}

#[cfg(test)]
mod tests;
