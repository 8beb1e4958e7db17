//! What is planned, or known from other tools, and has no place in a spec (yet): told apart from mere typing errors.

use crate::nearest::plain;
use crate::path::{FieldPath, Segment};

/// Fields that will exist and do not yet.
pub(crate) const PLANNED_FIELDS: &[&str] = &[
    "spec.caBundleFrom",
    "spec.cancel",
    "spec.dataset.cache",
    "spec.dataset.credentialsFrom",
    "spec.dataset.urlsFrom",
    "spec.dataset.volume",
    "spec.manager",
    "spec.proxy",
    "spec.replay.users",
    "spec.results.chunkTimes",
    "spec.results.claim",
    "spec.results.export",
    "spec.results.s3.credentialsFrom",
    "spec.retryPolicy",
    "spec.suspend",
    "spec.target.exclusiveKey",
    "spec.target.headersFrom",
    "spec.target.readiness",
    "spec.ttlSecondsAfterFinished",
    "spec.workers.template",
];

/// What other tools take as dataset options, in any spelling, and the field that it is here.
pub(crate) const MOVED_OPTIONS: &[(&str, &str)] = &[
    ("concurrency", "spec.replay.concurrency"),
    ("duration", "spec.replay.duration"),
    ("headers", "spec.target.headers"),
    ("matchOutputLength", "spec.replay.matchOutputLength"),
    ("model", "spec.target.model"),
    ("modelMapping", "spec.target.modelMapping"),
    ("modelOverride", "spec.target.modelOverride"),
    ("rate", "spec.replay.rate"),
    ("replaySpeed", "spec.replay.speed"),
    ("replaySpeedup", "spec.replay.speed"),
    ("requests", "spec.replay.requests"),
    ("seed", "spec.replay.seed"),
    ("speed", "spec.replay.speed"),
    ("speedup", "spec.replay.speed"),
    ("speedupRatio", "spec.replay.speed"),
    ("streaming", "spec.target.streaming"),
    ("warmup", "spec.replay.warmup"),
    ("window", "spec.replay.window"),
];

/// Whether `path` is, or lies in, a field that will exist and does not yet.
pub(crate) fn is_planned(path: &FieldPath) -> bool {
    path.ancestors()
        .any(|path| PLANNED_FIELDS.binary_search(&path.to_string().as_str()).is_ok())
}

/// The field that says what `path`, a dataset option of other tools, says there.
pub(crate) fn moved_to(path: &FieldPath) -> Option<&'static str> {
    let (parent, Segment::Key(name)) = path.split_last()? else {
        return None;
    };
    if parent != FieldPath::spec().key("dataset").key("options") {
        return None;
    }
    let written = plain(name);
    MOVED_OPTIONS
        .iter()
        .find(|(option, _)| plain(option) == written)
        .map(|(_, field)| *field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[test]
    fn planned_fields_are_sorted_and_not_in_the_schema() {
        assert!(PLANNED_FIELDS.is_sorted());
        for field in PLANNED_FIELDS {
            let path: FieldPath = field.parse().unwrap();
            assert!(schema::at(&path).is_none(), "{field}");
            assert!(is_planned(&path.key("anything")));
        }
    }

    #[test]
    fn moved_options_point_at_fields_that_exist() {
        for (option, field) in MOVED_OPTIONS {
            assert!(schema::at(&field.parse().unwrap()).is_some(), "{field}");
            let path = FieldPath::spec().key("dataset").key("options").key(*option);
            assert!(schema::at(&path).is_none(), "{path}");
            assert_eq!(moved_to(&path), Some(*field));
        }
    }

    #[test]
    fn options_are_recognised_in_both_spellings_and_only_there() {
        let options = FieldPath::spec().key("dataset").key("options");
        assert_eq!(
            moved_to(&options.key("match_output_length")),
            Some("spec.replay.matchOutputLength")
        );
        assert_eq!(moved_to(&FieldPath::spec().key("speed")), None);
    }
}
