use reprise_contract::Outcome;
use reprise_contract::summary::{Series, Warning};

use super::*;
use crate::analysis::{EndedBy, Input};
use crate::fixtures;

const HOSTILE: &str = "</script><script>alert('x')</script>\"><img src=x onerror=alert(1)>";

fn page_of(input: Input, outcomes: &[Outcome]) -> String {
    render(&fixtures::summary(input, outcomes))
}

/// The page without its style and script, a tag a line, so that a difference can be read.
fn readable(page: &str) -> String {
    page.replace(STYLE, "…")
        .replace(SCRIPT, "…")
        .replace("><", ">\n<")
}

#[test]
fn a_small_run() {
    let mut outcomes = fixtures::streamed(0..12);
    outcomes[0].phase = reprise_contract::Phase::Warmup;
    outcomes[5] = fixtures::cut(5);
    insta::assert_snapshot!(readable(&page_of(fixtures::input(12), &outcomes)));
}

#[test]
fn a_run_that_measured_nothing_shows_no_metric() {
    let outcomes: Vec<_> = (0..5).map(fixtures::refused).collect();
    let page = page_of(fixtures::input(5), &outcomes);
    assert!(page.contains("All 5 measured requests failed: 5 connectionRefused"));
    assert!(page.contains("failed: connectionRefused"));
    for absent in [">TTFT p50<", "NaN", "inf", "<h2>Latency</h2>"] {
        assert!(!page.replace(STYLE, "").contains(absent), "{absent}");
    }
}

#[test]
fn an_empty_run_is_a_page_too() {
    let page = page_of(fixtures::input(0), &[]);
    assert!(page.contains("Nothing was measured"));
    assert!(!page.contains("<svg"));
}

#[test]
fn without_streaming_there_is_no_first_token() {
    let outcomes: Vec<_> = (0..20).map(fixtures::unstreamed).collect();
    let page = page_of(fixtures::input(20), &outcomes);
    assert!(!page.contains("Time to first token</strong>"));
    assert!(page.contains("Request latency</strong>"));
}

#[test]
fn a_slice_that_the_run_ends_in_makes_no_peak() {
    let mut summary = fixtures::summary(fixtures::input(12), &fixtures::streamed(0..12));
    summary.elapsed_s = 4.157;
    summary.series = Series {
        slice_s: 2.0,
        sent: vec![8, 6, 3],
        completed: vec![8, 6, 3],
        ..Series::default()
    };
    let charts = charts::over_time(&summary);
    let throughput = charts.iter().find(|chart| chart.title == "Throughput").unwrap();
    assert_eq!(
        throughput.lines[0].points,
        [(0.0, Some(4.0)), (2.0, Some(3.0)), (4.0, Some(1.5))]
    );
}

#[test]
fn what_a_chart_shows_is_said_below_it() {
    let page = page_of(fixtures::input(12), &fixtures::streamed(0..12));
    assert!(page.contains("are spread evenly from its first to its last output"));
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = page_of(fixtures::input(12), &fixtures::streamed(0..12));
    for attribute in [
        "src=", "href=", "url(", "@import", "srcset=", "action=", "<link", "<base",
    ] {
        assert!(!page.contains(attribute), "{attribute}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(
        page.contains("http://localhost:8000"),
        "the target is named, as text"
    );
}

#[test]
fn hostile_words_stay_words() {
    let mut outcomes = fixtures::streamed(0..5);
    outcomes[1] = fixtures::refused(1);
    outcomes[1].error = Some(HOSTILE.to_owned());
    let mut input = fixtures::input(5);
    input.name = HOSTILE.to_owned();
    input.started_at = HOSTILE.to_owned();
    input.spec = serde_json::json!({ HOSTILE: HOSTILE });
    input.provenance.dataset.reference = HOSTILE.to_owned();
    input.provenance.target.urls = vec![HOSTILE.to_owned()];
    input.warnings = vec![Warning {
        code: HOSTILE.to_owned(),
        message: HOSTILE.to_owned(),
    }];
    input.ended_by = EndedBy::Abort {
        message: HOSTILE.to_owned(),
    };
    let page = page_of(input, &outcomes);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("<img"));
    assert!(!page.contains("\"><img"));
    assert!(page.matches("&lt;script&gt;").count() >= 9);
}

#[test]
fn several_workers_are_listed_and_one_process_is_not() {
    let outcomes = fixtures::by_workers(fixtures::streamed(0..20), 2);
    let mut workers = fixtures::workers(20, 2);
    workers.chosen_by = HOSTILE.to_owned();
    workers.on_loss = crate::OnLoss::Degrade;
    workers.parts[1].lost = Some(crate::Loss {
        at_ns: Some(1_000_000_000),
        unknown: 0,
        not_sent: 3,
    });
    let input = Input {
        workers: Some(workers),
        ..fixtures::input(20)
    };
    let page = page_of(input, &outcomes);
    for shown in [
        "<h2>Workers</h2>",
        "Succeeded, degraded",
        "1, lost: 0 unknown, 3 not sent",
        "10 to 10 requests each",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains(HOSTILE));
    assert!(!page_of(fixtures::input(20), &fixtures::streamed(0..20)).contains("<h2>Workers</h2>"));
}
