//! The token of a user of the hub.

use std::fmt;
use std::path::PathBuf;

use http::HeaderValue;

/// Cannot be printed.
#[derive(Clone)]
pub(super) struct Token {
    text: String,
    bearer: HeaderValue,
    origin: TokenOrigin,
}

/// Where a token was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenOrigin {
    /// An environment variable of this name.
    Variable(&'static str),
    /// A file, as `hf auth login` writes it.
    File(PathBuf),
}

/// It has characters that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAToken;

impl Token {
    /// `None` when there is nothing but white space and line ends, which are no part of a token.
    pub(super) fn parse(text: &str, origin: TokenOrigin) -> Result<Option<Self>, NotAToken> {
        let text = text.replace(['\r', '\n'], "").trim().to_owned();
        if text.is_empty() {
            return Ok(None);
        }
        let mut bearer = HeaderValue::try_from(format!("Bearer {text}")).map_err(|_| NotAToken)?;
        bearer.set_sensitive(true);
        Ok(Some(Self { text, bearer, origin }))
    }

    /// For hf-hub, which makes its own header of it.
    pub(super) fn expose(&self) -> &str {
        &self.text
    }

    /// The value of `Authorization`.
    pub(super) fn bearer(&self) -> HeaderValue {
        self.bearer.clone()
    }

    pub(super) fn origin(&self) -> &TokenOrigin {
        &self.origin
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token(<redacted>, from {})", self.origin)
    }
}

impl fmt::Display for TokenOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.write_str(name),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}
