//! Numbers for people, in the style of the report.

/// A count with its thousands set apart: `12,031`.
pub(super) fn count(count: impl Into<u64>) -> String {
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
pub(super) fn counted(number: impl Into<u64>, one: &str, many: &str) -> String {
    let number = number.into();
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A number with about four digits that count: `0.012`, `31.42`, `3,142`.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at least 1000, and what goes beyond 64 bits is shown as their limit"
)]
pub(super) fn number(value: f64) -> String {
    match value {
        value if value >= 999.95 => count(value.round() as u64),
        value if value >= 99.995 => format!("{value:.1}"),
        value if value >= 9.9995 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// A share (0 to 1) as a percentage: `98.25 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// A length of time: `0.5 s`, `59.02 s`, `20 min 5 s`, `1 h 0 min 12 s`, `3 d 4 h 0 min 0 s`.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole seconds between two times that 64 bits of nanoseconds hold, not negative"
)]
pub(super) fn duration(seconds: f64) -> String {
    if seconds < 120.0 {
        let text = format!("{seconds:.3}");
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
        assert_eq!(
            [0_u32, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(counted(1_u32, "turn", "turns"), "1 turn");
        assert_eq!(counted(1000_u32, "turn", "turns"), "1,000 turns");
    }

    #[test]
    fn numbers_keep_the_digits_that_count() {
        let numbers = [0.0, 5.678_91, 56.7891, 567.891, 5678.91, 999.96].map(number);
        assert_eq!(numbers, ["0.000", "5.679", "56.79", "567.9", "5,679", "1,000"]);
        assert_eq!(percent(0.9825), "98.25 %");
    }

    #[test]
    fn lengths_of_time_name_their_units() {
        let lengths = [0.0, 0.5, 60.0, 119.25, 3537.0, 7205.4, 90_000.0].map(duration);
        let expected = [
            "0 s",
            "0.5 s",
            "60 s",
            "119.25 s",
            "58 min 57 s",
            "2 h 0 min 5 s",
            "1 d 1 h 0 min 0 s",
        ];
        assert_eq!(lengths, expected);
    }
}
