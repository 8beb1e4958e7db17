//! HTTPS: whom the worker trusts.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reprise_contract::{Ending, FailureCause};
use reprise_tests::answers::{DONE, content as output, stream};
use reprise_tests::plans::{burst, one_by_one, recorded_plan};
use reprise_tests::runs::replay;
use reprise_tests::scripted_server::{ScriptedServer, Step};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A server on `localhost` with a certificate of its own authority, and the authority's certificate in PEM.
fn server() -> (ScriptedServer, String) {
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    let tls = config(
        certificate.der().clone(),
        PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
    );
    let answer = stream(&[output("a"), DONE.to_owned()]);
    (ScriptedServer::answering_over_tls(tls, answer), authority.pem())
}

fn config(certificate: CertificateDer<'static>, key: PrivateKeyDer<'static>) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    Arc::new(config)
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let (server, _) = server();
    let run = replay(recorded_plan(
        burst(3),
        &[format!("https://localhost:{}", server.port())],
    ));
    assert_eq!(
        run.count(Ending::Failed(FailureCause::Tls)),
        3,
        "{:?}",
        run.outcomes
    );
    assert!(server.requests().is_empty());
}

#[test]
fn a_server_without_tls_is_told_as_such() {
    let server = ScriptedServer::greeting(vec![Step::write("HTTP/1.1 400 Bad Request\r\n\r\n")]);
    let run = replay(one_by_one(2, &server.url().replace("http:", "https:")));
    assert_eq!(
        run.count(Ending::Failed(FailureCause::Tls)),
        2,
        "{:?}",
        run.outcomes
    );
}

/// Opening connections beforehand gives up after a while, and what it began is no loss.
#[test]
fn a_server_that_never_shakes_hands_is_a_timeout() {
    let server = ScriptedServer::greeting(vec![Step::Stall]);
    let mut plan = one_by_one(2, &server.url().replace("http:", "https:"));
    plan.timeout = Duration::from_millis(200);
    let run = replay(plan);
    assert_eq!(
        run.count(Ending::Failed(FailureCause::Timeout)),
        2,
        "{:?}",
        run.outcomes
    );
    assert!(run.outcomes.iter().all(|outcome| !outcome.was_sent()));
}

/// Set in the process that trusts the authority: the URL to replay against.
const TRUSTED_URL: &str = "REPRISE_TEST_TRUSTED_URL";

/// The machine's trust is set by environment, which a process reads once; so the test runs itself again.
#[test]
fn a_certificate_that_the_machine_trusts_is_accepted_for_its_name_only() {
    if let Ok(url) = std::env::var(TRUSTED_URL) {
        replay(one_by_one(5, &url)).assert_all_completed();
        let run = replay(one_by_one(1, &url.replace("localhost", "127.0.0.1")));
        assert_eq!(run.only_failure().0, FailureCause::Tls);
        return;
    }
    let (server, authority) = server();
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("authority.pem");
    std::fs::write(&trusted, authority).unwrap();
    let again = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "tls::a_certificate_that_the_machine_trusts_is_accepted_for_its_name_only",
        ])
        .env("SSL_CERT_FILE", &trusted)
        .env(TRUSTED_URL, format!("https://localhost:{}", server.port()))
        .output()
        .unwrap();
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stdout)
    );
    assert_eq!((server.requests().len(), server.used_connections()), (5, 1));
}
