//! How often each name was seen.

use std::collections::BTreeMap;
use std::fmt;

/// How often each name was seen, sorted by name.
///
/// Names come from the trace, so their number is bounded: what comes after the first 100 names is counted without a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedCounts {
    by_name: BTreeMap<String, u64>,
    unnamed: u64,
}

impl NamedCounts {
    const MAX_NAMES: usize = 100;

    pub(crate) fn add(&mut self, name: &str) {
        if let Some(count) = self.by_name.get_mut(name) {
            *count += 1;
        } else if self.by_name.len() < Self::MAX_NAMES {
            self.by_name.insert(name.to_owned(), 1);
        } else {
            self.unnamed += 1;
        }
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Each name with its count, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.by_name.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// How often names were seen that there was no more room for.
    #[must_use]
    pub fn unnamed(&self) -> u64 {
        self.unnamed
    }
}

/// `authorization (12), cookie (3)`.
impl fmt::Display for NamedCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, count)) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(formatter, "{comma}{} ({count})", name.escape_debug())?;
        }
        if self.unnamed > 0 {
            write!(formatter, ", others ({})", self.unnamed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_a_bounded_number_of_names_and_counts_the_rest() {
        let mut counts = NamedCounts::default();
        assert!(counts.is_empty());
        for index in 0..150 {
            counts.add(&format!("name-{index:03}"));
            counts.add("name-000");
        }
        assert_eq!(counts.iter().count(), 100);
        assert_eq!(counts.iter().next(), Some(("name-000", 151)));
        assert_eq!(counts.unnamed(), 50);
    }

    #[test]
    fn prints_names_in_order_with_their_counts() {
        let mut counts = NamedCounts::default();
        for name in ["b", "a", "b"] {
            counts.add(name);
        }
        assert_eq!(counts.to_string(), "a (1), b (2)");
    }
}
