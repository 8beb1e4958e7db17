//! "Did you mean …?": the known name nearest to what was written.

/// The candidate that is close enough to `written` to be what was meant.
///
/// A name that differs only in case, `-` and `_` always is, and one that only goes on after `written`; otherwise a third
/// of the letters may differ.
pub(crate) fn nearest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = plain(written);
    let distance = |candidate: &str| {
        let candidate = plain(candidate);
        let distance = strsim::damerau_levenshtein(&written, &candidate);
        let is_start = written.len() >= SHORTEST_START && candidate.starts_with(&written);
        let is_near = distance <= candidate.len().min(written.len()) / 3;
        (is_start || is_near).then_some(distance)
    };
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(candidate)?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters say enough to tell which word was begun.
const SHORTEST_START: usize = 4;

/// `block_size`, `block-size` and `blockSize` are one.
pub(crate) fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["speed", "seed", "blockSize", "window", "rate", "s"];
        for (written, expected) in [
            ("spede", Some("speed")),
            ("sped", Some("speed")),
            ("block_size", Some("blockSize")),
            ("BLOCK-SIZE", Some("blockSize")),
            ("windows", Some("window")),
            ("block", Some("blockSize")),
            ("blo", None),
            ("made", None),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known), expected, "{written}");
        }
    }
}
