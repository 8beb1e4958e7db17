//! The run as a `ReplayJob`, to run it again.

use reprise_contract::Summary;
use serde_json::json;

const API_VERSION: &str = "reprise.dev/v1alpha1";
const KIND: &str = "ReplayJob";

/// The whole `ReplayJob` that ran, defaults filled in, as YAML.
pub(crate) fn yaml(summary: &Summary) -> Result<String, serde_yaml::Error> {
    serde_yaml::to_string(&json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": summary.name},
        "spec": summary.spec,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn it_is_a_whole_job() {
        let summary = fixtures::summary(fixtures::input(1), &fixtures::streamed(0..1));
        insta::assert_snapshot!(yaml(&summary).unwrap());
    }
}
