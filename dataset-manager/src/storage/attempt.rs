//! The folder of one attempt, wherever results are stored.

use std::fmt;

/// Digits of the UID that tell two lives of one name apart.
const UID_DIGITS: usize = 8;

/// `<name>/<first 8 digits of the UID>-<attempt>`: no two attempts share one, whatever is deleted and created again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptFolder {
    name: String,
    attempt: String,
}

/// A name or UID that no folder can be called by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttemptFolderError {
    /// The name would lead elsewhere, or nobody could type it.
    #[error(
        "Cannot use {0:?} as the name of a folder for results: it must be 1 to 253 letters, digits, '-', '_' or '.', and begin \
         with a letter or digit. Give the run another name."
    )]
    Name(String),
    /// Too short, or of other characters.
    #[error(
        "Cannot use {0:?} as the UID of a run: it does not begin with 8 letters or digits. Use the UID of the ReplayJob."
    )]
    Uid(String),
}

impl AttemptFolder {
    /// The folder of the attempt that has this number, of the run that has this name and UID.
    ///
    /// # Errors
    /// When they make no name of a folder; those of resources in Kubernetes do.
    pub fn new(name: &str, uid: &str, attempt: u32) -> Result<Self, AttemptFolderError> {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_name = (1..=253).contains(&name.len())
            && name.bytes().all(is_inner)
            && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        if !is_name {
            return Err(AttemptFolderError::Name(name.to_owned()));
        }
        let digits = uid.get(..UID_DIGITS);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let digits = digits.ok_or_else(|| AttemptFolderError::Uid(uid.to_owned()))?;
        Ok(Self {
            name: name.to_owned(),
            attempt: format!("{}-{attempt}", digits.to_ascii_lowercase()),
        })
    }

    /// The folders from the outside to the inside.
    pub(super) fn parts(&self) -> [&str; 2] {
        [&self.name, &self.attempt]
    }
}

impl fmt::Display for AttemptFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_and_lives_of_a_name_are_told_apart() {
        for (uid, attempt, expected) in [
            (
                "1A2b3c4d-0000-4000-8000-000000000000",
                1,
                "chat.august/1a2b3c4d-1",
            ),
            ("1a2b3c4d", 12, "chat.august/1a2b3c4d-12"),
        ] {
            let folder = AttemptFolder::new("chat.august", uid, attempt).unwrap();
            assert_eq!(folder.to_string(), expected);
        }
    }

    #[test]
    fn what_would_lead_elsewhere_is_refused() {
        for name in ["", ".", "..", "a/b", "../x", "-x", "a b", "ä", &"x".repeat(254)] {
            let refused = AttemptFolder::new(name, "1a2b3c4d", 1);
            assert_eq!(refused, Err(AttemptFolderError::Name(name.to_owned())));
        }
        for uid in ["", "1a2b3c4", "../../..", "1a2b-c4d-", "äöüäöüäö"] {
            let refused = AttemptFolder::new("chat", uid, 1);
            assert_eq!(refused, Err(AttemptFolderError::Uid(uid.to_owned())));
        }
    }
}
