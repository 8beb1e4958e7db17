//! What a cached file is found by: where it lies, without credentials.

use std::fmt;

use reprise_contract::Digest;

use crate::digest::Hasher;
use crate::reference::{HttpUrl, S3Path, redact};

/// A remote place, the same for each URL that was signed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlaceKey {
    digest: Digest,
    shown: String,
}

impl PlaceKey {
    /// A URL by its scheme, host, port, path and the parameters that are no part of a signature.
    pub(crate) fn of_url(url: &HttpUrl) -> Self {
        let shown = url.location().to_string();
        Self {
            digest: digest(["url", &shown]),
            shown,
        }
    }

    /// An object or a prefix of a bucket at AWS, or at another `endpoint`. Its versions are one place.
    pub(crate) fn of_object(path: &S3Path, endpoint: Option<&str>) -> Self {
        let endpoint = endpoint.map(|endpoint| redact(endpoint.trim_end_matches('/')));
        let key = path.object(path.key(), None);
        Self {
            digest: digest([
                "s3",
                endpoint.as_deref().unwrap_or_default(),
                path.bucket(),
                path.key(),
            ]),
            shown: match endpoint {
                Some(endpoint) => format!("{key} at {endpoint}"),
                None => key.to_string(),
            },
        }
    }

    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }
}

/// For people: redacted, and without what belongs to a signature.
impl fmt::Display for PlaceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// The digest of texts, of each of them apart.
pub(super) fn digest<'a>(fields: impl IntoIterator<Item = &'a str>) -> Digest {
    let mut hasher = Hasher::default();
    for field in fields {
        hasher.update(&(field.len() as u64).to_le_bytes());
        hasher.update(field.as_bytes());
    }
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{Place, Reference};

    fn url(text: &str) -> PlaceKey {
        match Reference::parse(text).unwrap().place() {
            Place::Http(url) => PlaceKey::of_url(url),
            _ => panic!("{text} is not a URL"),
        }
    }

    #[test]
    fn urls_signed_for_one_file_are_one_place() {
        for (one, other) in [
            (
                "https://b.example/x?a=1&X-Amz-Date=20260801T000000Z&X-Amz-Expires=60&X-Amz-Signature=A&X-Amz-Credential=B",
                "https://b.example/x?X-Amz-Signature=C&a=1&X-Amz-Date=20260901T000000Z",
            ),
            ("https://B.example:443/x", "https://b.example/x"),
            (
                "https://b.example/x?AWSAccessKeyId=A&Signature=B&Expires=1",
                "https://b.example/x",
            ),
            (
                "https://a.example/c/x?sv=1&se=2&sp=r&sig=A",
                "https://a.example/c/x?sv=3&sig=B",
            ),
            ("https://user:a@b.example/x", "https://user:b@b.example/x"),
            (
                "https://b.example/x?X%2DGoog%2dDate=1&X-Goog-Signature=A",
                "https://b.example/x",
            ),
        ] {
            assert_eq!(url(one), url(other), "{one} {other}");
        }
    }

    #[test]
    fn a_place_is_shown_without_what_was_signed() {
        let shown =
            url("https://b.example/x?a=1&X-Amz-Date=20260801T000000Z&X-Amz-Signature=A&b=2").to_string();
        assert_eq!(shown, "https://b.example/x?a=1&b=2");
        assert_eq!(
            url("https://b.example/x?token=A").to_string(),
            "https://b.example/x"
        );
    }

    #[test]
    fn other_files_are_other_places() {
        let urls = [
            "https://b.example/x",
            "http://b.example/x",
            "https://c.example/x",
            "https://b.example:8443/x",
            "https://b.example/y",
            "https://b.example/x?versionId=1",
            "https://b.example/x?versionId=2",
            "https://b.example/x?sv=1",
            "https://b.example/x?response-content-disposition=a",
        ];
        let mut digests: Vec<_> = urls.iter().map(|text| url(text).digest().to_string()).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), urls.len());
    }

    #[test]
    fn objects_are_told_apart_by_their_store_and_not_by_their_version() {
        let object = |text, endpoint| PlaceKey::of_object(&S3Path::parse(text).unwrap(), endpoint);
        let aws = object("traces/a.jsonl", None);
        assert_eq!(aws, object("traces/a.jsonl?versionId=7", None));
        assert_eq!(aws.to_string(), "s3://traces/a.jsonl");
        let own = object("traces/a.jsonl", Some("http://me:secret@minio:9000/"));
        assert_ne!(aws.digest(), own.digest());
        assert_eq!(
            own.to_string(),
            "s3://traces/a.jsonl at http://<redacted>@minio:9000"
        );
        assert_ne!(aws.digest(), object("traces/a", None).digest());
    }
}
