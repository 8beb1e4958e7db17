//! A number greater than zero.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A finite number greater than 0. The default is 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct PositiveNumber(f64);

/// Why a number is no [`PositiveNumber`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a finite number greater than 0")]
pub struct NotPositive(f64);

impl PositiveNumber {
    /// Wraps a number.
    ///
    /// # Errors
    ///
    /// [`NotPositive`] for 0, negative numbers, infinities and NaN.
    pub fn new(value: f64) -> Result<Self, NotPositive> {
        if value.is_finite() && value > 0.0 {
            Ok(Self(value))
        } else {
            Err(NotPositive(value))
        }
    }

    /// The number: finite and greater than 0.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for PositiveNumber {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<f64> for PositiveNumber {
    type Error = NotPositive;

    fn try_from(value: f64) -> Result<Self, NotPositive> {
        Self::new(value)
    }
}

impl From<PositiveNumber> for f64 {
    fn from(number: PositiveNumber) -> Self {
        number.0
    }
}

impl fmt::Display for PositiveNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for PositiveNumber {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PositiveNumber".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // The API server reads OpenAPI 3.0, where `exclusiveMinimum` is a switch on `minimum`.
        json_schema!({ "type": "number", "format": "double", "minimum": 0, "exclusiveMinimum": true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_numbers_over_zero_get_in() {
        for number in [f64::MIN_POSITIVE, 0.5, 1e300] {
            assert_eq!(PositiveNumber::new(number).map(PositiveNumber::get), Ok(number));
        }
        for number in [0.0, -0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(PositiveNumber::new(number).is_err(), "{number}");
        }
        assert!(serde_json::from_str::<PositiveNumber>("0").is_err());
        assert_eq!(
            serde_json::from_str::<PositiveNumber>("1").unwrap(),
            PositiveNumber::default()
        );
    }
}
