//! Everything that is said, and the pure parts.

use std::fmt::Write;

use http::StatusCode;
use insta::assert_snapshot;

use super::*;

#[test]
fn all_problems_say_what_to_do() {
    let denials = [Caller::Known, Caller::Unknown, Caller::Anonymous]
        .into_iter()
        .flat_map(|caller| {
            [Action::GetObject, Action::GetObjectVersion, Action::ListBucket]
                .map(|action| S3Problem::AccessDenied { caller, action })
        });
    let faults = [
        CredentialsFault::Configuration,
        CredentialsFault::Refused,
        CredentialsFault::TimedOut,
    ];
    let others = [
        S3Problem::NoSuchBucket,
        S3Problem::NoSuchKey,
        S3Problem::Deleted,
        S3Problem::NoSuchVersion,
        S3Problem::EmptyPrefix,
        S3Problem::TooManyFiles {
            limit: listing::MAX_FILES,
        },
        S3Problem::WrongSecret,
        S3Problem::UnknownAccessKey,
        S3Problem::ExpiredToken,
        S3Problem::WrongRegion {
            region: "us-east-1".to_owned(),
        },
        S3Problem::ClockSkew,
        S3Problem::Archived,
        S3Problem::Kms,
        S3Problem::CustomerKey,
        S3Problem::Malformed(StatusCode::BAD_REQUEST),
        S3Problem::Answer(StatusCode::NOT_IMPLEMENTED),
        S3Problem::NotS3,
        S3Problem::WrongPart,
        S3Problem::Checksum,
        S3Problem::Connection,
        S3Problem::Endpoint,
        S3Problem::Setup,
    ];
    let mut text = String::new();
    for problem in denials.chain(faults.map(S3Problem::Credentials)).chain(others) {
        writeln!(text, "Cannot use s3://bucket/key: {problem}").unwrap();
    }
    for error in [S3SettingsError::Endpoint, S3SettingsError::Region] {
        writeln!(text, "{error}").unwrap();
    }
    assert_snapshot!(text);
}

#[test]
fn endpoints_and_regions_are_checked() {
    let of = |endpoint, region| S3Settings::new(endpoint, region, None).map(|_| ());
    for endpoint in [
        "https://minio.example.com:9000",
        "http://127.0.0.1:7070",
        "https://host/below",
    ] {
        assert_eq!(of(Some(endpoint), Some("eu-central-1")), Ok(()), "{endpoint}");
    }
    for endpoint in [
        "",
        "minio.example.com:9000",
        "ftp://host",
        "https://user:SECRET@host",
        "https://SECRET@host",
        "https://host?sig=SECRET",
        "https://host#SECRET",
    ] {
        let error = of(Some(endpoint), None).unwrap_err();
        assert_eq!(error, S3SettingsError::Endpoint, "{endpoint}");
    }
    for region in ["", "eu central", "eu.evil.example", "EU", "-eu", "eu-"] {
        assert_eq!(of(None, Some(region)), Err(S3SettingsError::Region), "{region}");
    }
}

#[test]
fn only_aws_has_buckets_in_front_of_the_host() {
    let is_path_style = |endpoint: Option<&str>, given| {
        let settings = S3Settings::new(endpoint, None, given).unwrap();
        settings.is_path_style(settings.endpoint())
    };
    for (endpoint, expected) in [
        (None, false),
        (Some("https://s3.eu-central-1.amazonaws.com"), false),
        (
            Some("https://bucket.vpce-1.s3.us-east-1.vpce.amazonaws.com"),
            false,
        ),
        (Some("https://s3.cn-north-1.amazonaws.com.cn"), false),
        (Some("https://minio.example.com"), true),
        (Some("http://10.0.0.1:9000"), true),
        (Some("https://amazonaws.com.evil.example"), true),
        (Some("https://notamazonaws.com"), true),
    ] {
        assert_eq!(is_path_style(endpoint, None), expected, "{endpoint:?}");
        assert!(is_path_style(endpoint, Some(true)));
        assert!(!is_path_style(endpoint, Some(false)));
    }
}

#[test]
fn a_listing_is_pinned_by_keys_and_tags_in_their_order() {
    let object = |key: &str, size| {
        aws_sdk_s3::types::Object::builder()
            .key(key)
            .size(size)
            .e_tag(format!("\"{key}\""))
            .build()
    };
    let mut listing = listing::Listing::default();
    listing.add(&[object("b", 1), object("folder/", 0)]).unwrap();
    listing.add(&[object("a", 0)]).unwrap();
    let files = listing.into_sorted();
    let mut hasher = crate::digest::Hasher::default();
    hasher.update(b"a \"a\"\nb \"b\"\n");
    assert_eq!(listing::digest(&files), hasher.digest());

    let many = vec![object("a", 1); listing::MAX_FILES];
    let mut listing = listing::Listing::default();
    listing.add(&many).unwrap();
    assert!(matches!(
        listing.add(&[object("b", 1)]),
        Err(S3Problem::TooManyFiles { .. })
    ));
}

#[test]
fn a_sibling_lies_in_the_same_folder() {
    assert_eq!(
        sibling("a/b/c.jsonl", "c.jsonl.aiperf.json"),
        "a/b/c.jsonl.aiperf.json"
    );
    assert_eq!(sibling("c.jsonl", "x"), "x");
    assert_eq!(sibling("/c.jsonl", "x"), "/x");
}
