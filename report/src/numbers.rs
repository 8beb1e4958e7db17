//! Numbers for people, the same wherever Reprise shows one.

/// A count with its thousands set apart: `12,031`.
#[must_use]
pub fn count(count: impl Into<u64>) -> String {
    let digits = count.into().to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count of things: `1 request`, `12,031 requests`.
#[must_use]
pub fn counted(number: impl Into<u64>, one: &str, many: &str) -> String {
    let number = number.into();
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A number with about four digits that count: `0.012`, `3.142`, `31.42`, `314.2`, `3,142`.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, at least 1000, and what goes beyond 64 bits is shown as their limit"
)]
pub fn number(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 999.95 => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", count(magnitude.round() as u64))
        }
        magnitude if magnitude >= 99.995 => format!("{value:.1}"),
        magnitude if magnitude >= 9.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A number that is a count: `12,031`.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole, not negative, and far below 2^53"
)]
pub fn whole(value: f64) -> String {
    count(value as u64)
}

/// A share (0 to 1) as a percentage: `98.25 %`. Only a whole is 100 %.
#[must_use]
pub fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    if share < 1.0 && text == "100.00" {
        "> 99.99 %".to_owned()
    } else {
        format!("{text} %")
    }
}

/// A length of time: `0.5 s`, `59.02 s`, `20 min 5 s`, `1 h 0 min 12 s`, `3 d 4 h 0 min 0 s`.
#[must_use]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole seconds between two times that 64 bits of nanoseconds hold, not negative"
)]
pub fn duration(seconds: f64) -> String {
    if seconds < 120.0 {
        let text = if seconds < 1.0 {
            format!("{seconds:.3}")
        } else {
            format!("{seconds:.2}")
        };
        return format!("{} s", text.trim_end_matches('0').trim_end_matches('.'));
    }
    let whole = seconds.round() as u64;
    let (days, hours, minutes, seconds) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60, whole % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes} min {seconds} s"),
        (0, _) => format!("{hours} h {minutes} min {seconds} s"),
        _ => format!("{days} d {hours} h {minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let counts = [0_u32, 999, 1_000, 12_031, 1_234_567];
        assert_eq!(counts.map(count), ["0", "999", "1,000", "12,031", "1,234,567"]);
        assert_eq!(counted(1_u32, "turn", "turns"), "1 turn");
        assert_eq!(counted(1000_u32, "turn", "turns"), "1,000 turns");
    }

    #[test]
    fn numbers_keep_the_digits_that_count() {
        let numbers = [
            0.0, 0.012_34, 2.345_67, 23.456_7, 234.567, 999.96, 2_345.67, -2_000.4, -0.5,
        ];
        let expected = [
            "0.000", "0.012", "2.346", "23.46", "234.6", "1,000", "2,346", "-2,000", "-0.500",
        ];
        assert_eq!(numbers.map(number), expected);
    }

    #[test]
    fn only_a_whole_is_a_hundred_percent() {
        assert_eq!(
            [0.9825, 0.999_99, 1.0].map(percent),
            ["98.25 %", "> 99.99 %", "100.00 %"]
        );
    }

    #[test]
    fn lengths_of_time_name_their_units() {
        let lengths = [0.0, 0.5, 59.02, 60.0, 119.25, 3537.0, 7205.4, 90_000.0].map(duration);
        let expected = [
            "0 s",
            "0.5 s",
            "59.02 s",
            "60 s",
            "119.25 s",
            "58 min 57 s",
            "2 h 0 min 5 s",
            "1 d 1 h 0 min 0 s",
        ];
        assert_eq!(lengths, expected);
    }
}
