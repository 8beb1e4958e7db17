//! Bearer tokens: HMAC-SHA-256 of a run's attempt and a role, under a key of the operator.

use std::fmt;

use aws_lc_rs::{constant_time, hmac, rand};
use reprise_contract::protocol::Role;

/// The shortest key, in bytes: as long as the digest.
const MIN_KEY_BYTES: usize = 32;
/// Says what is signed, so that no other use of the key gives a token.
const PURPOSE: &[u8] = b"reprise run token v1";
/// Characters of a token.
const TOKEN_CHARS: usize = 64;

/// A key that cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Too short to be guessed by nobody.
    #[error("Cannot use the key of runs: it has {0} bytes. Give at least {MIN_KEY_BYTES} random bytes.")]
    Short(usize),
    /// No random numbers.
    #[error(
        "Cannot make a key of runs: the system gives no random numbers. Check that getrandom is allowed here."
    )]
    Random,
}

/// The key that the tokens of all runs are derived from. Its bytes are never shown.
#[derive(Clone)]
pub struct RunKey(hmac::Key);

impl RunKey {
    /// The key of these bytes.
    ///
    /// # Errors
    /// When there are fewer than 32 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, KeyError> {
        if bytes.len() < MIN_KEY_BYTES {
            return Err(KeyError::Short(bytes.len()));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// A random key.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate() -> Result<Self, KeyError> {
        let mut bytes = [0; MIN_KEY_BYTES];
        rand::fill(&mut bytes).map_err(|_| KeyError::Random)?;
        Self::new(&bytes)
    }

    /// The token of a role in one attempt of the run with this UID. Equal inputs give equal tokens.
    #[must_use]
    pub fn token(&self, uid: &str, attempt: u32, role: Role) -> Token {
        let mut context = hmac::Context::with_key(&self.0);
        // Each part with its length, so that no two lists of parts are the same bytes.
        for part in [
            PURPOSE,
            uid.as_bytes(),
            &attempt.to_be_bytes(),
            role.name().as_bytes(),
        ] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        let tag = context.sign();
        let nibbles = tag.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let digits = nibbles
            .filter_map(|nibble| char::from_digit(nibble.into(), 16))
            .collect();
        Token(digits)
    }
}

impl fmt::Debug for RunKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RunKey(secret)")
    }
}

/// A bearer token: 64 hexadecimal digits, which `Debug` does not show.
#[derive(Clone)]
pub struct Token(String);

/// A text that is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Cannot use it as a token of a run: it is not {TOKEN_CHARS} hexadecimal digits in lower case. Use the one of the run's Secret."
)]
pub struct TokenError;

impl Token {
    /// The token that a file or a header holds; white space around it does not matter.
    ///
    /// # Errors
    /// When it is not 64 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == TOKEN_CHARS && text.bytes().all(is_digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(TokenError)
        }
    }

    /// Whether `text` is this token. How long that takes tells nothing about where they differ.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        constant_time::verify_slices_are_equal(self.0.as_bytes(), text.as_bytes()).is_ok()
    }

    /// The token as it is sent.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> RunKey {
        RunKey::new(&[7; 32]).unwrap()
    }

    #[test]
    fn tokens_are_the_same_for_the_same_and_differ_in_everything_else() {
        let token = key().token("uid", 1, Role::Worker);
        assert!(token.matches(key().token("uid", 1, Role::Worker).expose()));
        for other in [
            key().token("uid", 1, Role::Operator),
            key().token("uid", 2, Role::Worker),
            key().token("uid2", 1, Role::Worker),
            RunKey::new(&[8; 32]).unwrap().token("uid", 1, Role::Worker),
        ] {
            assert!(!token.matches(other.expose()));
        }
        assert!(!token.matches(""));
        assert!(!token.matches(&token.expose()[..63]));
        assert!(!token.matches(&token.expose().to_uppercase()));
    }

    /// Computed with Python: hmac.new(bytes([7]) * 32, parts with their lengths as 8 bytes, sha256).
    #[test]
    fn a_token_is_what_others_compute() {
        let token = key().token("uid", 1, Role::Worker);
        assert_eq!(
            token.expose(),
            "7e34046c0b773a4f7c8332af50acfb2114febf8cc77a2a5af84e4a76bd8c2192"
        );
    }

    #[test]
    fn a_token_survives_its_file_and_nothing_else_is_one() {
        let token = key().token("uid", 1, Role::Worker);
        assert!(
            Token::parse(&format!(" {}\n", token.expose()))
                .unwrap()
                .matches(token.expose())
        );
        for text in ["", "abc", &"g".repeat(64), &"A".repeat(64), &"é".repeat(32)] {
            assert_eq!(Token::parse(text).unwrap_err(), TokenError, "{text}");
        }
    }

    #[test]
    fn nothing_is_shown() {
        let token = key().token("uid", 1, Role::Worker);
        assert_eq!(format!("{token:?} {:?}", key()), "Token(secret) RunKey(secret)");
    }

    #[test]
    fn short_keys_are_refused() {
        assert_eq!(RunKey::new(&[7; 31]).unwrap_err(), KeyError::Short(31));
        let (one, two) = (RunKey::generate().unwrap(), RunKey::generate().unwrap());
        assert!(
            !one.token("", 0, Role::Worker)
                .matches(two.token("", 0, Role::Worker).expose())
        );
    }
}
