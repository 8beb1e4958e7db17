//! The `CustomResourceDefinition` as YAML.

use kube::CustomResourceExt;
use serde_json::Value;

use crate::spec::ReplayJob;

/// Why the CRD could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CrdError {
    /// The definition does not become JSON.
    #[error("Cannot write the CRD of ReplayJob: {0}.")]
    Json(#[from] serde_json::Error),
    /// The JSON does not become YAML.
    #[error("Cannot write the CRD of ReplayJob: {0}.")]
    Yaml(#[from] serde_yaml::Error),
}

/// The CRD of `ReplayJob`, ready to apply.
///
/// # Errors
///
/// None in practice: the definition is made of what JSON and YAML can hold.
pub fn crd_yaml() -> Result<String, CrdError> {
    let definition = whole_numbers(serde_json::to_value(ReplayJob::crd())?);
    let yaml = serde_yaml::to_string(&definition)?;
    Ok(format!(
        "# Made from crds/src/spec by `{}`; do not edit.\n{yaml}",
        super::COMMAND
    ))
}

/// Bounds are floating-point numbers in the definition; `1.0` reads as `1`.
fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.to_string().strip_suffix(".0").map(str::parse::<i64>) {
            Some(Ok(whole)) => whole.into(),
            Some(Err(_)) | None => Value::Number(number),
        },
        Value::Array(entries) => entries.into_iter().map(whole_numbers).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, whole_numbers(value)))
            .collect(),
        other => other,
    }
}
