//! The spec of a document that has problems, without what is broken in it, so that the rules between the other fields
//! can be checked in the same go.

use serde_json::{Value, json};

use super::overrides::put;
use super::problem::Problem;
use crate::path::{FieldPath, Segment};
use crate::spec::ReplayJobSpec;
use crate::validate::validate;

/// What breaks a rule in `document`, beside the problems that are known.
///
/// Nothing is said about fields that were taken out because they are broken, nor about what is around them: that they
/// are not there is not the author's doing.
pub(super) fn rule_problems(mut document: Value, known: &[Problem]) -> Vec<Problem> {
    for problem in known {
        take_out(&mut document, &problem.path);
    }
    stand_in(&mut document);
    let spec = document.get_mut("spec").map(Value::take).unwrap_or_default();
    // What still does not parse has a problem that is known.
    let Ok(spec) = serde_json::from_value::<ReplayJobSpec>(spec) else {
        return Vec::new();
    };
    let touches_known = |problem: &Problem| {
        known
            .iter()
            .any(|known| problem.path.is_within(&known.path) || known.path.is_within(&problem.path))
    };
    validate(&spec)
        .into_iter()
        .filter(|problem| !touches_known(problem))
        .collect()
}

/// Removes a field; for an entry, the whole list, since the others would be renumbered.
fn take_out(document: &mut Value, path: &FieldPath) {
    match path.split_last() {
        Some((parent, Segment::Key(name))) => {
            if let Some(Value::Object(mapping)) = find_mut(document, &parent) {
                mapping.remove(name);
            }
        }
        Some((list, Segment::Index(_))) => take_out(document, &list),
        None => {}
    }
}

/// Fills in the fields that must be there, where they are not.
fn stand_in(document: &mut Value) {
    let spec = FieldPath::spec();
    let mut needed = vec![
        (spec.key("dataset").key("source"), json!("stand-in")),
        (spec.key("target").key("urls"), json!(["http://stand-in"])),
    ];
    let rate = spec.key("replay").key("rate");
    if rate.find(document).is_some() {
        needed.push((rate.key("perSecond"), json!(1)));
    }
    for (path, value) in needed {
        if path.find(document).is_none() {
            // Where a mapping is missing on the way, it is made; where something else stands, its problem is known.
            let _ = put(document, &path, value);
        }
    }
}

fn find_mut<'a>(root: &'a mut Value, path: &FieldPath) -> Option<&'a mut Value> {
    path.segments()
        .iter()
        .try_fold(root, |value, segment| match segment {
            Segment::Key(name) => value.get_mut(name),
            Segment::Index(index) => value.get_mut(index),
        })
}
