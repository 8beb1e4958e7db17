//! What the values of environment variables mean.

/// Whether a value says yes, as the Python client of the hub reads it.
pub(crate) fn says_yes(value: &str) -> bool {
    matches!(value.to_ascii_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_is_said_in_several_ways() {
        for (value, expected) in [
            ("1", true),
            ("true", true),
            ("ON", true),
            ("yes", true),
            ("0", false),
            ("", false),
            ("no", false),
        ] {
            assert_eq!(says_yes(value), expected, "{value}");
        }
    }
}
