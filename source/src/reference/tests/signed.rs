//! Presigned URLs, made up, in all the ways to sign and to write them.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::*;

/// Credentials of a signature, and what stands beside them.
const SIGNATURES: [(&[&str], &str); 9] = [
    (
        &["X-Amz-Credential", "X-Amz-Security-Token", "X-Amz-Signature"],
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20990801T110000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host",
    ),
    (&["AWSAccessKeyId", "Signature"], "Expires=4089625200"),
    (
        &["X-Goog-Credential", "X-Goog-Signature"],
        "X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Date=20990801T110000Z&X-Goog-Expires=60&X-Goog-SignedHeaders=host",
    ),
    (&["GoogleAccessId", "Signature"], "Expires=4089625200"),
    (
        &["sig"],
        "sv=2024-11-04&se=2099-08-01T12%3A00%3A00Z&sr=b&sp=r&spr=https",
    ),
    (&["Policy", "Key-Pair-Id", "Signature"], "Hash-Algorithm=SHA256"),
    (
        &["q-ak", "q-signature"],
        "q-sign-algorithm=sha1&q-sign-time=1%3B2&q-header-list=host",
    ),
    (&["OSSAccessKeyId", "x-oss-security-token"], "x-oss-date=1"),
    (&["access_token"], ""),
];

/// Generic names of one credential each.
const TOKENS: [&str; 8] = [
    "token",
    "api-key",
    "apiKey",
    "key",
    "client_secret",
    "password",
    "auth",
    "jwt",
];

#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) url: String,
    pub(crate) secrets: Vec<String>,
}

impl Signed {
    /// A text that shows eight bytes of a secret, if there is one.
    pub(crate) fn shown_in<'a>(&self, texts: &'a [String]) -> Option<&'a String> {
        texts.iter().find(|text| {
            self.secrets.iter().any(|secret| {
                secret
                    .as_bytes()
                    .windows(8)
                    .any(|piece| find(text.as_bytes(), piece))
            })
        })
    }
}

fn find(text: &[u8], piece: &[u8]) -> bool {
    text.windows(piece.len()).any(|window| window == piece)
}

/// A name in one of the ways to write it: letters of either case, and percent-encoded ones.
fn spelled(name: &str, ways: u64) -> String {
    name.char_indices()
        .map(|(at, c)| match ways >> (2 * at % 64) & 3 {
            0 => format!("%{:02X}", u32::from(c)),
            1 => c.to_ascii_uppercase().to_string(),
            2 => c.to_ascii_lowercase().to_string(),
            _ => c.to_string(),
        })
        .collect()
}

/// `secret` is what makes this signature differ from the next of the same file.
pub(crate) fn signed_url() -> impl Strategy<Value = Signed> {
    (
        "(https?|HTTPS)",
        proptest::option::of("[a-zA-Z0-9]{10,20}(:[a-zA-Z0-9%._~!-]{10,20})?"),
        "[a-z]{1,8}\\.example(:8443|:443)?",
        "(/[a-z0-9._~-]{1,4}|/a%20b|/%2E%41){1,3}[a-z]",
        select(SIGNATURES.to_vec()),
        proptest::option::of(select(TOKENS.to_vec())),
        prop::collection::vec("[A-Za-z0-9][A-Za-z0-9%/+=;?:@_~-]{12,30}", 5),
        "(versionId=[a-z0-9]{1,4}&|response-content-disposition=a%3B%20b&|part=2&){0,2}",
        (any::<u64>(), any::<bool>(), any::<Index>()),
    )
        .prop_filter_map(
            "not every text can be sent byte for byte",
            |(scheme, user, host, path, (names, rest), token, values, others, (ways, nested, turn))| {
                let mut secrets = Vec::new();
                let mut parameters: Vec<String> = others
                    .split('&')
                    .chain(rest.split('&'))
                    .filter(|parameter| !parameter.is_empty())
                    .map(ToOwned::to_owned)
                    .collect();
                for (name, value) in names.iter().chain(&token).zip(&values) {
                    parameters.push(format!("{}={value}", spelled(name, ways)));
                    secrets.push(value.clone());
                }
                if nested {
                    parameters.push(format!("url=https%3A%2F%2Fo.example%2Fx%3Fsig%3D{}", values[4]));
                    secrets.push(values[4].clone());
                }
                let at = turn.index(parameters.len());
                parameters.rotate_left(at);
                let user = user.map(|user| {
                    secrets.extend(user.split(':').map(ToOwned::to_owned));
                    user + "@"
                });
                let url = format!(
                    "{scheme}://{}{host}{path}?{}",
                    user.unwrap_or_default(),
                    parameters.join("&")
                );
                Reference::parse(&url).is_ok().then_some(Signed { url, secrets })
            },
        )
}

proptest! {
    #[test]
    fn nothing_shows_eight_bytes_of_a_secret(signed in signed_url(), damage in "(|#| |/\\.\\./|\u{e9}/|\"|\n)", at: Index) {
        let reference = Reference::parse(&signed.url).unwrap();
        let problem = crate::SourceError::new(reference.clone(), crate::Problem::Folder);
        let mut shown = vec![
            format!("{reference} {reference:?} {problem} {problem:?}"),
            format!("{:?}", reference.http_url().unwrap()),
        ];
        prop_assert!(reference.is_presigned());
        let mut damaged = signed.url.clone();
        // Past the authority: where a password ends that has a slash in it, nobody can tell.
        let ends: Vec<_> = damaged.match_indices(['/', '?', '&']).map(|(at, _)| at + 1).skip(2).collect();
        damaged.insert_str(ends[at.index(ends.len())], &damage);
        match Reference::parse(&damaged) {
            Ok(reference) => shown.push(format!("{reference} {reference:?}")),
            Err(error) => shown.push(format!("{error} {error:?}")),
        }
        for scheme in ["gs", "s3", "hf", "file"] {
            let (_, rest) = signed.url.split_once(':').unwrap();
            match Reference::parse(&format!("{scheme}:{rest}")) {
                Ok(reference) => shown.push(format!("{reference} {reference:?}")),
                Err(error) => shown.push(format!("{error} {error:?}")),
            }
        }
        prop_assert_eq!(signed.shown_in(&shown), None);
    }

    #[test]
    fn a_redacted_url_is_a_reference_to_the_same_place(signed in signed_url()) {
        let reference = Reference::parse(&signed.url).unwrap();
        let written = reference.to_string();
        let encoded = written.replace(redact::REDACTED, "%3Credacted%3E");
        let in_lower_case = written.replace(redact::REDACTED, "%3credacted%3e");
        for text in [&written, &encoded, &in_lower_case] {
            let redacted = Reference::parse(text).unwrap();
            prop_assert!(redacted.is_redacted());
            prop_assert_eq!(redacted.to_string(), written.as_str());
            let Place::Redacted(url) = redacted.place() else {
                return Err(TestCaseError::fail("not redacted"));
            };
            prop_assert_eq!(url.location(), &reference.http_url().unwrap().location());
            let shown = [format!("{redacted:?} {:?}", url.location())];
            prop_assert_eq!(signed.shown_in(&shown), None);
        }
    }
}
