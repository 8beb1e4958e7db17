use std::num::NonZeroU64;

use proptest::prelude::*;

use super::*;

const FORMATS: [&str; 3] = ["mooncake_trace", "workload_trace", "burst_gpt_trace"];

fn root(json: &str) -> Result<(Manifest, Vec<ManifestWarning>), ManifestProblem> {
    Manifest::parse("aiperf.json", ManifestKind::Root, json.as_bytes())
}

fn sidecar(json: &str) -> Result<(Manifest, Vec<ManifestWarning>), ManifestProblem> {
    Manifest::parse("x.jsonl.aiperf.json", ManifestKind::Sidecar, json.as_bytes())
}

/// A valid manifest with this `requires`.
fn requiring(requires: &str) -> Manifest {
    let json = format!(r#"{{"path": "x.jsonl", "format": "mooncake_trace", "requires": {requires}}}"#);
    root(&json).unwrap().0
}

fn run() -> RunFacts<'static> {
    RunFacts {
        api: Some(EndpointKind::Chat),
        known_formats: &FORMATS,
        ..RunFacts::default()
    }
}

#[test]
fn the_name_of_ours_goes_first() {
    assert_eq!(MANIFEST_NAMES, ["reprise.json", "aiperf.json"]);
    assert_eq!(
        sidecar_names("data/x.jsonl.gz"),
        ["data/x.jsonl.gz.reprise.json", "data/x.jsonl.gz.aiperf.json"]
    );
}

#[test]
fn a_manifest_says_all_that_it_can() {
    let digest = "9C1D4F0A7B2E".repeat(6)[..64].to_owned();
    let json = format!(
        r#"{{
            "$schema": "x", "name": "Chat", "description": "d", "license": "MIT", "homepage": "h", "citation": {{}},
            "version": 3, "path": "data/chat.jsonl.gz", "format": "mooncake_trace", "sha256": "SHA256:{digest}",
            "block_size": 512,
            "requires": {{
                "aiperf": ">=0.13,<1", "reprise": ">=0.1", "endpoint_types": ["chat", "completions"],
                "max_context_tokens": 131072
            }}
        }}"#
    );
    let (manifest, warnings) = root(&format!("\u{feff}{json}")).unwrap();
    assert_eq!(warnings, []);
    let path = manifest.path().unwrap();
    assert_eq!((path.as_str(), path.is_folder()), ("data/chat.jsonl.gz", false));
    assert_eq!(manifest.format(), Some("mooncake_trace"));
    assert_eq!(
        manifest.sha256().unwrap().to_string(),
        digest.to_ascii_lowercase()
    );
    assert_eq!(manifest.block_size().unwrap().get(), 512);
    assert_eq!(manifest.check(&run()), Ok(Vec::new()));
}

#[test]
fn a_sidecar_may_say_nothing() {
    let (manifest, warnings) = sidecar(r#"{"format": null, "requires": {}}"#).unwrap();
    assert_eq!(warnings, []);
    assert_eq!((manifest.path(), manifest.format()), (None, None));
    assert_eq!(manifest.check(&run()), Ok(Vec::new()));
}

#[test]
fn paths_lead_to_what_lies_beside_the_manifest_or_below() {
    for (written, expected, is_folder) in [
        ("x", "x", false),
        ("./data/x", "data/x", false),
        ("data/", "data", true),
        (".", "", true),
        ("./", "", true),
        ("a b/é#?%2e%2e", "a b/é#?%2e%2e", false),
        ("..x/y..", "..x/y..", false),
    ] {
        let json = format!(r#"{{"path": "{written}", "format": "f"}}"#);
        let (manifest, _) = root(&json).unwrap();
        let path = manifest.path().unwrap();
        assert_eq!(
            (path.as_str(), path.is_folder()),
            (expected, is_folder),
            "{written}"
        );
    }
    for written in [
        "",
        "/",
        "/x",
        "..",
        "../x",
        "a/../../x",
        "a/./x",
        "a//x",
        "x//",
        r"a\\x",
        "C:\\\\x",
        "hf://a/b",
        "aiperf.json",
        "./aiperf.json",
        "././x",
        "a\\u0000",
    ] {
        let json = format!(r#"{{"path": "{written}", "format": "f"}}"#);
        let problem = root(&json).unwrap_err();
        assert!(
            problem
                .to_string()
                .contains(": path must name a file or folder beside"),
            "{written}: {problem}"
        );
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let problems: Vec<_> = [
        root("{}"),
        root(r#"{"path": null, "format": ""}"#),
        sidecar(r#"{"path": "x", "format": "moon cake"}"#),
        root(
            r#"{"path": 1, "path": "x", "format": [], "sha256": "12", "block_size": 0, "requires": {
                "aiperf": 1, "reprise": "0.1", "endpoint_types": [], "max_context_tokens": -1,
                "aiperf": ">=1"
            }}"#,
        ),
        root(r#"{"path": "x/", "format": "f", "sha256": "0000000000000000000000000000000000000000000000000000000000000000",
                 "block_size": 4294967296, "requires": []}"#),
        sidecar(r#"{"block_size": 1.5, "requires": {"endpoint_types": "chat", "aiperf": "^0.13", "reprise": "latest"}}"#),
        sidecar(r#"{"block_size": "512", "requires": {"endpoint_types": ["chat", 1], "max_context_tokens": "8k"}}"#),
        root(""),
        root("{\"path\":\n hunter2}"),
        root("[]"),
        root("\"hunter2\""),
        root("{} {}"),
        Manifest::parse("reprise.json", ManifestKind::Root, b"\xFF"),
        Manifest::parse("reprise.json", ManifestKind::Root, &vec![b' '; 1024 * 1024 + 1]),
        root(&"[".repeat(10_000)),
        sidecar(r#"{"a": 1, "a": 2, "a b": 1, "a b": 2, "requires": {"c": 1, "c": 1}}"#),
    ]
    .into_iter()
    .map(|result| result.unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn what_is_told_has_an_end() {
    let many: Vec<_> = (0..20_000).map(|number| format!("\"k{number}\": 1")).collect();
    let json = format!("{{{}}}", many.join(", "));
    let (_, warnings) = sidecar(&json).unwrap();
    assert_eq!(warnings.len(), 17);
    assert_eq!(
        warnings[16].to_string(),
        "its sidecar x.jsonl.aiperf.json has 19984 more unknown keys, which are ignored."
    );
    let twice = format!("{{{}, {}}}", many.join(", "), many.join(", "));
    let ManifestProblem::Invalid { faults, .. } = sidecar(&twice).unwrap_err() else {
        panic!("not a fault of its own")
    };
    assert_eq!(faults.len(), 16);
    assert_eq!(
        (faults[0].at(), faults[0].to_string().as_str()),
        ("k0", "k0 is there more than once")
    );
    let types = vec!["\"chat\""; 33].join(", ");
    assert!(sidecar(&format!("{{\"requires\": {{\"endpoint_types\": [{types}]}}}}")).is_err());
}

#[test]
fn unknown_keys_are_warned_about() {
    let (_, warnings) = root(
        r#"{"path": "x", "format": "mooncake_trace", "blockSize": 1, "formt": 2, "colour": 3,
            "what is this?": 5, "requires": {"endpoints": [], "max_context": 1, "name": "n", "zzz": 1}}"#,
    )
    .unwrap();
    let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(warnings.join("\n"));
}

#[test]
fn a_run_that_disagrees_is_told_all_of_it() {
    let (manifest, _) = root(
        r#"{"path": "x", "format": "mooncake_trace", "block_size": 512, "requires": {
            "aiperf": ">=0.14", "reprise": "==9.*", "endpoint_types": ["embeddings", "cohere_rankings"]}}"#,
    )
    .unwrap();
    let disagreeing = RunFacts {
        format: Some("workload_trace"),
        block_size: NonZeroU32::new(16),
        ..run()
    };
    let (unknown, _) =
        sidecar(r#"{"format": "mooncake_tracer", "requires": {"endpoint_types": ["solido_rag"]}}"#).unwrap();
    let (strange, _) = sidecar(r#"{"format": "dag_jsonl"}"#).unwrap();
    let told: Vec<_> = [
        manifest.check(&disagreeing),
        unknown.check(&run()),
        strange.check(&run()),
    ]
    .into_iter()
    .map(|result| result.unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(told.join("\n").replace(env!("CARGO_PKG_VERSION"), "[version]"));
}

#[test]
fn a_run_that_agrees_or_does_not_say_is_let_through() {
    let (manifest, _) = root(r#"{"path": "x", "format": "mooncake_trace", "block_size": 512}"#).unwrap();
    let agreeing = RunFacts {
        format: Some("mooncake_trace"),
        block_size: NonZeroU32::new(512),
        ..run()
    };
    assert_eq!(manifest.check(&agreeing), Ok(Vec::new()));
    let no_run = RunFacts::default();
    assert_eq!(
        requiring(r#"{"endpoint_types": ["embeddings"]}"#).check(&no_run),
        Ok(Vec::new())
    );
    let (unknown, _) = sidecar(r#"{"format": "dag_jsonl"}"#).unwrap();
    assert_eq!(unknown.check(&no_run), Ok(Vec::new()));
}

#[test]
fn versions_are_compared_as_pep_440_says() {
    for (specifiers, is_met) in [
        (">=0.13", true),
        (">=0.13,<1", true),
        ("~=0.13.0", true),
        ("~=0.12", true),
        ("==0.13.*", true),
        ("==0.13", true),
        ("===0.13.0", true),
        ("!=0.13.1", true),
        ("", true),
        (" >= 0.9 , < 0.14 ", true),
        (">0.13", false),
        ("~=0.12.0", false),
        ("==0.13.1", false),
        ("!=0.13.*", false),
        (">=0.13,<0.13", false),
        (">=1", false),
    ] {
        let manifest = requiring(&format!(r#"{{"aiperf": "{specifiers}"}}"#));
        assert_eq!(manifest.check(&run()).is_ok(), is_met, "{specifiers}");
    }
    let ours = requiring(&format!(r#"{{"reprise": "=={}"}}"#, env!("CARGO_PKG_VERSION")));
    assert_eq!(ours.check(&run()), Ok(Vec::new()));
}

#[test]
fn endpoint_types_are_known_by_the_names_of_both() {
    for (name, kind) in [
        ("chat", EndpointKind::Chat),
        ("Completions", EndpointKind::Completions),
        ("responses", EndpointKind::Responses),
        ("embeddings", EndpointKind::Embeddings),
        ("nim-embeddings", EndpointKind::Embeddings),
        ("rerank", EndpointKind::Rerank),
        ("rankings", EndpointKind::Rerank),
        ("hf_tei_rankings", EndpointKind::Rerank),
        ("raw", EndpointKind::Raw),
    ] {
        let facts = |api| RunFacts {
            api: Some(api),
            ..run()
        };
        let manifest = requiring(&format!(r#"{{"endpoint_types": ["image_edit", "{name}"]}}"#));
        assert!(manifest.check(&facts(kind)).is_ok(), "{name}");
        let other = if kind == EndpointKind::Chat {
            EndpointKind::Raw
        } else {
            EndpointKind::Chat
        };
        assert!(manifest.check(&facts(other)).is_err(), "{name}");
    }
    for name in [
        "messages",
        "chat_embeddings",
        "template",
        "huggingface_generate",
        "chats",
    ] {
        assert_eq!(EndpointKind::of_name(name), None);
    }
}

#[test]
fn longer_contexts_are_warned_about() {
    let manifest = requiring(r#"{"max_context_tokens": 32768}"#);
    let facts = |limit| RunFacts {
        max_context_tokens: NonZeroU64::new(limit),
        ..run()
    };
    assert_eq!(manifest.check(&run()), Ok(Vec::new()));
    assert_eq!(manifest.check(&facts(32768)), Ok(Vec::new()));
    let warnings = manifest.check(&facts(8192)).unwrap();
    assert_eq!(
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "it says that its contexts have up to 32768 tokens, and the run takes 8192 at most: longer ones will be left \
             out or refused."
        ]
    );
}

/// JSON values in the places of a manifest, right ones and wrong ones.
fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("[\"chat\"]".to_owned()),
        Just("[]".to_owned()),
        Just("{\"aiperf\": \">=0.1\"}".to_owned()),
        any::<i32>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("JSON has no other", |number| number.is_finite())
            .prop_map(|number| format!("{number:?}")),
        "[a-z0-9.<>=~!,*/]{0,12}".prop_map(|text| format!("\"{text}\"")),
        "\\PC{0,12}".prop_map(|text| serde_json::to_string(&text).unwrap()),
    ]
}

proptest! {
    #[test]
    fn reading_never_fails_badly_and_shows_no_values(
        members in prop::collection::vec(
            ("(path|format|sha256|block_size|requires|name|[a-z_]{0,8})", any_value()), 0..6
        ),
        secret in "[A-Z]{12}",
    ) {
        let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
        let json = format!("{{{}}}", members.join(", "));
        for parsed in [root(&json), sidecar(&json)] {
            match parsed {
                Ok((manifest, warnings)) => {
                    let told = manifest.check(&run()).map_err(|problem| problem.to_string());
                    prop_assert!(told.is_ok() || told != Err(String::new()));
                    prop_assert!(warnings.iter().all(|warning| !warning.to_string().contains(char::is_control)));
                }
                Err(problem) => prop_assert!(problem.to_string().contains("is not valid: ")),
            }
        }
        let hidden = format!(r#"{{"path": "/{secret}", "format": "{secret} x", "sha256": "{secret}",
                                 "{secret} y": 1, "requires": {{"aiperf": "{secret}", "endpoint_types": ["{secret} z"]}}}}"#);
        let problem = root(&hidden).unwrap_err();
        let shown = format!("{problem} {problem:?}");
        prop_assert!(!shown.contains(&secret), "{}", shown);
    }
}
