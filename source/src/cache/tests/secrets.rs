use proptest::prelude::*;

use super::*;

/// Whether a text is in the name or the content of any file below a folder.
fn is_anywhere(folder: &Path, text: &str) -> bool {
    files(folder).into_iter().any(|path| {
        let content = fs::read(&path).unwrap();
        path.to_str().unwrap().contains(text)
            || content
                .windows(text.len())
                .any(|window| window == text.as_bytes())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_signature_is_in_the_cache(
        signature in "SECRET[A-Za-z0-9%2F+=]{0,20}",
        name in "(X-Amz-Signature|X-Amz-Security-Token|Signature|sig|X-Goog-Signature|token|X%2DAmz-Signature)",
        user in "(|user:SECRET@|SECRET@)",
        path in "(chat\\.jsonl|a/b;sig=SECRETx|chat\\.jsonl;token=SECRETx)",
        before in "(|a=1&|a=1;)",
        tag in proptest::option::of("\"[a-z0-9]{1,8}\""),
    ) {
        let url = format!("https://{user}host.example/{path}?{before}{name}={signature}&b=2");
        let bench = Bench::new();
        let place = bench.at(&url);
        let name = path.rsplit('/').next().unwrap();
        let named = file(name, tag.as_deref());
        let found = Found {
            version: tag.clone().map(Version::ETag),
            canonical: Some(url.clone()),
            shape: Shape::File(RemoteFile { location: url.clone(), ..named.clone() }),
        };
        let sidecar = file(&format!("{name}.reprise.json"), tag.as_deref());
        fetch(&place, &found, &named, b"one\n");
        fetch(&place, &found, &sidecar, b"{}");
        place.remember(&found, std::slice::from_ref(&sidecar), &[named.clone(), sidecar.clone()]).unwrap();
        let _claim = place.claim(&found, &named).unwrap();
        prop_assert!(!is_anywhere(bench.root(), "SECRET"));
        prop_assert!(is_anywhere(bench.root(), "host.example"));
        prop_assert_eq!(place.find(&found, &named).unwrap().is_some(), tag.is_some());
        if tag.is_some() {
            let again = bench.at(&url.replace(&signature, "SECRETother")).newest().unwrap().unwrap();
            prop_assert!(place.find(&again.found, &only(&again.found)).unwrap().is_some());
            prop_assert!(place.find(&again.found, &again.beside[0]).unwrap().is_some());
        }
    }
}
