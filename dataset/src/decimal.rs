//! Decimal numbers as written, without a detour through floating point.

/// A decimal number as it stands in a text: `-12.5e3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal<'a> {
    is_negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

/// A decimal number times a power of ten, as a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scaled {
    /// The number, rounded half away from zero.
    pub(crate) value: i128,
    /// Whether nothing was rounded.
    pub(crate) is_exact: bool,
}

impl<'a> Decimal<'a> {
    /// Reads digits with an optional minus sign, fraction and exponent: what JSON calls a number, leading zeros allowed.
    /// `None` for anything else: no plus sign, no blanks, no `_`, no digits but `0` to `9`, no `nan`.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (is_negative, bytes) = bytes
            .strip_prefix(b"-")
            .map_or((false, bytes), |rest| (true, rest));
        let (integer, rest) = split_digits(bytes);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => split_digits(rest),
            rest => (&b"0"[..], rest),
        };
        let exponent = match rest {
            [] => Some(0),
            [b'e' | b'E', rest @ ..] => parse_exponent(rest),
            _ => None,
        }?;
        let has_digits = !integer.is_empty() && !fraction.is_empty();
        has_digits.then_some(Self {
            is_negative,
            integer,
            fraction,
            exponent,
        })
    }

    /// The number times ten to the `power`. `None` when it is larger than any `i128`.
    pub(crate) fn scaled(&self, power: u32) -> Option<Scaled> {
        let digits = || {
            self.integer
                .iter()
                .chain(self.fraction)
                .map(|digit| i128::from(digit - b'0'))
        };
        let count = saturating_i64(self.integer.len() + self.fraction.len());
        // How many digits stand before the decimal point once it is moved.
        let whole = saturating_i64(self.integer.len())
            .saturating_add(self.exponent)
            .saturating_add(i64::from(power));
        let kept = usize::try_from(whole.clamp(0, count)).unwrap_or_default();

        let mut value = digits().take(kept).try_fold(0_i128, push)?;
        for _ in count..whole {
            if value == 0 {
                break;
            }
            value = push(value, 0)?;
        }
        let mut rest = digits().skip(kept);
        let first_dropped = if whole < 0 { 0 } else { rest.next().unwrap_or(0) };
        let is_exact = first_dropped == 0 && rest.all(|digit| digit == 0);
        if first_dropped >= 5 {
            value = value.checked_add(1)?;
        }
        Some(Scaled {
            value: if self.is_negative { -value } else { value },
            is_exact,
        })
    }
}

fn push(value: i128, digit: i128) -> Option<i128> {
    value.checked_mul(10)?.checked_add(digit)
}

fn saturating_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// An exponent too large for 64 bits moves the point as far as any digits can feel.
fn parse_exponent(bytes: &[u8]) -> Option<i64> {
    let (sign, digits) = match bytes {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] | digits => (1, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude = digits.iter().fold(0_i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    Some(magnitude.saturating_mul(sign))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scaled(text: &str, power: u32) -> (i128, bool) {
        let scaled = Decimal::parse(text).unwrap().scaled(power).unwrap();
        (scaled.value, scaled.is_exact)
    }

    #[test]
    fn keeps_every_digit() {
        assert_eq!(
            scaled("1700000000.123456789", 9),
            (1_700_000_000_123_456_789, true)
        );
        assert_eq!(scaled("-0.000000001", 9), (-1, true));
        assert_eq!(scaled("1e3", 9), (1_000_000_000_000, true));
        assert_eq!(scaled("12.5E-1", 3), (1_250, true));
        assert_eq!(scaled("42.0", 0), (42, true));
        assert_eq!(scaled("007", 0), (7, true));
    }

    #[test]
    fn rounds_half_away_from_zero() {
        assert_eq!(scaled("0.5", 0), (1, false));
        assert_eq!(scaled("-0.5", 0), (-1, false));
        assert_eq!(scaled("0.49999", 0), (0, false));
        assert_eq!(scaled("1.05", 1), (11, false));
        assert_eq!(scaled("9e-1", 0), (1, false));
        assert_eq!(scaled("9e-2", 0), (0, false));
        assert_eq!(scaled("9e-400", 9), (0, false));
    }

    #[test]
    fn a_zero_with_any_exponent_is_zero() {
        assert_eq!(scaled("0e99999999999999999999", 9), (0, true));
        assert_eq!(scaled("0.000e-99999999999999999999", 9), (0, true));
    }

    #[test]
    fn what_no_i128_holds_is_no_number() {
        assert_eq!(Decimal::parse("1e400").unwrap().scaled(9), None);
        assert_eq!(Decimal::parse("1e99999999999999999999").unwrap().scaled(0), None);
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "", "-", "+1", "1.", ".5", "1e", "1e+", "1_000", " 1", "1 ", "nan", "inf", "0x10", "١٢", "1,5",
            "--1",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_integer_arithmetic(negative: bool, integer in 0_u64.., fraction in "[0-9]{0,15}", exponent in -20_i32..15, power in 0_u32..10) {
            let sign = if negative { "-" } else { "" };
            let point = if fraction.is_empty() { "" } else { "." };
            let text = format!("{sign}{integer}{point}{fraction}e{exponent}");
            let digits: i128 = format!("{integer}{fraction}").parse().unwrap();
            let shift = exponent + i32::try_from(power).unwrap() - i32::try_from(fraction.len()).unwrap();
            let (magnitude, is_exact) = if shift >= 0 {
                match 10_i128.checked_pow(shift.unsigned_abs()).and_then(|factor| digits.checked_mul(factor)) {
                    Some(value) => (value, true),
                    None => return Ok(()),
                }
            } else {
                let divisor = 10_i128.pow(shift.unsigned_abs());
                let half_up = digits / divisor + i128::from(digits % divisor >= divisor / 2);
                (half_up, digits % divisor == 0)
            };
            let expected = Scaled { value: if negative { -magnitude } else { magnitude }, is_exact };
            prop_assert_eq!(Decimal::parse(&text).unwrap().scaled(power), Some(expected));
        }
    }
}
