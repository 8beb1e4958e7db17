//! A dataset on its own, for those who only want to look at a trace.

use super::overrides::Overrides;
use super::places::Places;
use super::problem::{Problem, Problems};
use super::tree::Tree;
use super::{blank, check, salvage};
use crate::path::FieldPath;
use crate::spec::Dataset;

/// A dataset made of `overrides` alone. It is checked as that of a job is.
///
/// # Errors
///
/// Everything that is wrong with the dataset, and every override that sets something else.
pub fn dataset(overrides: &Overrides) -> Result<Dataset, Problems> {
    let path = FieldPath::spec().key("dataset");
    let Tree { mut value, .. } = blank();
    let mut places = Places::default();
    let mut problems = overrides.apply_within(&path, &mut value, &mut places);
    let about_the_job = check::check(&value);
    problems.extend(
        about_the_job
            .into_iter()
            .filter(|problem| problem.path.is_within(&path)),
    );
    problems.extend(salvage::rule_problems(value.clone(), &problems));
    let problems = problems.into_iter().map(|problem| places.place(problem));
    if let Some(problems) = Problems::gather(problems.collect()) {
        return Err(problems);
    }
    let dataset = path.find(&value).cloned().unwrap_or_default();
    serde_json::from_value(dataset).map_err(|error| Problems::one(Problem::new(path, error.to_string())))
}
