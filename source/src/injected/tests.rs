use proptest::prelude::*;

use super::*;
use crate::reference::tests::signed::signed_url;

const NOW: &str = "2026-08-01T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn resolve(urls: &[&str], reference: &str) -> Result<String, String> {
    let json = serde_json::to_string(urls).unwrap();
    let resolved = InjectedUrls::parse(&json)
        .unwrap()
        .resolve(&Reference::parse(reference).unwrap(), now());
    match resolved {
        Ok(reference) => Ok(match reference.http_url() {
            Some(url) => url.with_credentials().as_str().to_owned(),
            None => reference.to_string(),
        }),
        Err(error) => Err(error.to_string()),
    }
}

const SIGNED: &str = "https://b.s3.amazonaws.com/chat.jsonl?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=hunter2\
                      &X-Amz-Date=20260801T110000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&versionId=7\
                      &X-Amz-Signature=hunter2";

#[test]
fn a_redacted_url_becomes_the_whole_one() {
    for reference in [
        Reference::parse(SIGNED).unwrap().to_string().as_str(),
        // As it was before it was signed anew.
        "https://b.s3.amazonaws.com/chat.jsonl?X-Amz-Date=20260731T110000Z&X-Amz-Expires=60&versionId=7&X-Amz-Signature=<redacted>",
        // Other order, other encoding, other spelling of the host.
        "https://B.S3.amazonaws.com:443/ch%61t.jsonl?X-Amz-Signature=%3Credacted%3E&version%49d=%37",
        // The signature is all that somebody cared to write.
        "https://b.s3.amazonaws.com/chat.jsonl?versionId=7&sig=<redacted>",
        // Without the query there is no doubt either, and without the signature.
        "https://b.s3.amazonaws.com/chat.jsonl",
        "https://b.s3.amazonaws.com/chat.jsonl?versionId=7",
    ] {
        assert_eq!(
            resolve(&[SIGNED, "https://o.example/x?sig=a"], reference).as_deref(),
            Ok(SIGNED),
            "{reference}"
        );
    }
}

#[test]
fn what_names_something_else_is_no_match() {
    for reference in [
        "http://b.s3.amazonaws.com/chat.jsonl?versionId=7&sig=<redacted>",
        "https://c.s3.amazonaws.com/chat.jsonl?versionId=7&sig=<redacted>",
        "https://b.s3.amazonaws.com:8443/chat.jsonl?versionId=7&sig=<redacted>",
        "https://b.s3.amazonaws.com/other.jsonl?versionId=7&sig=<redacted>",
        "https://b.s3.amazonaws.com/chat%2Ejsonl/?versionId=7&sig=<redacted>",
        "https://b.s3.amazonaws.com/chat.jsonl?versionId=8&sig=<redacted>",
        "https://b.s3.amazonaws.com/chat.jsonl?sig=<redacted>",
    ] {
        let error = resolve(&[SIGNED], reference).unwrap_err();
        assert_eq!(
            error,
            format!(
                "Cannot use {reference}: its credential is redacted, and no injected URL belongs to it. Put the whole \
                 presigned URL into the JSON list in REPRISE_INJECTED_DATASET_URLS, or give it instead."
            )
        );
    }
}

#[test]
fn references_that_need_no_credential_stay_as_they_are() {
    for reference in [
        "trace.jsonl",
        "hf://acme/traces",
        "s3://bucket/key",
        "https://b.s3.amazonaws.com/other.jsonl",
        "https://b.s3.amazonaws.com/chat.jsonl?versionId=8",
        "https://b.s3.amazonaws.com/chat.jsonl?versionId=7&sig=own",
        "https://user@b.s3.amazonaws.com/chat.jsonl",
    ] {
        assert_eq!(resolve(&[SIGNED], reference).as_deref(), Ok(reference));
    }
}

#[test]
fn two_that_match_are_refused_and_one_given_twice_is_one() {
    let again = SIGNED.replace("20260801T110000Z", "20260801T115900Z");
    let reference = Reference::parse(SIGNED).unwrap().to_string();
    assert_eq!(resolve(&[SIGNED, SIGNED], &reference).as_deref(), Ok(SIGNED));
    for reference in [reference.as_str(), "https://b.s3.amazonaws.com/chat.jsonl"] {
        assert_eq!(
            resolve(&[SIGNED, &again], reference).unwrap_err(),
            format!(
                "Cannot use {reference}: 2 URLs in REPRISE_INJECTED_DATASET_URLS belong to it. Keep one of them: when a \
                 URL is signed anew, it replaces the old one."
            )
        );
    }
    let other = SIGNED.replace("versionId=7", "versionId=8");
    assert_eq!(resolve(&[SIGNED, &other], &reference).as_deref(), Ok(SIGNED));
    assert!(resolve(&[SIGNED, &other], "https://b.s3.amazonaws.com/chat.jsonl").is_err());
}

#[test]
fn a_match_that_has_expired_is_refused() {
    let expired = SIGNED.replace("=86400", "=3600");
    let reference = Reference::parse(&expired).unwrap().to_string();
    assert_eq!(
        resolve(&[&expired], &reference).unwrap_err(),
        format!(
            "Cannot use {reference}: its URL in REPRISE_INJECTED_DATASET_URLS expired at {NOW}. Generate a new one and \
             put it in the place of the old."
        )
    );
    assert_eq!(
        resolve(&[&expired], "https://o.example/x").as_deref(),
        Ok("https://o.example/x")
    );
}

#[test]
fn azure_names_count_as_signing_beside_its_signature_alone() {
    let azure =
        "https://a.blob.core.windows.net/c/x?sv=2024&st=2026-08-01&se=2026-08-02&sr=b&sp=r&sig=hunter2";
    assert_eq!(
        resolve(
            &[azure],
            "https://a.blob.core.windows.net/c/x?se=2025-01-01&sig=<redacted>"
        )
        .as_deref(),
        Ok(azure)
    );
    let own = "https://h.example/x?st=1&token=hunter2";
    assert!(resolve(&[own], "https://h.example/x?st=2&token=<redacted>").is_err());
    assert_eq!(
        resolve(&[own], "https://h.example/x?st=1&token=<redacted>").as_deref(),
        Ok(own)
    );
}

#[test]
fn what_is_no_list_of_presigned_urls_is_refused_without_showing_it() {
    let refusals: Vec<_> = [
        "",
        "https://h.example/x?sig=hunter2",
        "[\"https://h.example/x?sig=hunter2\",]",
        "\"https://h.example/x?sig=hunter2\"",
        "{\"url\": \"https://h.example/x?sig=hunter2\"}",
        "[\"https://h.example/x?sig=hunter2\", 2]",
        "[\"https://h.example/x?sig=hunter2\", \"h.example/y?sig=hunter2\"]",
        "[\"s3://bucket/key\"]",
        "[\"https://h.example/x y?sig=hunter2\"]",
        "[\"https://h.example/x?X-Amz-Algorithm=hunter2\"]",
        "[\"https://h.example/x?sig=<redacted>\"]",
    ]
    .into_iter()
    .map(|json| {
        let error = InjectedUrls::parse(json).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(
            !shown.contains("hunter2") && !shown.contains("h.example"),
            "{shown}"
        );
        error.to_string()
    })
    .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn an_empty_list_holds_nothing_and_a_full_one_cannot_be_printed() {
    assert_eq!(
        resolve(&[], "https://h.example/x").as_deref(),
        Ok("https://h.example/x")
    );
    assert!(resolve(&[], "https://h.example/x?sig=<redacted>").is_err());
    let urls = InjectedUrls::parse(&format!("[\"{SIGNED}\"]")).unwrap();
    assert_eq!(format!("{urls:?}"), "InjectedUrls(1)");
}

proptest! {
    #[test]
    fn what_was_redacted_is_found_again_byte_for_byte(signed in signed_url(), other in signed_url()) {
        let reference = Reference::parse(&signed.url).unwrap();
        let sent = reference.http_url().unwrap().with_credentials().as_str();
        let redacted = Reference::parse(&reference.to_string()).unwrap();
        let resolve = |urls: &[&str]| {
            InjectedUrls::parse(&serde_json::to_string(urls).unwrap()).unwrap().resolve(&redacted, now())
        };
        let found = resolve(&[&signed.url]).unwrap();
        prop_assert_eq!(found.http_url().unwrap().with_credentials().as_str(), sent);
        let errors = [resolve(&[]), resolve(&[&signed.url, &other.url]), resolve(&[&other.url])];
        let shown: Vec<_> = errors.into_iter().filter_map(Result::err).map(|error| format!("{error} {error:?}")).collect();
        prop_assert!(!shown.is_empty());
        prop_assert_eq!(signed.shown_in(&shown), None);
        prop_assert_eq!(other.shown_in(&shown), None);
    }

    #[test]
    fn reading_a_list_never_fails_badly(json in "\\PC{0,60}", entry in "\\PC{0,40}") {
        let _ = InjectedUrls::parse(&json);
        let list = serde_json::to_string(&[format!("https://{entry}")]).unwrap();
        if let Err(error) = InjectedUrls::parse(&list) {
            prop_assert!(entry.len() < 4 || !error.to_string().contains(&entry));
        }
    }
}
