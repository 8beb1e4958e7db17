//! Downloads: not twice, not in pieces, and not given up.

use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use reprise_test_servers::http::{Nginx, PythonServer};
use reprise_test_servers::hub::Fault;
use rustix::process::{Pid, Signal, kill_process};

use super::*;

const MIB: usize = 1024 * 1024;

/// A trace of so many MiB, about.
fn long_trace(mib: usize) -> String {
    let line = format!("{{\"timestamp\": 0, \"prompt\": \"{}\"}}\n", "word ".repeat(2000));
    line.repeat(mib * MIB / line.len())
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    unreachable!("{what} did not come about");
}

fn kill(child: &mut Child, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, signal).unwrap();
    child.wait().unwrap();
}

/// The bytes in partial files below a folder.
fn partial_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.map(|entry| {
        let path = entry.unwrap().path();
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => partial_bytes(&path),
            Ok(metadata)
                if path.to_string_lossy().contains("partial")
                    || path.to_string_lossy().contains("incomplete") =>
            {
                metadata.len()
            }
            _ => 0,
        }
    });
    sizes.sum()
}

/// A process that fetches a trace from a hub, which has sent half of it and nothing since.
struct Halfway {
    hub: Hub,
    machine: Machine,
    trace: String,
    process: Child,
}

impl Halfway {
    const REFERENCE: &str = "hf://acme/traces/chat.jsonl";

    /// Through a trace of so many MiB.
    fn through(mib: usize) -> Self {
        let hub = Hub::start();
        let machine = Machine::new().with_hub(&hub);
        let trace = long_trace(mib);
        hub.dataset("acme/traces")
            .commit([("chat.jsonl", trace.as_str())]);
        hub.plan("/repos/", 1, Fault::Stall(mib / 2 * MIB));
        let process = machine.command(&["fetch", Self::REFERENCE]).spawn().unwrap();
        let halfway = Self {
            hub,
            machine,
            trace,
            process,
        };
        wait_until("half a download", || halfway.has_come() > (mib / 4 * MIB) as u64);
        halfway
    }

    fn has_come(&self) -> u64 {
        partial_bytes(self.machine.folder.path())
    }
}

/// Changes a kept copy of [`TRACE`] without changing its length.
fn damage(path: &Path) {
    let mut permissions = path.metadata().unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false, reason = "a file of this test")]
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions).unwrap();
    std::fs::write(path, TRACE.replace("1200", "1201")).unwrap();
}

#[test]
fn a_second_run_downloads_nothing() {
    let (hub, store, nginx) = (Hub::start(), S3Server::start(), Nginx::start(""));
    let machine = Machine::new().with_hub(&hub).with_store(&store);
    let trace = long_trace(1);
    hub.dataset("acme/traces")
        .commit([("chat.jsonl", trace.as_str())]);
    store.make_bucket("traces");
    store.put("traces", "chat.jsonl", &trace);
    put(&nginx.folder(), "chat.jsonl", &trace);
    let url = nginx.url("chat.jsonl");
    for reference in ["hf://acme/traces/chat.jsonl", "s3://traces/chat.jsonl", &url] {
        assert_eq!(machine.fetched(&[reference]), trace, "{reference}");
    }
    let (sent, asked) = (hub.sent(), store.requests().len());
    let logged = nginx.log(4).len();
    for reference in ["hf://acme/traces/chat.jsonl", "s3://traces/chat.jsonl", &url] {
        assert_eq!(machine.fetched(&[reference]), trace, "{reference}");
    }
    assert_eq!(hub.sent(), sent);
    assert!(
        store.requests()[asked..]
            .iter()
            .all(|request| request.method == "HEAD")
    );
    let again = &nginx.log(logged + 3)[logged..];
    assert!(again.iter().any(|request| request.status == 304), "{again:?}");
    assert!(
        again
            .iter()
            .all(|request| request.status != 200 && request.status != 206),
        "{again:?}"
    );
}

#[test]
fn a_killed_download_goes_on_where_it_stopped() {
    let mut halfway = Halfway::through(40);
    kill(&mut halfway.process, Signal::KILL);
    halfway.hub.release();
    halfway.hub.clear_log();
    assert!(halfway.machine.fetched(&[Halfway::REFERENCE]) == halfway.trace);
    let log = halfway.hub.log();
    let range = log
        .iter()
        .filter(|request| request.is_storage)
        .find_map(|request| request.header("range"));
    assert!(
        range.is_some_and(|range| !range.starts_with("bytes=0-")),
        "{range:?}"
    );
}

#[test]
fn a_killed_download_over_http_goes_on_where_it_stopped() {
    let nginx = Nginx::start("limit_rate 8m;");
    let machine = Machine::new();
    let trace = long_trace(40);
    put(&nginx.folder(), "chat.jsonl", &trace);
    let url = nginx.url("chat.jsonl");
    let mut first = machine.command(&["fetch", &url]).spawn().unwrap();
    wait_until("some of a download", || {
        partial_bytes(machine.folder.path()) > 4 * MIB as u64
    });
    kill(&mut first, Signal::KILL);
    assert!(machine.fetched(&[&url]) == trace);
    let log = nginx.log(2);
    let resumed = log.iter().filter_map(|request| request.range.as_deref());
    assert!(
        resumed.clone().any(|range| !range.starts_with("bytes=0-")),
        "{log:?}"
    );
}

#[test]
fn an_interrupt_ends_a_download_at_once_and_keeps_what_has_come() {
    let mut halfway = Halfway::through(20);
    // The server sends nothing any more, so only an end at once is an end at all.
    kill(&mut halfway.process, Signal::INT);
    assert!(halfway.has_come() > 5 * MIB as u64);
    assert!(halfway.machine.fetched(&[Halfway::REFERENCE]) == halfway.trace);
}

#[test]
fn two_processes_transfer_once_and_one_takes_over_from_the_other() {
    let Halfway {
        hub,
        machine,
        trace,
        process: mut first,
    } = Halfway::through(20);
    let mut second = machine.command(&["fetch", Halfway::REFERENCE]).spawn().unwrap();
    wait_until("the second process's look-up", || {
        let log = hub.log();
        log.iter()
            .filter(|request| request.target.contains("/revision/"))
            .count()
            >= 2
    });
    let transfers = || hub.log().iter().filter(|request| request.is_storage).count();
    assert_eq!(transfers(), 1, "the second one waits");
    kill(&mut first, Signal::KILL);
    assert!(second.wait().unwrap().success());
    assert_eq!(transfers(), 2, "the second one took over");
    assert!(
        hub.sent() < 2 * trace.len() as u64,
        "it went on where the first one stopped"
    );
}

#[test]
fn offline_the_cache_answers_and_the_network_is_not_touched() {
    let (hub, store, server) = (Hub::start(), S3Server::start(), PythonServer::start());
    let mut machine = Machine::new().with_hub(&hub).with_store(&store);
    let manifest = r#"{"path": "trace.jsonl", "format": "mooncake_trace"}"#;
    hub.dataset("acme/traces")
        .commit([("trace.jsonl", TRACE), ("reprise.json", manifest)]);
    store.make_bucket("traces");
    store.put("traces", "chat/trace.jsonl", TRACE);
    store.put("traces", "chat/reprise.json", manifest);
    put(&server.folder(), "trace.jsonl", TRACE);
    put(
        &server.folder(),
        "trace.jsonl.reprise.json",
        r#"{"format": "mooncake_trace"}"#,
    );
    let url = server.url("trace.jsonl");
    let references = ["hf://acme/traces", "s3://traces/chat/", &url];
    for reference in references {
        machine.fetched(&[reference]);
    }
    let asked = (hub.log().len(), store.requests().len(), server.log().len());
    machine
        .variables
        .push(("REPRISE_OFFLINE".to_owned(), "1".to_owned()));
    for reference in references {
        let found = machine.json(&["inspect", reference]);
        assert_eq!(found["format"], "mooncake_trace", "{reference}");
        assert_eq!(found["pin"]["pinnedBy"], "cache", "{reference}");
        assert!(
            found["warnings"].to_string().contains("SourceNotAsked"),
            "{reference}"
        );
    }
    for reference in [
        "hf://acme/other",
        "s3://traces/other.jsonl",
        &server.url("other.jsonl"),
    ] {
        let refusal = machine.refusal(&["fetch", reference]);
        assert!(
            refusal.contains("not found") && refusal.contains("and Reprise is offline"),
            "{refusal}"
        );
    }
    assert_eq!(
        (hub.log().len(), store.requests().len(), server.log().len()),
        asked
    );
}

#[test]
fn a_server_that_tells_no_version_is_asked_for_everything_each_time() {
    let server = reprise_test_servers::http::Server::answering(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{TRACE}",
        TRACE.len()
    ));
    let machine = Machine::new();
    let url = server.url("/trace.jsonl?q=1");
    for _ in 0..2 {
        assert_eq!(machine.fetched(&[&url]), TRACE);
    }
    let found = machine.json(&["pin", &url]);
    assert!(
        found["warnings"].to_string().contains("no version is on record"),
        "{found}"
    );
    assert!(found["pin"].get("version").is_none());
}

#[test]
fn a_damaged_copy_is_noticed_and_a_wrong_digest_is_refused() {
    let server = PythonServer::start();
    put(&server.folder(), "trace.jsonl", TRACE);
    let machine = Machine::new();
    let url = server.url("trace.jsonl");
    let path = machine.shown(&["fetch", &url]);
    damage(Path::new(path.trim()));
    let refusal = machine.refusal(&["inspect", &url, "--format", "mooncake_trace"]);
    assert!(
        refusal.contains("its copy in the cache was changed after it was fetched"),
        "{refusal}"
    );

    let sidecar = format!(
        r#"{{"format": "mooncake_trace", "sha256": "{}"}}"#,
        "0".repeat(64)
    );
    put(&server.folder(), "other.jsonl", TRACE);
    put(&server.folder(), "other.jsonl.reprise.json", &sidecar);
    for _ in 0..2 {
        let refusal = machine.refusal(&["fetch", &server.url("other.jsonl")]);
        assert!(refusal.contains("its manifest says 0000"), "{refusal}");
    }
}

#[test]
fn a_digest_that_is_declared_later_is_checked_wherever_the_file_is() {
    let server = PythonServer::start();
    put(&server.folder(), "trace.jsonl", TRACE);
    let mut machine = Machine::new();
    let url = server.url("trace.jsonl");
    machine.fetched(&[&url]);
    let manifest =
        |path: &str, digest: &str| format!(r#"{{{path}"format": "mooncake_trace", "sha256": "{digest}"}}"#);
    let wrong = "0".repeat(64);
    put(
        &server.folder(),
        "trace.jsonl.reprise.json",
        &manifest("", &wrong),
    );
    let folder = machine.path("published");
    put(&folder, "trace.jsonl", TRACE);
    put(
        &folder,
        "reprise.json",
        &manifest(r#""path": "trace.jsonl", "#, &wrong),
    );
    for arguments in [
        ["fetch", url.as_str()],
        ["publish-check", "published"],
        ["inspect", "published"],
    ] {
        let refusal = machine.refusal(&arguments);
        assert!(refusal.contains("its manifest says 0000"), "{refusal}");
    }

    let right = machine.json(&["inspect", "published/trace.jsonl"])["sha256"]
        .as_str()
        .unwrap()
        .to_owned();
    put(
        &server.folder(),
        "trace.jsonl.reprise.json",
        &manifest("", &right),
    );
    put(
        &folder,
        "reprise.json",
        &manifest(r#""path": "trace.jsonl", "#, &right),
    );
    machine.shown(&["publish-check", "published"]);
    let path = machine.shown(&["fetch", &url]);
    machine
        .variables
        .push(("REPRISE_OFFLINE".to_owned(), "1".to_owned()));
    machine.shown(&["fetch", &url]);
    damage(Path::new(path.trim()));
    let refusal = machine.refusal(&["fetch", &url]);
    assert!(
        refusal.contains("its copy in the cache was changed after it was fetched"),
        "{refusal}"
    );
    assert!(refusal.contains(path.trim()), "{refusal}");
}
