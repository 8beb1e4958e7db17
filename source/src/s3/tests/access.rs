//! Who may read what, at a real store.

use reprise_test_servers::S3Server;

use super::*;
use crate::guard::{AddressRules, GuardProblem};

const READER: (&str, &str) = ("AKIAREADER", "reader/secret");

fn denied(problem: &Problem) -> Option<(Caller, Action)> {
    match problem {
        Problem::S3(S3Problem::AccessDenied { caller, action }) => Some((*caller, *action)),
        _ => None,
    }
}

async fn as_reader(server: &S3Server, path: &str) -> S3Source {
    let patience = Patience::default();
    signed(&server.endpoint(), path, READER.0, READER.1, patience).await
}

fn anonymous(server: &S3Server, path: &str, rules: AddressRules) -> S3Source {
    S3Source::new(
        S3Path::parse(path).unwrap(),
        S3Settings::new(Some(&server.endpoint()), None, None).unwrap(),
        Access::Anonymous(rules),
    )
}

#[tokio::test]
async fn refusals_depend_on_who_asks_for_what() {
    let server = S3Server::start();
    server.make_bucket("private");
    server.put("private", "chat.jsonl", "one");
    server.make_account(READER.0, READER.1);
    for (path, action) in [
        ("private/chat.jsonl", Action::GetObject),
        ("private/missing.jsonl", Action::GetObject),
        ("private/folder/", Action::ListBucket),
        ("private", Action::ListBucket),
    ] {
        let problem = refusal(&as_reader(&server, path).await).await;
        assert_eq!(
            denied(&problem),
            Some((Caller::Known, action)),
            "{path}: {problem}"
        );
        let problem = refusal(&unsigned(&server.endpoint(), path).await).await;
        assert_eq!(
            denied(&problem),
            Some((Caller::Unknown, action)),
            "{path}: {problem}"
        );
    }

    let patience = Patience::default();
    let wrong = signed(&server.endpoint(), "private/chat.jsonl", READER.0, "x", patience).await;
    let problem = refusal(&wrong).await;
    assert!(
        matches!(problem, Problem::S3(S3Problem::WrongSecret)),
        "{problem}"
    );
    let unknown = signed(&server.endpoint(), "private/", "AKIANOBODY", "x", patience).await;
    let problem = refusal(&unknown).await;
    assert!(
        matches!(problem, Problem::S3(S3Problem::UnknownAccessKey)),
        "{problem}"
    );
    for path in ["nowhere/chat.jsonl", "nowhere/folder/"] {
        let problem = refusal(&owned(&server.endpoint(), path).await).await;
        assert!(
            matches!(problem, Problem::S3(S3Problem::NoSuchBucket)),
            "{problem}"
        );
    }
    let problem = refusal(&owned(&server.endpoint(), "private/missing.jsonl").await).await;
    assert!(matches!(problem, Problem::S3(S3Problem::NoSuchKey)), "{problem}");
}

#[tokio::test]
async fn a_sidecar_is_found_beside_its_file() {
    let server = S3Server::start();
    server.make_bucket("private");
    server.put("private", "a/chat.jsonl", "one");
    let source = owned(&server.endpoint(), "private/a/chat.jsonl").await;
    let found = source.look_up().await.unwrap();
    let name = "chat.jsonl.aiperf.json";
    assert_eq!(source.beside(&found, name).await.unwrap(), None);
    server.put("private", "a/chat.jsonl.aiperf.json", "{}");
    let sidecar = source.beside(&found, name).await.unwrap().unwrap();
    assert_eq!(sidecar.location, "a/chat.jsonl.aiperf.json");
    assert_eq!(read(&source, &found, &sidecar, Span::WHOLE).await.unwrap(), "{}");
    server.put("private", "a/chat.jsonl.aiperf.json", "{ }");
    let problem = read(&source, &found, &sidecar, Span::WHOLE).await.unwrap_err();
    assert!(matches!(problem, Problem::Changed), "{problem}");

    // Who may read the file alone is refused the sidecar that may not be there.
    server.make_account(READER.0, READER.1);
    server.allow_object("private", "a/chat.jsonl", READER.0);
    let reader = as_reader(&server, "private/a/chat.jsonl").await;
    let found = reader.look_up().await.unwrap();
    assert_eq!(reader.beside(&found, name).await.unwrap(), None);
}

#[tokio::test]
async fn a_sidecar_of_a_versioned_object_has_a_tag_of_its_own() {
    let server = S3Server::start();
    server.make_versioned_bucket("versions");
    server.put("versions", "chat.jsonl", "one");
    server.put("versions", "chat.jsonl.aiperf.json", "{}");
    let source = owned(&server.endpoint(), "versions/chat.jsonl").await;
    let found = source.look_up().await.unwrap();
    let sidecar = source
        .beside(&found, "chat.jsonl.aiperf.json")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(read(&source, &found, &sidecar, Span::WHOLE).await.unwrap(), "{}");
}

#[tokio::test]
async fn a_public_bucket_needs_no_credentials() {
    let server = S3Server::start();
    server.make_bucket("public");
    server.put("public", "a/chat.jsonl", "one");
    server.make_public("public");
    let here = AddressRules::default().allow_network("127.0.0.0/8").unwrap();
    for path in ["public/a/chat.jsonl", "public/a/", "public/a"] {
        let unsigned = unsigned(&server.endpoint(), path).await;
        let found = unsigned.look_up().await.unwrap();
        let file = match &found.shape {
            Shape::File(file) => file.clone(),
            Shape::Folder(files) => files[0].clone(),
        };
        assert_eq!(read(&unsigned, &found, &file, Span::WHOLE).await.unwrap(), "one");
        let anonymous = anonymous(&server, path, here.clone());
        assert_eq!(anonymous.look_up().await.unwrap().version, found.version);
    }
    assert!(server.requests().len() > 6);
    for request in server.requests() {
        assert_eq!(request.header("authorization"), None, "{request:?}");
    }
}

#[tokio::test]
async fn an_anonymous_reader_connects_only_where_the_rules_allow() {
    let server = S3Server::start();
    server.make_bucket("public");
    server.put("public", "chat.jsonl", "one");
    server.make_public("public");
    let guarded = |source: S3Source| async move {
        match refusal(&source).await {
            Problem::Guard(problem) => problem,
            problem => panic!("{problem}"),
        }
    };
    let by_address = anonymous(&server, "public/chat.jsonl", AddressRules::default());
    assert_eq!(guarded(by_address).await, GuardProblem::Address);

    let named = server.endpoint().replace("127.0.0.1", "localhost");
    let settings = S3Settings::new(Some(&named), None, None).unwrap();
    let path = S3Path::parse("public/chat.jsonl").unwrap();
    let by_name = |rules| S3Source::new(path.clone(), settings.clone(), Access::Anonymous(rules));
    assert_eq!(
        guarded(by_name(AddressRules::default())).await,
        GuardProblem::Address
    );
    let elsewhere = AddressRules::default().allow_host("s3.example.org").unwrap();
    assert_eq!(guarded(by_name(elsewhere)).await, GuardProblem::Host);
    assert_eq!(server.requests(), []);

    // The bucket in front of the host makes another host of it.
    let virtual_host = S3Settings::new(Some(&named), None, Some(false)).unwrap();
    let rules = AddressRules::default()
        .allow_host("localhost")
        .unwrap()
        .allow_network("127.0.0.0/8")
        .unwrap();
    let source = S3Source::new(path.clone(), virtual_host, Access::Anonymous(rules));
    assert_eq!(guarded(source).await, GuardProblem::Host);
}
