//! What is in a trace, for the terminal: plain text of at most 100 columns.

use comfy_table::{Cell, CellAlignment};
use reprise_dataset::inspection::{
    Arrivals, Bodies, Distribution, Inspection, Models, Sessions, Sharing, Streaming,
};

use super::{Inspected, chart};
use reprise_report::columns::{table, text};
use reprise_report::numbers::{count, counted, duration, number, percent};

/// The widest a table gets: wider lines are hard to follow.
const WIDEST: u16 = 100;

/// Renders what was found, `width` columns wide but never more than 100.
pub(super) fn render(inspected: &Inspected, width: u16) -> String {
    let width = width.min(WIDEST);
    let inspection = &inspected.inspection;
    let rate = inspection
        .arrivals
        .as_ref()
        .and_then(|arrivals| arrivals.rate.as_ref());
    let sections = [
        Some(headline(inspected, width)),
        Some(facts(inspection, width)),
        tokens(inspection, width),
        rate.map(chart::draw),
        warnings(inspection, width),
    ];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
}

fn headline(inspected: &Inspected, width: u16) -> String {
    let detected = if inspected.is_format_detected {
        ", told by its first record"
    } else {
        ""
    };
    let mut table = table(width);
    table.add_row([format!("{}: {}{detected}", inspected.source, inspected.format)]);
    text(table)
}

fn facts(inspection: &Inspection, width: u16) -> String {
    let arrivals = inspection.arrivals.as_ref();
    let bodies = &inspection.bodies;
    let needs_model =
        || "target.model, since Reprise makes bodies of this trace that name no model".to_owned();
    let rows = [
        Some(("Requests", requests_line(inspection.requests, bodies))),
        Some(("Sessions", sessions_line(&inspection.sessions))),
        Some(("Times", times_line(inspection))),
        totals_line(inspection).map(|line| ("Tokens", line)),
        arrivals.and_then(rate_line).map(|line| ("Load", line)),
        arrivals.map(|arrivals| ("Bursts", bursts_line(arrivals))),
        inspection
            .sharing
            .as_ref()
            .map(|sharing| ("Sharing", sharing_line(sharing, &inspection.sessions))),
        bodies
            .models
            .as_ref()
            .map(|models| ("Models", models_line(models))),
        bodies
            .streaming
            .map(|streaming| ("Streaming", streaming_line(streaming))),
        inspection.needs_target_model.then(|| ("Needs", needs_model())),
    ];
    list(rows.into_iter().flatten(), width)
}

fn requests_line(requests: u32, bodies: &Bodies) -> String {
    let kinds = [
        (
            bodies.prompts_of_lengths,
            "prompts to be made to their recorded length",
        ),
        (bodies.texts, "recorded prompts"),
        (bodies.messages, "recorded conversations"),
        (bodies.recorded_bodies, "whole recorded bodies"),
    ];
    let used: Vec<_> = kinds.into_iter().filter(|(number, _)| *number > 0).collect();
    let kinds = match used.as_slice() {
        [(_, only)] => format!("all {only}"),
        several => {
            let parts = several
                .iter()
                .map(|(number, kind)| format!("{} {kind}", count(*number)));
            parts.collect::<Vec<_>>().join(", ")
        }
    };
    let constrained = match bodies.constrained_decoding {
        0 => String::new(),
        number => format!("; {} decoded by a grammar", count(number)),
    };
    format!("{}, {kinds}{constrained}", count(requests))
}

fn sessions_line(sessions: &Sessions) -> String {
    let number = count(sessions.count);
    match &sessions.turns {
        Some(turns) if turns.max > 1 => format!(
            "{number}, {} of several turns; turns mean {:.2}, p50 {}, p90 {}, p99 {}, max {}",
            count(sessions.with_several_turns),
            turns.mean,
            count(turns.p50),
            count(turns.p90),
            count(turns.p99),
            count(turns.max)
        ),
        _ => format!("{number}, each of one turn"),
    }
}

fn times_line(inspection: &Inspection) -> String {
    let span = inspection.arrivals.as_ref().map(|arrivals| {
        let of_them = if arrivals.timed_requests == inspection.requests {
            String::new()
        } else {
            format!(
                " ({} have a time)",
                counted(arrivals.timed_requests, "request", "requests")
            )
        };
        format!(
            "{} from the first request to the last{of_them}",
            duration(arrivals.span_seconds)
        )
    });
    match (span, inspection.is_timed) {
        (Some(span), true) => span,
        (Some(span), false) => {
            format!("{span}; sessions begin without one, so there is no recorded schedule")
        }
        (None, _) => "none recorded: a replay goes by a rate or a concurrency".to_owned(),
    }
}

fn totals_line(inspection: &Inspection) -> Option<String> {
    let total = |side: &str, tokens: &Option<Distribution>| {
        let total = tokens.as_ref()?.total;
        Some(format!("{} of {side}", count(total)))
    };
    let totals = [
        total("input", &inspection.input_tokens),
        total("output", &inspection.output_tokens),
    ];
    let totals: Vec<_> = totals.into_iter().flatten().collect();
    (!totals.is_empty()).then(|| totals.join(", "))
}

fn rate_line(arrivals: &Arrivals) -> Option<String> {
    let rate = arrivals.rate.as_ref()?;
    let side = |name: &str, tokens: Option<f64>| Some(format!("{} {name} tokens/s", number(tokens?)));
    let means = [
        arrivals
            .mean_requests_per_second
            .map(|mean| format!("{} requests/s", number(mean))),
        side("input", arrivals.mean_input_tokens_per_second),
        side("output", arrivals.mean_output_tokens_per_second),
    ];
    Some(format!(
        "mean {}; peak {} requests/s within {}",
        means.into_iter().flatten().collect::<Vec<_>>().join(", "),
        number(rate.peak_requests_per_second),
        duration(rate.bucket_seconds)
    ))
}

fn bursts_line(arrivals: &Arrivals) -> String {
    let gaps = match (arrivals.gap_p99_seconds, arrivals.gap_max_seconds) {
        (Some(p99), Some(max)) => format!("; gaps p99 {}, max {}", duration(p99), duration(max)),
        _ => String::new(),
    };
    format!(
        "{} at most at one time, {}{gaps}",
        counted(arrivals.max_requests_at_one_time, "request", "requests"),
        counted(arrivals.distinct_timestamps, "distinct time", "distinct times"),
    )
}

fn sharing_line(sharing: &Sharing, sessions: &Sessions) -> String {
    let bound = if sessions.with_several_turns == 0 {
        "; no prefix cache hits more"
    } else {
        "; what later turns repeat of their session comes on top"
    };
    format!(
        "{} of input tokens are in a prefix seen before ({} tokens, at most {} a request){bound}. {} of {} ({}) share \
         their first block. {}",
        percent(sharing.shared_prefix_tokens_ratio),
        count(sharing.shared_prefix_tokens),
        count(sharing.longest_shared_prefix_tokens),
        count(sharing.requests_sharing),
        counted(
            sharing.requests_with_hash_ids,
            "request with hash ids",
            "requests with hash ids"
        ),
        percent(sharing.requests_sharing_ratio),
        counted(sharing.distinct_hash_ids, "distinct hash id", "distinct hash ids"),
    )
}

fn models_line(models: &Models) -> String {
    let named = models
        .most_frequent
        .iter()
        .map(|model| format!("{} ({})", model.name.escape_debug(), count(model.requests)));
    let rest = [
        ("others", models.other_requests),
        ("none named", models.unnamed_requests),
    ];
    let rest = rest
        .into_iter()
        .filter(|(_, requests)| *requests > 0)
        .map(|(what, requests)| format!("{what} ({})", count(requests)));
    named.chain(rest).collect::<Vec<_>>().join(", ")
}

fn streaming_line(streaming: Streaming) -> String {
    let answers = [
        ("asked for", streaming.on),
        ("declined", streaming.off),
        ("not mentioned", streaming.unsaid),
    ];
    let parts = answers
        .into_iter()
        .filter(|(_, bodies)| *bodies > 0)
        .map(|(answer, bodies)| format!("{answer} by {}", count(bodies)));
    parts.collect::<Vec<_>>().join(", ")
}

fn tokens(inspection: &Inspection, width: u16) -> Option<String> {
    let rows = [
        ("Input", &inspection.input_tokens),
        ("Output", &inspection.output_tokens),
    ];
    let known: Vec<_> = rows
        .into_iter()
        .filter_map(|(side, tokens)| Some((side, tokens.as_ref()?)))
        .collect();
    if known.is_empty() {
        return None;
    }
    let numbers = ["count", "min", "mean", "p50", "p90", "p99", "max"];
    let mut table = table(width);
    table.set_header(cells("Tokens a request", numbers.map(str::to_owned)));
    for (side, tokens) in known {
        let Distribution {
            count: requests,
            min,
            mean,
            p50,
            p90,
            p99,
            max,
            total: _,
        } = tokens;
        let [min, p50, p90, p99, max] = [min, p50, p90, p99, max].map(|length| count(*length));
        table.add_row(cells(
            side,
            [count(*requests), min, number(*mean), p50, p90, p99, max],
        ));
    }
    Some(text(table))
}

fn warnings(inspection: &Inspection, width: u16) -> Option<String> {
    let warnings = &inspection.warnings;
    let rows = warnings
        .iter()
        .map(|warning| ("Warning", format!("{}: {}", warning.code, warning.message)));
    (!warnings.is_empty()).then(|| list(rows, width))
}

fn list(rows: impl IntoIterator<Item = (&'static str, String)>, width: u16) -> String {
    let mut table = table(width);
    table.add_rows(rows.into_iter().map(|(label, text)| [label.to_owned(), text]));
    text(table)
}

/// A label, and numbers to the right of it.
fn cells(label: &str, numbers: impl IntoIterator<Item = String>) -> Vec<Cell> {
    let numbers = numbers
        .into_iter()
        .map(|number| Cell::new(number).set_alignment(CellAlignment::Right));
    std::iter::once(Cell::new(label)).chain(numbers).collect()
}
