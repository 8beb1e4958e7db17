//! In a Reprise resource, what is not wanted is left out; `null` is no value.

use schemars::Schema;
use serde_json::Value;

/// Takes `null` out of the schemas of a struct's fields.
///
/// An `Option` field otherwise allows `null`, and a `null` that is stored keeps the API server from filling in the
/// default.
pub(crate) fn forbid_null(schema: &mut Schema) {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for field in fields.into_iter().flat_map(|fields| fields.values_mut()) {
        drop_null_type(field);
        unwrap_optional(field);
    }
}

/// `{"type": ["string", "null"]}` becomes `{"type": "string"}`.
fn drop_null_type(field: &mut Value) {
    let Some(Value::Array(types)) = field.get_mut("type") else {
        return;
    };
    types.retain(|name| name != "null");
    if let [only] = types.as_slice() {
        field["type"] = only.clone();
    }
}

/// `{"anyOf": [X, {"type": "null"}], …}` becomes X with the other keys of the field.
fn unwrap_optional(field: &mut Value) {
    let Some(object) = field.as_object_mut() else {
        return;
    };
    let Some(Value::Array(choices)) = object.get("anyOf") else {
        return;
    };
    let [Value::Object(wanted), null] = choices.as_slice() else {
        return;
    };
    if null.get("type").is_none_or(|name| name != "null") {
        return;
    }
    let wanted = wanted.clone();
    object.remove("anyOf");
    for (key, value) in wanted {
        // The field's own description says more than that of its type.
        object.entry(key).or_insert(value);
    }
}
