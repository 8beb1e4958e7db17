//! The known name that a wrong one was probably meant to be.

/// Below this similarity a suggestion would puzzle more than it helps.
const LEAST_SIMILARITY: f64 = 0.75;

/// The one of `known` that is most like `wrong`, when one is like it at all.
pub(crate) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wrong, &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

/// ` Did you mean <name>?`, or nothing where no name is near.
pub(crate) fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!(" Did you mean {name}?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_misspelt_name_and_nothing_for_a_strange_one() {
        let known = ["timestamp", "input_length", "output_length", "hash_ids"];
        assert_eq!(nearest("timestmap", known), Some("timestamp"));
        assert_eq!(nearest("inputLength", known), Some("input_length"));
        assert_eq!(nearest("HASH_IDS", known), Some("hash_ids"));
        assert_eq!(nearest("foo", known), None);
    }
}
