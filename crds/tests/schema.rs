//! The CRD's schema: what the API server will make of it.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use kube::CustomResourceExt;
use reprise_crds::{ReplayJob, ReplayJobSpec, effective};
use serde_json::{Map, Value, json};

/// The schema of the spec, as it stands in the CRD.
fn spec_schema() -> Value {
    let crd = serde_json::to_value(ReplayJob::crd()).unwrap();
    crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec")
        .unwrap()
        .clone()
}

/// Calls `visit` for every schema in `schema` that has a type, with its path.
fn walk(path: &str, schema: &Value, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    let schema = schema.as_object().unwrap();
    visit(path, schema);
    for (name, field) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        walk(&format!("{path}.{name}"), field, visit);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner @ Value::Object(_)) = schema.get(keyword) {
            walk(&format!("{path}.*"), inner, visit);
        }
    }
}

/// What the API server does with defaults: it fills them in from the outside to the inside.
fn fill(schema: &Value, value: &mut Value) {
    let (Some(fields), Some(mapping)) = (schema["properties"].as_object(), value.as_object_mut()) else {
        return;
    };
    for (name, field) in fields {
        if let Some(default) = field.get("default") {
            mapping.entry(name).or_insert_with(|| default.clone());
        }
        if let Some(value) = mapping.get_mut(name) {
            fill(field, value);
        }
    }
}

#[test]
fn the_defaults_of_the_schema_are_those_of_the_types() {
    for written in [
        json!({"dataset": {"source": "x"}, "target": {"urls": ["http://x"]}}),
        json!({
            "dataset": {"source": "x", "options": {}},
            "target": {"urls": ["http://x"]},
            "replay": {"rate": {"perSecond": 1.0}, "window": {}, "warmup": {}},
            "results": {},
            "workers": {},
        }),
    ] {
        let spec: ReplayJobSpec = serde_json::from_value(written.clone()).unwrap();
        let mut filled = written;
        fill(&spec_schema(), &mut filled);
        assert_eq!(filled, effective(&spec).unwrap());
    }
}

#[test]
fn every_field_is_typed_and_described_and_takes_no_null() {
    let mut seen = 0;
    walk("spec", &spec_schema(), &mut |path, schema| {
        seen += 1;
        assert!(schema.contains_key("type"), "{path}");
        assert!(!schema.contains_key("nullable"), "{path}");
        assert!(
            !schema.contains_key("x-kubernetes-preserve-unknown-fields"),
            "{path}"
        );
        let described = schema
            .get("description")
            .and_then(Value::as_str)
            .is_some_and(|text| text.ends_with('.'));
        assert!(described || path.ends_with(".*"), "{path}");
        let is_map = schema.contains_key("additionalProperties");
        assert!(
            schema["type"] != "object" || is_map || schema.contains_key("properties"),
            "{path}"
        );
    });
    assert!(seen > 40, "{seen} fields");
}

#[test]
fn lists_maps_and_integers_are_bounded() {
    walk("spec", &spec_schema(), &mut |path, schema| {
        let bounds: &[&str] = match schema["type"].as_str().unwrap() {
            "array" => &["maxItems"],
            "object" if schema.contains_key("additionalProperties") => &["maxProperties"],
            "integer" => &["minimum", "maximum"],
            _ => &[],
        };
        for bound in bounds {
            assert!(schema.contains_key(*bound), "{path} has no {bound}");
        }
        let format = schema.get("format").and_then(Value::as_str);
        assert!(
            matches!(format, None | Some("int32" | "int64" | "double" | "duration")),
            "{path}: {format:?}"
        );
    });
}

/// Beyond it a double, which the API server reads bounds as, does not tell whole numbers apart.
const LARGEST_EXACT: f64 = 9_007_199_254_740_991.0;

#[test]
fn every_bound_is_a_number_that_the_api_server_reads_exactly() {
    let crd = serde_json::to_value(ReplayJob::crd()).unwrap();
    let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
    let mut seen = 0;
    walk("", schema, &mut |path, schema| {
        for (keyword, value) in schema.iter().filter(|(_, value)| value.is_number()) {
            seen += 1;
            assert!(
                value.as_f64().unwrap().abs() <= LARGEST_EXACT,
                "{path}: {keyword}"
            );
        }
    });
    assert!(seen > 20, "{seen} bounds");
}

#[test]
fn every_text_is_listed_or_bounded() {
    let mut seen = 0;
    walk("spec", &spec_schema(), &mut |path, schema| {
        if schema["type"] == "string" {
            seen += 1;
            assert!(
                schema.contains_key("enum") || schema.contains_key("maxLength"),
                "{path}"
            );
        }
    });
    assert!(seen > 20, "{seen} texts");
}

#[test]
fn the_resource_is_what_the_documentation_calls_it() {
    let crd = ReplayJob::crd();
    assert_eq!(crd.metadata.name.as_deref(), Some("replayjobs.reprise.dev"));
    assert_eq!(crd.spec.scope, "Namespaced");
    assert_eq!(crd.spec.names.short_names, Some(vec!["rj".to_owned()]));
    assert_eq!(crd.spec.names.categories, Some(vec!["reprise".to_owned()]));
    let version = crd.spec.versions.first().unwrap();
    assert_eq!(version.name, "v1alpha1");
    assert!(
        version
            .subresources
            .as_ref()
            .is_some_and(|subresources| subresources.status.is_some())
    );
}
