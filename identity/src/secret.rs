//! A text that no log may show.

use std::fmt;

/// A text that neither `Debug` nor `Display` shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps the text from being shown.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}
