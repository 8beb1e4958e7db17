use super::*;

fn log(kept: ArrivalLog) -> Arc<Arrivals> {
    let epoch = Epoch {
        monotonic_ns: 1_000,
        unix_ns: 1_700_000_000_000_000_000,
    };
    Arc::new(Arrivals::open(epoch, kept).unwrap())
}

fn head(path: &str) -> http::request::Parts {
    let request = http::Request::post(path)
        .header("x-request-id", "r1")
        .header("x-team", "perf")
        .body(());
    request.unwrap().into_parts().0
}

#[test]
fn a_record_stays_small() {
    assert_eq!(size_of::<Record>(), 56);
}

#[test]
fn arrivals_as_json_lines() {
    let log = log(ArrivalLog {
        digests: true,
        bodies: true,
        headers: vec![
            HeaderName::from_static("x-team"),
            HeaderName::from_static("x-absent"),
        ],
        ..ArrivalLog::default()
    });
    let mut whole = log.arrived(1_500, &head("/v1/completions?x=1"));
    whole.body(&Bytes::from_static(b"abc"));
    let cut = log.arrived(1_600, &head("/v1/completions"));
    drop(cut);
    whole.answered(StatusCode::OK);
    let lines: Vec<String> = log
        .list()
        .iter()
        .map(|arrival| serde_json::to_string(arrival).unwrap())
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    insta::assert_json_snapshot!(log.summary());
}

#[test]
fn bodies_survive_json_whatever_their_bytes() {
    for body in [&b"text"[..], b"\xff\x00", b""] {
        let log = log(ArrivalLog {
            bodies: true,
            ..ArrivalLog::default()
        });
        let mut open = log.arrived(1_000, &head("/"));
        open.body(&Bytes::copy_from_slice(body));
        open.answered(StatusCode::OK);
        let arrivals = log.list();
        let json = serde_json::to_string(&arrivals).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Arrival>>(&json).unwrap(), arrivals);
        assert_eq!(arrivals[0].body.as_deref(), Some(body));
    }
}

#[test]
fn a_reset_forgets_requests_that_are_still_open() {
    let log = log(ArrivalLog::default());
    let before = log.arrived(2_000, &head("/"));
    log.reset();
    before.answered(StatusCode::OK);
    let summary = log.summary();
    assert_eq!(
        (summary.requests, summary.statuses.len(), log.list().len()),
        (0, 0, 0)
    );
    assert_eq!(log.arrived(3_000, &head("/")).index(), 0);
}

#[test]
fn routes_beyond_the_shared_ones_are_still_logged() {
    let log = log(ArrivalLog::default());
    for number in 0..SHARED_ROUTES + 2 {
        log.arrived(2_000, &head(&format!("/{number}")))
            .answered(StatusCode::NOT_FOUND);
    }
    assert_eq!(log.state().routes.len(), SHARED_ROUTES);
    assert_eq!(log.list().last().unwrap().path, format!("/{}", SHARED_ROUTES + 1));
}
