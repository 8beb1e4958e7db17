//! Anonymous access, with real connections: this machine's addresses stand for those that may and may not be reached.

use std::env;
use std::process::Command;

use reprise_test_servers::http::{Server, write};

use super::*;
use crate::guard::{AddressRules, GuardProblem};

const FILE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn only(network: &str) -> Access {
    Access::Anonymous(AddressRules::default().allow_network(network).unwrap())
}

async fn look_up(url: &str, access: &Access) -> Result<Found, Problem> {
    HttpSource::new(http_url(url), access, None)?.look_up().await
}

fn refusal(result: Result<Found, Problem>) -> GuardProblem {
    match result {
        Err(Problem::Guard(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

fn redirect_to(location: &str) -> Server {
    Server::answering(format!(
        "HTTP/1.1 302 -\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    ))
}

#[tokio::test]
async fn an_address_that_is_not_public_is_not_connected_to() {
    let server = Server::answering(FILE);
    let port = server.address().port();
    let public = Access::Anonymous(AddressRules::default());
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "localhost",
    ] {
        let result = look_up(&format!("http://{host}:{port}/x"), &public).await;
        assert_eq!(refusal(result), GuardProblem::Address, "{host}");
    }
    assert!(server.requests().is_empty());
    assert!(look_up(&server.url("/x"), &only("127.0.0.1")).await.is_ok());
}

#[tokio::test]
async fn a_redirect_to_an_address_that_is_not_allowed_is_not_followed() {
    let there = Server::at([127, 0, 0, 2].into(), |_, stream| {
        write(stream, FILE);
    });
    for host in ["127.0.0.2", "127.2", "2130706434", "0x7f.2", "[::ffff:127.0.0.2]"] {
        let front = redirect_to(&there.url("/x").replace("127.0.0.2", host));
        let result = look_up(&front.url("/x"), &only("127.0.0.1/32")).await;
        assert_eq!(refusal(result), GuardProblem::Address, "{host}");
        assert_eq!(front.requests().len(), 1);
    }
    assert!(there.requests().is_empty());

    let front = redirect_to(&there.url("/x"));
    assert!(look_up(&front.url("/x"), &only("127.0.0.0/8")).await.is_ok());
    assert!(look_up(&front.url("/x"), &Access::Ambient).await.is_ok());
}

#[tokio::test]
async fn a_redirect_to_a_name_is_checked_once_it_is_resolved() {
    // Resolves to 127.0.0.1, and on some machines to ::1 as well.
    let front = Server::at([127, 0, 0, 2].into(), |_, stream| {
        let answer = "HTTP/1.1 302 -\r\nlocation: http://localhost:1/x\r\ncontent-length: 0\r\n\r\n";
        write(stream, answer);
    });
    let result = look_up(&front.url("/x"), &only("127.0.0.2")).await;
    assert_eq!(refusal(result), GuardProblem::Address);
}

#[tokio::test]
async fn a_redirect_to_a_host_that_is_not_on_the_list_is_not_followed() {
    let there = Server::answering(FILE);
    let front = redirect_to(&there.url("/x").replace("127.0.0.1", "localhost"));
    let rules = AddressRules::default()
        .allow_network("127.0.0.0/8")
        .and_then(|rules| rules.allow_network("::1"))
        .unwrap();
    let listed = Access::Anonymous(rules.clone().allow_host("127.0.0.1").unwrap());
    assert_eq!(
        refusal(look_up(&front.url("/x"), &listed).await),
        GuardProblem::Host
    );
    assert!(there.requests().is_empty());
    assert!(look_up(&front.url("/x"), &Access::Anonymous(rules)).await.is_ok());
}

/// Variables hold for a process, so this case is one.
#[test]
fn anonymous_access_takes_no_proxy_from_the_environment() {
    let proxy = Server::answering(FILE);
    let server = Server::answering(FILE);
    let output = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "http::tests::guarded::child_that_looks_up",
            "--ignored",
        ])
        .env(
            "REPRISE_TEST_URL",
            server.url("/x").replace("127.0.0.1", "localhost"),
        )
        .envs(["http_proxy", "HTTP_PROXY", "all_proxy"].map(|name| (name, proxy.url(""))))
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!((server.requests().len(), proxy.requests().len()), (1, 0));
}

#[tokio::test]
#[ignore = "run by another test, with variables of its own"]
async fn child_that_looks_up() {
    let url = env::var("REPRISE_TEST_URL").unwrap();
    let rules = AddressRules::default()
        .allow_network("127.0.0.1")
        .and_then(|rules| rules.allow_network("::1"))
        .unwrap();
    look_up(&url, &Access::Anonymous(rules)).await.unwrap();
}
