//! The known name that a wrong one was probably meant to be.

/// Below this similarity, from 0 to 1, a suggestion would puzzle more than it helps.
const LEAST_SIMILARITY: f64 = 0.6;

/// The one of `known` that is most like `wrong`, if one is like it at all. Case, `-` and `_` make no difference.
pub(super) fn nearest<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
    let wrong = plain(wrong);
    known
        .iter()
        .map(|name| {
            (
                strsim::normalized_damerau_levenshtein(&wrong, &plain(name)),
                *name,
            )
        })
        .filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}
