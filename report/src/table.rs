//! A summary for the terminal: plain text of 60 to 100 columns.

mod workers;

use comfy_table::{Cell, CellAlignment};
use reprise_contract::Summary;
use reprise_contract::summary::{Distribution, Lag, Metrics, SloResult, Throughput};

use crate::columns::{table, text};
use crate::numbers::{count, duration, number, percent, whole};
use crate::words::{self, MAIN_LATENCIES, OTHER_LATENCIES, limits};

/// The widest a table gets: wider lines are hard to follow.
const WIDEST: u16 = 100;

/// Renders the summary, `width` columns wide, but no less than 60 and no more than 100.
#[must_use]
pub fn render(summary: &Summary, width: u16) -> String {
    let width = width.min(WIDEST);
    let sections = [
        Some(headline(summary, width)),
        summary
            .metrics
            .as_ref()
            .and_then(|metrics| latencies(metrics, width)),
        Some(facts(summary, width)),
        workers::workers(summary, width),
        failures(summary, width),
        warnings(summary, width),
        summary
            .metrics
            .as_ref()
            .map(|_| list([("Percentiles", summary.percentile_method.clone())], width)),
    ];
    let sections: Vec<_> = sections
        .into_iter()
        .flatten()
        .filter(|section| !section.is_empty())
        .collect();
    sections.join("\n\n") + "\n"
}

fn headline(summary: &Summary, width: u16) -> String {
    let counts = &summary.counts;
    let endings = words::endings(counts)
        .into_iter()
        .map(|(word, number)| format!("{} {word}", count(number)));
    let mut lines = vec![
        format!(
            "{}: {}",
            summary.name,
            words::ending(summary.verdict, summary.degraded)
        ),
        format!(
            "{} measured requests: {}",
            count(counts.measured),
            endings.collect::<Vec<_>>().join(", ")
        ),
    ];
    lines.extend(summary.message.clone());
    let mut table = table(width);
    table.add_rows(lines.into_iter().map(|line| [line]));
    text(table)
}

fn latencies(metrics: &Metrics, width: u16) -> Option<String> {
    let rows: Vec<_> = MAIN_LATENCIES
        .iter()
        .chain(&OTHER_LATENCIES)
        .filter_map(|latency| Some((latency.label, (latency.of)(metrics)?)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mut table = table(width);
    table.set_header(heading([
        "Latency in ms",
        "mean",
        "p50",
        "p90",
        "p99",
        "max",
        "values",
    ]));
    for (label, distribution) in rows {
        let Distribution {
            mean,
            max,
            percentiles,
            ..
        } = distribution;
        let numbers = [*mean, percentiles.p50, percentiles.p90, percentiles.p99, *max].map(number);
        let numbers = numbers.into_iter().chain([count(distribution.count)]);
        table.add_row(std::iter::once(Cell::new(label)).chain(numbers.map(right)));
    }
    Some(text(table))
}

fn facts(summary: &Summary, width: u16) -> String {
    let facts = [
        summary
            .throughput
            .as_ref()
            .map(|throughput| ("Throughput", throughput_line(throughput))),
        summary
            .throughput
            .as_ref()
            .map(|throughput| ("Span", span_line(throughput))),
        summary
            .metrics
            .as_ref()
            .and_then(tokens_line)
            .map(|line| ("Tokens", line)),
        summary.lag.as_ref().map(|lag| ("Lag", lag_line(lag))),
        summary.slo.as_ref().map(|slo| ("Goodput", slo_line(slo))),
        summary
            .split
            .as_ref()
            .map(|split| ("Workers", words::split(split))),
        summary
            .clock_error
            .as_ref()
            .map(|error| ("Clocks", words::clock_error(error))),
        (summary.counts.warmup > 0).then(|| {
            (
                "Warm-up",
                format!(
                    "{} requests; of the above they are only in lag and in flight",
                    count(summary.counts.warmup)
                ),
            )
        }),
    ];
    list(facts.into_iter().flatten(), width)
}

fn throughput_line(throughput: &Throughput) -> String {
    format!(
        "{} requests/s, {} output tokens/s, {} input tokens/s, at most {} in flight",
        number(throughput.requests_per_second),
        number(throughput.output_tokens_per_second),
        number(throughput.input_tokens_per_second),
        count(throughput.peak_in_flight),
    )
}

fn span_line(throughput: &Throughput) -> String {
    format!(
        "{} from the first sending to the last end, {} to the last sending",
        duration(throughput.span_s),
        duration(throughput.sending_span_s)
    )
}

fn tokens_line(metrics: &Metrics) -> Option<String> {
    let side =
        |name: &str, tokens: &Option<Distribution>, sources: &std::collections::BTreeMap<String, u64>| {
            let tokens = tokens.as_ref()?;
            let sources: Vec<_> = sources.keys().map(String::as_str).collect();
            Some(format!(
                "{name} mean {}, p50 {}, max {} ({})",
                number(tokens.mean),
                whole(tokens.percentiles.p50),
                whole(tokens.max),
                sources.join(", ")
            ))
        };
    let sides = [
        side("input", &metrics.input_tokens, &metrics.input_token_sources),
        side("output", &metrics.output_tokens, &metrics.output_token_sources),
        metrics
            .cached_input_share
            .map(|share| format!("{} of the input from cache", percent(share))),
    ];
    let sides: Vec<_> = sides.into_iter().flatten().collect();
    (!sides.is_empty()).then(|| sides.join("; "))
}

fn lag_line(lag: &Lag) -> String {
    format!(
        "p50 {} ms, p90 {} ms, p99 {} ms, max {} ms; {} of {} later than {} ms",
        number(lag.p50_ms),
        number(lag.p90_ms),
        number(lag.p99_ms),
        number(lag.max_ms),
        count(lag.late),
        count(lag.count),
        lag.threshold_ms,
    )
}

fn slo_line(slo: &SloResult) -> String {
    format!(
        "{} of requests ({}) within {}: {} requests/s",
        percent(slo.good_share),
        count(slo.good),
        limits(slo),
        number(slo.goodput_per_second),
    )
}

fn failures(summary: &Summary, width: u16) -> Option<String> {
    let counts = &summary.counts;
    if counts.failures.is_empty() && counts.not_sent_by_reason.is_empty() {
        return None;
    }
    let mut table = table(width);
    let (cause, requests, example) = ("Not completed", right("requests".to_owned()), "example");
    table.set_header([Cell::new(cause), requests, Cell::new(example)]);
    for (cause, failure) in &counts.failures {
        table.add_row([
            Cell::new(format!("failed: {cause}")),
            right(count(failure.count)),
            Cell::new(&failure.example),
        ]);
    }
    for (reason, &number) in &counts.not_sent_by_reason {
        table.add_row([
            Cell::new(format!("not sent: {reason}")),
            right(count(number)),
            Cell::new(""),
        ]);
    }
    Some(text(table))
}

fn warnings(summary: &Summary, width: u16) -> Option<String> {
    if summary.warnings.is_empty() {
        return None;
    }
    let warnings = summary
        .warnings
        .iter()
        .map(|warning| ("Warning", format!("{}: {}", warning.code, warning.message)));
    Some(list(warnings, width))
}

fn list(rows: impl IntoIterator<Item = (&'static str, String)>, width: u16) -> String {
    let mut table = table(width);
    table.add_rows(rows.into_iter().map(|(label, text)| [label.to_owned(), text]));
    text(table)
}

fn heading<const N: usize>(labels: [&str; N]) -> Vec<Cell> {
    let (label, numbers) = labels
        .split_first()
        .map_or(("", &[][..]), |(label, rest)| (*label, rest));
    std::iter::once(Cell::new(label))
        .chain(numbers.iter().map(|label| right((*label).to_owned())))
        .collect()
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

#[cfg(test)]
mod tests {
    use reprise_contract::outcome::Times;
    use reprise_contract::summary::Warning;
    use reprise_contract::{Ending, NotSentReason, Outcome, Phase};

    use super::*;
    use crate::analysis::{EndedBy, Input, Loss, OnLoss};
    use crate::fixtures;

    fn summary(input: Input, outcomes: &[Outcome]) -> Summary {
        fixtures::summary(input, outcomes)
    }

    #[test]
    fn a_good_run() {
        let mut outcomes = fixtures::streamed(0..240);
        outcomes[..10]
            .iter_mut()
            .for_each(|outcome| outcome.phase = Phase::Warmup);
        insta::assert_snapshot!(render(&summary(fixtures::input(240), &outcomes), 100));
    }

    #[test]
    fn a_failed_run() {
        let outcomes: Vec<_> = (0..40).map(fixtures::refused).collect();
        insta::assert_snapshot!(render(&summary(fixtures::input(40), &outcomes), 100));
    }

    #[test]
    fn a_cancelled_run() {
        let mut outcomes = fixtures::streamed(0..30);
        outcomes[9] = fixtures::cut(9);
        outcomes[19].ending = Ending::Cancelled;
        for outcome in &mut outcomes[20..] {
            outcome.ending = Ending::NotSent(NotSentReason::RunCancelled);
            outcome.times = Times {
                recorded: outcome.times.recorded,
                ..Times::default()
            };
        }
        let warnings = vec![Warning {
            code: "ModelUnused".to_owned(),
            message: "target.model is given, but every record brings its own body.".to_owned(),
        }];
        let input = Input {
            ended_by: EndedBy::Cancel,
            warnings,
            ..fixtures::input(30)
        };
        insta::assert_snapshot!(render(&summary(input, &outcomes), 100));
    }

    #[test]
    fn a_degraded_run_of_several_workers() {
        let outcomes = fixtures::by_workers(fixtures::streamed(0..240), 3);
        let mut workers = fixtures::workers(240, 3);
        workers.on_loss = OnLoss::Degrade;
        workers.parts[1].lost = Some(Loss {
            at_ns: Some(20_000_000_000),
            unknown: 10,
            not_sent: 0,
        });
        let is_unknown = |outcome: &Outcome| outcome.worker == 1 && outcome.request >= 210;
        let outcomes: Vec<_> = outcomes
            .into_iter()
            .filter(|outcome| !is_unknown(outcome))
            .collect();
        let input = Input {
            workers: Some(workers),
            ..fixtures::input(240)
        };
        insta::assert_snapshot!(render(&summary(input, &outcomes), 100));
    }

    #[test]
    fn of_many_workers_the_latest_are_shown() {
        let mut outcomes = fixtures::by_workers(fixtures::streamed(0..240), 40);
        for outcome in outcomes.iter_mut().filter(|outcome| outcome.worker == 33) {
            outcome.times.sent = outcome.times.due.map(|due| due + 9_000_000);
        }
        let input = Input {
            workers: Some(fixtures::workers(240, 40)),
            ..fixtures::input(240)
        };
        let rendered = render(&summary(input, &outcomes), 100);
        let mut lines = rendered.lines().map(str::trim_start);
        lines.find(|line| line.starts_with("Latest workers"));
        let first = lines.nth(1).unwrap();
        assert!(first.starts_with("33 "), "{rendered}");
        assert_eq!(lines.take_while(|line| !line.is_empty()).count(), 15);
    }

    #[test]
    fn a_terminal_of_no_width_gets_the_narrowest_table() {
        let summary = summary(fixtures::input(12), &fixtures::streamed(0..12));
        let narrowest = render(&summary, 60);
        assert!(
            narrowest.lines().all(|line| line.chars().count() <= 60),
            "{narrowest}"
        );
        for width in [0, 1, 20, 59] {
            assert_eq!(render(&summary, width), narrowest);
        }
    }

    #[test]
    fn a_run_without_streaming_on_a_narrow_terminal() {
        let outcomes: Vec<_> = (0..120).map(fixtures::unstreamed).collect();
        let rendered = render(&summary(fixtures::input(120), &outcomes), 72);
        assert!(
            rendered.lines().all(|line| line.chars().count() <= 72),
            "{rendered}"
        );
        insta::assert_snapshot!(rendered);
    }
}
