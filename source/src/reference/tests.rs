use std::path::Path;

use proptest::prelude::*;

use super::presigned::expiry;
use super::*;

pub(crate) mod signed;
mod store_paths;

fn parse(text: &str) -> Reference {
    Reference::parse(text).unwrap()
}

fn refusal(text: &str) -> String {
    Reference::parse(text).unwrap_err().to_string()
}

#[test]
fn what_has_no_scheme_is_a_local_path() {
    for text in [
        "trace.jsonl",
        "./a/b",
        "/tmp/x.jsonl.gz",
        "trace:1.jsonl",
        r"c:\x",
        "a b",
        "1://x",
        "a/b://c",
        "~/x",
    ] {
        assert_eq!(parse(text).local_path(), Some(Path::new(text)), "{text}");
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn a_file_url_is_a_local_path() {
    assert_eq!(
        parse("file:///tmp/a%20b.jsonl").local_path(),
        Some(Path::new("/tmp/a b.jsonl"))
    );
    assert_eq!(parse("FILE://localhost/x").local_path(), Some(Path::new("/x")));
    for text in ["file://other/x", "file:///x?y=1", "file:///x#y"] {
        assert!(
            refusal(text).contains("takes an absolute path on this machine"),
            "{text}"
        );
    }
}

#[test]
fn urls_are_kept_byte_for_byte() {
    for url in [
        "https://host.example/a/b.jsonl.gz",
        "http://127.0.0.1:8099/trace.jsonl",
        "https://b.s3.amazonaws.com/chat.jsonl?response-content-disposition=attachment%3B%20filename%3Dx&X-Amz-Signature=0aB%2F",
        "https://host.example/f?b=2&a=1&&a=%7e+%20",
        "https://host.example?file=7",
        "https://host.example/%2e%41/%E4.jsonl",
        "https://[::1]:1/a:b@c,d;e=f",
    ] {
        let parsed = parse(url);
        let sent = parsed.http_url().unwrap().with_credentials().as_str();
        let target = |text: &str| {
            text["https://".len()..]
                .trim_start_matches(|c| !"/?".contains(c))
                .to_owned()
        };
        assert_eq!(
            target(sent).trim_start_matches('/'),
            target(url).trim_start_matches('/')
        );
    }
}

#[test]
fn urls_that_would_have_to_be_rewritten_are_refused() {
    for url in [
        "https://h.example/é.jsonl",
        "https://h.example/a/../b",
        "https://h.example/a/%2e%2E/b",
        "https://h.example/a\\b",
        "https://h.example/x?q=\"y\"",
        "https://h.example/x?q='y'",
        "https://h.example/{x}",
    ] {
        assert!(refusal(url).contains("byte for byte"), "{url}: {}", refusal(url));
    }
}

#[test]
fn refusals_say_what_to_do() {
    let refusals: Vec<_> = [
        "",
        " \n",
        "gs://bucket/trace.jsonl",
        "FTP://user:hunter2@host/x",
        "az://container/trace.jsonl",
        "s3a://bucket/trace.jsonl",
        "huggingface://acme/traces",
        "http:/host/x",
        "https:user:hunter2@host/x?sig=hunter2",
        "HF:acme/traces",
        "s3:bucket/key?sig=hunter2",
        "hf:/user:hunter2@acme/traces",
        "file://other/x",
        "https://",
        "http:///x",
        "https://h.example:port/x",
        "https://h.example&sig=hunter2/x",
        " https://h.example/x",
        "https://h.example/a b",
        "https://h.example/x\n",
        "https://h.example/é",
        "https://h.example/trace#1.jsonl",
        "https://h.example/traces/",
        "https://h.example",
    ]
    .into_iter()
    .map(refusal)
    .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn credentials_are_redacted() {
    let shown: Vec<_> = [
        "https://b.s3.amazonaws.com/x?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=S&X-Amz-Date=20260801T000000Z&X-Amz-Expires=60&X-Amz-Security-Token=S&X-Amz-SignedHeaders=host&X-Amz-Signature=S",
        "https://b.s3.amazonaws.com/x?AWSAccessKeyId=S&Signature=S&Expires=1",
        "https://storage.googleapis.com/b/x?X-Goog-Credential=S&X-Goog-Signature=S&X-Goog-Date=1",
        "https://storage.googleapis.com/b/x?GoogleAccessId=S&Signature=S",
        "https://a.blob.core.windows.net/c/x?sv=2024&se=2026-01-01&sp=r&sig=S",
        "https://cdn.example/x?Policy=S&Key-Pair-Id=S&Signature=S",
        "https://h.example/x?x-amz-signature=S",
        "https://h.example/x?X%2DAmz%2dSignature=S",
        "https://h.example/x?%2558-Amz-%53ignature=S",
        "https://h.example/x?a=1;sig=S;more=S&b=2",
        "https://h.example/x?api_key=S&access_token=S&apikey=S&key=S&password=S&client_secret=S&auth=S",
        "https://h.example/x?hmac=S&pwd=S&sessionid=S&userSession=S&x-goog-iap-jwt-assertion=S",
        "https://h.example/x?max_tokens=5&idempotency-key=7&x-session-affinity=a",
        "https://h.example/x?url=https%3A%2F%2Fo.example%2Fy%3Fsig%3DS&b=2",
        "https://h.example/x?url=https%253A%252F%252Fu%253AS%2540o.example%252Fy&b=2",
        "https://user:S@h.example/x",
        "https://S@h.example/x@y",
        "https://h.example/x?versionId=7&file=a@b",
        "./https:/user:S@h.example/x?sig=S",
        "data/key=5/part.jsonl",
        "trace?X-Amz-Signature=S&x=https://u@h",
    ]
    .into_iter()
    .map(|url| {
        let shown = parse(url).to_string();
        assert!(!shown.contains("=S") && !shown.contains(":S"), "{shown}");
        shown
    })
    .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn expiry_is_read_from_presigned_urls() {
    let of = |query: &str| expiry(query).map(|expiry| expiry.to_string());
    let noon = Some("2026-08-01T12:00:00Z".to_owned());
    assert_eq!(of("X-Amz-Date=20260801T110000Z&X-Amz-Expires=3600"), noon);
    assert_eq!(of("x-goog-expires=3600&x-goog-date=20260801T110000Z"), noon);
    assert_eq!(of("sv=1&se=2026-08-01T12%3A00%3A00Z"), noon);
    assert_eq!(of("se=2026-08-01T12:00Z"), noon);
    assert_eq!(of("se=2026-08-01"), Some("2026-08-01T00:00:00Z".to_owned()));
    assert_eq!(of("Expires=1785585600&Signature=x"), noon);
    for nonsense in [
        "",
        "a=b",
        "X-Amz-Date=20260801T110000Z",
        "Expires=soon",
        "se=",
        "X-Amz-Date=9&X-Amz-Expires=9",
    ] {
        assert_eq!(of(nonsense), None, "{nonsense}");
    }
}

/// A name of a credential parameter, in one of the ways to write it.
fn credential_name() -> impl Strategy<Value = String> {
    let names = proptest::sample::select(vec![
        "X-Amz-Signature",
        "X-Amz-Security-Token",
        "X-Amz-Credential",
        "AWSAccessKeyId",
        "Signature",
        "X-Goog-Signature",
        "X-Goog-Credential",
        "GoogleAccessId",
        "sig",
        "token",
        "access_token",
        "api-key",
        "apiKey",
        "key",
        "secret",
        "password",
        "Policy",
        "x-oss-signature",
        "q-signature",
    ]);
    (names, any::<u64>()).prop_map(|(name, ways)| {
        name.char_indices()
            .map(|(at, c)| match ways >> (2 * at % 64) & 3 {
                0 => format!("%{:02X}", u32::from(c)),
                1 => c.to_ascii_uppercase().to_string(),
                2 => c.to_ascii_lowercase().to_string(),
                _ => c.to_string(),
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn no_credential_can_be_printed(
        scheme in "(https?|HTTPS|ftp|gs|hf|s3|file)",
        name in credential_name(),
        user in proptest::option::of("[a-z]{1,4}:SECRET"),
        path in "[a-z/. é\\\\]{0,8}",
        before in "([a-z]{1,3}=[a-zA-Z0-9%]{0,3}[&;]){0,3}",
        value in "SECRET[A-Za-z0-9%/+=;?#@:_~ -]{0,12}",
        after in "(&[a-z]{1,3}=[0-9]){0,2}",
        slashes in "(:///?|:/)",
    ) {
        let value = value.replace('&', "");
        let user = user.map(|user| user + "@").unwrap_or_default();
        let text = format!("{scheme}{slashes}{user}host.example/{path}?{before}{name}={value}{after}");
        let (display, debug) = match Reference::parse(&text) {
            Ok(reference) => {
                let error = crate::SourceError::new(reference.clone(), crate::Problem::Folder);
                let problem = format!("{error} {error:?}");
                (format!("{reference} {problem}"), format!("{reference:?} {:?}", reference.clone()))
            }
            Err(error) => (error.to_string(), format!("{error:?}")),
        };
        prop_assert!(!display.contains("SECRET"), "{display}");
        prop_assert!(!debug.contains("SECRET"), "{debug}");
    }

    #[test]
    fn parsing_never_fails_badly(text in "\\PC{0,40}", prefix in "(|https?://|file://|[a-z]{1,3}:/{0,3})") {
        if let Ok(reference) = Reference::parse(&format!("{prefix}{text}")) {
            prop_assert!(!reference.to_string().is_empty());
        }
    }

    #[test]
    fn harmless_urls_are_shown_as_they_are(path in "(/[a-z0-9=_.-]{1,5}[a-z]){1,3}", id in "[A-Za-z0-9]{0,12}") {
        let text = format!("https://host.example{path}?versionId={id}&part=2");
        prop_assert_eq!(parse(&text).to_string(), text);
    }
}
