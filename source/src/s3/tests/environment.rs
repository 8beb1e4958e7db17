//! Where credentials, endpoint and region come from: each place in a process of its own, since variables are one for all.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use reprise_test_servers::S3Server;
use tempfile::TempDir;

use super::fake::{FakeStore, answer};
use super::*;
use crate::guard::AddressRules;

const PATH: &str = "REPRISE_TEST_PATH";
const ANONYMOUS: &str = "REPRISE_TEST_ANONYMOUS";
const ENDPOINT: &str = "REPRISE_TEST_ENDPOINT";
const MARK: &str = "looked up: ";

/// What runs in the other process: looks up what `REPRISE_TEST_PATH` names.
#[tokio::test]
#[ignore = "only in a process of its own, which the other tests start"]
async fn look_up_by_the_environment() {
    let endpoint = env::var(ENDPOINT).ok();
    let access = match env::var(ANONYMOUS) {
        Ok(network) => Access::Anonymous(AddressRules::default().allow_network(&network).unwrap()),
        Err(_) => Access::Ambient,
    };
    let source = S3Source::new(
        S3Path::parse(&env::var(PATH).unwrap()).unwrap(),
        S3Settings::new(endpoint.as_deref(), None, None).unwrap(),
        access,
    );
    match source.look_up().await {
        Ok(found) => println!("{MARK}{}", found.version.unwrap()),
        Err(problem) => println!("{MARK}{problem}"),
    }
}

/// The variables and files of a user.
struct User {
    home: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl User {
    /// With nothing but a home, on a machine that has no metadata.
    fn new() -> Self {
        Self {
            home: TempDir::new().unwrap(),
            variables: Vec::new(),
        }
        .with("AWS_EC2_METADATA_DISABLED", "true")
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.retain(|(other, _)| *other != name);
        self.variables.push((name, value.into()));
        self
    }

    /// With the keys of the owner of all buckets.
    fn with_keys(self) -> Self {
        self.with("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .with("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    }

    fn with_file(self, name: &str, content: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.home.path().join(name)
    }

    /// What the user gets to read.
    fn look_up(&self, path: &str) -> String {
        let whole_name = concat!(module_path!(), "::look_up_by_the_environment");
        let (_, test) = whole_name.split_once("::").unwrap();
        let output = Command::new(env::current_exe().unwrap())
            .args([test, "--exact", "--ignored", "--nocapture"])
            .env_clear()
            .env("HOME", self.home.path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env(PATH, path)
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let result = printed.lines().find_map(|line| line.split_once(MARK));
        let Some((_, result)) = result else {
            panic!("{printed}{}", String::from_utf8_lossy(&output.stderr));
        };
        result.to_owned()
    }
}

/// A store with one private object, and the version that whoever may read it sees.
fn store() -> (S3Server, String) {
    let server = S3Server::start();
    server.make_bucket("private");
    let put = server.put("private", "chat.jsonl", "one");
    (server, format!("etag:{}", put.etag))
}

#[test]
fn keys_and_endpoint_of_the_environment() {
    let (server, version) = store();
    let user = User::new()
        .with_keys()
        .with("AWS_ENDPOINT_URL", server.endpoint());
    assert_eq!(user.look_up("private/chat.jsonl"), version);
    let user = user
        .with("AWS_ENDPOINT_URL", "http://nowhere.invalid")
        .with("AWS_ENDPOINT_URL_S3", server.endpoint());
    assert_eq!(user.look_up("private/chat.jsonl"), version);
    // What the settings say goes first. No proxy is asked for this machine itself.
    let user = user
        .with("AWS_ENDPOINT_URL_S3", "http://nowhere.invalid")
        .with("HTTP_PROXY", "http://nowhere.invalid")
        .with(ENDPOINT, server.endpoint());
    assert_eq!(user.look_up("private/chat.jsonl"), version);
}

#[test]
fn keys_and_region_of_a_profile() {
    let (server, version) = store();
    let credentials = format!(
        "[default]\naws_access_key_id = AKIANOBODY\naws_secret_access_key = x\n\
         [reader]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"
    );
    let config = format!(
        "[profile reader]\nregion = us-east-1\nservices = local\n\
         [services local]\ns3 =\n  endpoint_url = {}\n",
        server.endpoint()
    );
    let user = User::new()
        .with_file(".aws/credentials", &credentials)
        .with_file(".aws/config", &config)
        .with("AWS_PROFILE", "reader");
    assert_eq!(user.look_up("private/chat.jsonl"), version);

    let broken = User::new()
        .with_file(
            ".aws/config",
            "[default]\nrole_arn = arn:aws:iam::123456789012:role/reader\n",
        )
        .with("AWS_ENDPOINT_URL", server.endpoint());
    assert_eq!(
        broken.look_up("private/chat.jsonl"),
        S3Problem::Credentials(CredentialsFault::Configuration).to_string()
    );
}

/// Answers as the service that gives credentials for a token.
fn token_service() -> FakeStore {
    let body = format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
         <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{ACCESS_KEY}</AccessKeyId>\
         <SecretAccessKey>{SECRET_KEY}</SecretAccessKey><SessionToken></SessionToken>\
         <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/reader/it</Arn>\
         <AssumedRoleId>id</AssumedRoleId></AssumedRoleUser></AssumeRoleWithWebIdentityResult>\
         </AssumeRoleWithWebIdentityResponse>"
    );
    FakeStore::answering(answer(200, "content-type: text/xml\r\n", &body))
}

fn with_web_identity(user: User, service: &FakeStore, endpoint: &str) -> User {
    let user = user.with_file("token", "a.web.token");
    let token = user.path("token");
    user.with("AWS_WEB_IDENTITY_TOKEN_FILE", text(&token))
        .with("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader")
        .with("AWS_REGION", "us-east-1")
        .with("AWS_ENDPOINT_URL_STS", service.url())
        .with("AWS_ENDPOINT_URL_S3", endpoint)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_web_identity() {
    let (server, version) = store();
    let service = token_service();
    let user = with_web_identity(User::new(), &service, &server.endpoint());
    assert_eq!(user.look_up("private/chat.jsonl"), version);
    assert_eq!(service.asked().len(), 1);

    let body =
        "<ErrorResponse><Error><Code>AccessDenied</Code><Message>SECRET</Message></Error></ErrorResponse>";
    let service = FakeStore::answering(answer(403, "content-type: text/xml\r\n", body));
    let user = with_web_identity(User::new(), &service, &server.endpoint());
    assert_eq!(
        user.look_up("private/chat.jsonl"),
        S3Problem::Credentials(CredentialsFault::Refused).to_string()
    );
}

/// As the agents of containers and the metadata of instances hand out keys.
fn keys_as_json() -> String {
    format!(
        "{{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"{ACCESS_KEY}\",\
         \"SecretAccessKey\":\"{SECRET_KEY}\",\"Token\":\"\",\"LastUpdated\":\"2026-01-01T00:00:00Z\",\
         \"Expiration\":\"2099-01-01T00:00:00Z\"}}"
    )
}

#[test]
fn a_container() {
    let (server, version) = store();
    let agent = FakeStore::start(|asked| {
        let is_known = asked.has("authorization: pod-token\r\n");
        if is_known {
            answer(200, "content-type: application/json\r\n", &keys_as_json())
        } else {
            answer(401, "", "")
        }
    });
    let user = User::new().with_file("token", "pod-token");
    let token = user.path("token");
    let user = user
        .with(
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            format!("{}/v1/credentials", agent.url()),
        )
        .with("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", text(&token))
        .with("AWS_ENDPOINT_URL_S3", server.endpoint());
    assert_eq!(user.look_up("private/chat.jsonl"), version);
}

#[test]
fn the_metadata_of_an_instance() {
    let (server, version) = store();
    let metadata = FakeStore::start(|asked| {
        let body = if asked.is("PUT") {
            "session".to_owned()
        } else if asked.has("/security-credentials/reader") {
            keys_as_json()
        } else {
            "reader".to_owned()
        };
        answer(200, "x-aws-ec2-metadata-token-ttl-seconds: 600\r\n", &body)
    });
    let user = User::new()
        .with("AWS_EC2_METADATA_DISABLED", "false")
        .with("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url())
        .with("AWS_ENDPOINT_URL_S3", server.endpoint());
    assert_eq!(user.look_up("private/chat.jsonl"), version);

    // Whatever answers where the metadata would be is not necessarily that.
    let other = FakeStore::answering(answer(403, "", ""));
    let user = user.with("AWS_EC2_METADATA_SERVICE_ENDPOINT", other.url());
    assert_eq!(
        user.look_up("private/chat.jsonl"),
        S3Problem::AccessDenied {
            caller: Caller::Unknown,
            action: Action::GetObject
        }
        .to_string()
    );
}

#[test]
fn no_credentials_at_all() {
    let (server, _) = store();
    server.make_bucket("public");
    let put = server.put("public", "chat.jsonl", "one");
    server.make_public("public");
    let user = User::new().with("AWS_ENDPOINT_URL_S3", server.endpoint());
    assert_eq!(user.look_up("public/chat.jsonl"), format!("etag:{}", put.etag));
    let refused = user.look_up("private/chat.jsonl");
    assert!(
        refused.contains("no credentials were found in the environment"),
        "{refused}"
    );

    let user = user.with("AWS_ENDPOINT_URL_S3", "minio.example.com:9000");
    assert_eq!(user.look_up("public/chat.jsonl"), S3Problem::Endpoint.to_string());
}

#[test]
fn an_anonymous_reader_takes_nothing_from_the_environment() {
    let (server, version) = store();
    let service = token_service();
    let profile =
        format!("[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n");
    let user = with_web_identity(User::new(), &service, "http://nowhere.invalid")
        .with_keys()
        .with_file(".aws/credentials", &profile)
        .with("HTTP_PROXY", "http://nowhere.invalid")
        .with("ALL_PROXY", "http://nowhere.invalid")
        .with(ENDPOINT, server.endpoint());
    assert_eq!(user.look_up("private/chat.jsonl"), version);
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_some())
    );

    let before = server.requests().len();
    let user = user.with(ANONYMOUS, "127.0.0.0/8");
    let refused = S3Problem::AccessDenied {
        caller: Caller::Anonymous,
        action: Action::GetObject,
    };
    assert_eq!(user.look_up("private/chat.jsonl"), refused.to_string());
    let requests = &server.requests()[before..];
    assert!(!requests.is_empty());
    for request in requests {
        assert_eq!(request.header("authorization"), None, "{request:?}");
        assert!(!request.target.contains("X-Amz-"), "{request:?}");
    }
    assert_eq!(service.asked().len(), 0);
}
