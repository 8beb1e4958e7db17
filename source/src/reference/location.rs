//! What a URL names, apart from who may read it and until when.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use url::{Url, form_urlencoded};

use super::redact::{REDACTED, mark, redact};

/// What a part of a path cannot have in a text.
const IN_PATH: &AsciiSet = &CONTROLS.add(b' ').add(b'/').add(b'%').add(b'?').add(b'#');

/// Parameters that change when a URL is signed anew, by how their names begin: AWS (version 4), Google, Alibaba Cloud,
/// Tencent Cloud.
const SIGNING_PREFIXES: [&str; 4] = ["x-amz-", "x-goog-", "x-oss-", "q-"];

/// The same by whole names: AWS (version 2), `CloudFront`, and what the AWS SDK for JavaScript adds.
const SIGNING_NAMES: [&str; 3] = ["expires", "hash-algorithm", "x-id"];

/// The same for Azure, whose names are too short to be telling on their own: they count beside `sig`.
/// <https://learn.microsoft.com/rest/api/storageservices/create-user-delegation-sas>
const AZURE_NAMES: [&str; 20] = [
    "saoid", "scid", "sdd", "se", "ses", "sip", "si", "ske", "skoid", "sks", "skt", "sktid", "skv", "sp",
    "spr", "sr", "srt", "ss", "st", "suoid",
];
const AZURE_SIGNATURE: &str = "sig";
const AZURE_VERSION: &str = "sv";

/// What a URL names: scheme, host, port, path, and those parameters that are not of its signature. Names and values are
/// compared decoded, and the order of parameters makes no difference.
///
/// It is made from what is left after redaction, so it holds no credential, and a URL has the same location with its
/// credentials and without.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Location {
    /// Scheme, host and port, the default port left out.
    origin: String,
    /// The parts between the slashes.
    path: Vec<Vec<u8>>,
    parameters: Vec<(String, String)>,
}

impl Location {
    pub(super) fn of(url: &Url) -> Self {
        let redacted = redact(&mark(url.as_str()));
        let (path, query) = target(&redacted);
        let pairs = || form_urlencoded::parse(query.as_bytes());
        let is_azure =
            pairs().any(|(name, value)| name.eq_ignore_ascii_case(AZURE_SIGNATURE) && value == REDACTED);
        let mut parameters: Vec<_> = pairs()
            .filter(|(name, value)| !value.ends_with(REDACTED) && !is_of_signature(name, is_azure))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        parameters.sort();
        Self {
            origin: url.origin().ascii_serialization(),
            path: path
                .split('/')
                .map(|part| percent_decode_str(part).collect())
                .collect(),
            parameters,
        }
    }

    /// The same without parameters: what a URL without its query names.
    pub(crate) fn without_parameters(&self) -> Self {
        Self {
            parameters: Vec::new(),
            ..self.clone()
        }
    }
}

/// One text for one location, with nothing to redact in it.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        for (at, part) in self.path.iter().enumerate() {
            let slash = if at > 0 { "/" } else { "" };
            write!(f, "{slash}{}", percent_encode(part, IN_PATH))?;
        }
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.parameters)
            .finish();
        if query.is_empty() {
            return Ok(());
        }
        write!(f, "?{query}")
    }
}

/// Path and query of a URL that was redacted.
fn target(redacted: &str) -> (&str, &str) {
    let after_scheme = redacted.split_once("://").map_or(redacted, |(_, rest)| rest);
    let start = after_scheme.find(['/', '?']).unwrap_or(after_scheme.len());
    let target = &after_scheme[start..];
    target.split_once('?').unwrap_or((target, ""))
}

fn is_of_signature(name: &str, is_azure: bool) -> bool {
    let name = name.to_ascii_lowercase();
    SIGNING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || SIGNING_NAMES.contains(&name.as_str())
        || (is_azure && (name == AZURE_VERSION || AZURE_NAMES.contains(&name.as_str())))
}
