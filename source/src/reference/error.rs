//! Why a text is not a reference, in words for people.

use super::http_url::HttpUrlError;
use super::hub::HubPathError;
use super::redact::redact_refused;
use super::s3_path::S3PathError;

/// Why a text is not a reference. What it shows of the text is redacted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Nothing was given.
    #[error(
        "Cannot use an empty reference: it names nothing. Give a local path, or what lies at hf://, s3://, http:// or \
         https://."
    )]
    Empty,
    /// A scheme that Reprise does not know.
    #[error(
        "Cannot use {reference}: {scheme}:// is not supported. Give a local path, file://, hf://, s3://, http:// or \
         https://; for what lies elsewhere, a presigned https:// URL."
    )]
    Scheme {
        /// The text, redacted.
        reference: String,
        /// The scheme, in lower case.
        scheme: String,
    },
    /// A scheme that is known by another name, or one without its slashes.
    #[error("Cannot use {reference}: {what}. Write {instead}.")]
    Form {
        /// The text, redacted.
        reference: String,
        /// What is wrong with it.
        what: &'static str,
        /// What to write, redacted.
        instead: String,
    },
    /// Something is wrong after `hf://`.
    #[error("Cannot use {reference}: {problem}")]
    Hub {
        /// The text, redacted.
        reference: String,
        /// What, and how to fix it.
        problem: HubPathError,
    },
    /// Something is wrong after `s3://`.
    #[error("Cannot use {reference}: {problem}")]
    S3 {
        /// The text, redacted.
        reference: String,
        /// What, and how to fix it.
        problem: S3PathError,
    },
    /// A credential in an `hf://` or `s3://` reference.
    #[error(
        "Cannot use {reference}: hf:// and s3:// take no credential. Take it out and provide it in the usual way \
         (HF_TOKEN, or AWS variables and profiles); if this is a presigned URL, give it with https://."
    )]
    Credential {
        /// The text, redacted.
        reference: String,
    },
    /// White space around an `hf://` or `s3://` reference, or control characters in it.
    #[error(
        "Cannot use {reference}: it has a control character, or a space before or after it. Copy it again without."
    )]
    Invisible {
        /// The text, redacted.
        reference: String,
    },
    /// A web page about a file or folder.
    #[error("Cannot use {reference}: that is a page about it, not the data itself. Use {instead}.")]
    Page {
        /// The text, redacted.
        reference: String,
        /// The reference of what the page is about.
        instead: String,
    },
    /// `file://` with something other than an absolute path of this machine.
    #[error(
        "Cannot use {reference}: file:// takes an absolute path on this machine and nothing else. Write \
         file:///folder/file, or the path alone."
    )]
    FileUrl {
        /// The text, redacted.
        reference: String,
    },
    /// Not a URL.
    #[error("Cannot use {reference}: it is not a valid URL ({reason}). Check its host and port.")]
    Invalid {
        /// The text, redacted.
        reference: String,
        /// What the URL standard has to say.
        reason: url::ParseError,
    },
    /// White space or control characters.
    #[error(
        "Cannot use {reference}: a URL must not have spaces or line ends. Remove them; write %20 for a space in a \
         file's name."
    )]
    Spaces {
        /// The text, redacted.
        reference: String,
    },
    /// Characters that cannot be sent as they are.
    #[error(
        "Cannot use {reference}: its path or query would have to be rewritten to be sent, and Reprise sends URLs byte \
         for byte. Percent-encode special characters (é is %C3%A9, \" is %22) and leave out . and .. folders."
    )]
    Unencoded {
        /// The text, redacted.
        reference: String,
    },
    /// A `#` part.
    #[error(
        "Cannot use {reference}: what follows # is never sent to a server. Write %23 for a # in a file's name, or leave that part out."
    )]
    Fragment {
        /// The text, redacted.
        reference: String,
    },
    /// A folder.
    #[error(
        "Cannot use {reference}: it names a folder, and an http:// or https:// URL must name one file. Add the file's name."
    )]
    Folder {
        /// The text, redacted.
        reference: String,
    },
}

impl ReferenceError {
    pub(super) fn from_url(reference: String, error: &HttpUrlError) -> Self {
        match *error {
            HttpUrlError::Invalid(reason) => Self::Invalid { reference, reason },
            HttpUrlError::Spaces => Self::Spaces { reference },
            HttpUrlError::Unencoded => Self::Unencoded { reference },
            HttpUrlError::Fragment => Self::Fragment { reference },
            HttpUrlError::Folder => Self::Folder { reference },
        }
    }

    /// `rest` is what follows `scheme://`, a scheme of none that we know.
    pub(super) fn scheme(text: &str, scheme: String, rest: &str) -> Self {
        let reference = redact_refused(text);
        let (what, known) = match scheme.as_str() {
            "s3a" | "s3n" => ("that is how Spark calls s3://", "s3"),
            "huggingface" => ("Reprise calls it hf://", "hf"),
            _ => return Self::Scheme { reference, scheme },
        };
        Self::Form {
            reference,
            what,
            instead: redact_refused(&format!("{known}://{rest}")),
        }
    }

    /// `rest` is what follows the colon of a text with a scheme that we know and without two slashes.
    pub(super) fn slashless(text: &str, scheme: &str, rest: &str) -> Self {
        let start = text.len() - rest.trim_start_matches('/').len();
        let instead = redact_refused(&format!("{scheme}://{}", &text[start..]));
        let shown = &instead[scheme.len() + "://".len()..];
        Self::Form {
            reference: format!("{}{shown}", redact_refused(&text[..start])),
            what: "two slashes must follow the colon, or ./ must stand before a local path",
            instead,
        }
    }
}
