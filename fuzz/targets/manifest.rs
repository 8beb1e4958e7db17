//! Manifests: what is read can be used, and what is refused is refused without showing what it holds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use reprise_source::{EndpointKind, Manifest, ManifestKind, RunFacts};

/// Found nowhere but where it was put, and no name of anything.
const VALUE: &str = "Zq7 Wv3 Kx9T";

fuzz_target!(|input: &[u8]| {
    let run = RunFacts {
        api: Some(EndpointKind::Chat),
        known_formats: &["mooncake_trace", "workload_trace"],
        ..RunFacts::default()
    };
    for kind in [ManifestKind::Root, ManifestKind::Sidecar] {
        match Manifest::parse("aiperf.json", kind, input) {
            Ok((manifest, warnings)) => {
                check(&manifest, kind);
                let told = match manifest.check(&run) {
                    Ok(more) => warnings.iter().chain(&more).map(ToString::to_string).collect(),
                    Err(problem) => vec![problem.to_string()],
                };
                told.iter().for_each(|text| check_text(text));
            }
            Err(problem) => check_text(&problem.to_string()),
        }
        let Ok(text) = std::str::from_utf8(input) else {
            continue;
        };
        let hidden = text.replace("\"\"", &format!("\"{VALUE}\""));
        if let Err(problem) = Manifest::parse("aiperf.json", kind, hidden.as_bytes()) {
            assert!(!format!("{problem} {problem:?}").contains(VALUE), "{hidden}");
        }
    }
});

/// The path stays below the manifest, and each kind has what it needs.
fn check(manifest: &Manifest, kind: ManifestKind) {
    let is_root = kind == ManifestKind::Root;
    assert_eq!(manifest.path().is_some(), is_root);
    assert!(manifest.format().is_some() || !is_root);
    if let Some(path) = manifest.path().filter(|path| !path.as_str().is_empty()) {
        assert!(
            path.as_str()
                .split('/')
                .all(|part| !matches!(part, "" | "." | "..")),
            "{path:?}"
        );
    }
}

/// One line that a terminal can take.
fn check_text(text: &str) {
    assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
}
