//! What `reprise explain` says.

use reprise_crds::explain;

fn explained(path: &str) -> String {
    explain(Some(path)).map_or_else(|error| error.to_string(), |explanation| explanation.to_string())
}

#[test]
fn the_spec_is_listed_with_what_each_part_is_for() {
    insta::assert_snapshot!("spec", explain(None).unwrap());
}

#[test]
fn fields_are_explained_with_type_bounds_default_and_values() {
    for (name, path) in [
        ("replay", "replay"),
        ("speed", "spec.replay.speed"),
        ("schedule", "replay.schedule"),
        ("rate", "replay.rate"),
        ("timeout", "target.timeout"),
        ("urls", "target.urls"),
        ("one_url", "target.urls[0]"),
        ("headers", "target.headers"),
        ("options", "dataset.options"),
        ("slo", "slo"),
        ("results", "results"),
        ("results_s3", "results.s3"),
        ("workers", "workers"),
        ("loss_policy", "workers.lossPolicy"),
        ("timeout_seconds", "timeoutSeconds"),
        ("startup_budget", "dataset.startupBudget"),
    ] {
        insta::assert_snapshot!(name, explained(path));
    }
}

#[test]
fn what_is_no_field_is_answered_with_what_may_have_been_meant() {
    let answers = [
        "replay.spede",
        "speed",
        "replay.speed.x",
        "nothing.at.all",
        "replay.users",
        "manager.x",
        "a..b",
    ]
    .map(explained)
    .join("\n");
    insta::assert_snapshot!("no_field", answers);
}
