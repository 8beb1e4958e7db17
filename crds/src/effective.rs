//! The spec as it takes effect, for the record.

use serde_json::Value;

use crate::spec::ReplayJobSpec;

/// The spec with every default filled in. What has no default that is the same always stays out.
///
/// # Errors
///
/// None in practice: a spec is made of what JSON can hold.
pub fn effective(spec: &ReplayJobSpec) -> Result<Value, serde_json::Error> {
    serde_json::to_value(spec)
}
