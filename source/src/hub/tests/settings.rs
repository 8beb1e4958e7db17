//! What the environment says.

use std::fs;

use super::*;

fn of(variables: &[(&str, &str)]) -> Result<HubSettings, HubProblem> {
    HubSettings::of(|name| {
        let (_, value) = variables.iter().find(|(found, _)| *found == name)?;
        Some((*value).to_owned())
    })
}

/// Without a home that has a token by chance.
fn token_of(variables: &[(&str, &str)]) -> Option<String> {
    let mut all = vec![("HOME", "/nonexistent")];
    all.extend(variables);
    let settings = of(&all).unwrap();
    settings
        .token
        .map(|token| format!("{} from {}", token.expose(), token.origin()))
}

#[test]
fn the_cache_is_where_the_python_client_has_it() {
    for (variables, expected) in [
        (&[("HOME", "/h")] as &[_], "/h/.cache/huggingface/hub"),
        (&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")], "/x/huggingface/hub"),
        (
            &[("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("HF_HOME", "/hf")],
            "/hf/hub",
        ),
        (&[("HOME", "/h"), ("HF_HOME", "~/hf")], "/h/hf/hub"),
        (
            &[("HOME", "/h"), ("HF_HOME", "$HOME/${SUB}/$NONE"), ("SUB", "s")],
            "/h/s/$NONE/hub",
        ),
        (&[("HF_HOME", "/hf"), ("HUGGINGFACE_HUB_CACHE", "/old")], "/old"),
        (
            &[
                ("HF_HOME", "/hf"),
                ("HUGGINGFACE_HUB_CACHE", "/old"),
                ("HF_HUB_CACHE", "/new"),
            ],
            "/new",
        ),
        (&[("HF_HUB_CACHE", ""), ("HF_HOME", "/hf")], "/hf/hub"),
    ] {
        assert_eq!(
            of(variables).unwrap().cache(),
            Path::new(expected),
            "{variables:?}"
        );
    }
    assert!(matches!(of(&[]), Err(HubProblem::NoHome)));
}

#[test]
fn tokens_are_looked_for_in_the_same_order() {
    let home = tempfile::tempdir().unwrap();
    let home_text = home.path().to_str().unwrap();
    fs::write(home.path().join("token"), "hf_home\n").unwrap();
    fs::write(home.path().join("other"), "hf_other\r\n").unwrap();
    let other = format!("{home_text}/other");
    let everything = [
        ("HF_HOME", home_text),
        ("HF_TOKEN_PATH", other.as_str()),
        ("HUGGING_FACE_HUB_TOKEN", "hf_old"),
        ("HF_TOKEN", " hf_new\n"),
    ];
    let found: Vec<_> = (0..=4).map(|count| token_of(&everything[..count])).collect();
    assert_eq!(
        found,
        [
            None,
            Some(format!("hf_home from {home_text}/token")),
            Some(format!("hf_other from {other}")),
            Some("hf_old from HUGGING_FACE_HUB_TOKEN".to_owned()),
            Some("hf_new from HF_TOKEN".to_owned()),
        ]
    );
    let mut disabled = everything.to_vec();
    disabled.push(("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"));
    assert_eq!(token_of(&disabled), None);
}

#[test]
fn a_token_cannot_be_printed() {
    let settings = of(&[("HOME", "/h"), ("HF_TOKEN", "hf_SECRET")]).unwrap();
    assert!(!format!("{settings:?}").contains("SECRET"), "{settings:?}");
    let bearer = settings.token.unwrap().bearer();
    assert!(!format!("{bearer:?}").contains("SECRET"));
}

#[test]
fn what_cannot_be_used_is_named() {
    let home = tempfile::tempdir().unwrap();
    // A folder cannot be read as a file, whoever asks.
    let folder = home.path().to_str().unwrap();
    for (variables, expected) in [
        (
            [("HF_TOKEN", "hf_\u{7}SECRET")],
            "the token in HF_TOKEN has characters that no token has. Copy it again.",
        ),
        (
            [("HF_ENDPOINT", "hub.test")],
            "HF_ENDPOINT is not an http:// or https:// URL. Correct it, or remove it to use the public hub.",
        ),
        (
            [("HF_ENDPOINT", "ftp://hub.test")],
            "HF_ENDPOINT is not an http:// or https:// URL. Correct it, or remove it to use the public hub.",
        ),
    ] {
        let mut all = vec![("HOME", "/nonexistent")];
        all.extend(variables);
        let problem = of(&all).unwrap_err();
        assert_eq!(problem.to_string(), expected);
        assert!(!format!("{problem:?}").contains("SECRET"));
    }
    let problem = of(&[("HOME", "/h"), ("HF_TOKEN_PATH", folder)]).unwrap_err();
    assert!(
        problem
            .to_string()
            .starts_with(&format!("the token file {folder} cannot be read (")),
        "{problem}"
    );
}
