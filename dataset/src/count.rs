//! Counts of tokens, as records have them.

use crate::decimal::Decimal;

/// 2²⁴ tokens, sixteen times the longest contexts that are served: what is longer is no length in tokens.
pub(crate) const MAX: u32 = 16_777_216;

/// Reads a whole number from 1 to [`MAX`] from the text of a JSON number. `42.0` is 42, since tools that keep columns as
/// floating point write it so.
pub(crate) fn parse(number: &str) -> Result<u32, CountError> {
    if let Ok(count @ 1..=MAX) = number.parse::<u32>() {
        return Ok(count);
    }
    let Some(decimal) = Decimal::parse(number) else {
        return Err(CountError::NotANumber {
            text: shortened(number),
        });
    };
    match decimal.scaled(0) {
        Some(scaled) if !scaled.is_exact => Err(CountError::Fraction {
            text: shortened(number),
        }),
        Some(scaled) if scaled.value < 1 => Err(CountError::BelowOne {
            text: shortened(number),
        }),
        scaled => scaled
            .and_then(|scaled| u32::try_from(scaled.value).ok())
            .filter(|count| *count <= MAX)
            .ok_or_else(|| CountError::TooLarge {
                text: shortened(number),
            }),
    }
}

/// As much of a text from the trace as fits into a message.
pub(crate) fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Why a text is no count. Prints what follows the column's name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CountError {
    #[error("is {text}, which is not a number. Write a whole number of tokens, at least 1")]
    NotANumber { text: String },
    #[error("is {text}, which is not a whole number. Write a whole number of tokens, at least 1")]
    Fraction { text: String },
    #[error("is {text}. It must be at least 1; leave the column out where the length is not known")]
    BelowOne { text: String },
    #[error("is {text}, which is more than 16,777,216. Check that the column holds tokens")]
    TooLarge { text: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_from_one_are_counts_however_they_are_spelt() {
        assert_eq!(parse("42"), Ok(42));
        assert_eq!(parse("42.0"), Ok(42));
        assert_eq!(parse("4.2e1"), Ok(42));
        assert_eq!(parse("16777216"), Ok(MAX));
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        assert!(matches!(parse("0"), Err(CountError::BelowOne { .. })));
        assert!(matches!(parse("-3"), Err(CountError::BelowOne { .. })));
        assert!(matches!(parse("42.5"), Err(CountError::Fraction { .. })));
        assert!(matches!(parse("16777217"), Err(CountError::TooLarge { .. })));
        assert!(matches!(parse("16777217.0"), Err(CountError::TooLarge { .. })));
        assert!(matches!(parse("4294967296"), Err(CountError::TooLarge { .. })));
        assert!(matches!(parse("1e400"), Err(CountError::TooLarge { .. })));
        assert!(matches!(parse("true"), Err(CountError::NotANumber { .. })));
    }
}
