//! The charts of a summary.

use reprise_contract::Summary;
use reprise_contract::histogram::bucket_bounds_ns;
use reprise_contract::summary::{Distribution, Metrics, Series};

use super::chart::{Chart, Line, Scale, Shape, TIME_STEPS, Tone, XAxis, XKind, label};

/// The charts of what happened over time; none where no time passed.
pub(super) fn over_time(summary: &Summary) -> Vec<Chart> {
    let series = &summary.series;
    if series.sent.is_empty() {
        return Vec::new();
    }
    let time = Time::of(series);
    let any = |counts: &[u32]| counts.iter().any(|&count| count > 0);
    let any_tokens = series.output_tokens.iter().any(|&tokens| tokens > 0);
    let charts = [
        Some(time.arrivals(series)),
        summary.lag.as_ref().map(|lag| time.lag(series, lag.threshold_ms)),
        any(&series.sent).then(|| time.in_flight(series)),
        Some(time.throughput(series)),
        any_tokens.then(|| time.output_tokens(series)),
        time.medians(series),
    ];
    charts.into_iter().flatten().collect()
}

/// The percentile curves of what was measured.
pub(super) fn percentiles(metrics: &Metrics) -> Vec<Chart> {
    let curves = [
        Curve {
            title: "Time to first token",
            about: "Time to first token by percentile, from sent and from when the schedule wanted the request.",
            unit: Unit::Ms,
            lines: [
                ("from sent", &metrics.ttft_ms),
                ("from schedule", &metrics.ttft_from_schedule_ms),
            ],
        },
        Curve {
            title: "Time per output token",
            about: "Mean time per output token of a request, and the gaps between chunks, by percentile.",
            unit: Unit::Ms,
            lines: [
                ("TPOT", &metrics.tpot_ms),
                ("inter-chunk", &metrics.inter_chunk_latency_ms),
            ],
        },
        Curve {
            title: "Request latency",
            about: "Latency of whole requests by percentile, from sent and from when the schedule wanted the request.",
            unit: Unit::Ms,
            lines: [
                ("from sent", &metrics.request_latency_ms),
                ("from schedule", &metrics.request_latency_from_schedule_ms),
            ],
        },
        Curve {
            title: "Tokens a request",
            about: "Lengths of prompts and answers by percentile.",
            unit: Unit::Tokens,
            lines: [
                ("output", &metrics.output_tokens),
                ("input", &metrics.input_tokens),
            ],
        },
    ];
    curves.iter().filter_map(Curve::chart).collect()
}

/// The time axis that all charts over time share, and how long a slice is on it.
struct Time {
    axis: XAxis,
    /// In the axis' unit.
    slice: f64,
    slice_s: f64,
    warmup_until: Option<f64>,
}

impl Time {
    fn of(series: &Series) -> Self {
        let end_s = series.sent.len() as f64 * series.slice_s;
        let (unit, seconds) = match end_s {
            short if short <= 180.0 => ("s", 1.0),
            medium if medium <= 10_800.0 => ("min", 60.0),
            _ => ("h", 3600.0),
        };
        let scale = Scale::Linear {
            low: 0.0,
            high: end_s / seconds,
        };
        Self {
            axis: XAxis {
                label: format!("time since T0 ({unit})"),
                scale,
                ticks: scale
                    .ticks(TIME_STEPS)
                    .into_iter()
                    .map(|tick| (tick, label(tick)))
                    .collect(),
                kind: XKind::Time(unit),
            },
            slice: series.slice_s / seconds,
            slice_s: series.slice_s,
            warmup_until: series.measured_from_s.map(|from| from / seconds),
        }
    }

    fn arrivals(&self, series: &Series) -> Chart {
        let sent = self.line(
            "sent",
            Tone::First,
            Shape::Steps(self.slice),
            self.rates(&series.sent),
        );
        let recorded = self.line(
            "scheduled",
            Tone::Second,
            Shape::Area(self.slice),
            self.rates(&series.recorded),
        );
        let has_schedule = series.recorded.iter().any(|&count| count > 0);
        let lines = if has_schedule {
            vec![recorded, sent]
        } else {
            vec![sent]
        };
        self.chart(
            "Arrivals",
            "requests/s",
            "Requests that the schedule wanted and requests that were sent, a second.",
            lines,
        )
    }

    fn lag(&self, series: &Series, threshold_ms: f64) -> Chart {
        let lag = self.line(
            "greatest lag",
            Tone::First,
            Shape::Steps(self.slice),
            series.lag_max_ms.iter().copied(),
        );
        let positive = lag
            .points
            .iter()
            .filter_map(|point| point.1)
            .filter(|lag| *lag > 0.0);
        let (least, most) = positive.fold((threshold_ms, threshold_ms), |(least, most), lag| {
            (least.min(lag), most.max(lag))
        });
        let about = "Lag (sent minus due) of the latest request in each slice.";
        let mut chart = self.chart("Lag", "ms", about, vec![lag]);
        if threshold_ms > 0.0 {
            chart.y = Scale::decades(least.max(0.001), most);
            chart.limit = Some((threshold_ms, format!("late: more than {threshold_ms} ms")));
        }
        chart
    }

    fn in_flight(&self, series: &Series) -> Chart {
        let points = series.in_flight.iter().map(|&count| Some(f64::from(count)));
        let line = self.line("in flight", Tone::First, Shape::Area(self.slice), points);
        self.chart(
            "In flight",
            "requests",
            "Requests in flight at the end of each slice.",
            vec![line],
        )
    }

    fn throughput(&self, series: &Series) -> Chart {
        let completed = self.line(
            "completed",
            Tone::First,
            Shape::Steps(self.slice),
            self.rates(&series.completed),
        );
        let failed = self.line(
            "failed",
            Tone::Bad,
            Shape::Steps(self.slice),
            self.rates(&series.failed),
        );
        let any_failed = series.failed.iter().any(|&count| count > 0);
        let lines = if any_failed {
            vec![completed, failed]
        } else {
            vec![completed]
        };
        self.chart(
            "Throughput",
            "requests/s",
            "Requests that were completed and that failed, a second.",
            lines,
        )
    }

    fn output_tokens(&self, series: &Series) -> Chart {
        let points = self.rates(&series.output_tokens);
        let line = self.line("output tokens", Tone::First, Shape::Area(self.slice), points);
        let about = "Output tokens of completed requests, a second. Those of a streamed answer are spread evenly from its first \
                     to its last output; those of any other count at its end.";
        self.chart("Output tokens", "tokens/s", about, vec![line])
    }

    fn medians(&self, series: &Series) -> Option<Chart> {
        let latency = self.line(
            "request latency",
            Tone::Second,
            Shape::Line,
            series.latency_p50_ms.iter().copied(),
        );
        let ttft = self.line(
            "TTFT",
            Tone::First,
            Shape::Line,
            series.ttft_p50_ms.iter().copied(),
        );
        let lines = [latency, ttft]
            .into_iter()
            .filter(|line| line.points.iter().any(|point| point.1.is_some()));
        let lines: Vec<_> = lines.collect();
        let about = "Median latencies of the completed requests that were sent in each slice.";
        (!lines.is_empty()).then(|| self.chart("Median latency", "ms", about, lines))
    }

    fn chart(&self, title: &'static str, unit: &'static str, about: &str, lines: Vec<Line>) -> Chart {
        let values = || {
            lines
                .iter()
                .flat_map(|line| &line.points)
                .filter_map(|point| point.1)
        };
        let y = if unit == "ms" {
            Scale::fitting(values())
        } else {
            Scale::from_zero(values().fold(0.0, f64::max))
        };
        Chart {
            title,
            about: about.to_owned(),
            x: self.axis.clone(),
            y,
            unit,
            lines,
            limit: None,
            warmup_until: self.warmup_until,
        }
    }

    fn line(
        &self,
        label: &'static str,
        tone: Tone,
        shape: Shape,
        values: impl Iterator<Item = Option<f64>>,
    ) -> Line {
        let offset = if shape == Shape::Line { 0.5 } else { 0.0 };
        let points = (0_u32..)
            .zip(values)
            .map(|(slice, value)| ((f64::from(slice) + offset) * self.slice, value));
        Line {
            label,
            tone,
            shape,
            points: points.collect(),
        }
    }

    /// Counts a second of a whole slice, the last one too: the run ends within it, and dividing by what little of it may be
    /// left would make a peak of a few requests.
    fn rates<T: Copy + Into<u64>>(&self, counts: &[T]) -> impl Iterator<Item = Option<f64>> {
        let slice_s = self.slice_s;
        counts
            .iter()
            .map(move |&count| Some(count.into() as f64 / slice_s))
    }
}

/// How far a percentile axis goes, in nines, at the least and at the most.
const FEWEST_NINES: f64 = 2.1;
const MOST_NINES: f64 = 5.2;

/// Percentiles that get a tick, and what is written there.
const PERCENTILE_TICKS: [(f64, &str); 6] = [
    (0.5, "p50"),
    (0.9, "p90"),
    (0.99, "p99"),
    (0.999, "p99.9"),
    (0.999_9, "p99.99"),
    (0.999_99, "p99.999"),
];

/// Distributions by percentile.
struct Curve<'a> {
    title: &'static str,
    about: &'static str,
    unit: Unit,
    /// The one that counts, and the one it is compared with.
    lines: [(&'static str, &'a Option<Distribution>); 2],
}

/// The unit of a distribution, and so of its histogram.
#[derive(Clone, Copy)]
enum Unit {
    /// Milliseconds, of a histogram in nanoseconds.
    Ms,
    /// Tokens.
    Tokens,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Ms => "ms",
            Self::Tokens => "tokens",
        }
    }

    fn shown(self, value: u64) -> f64 {
        match self {
            Self::Ms => value as f64 / 1e6,
            Self::Tokens => value as f64,
        }
    }
}

impl Curve<'_> {
    fn chart(&self) -> Option<Chart> {
        let [first, second] = self.lines;
        // The first line is drawn last, over the one that it is compared with.
        let lines = [self.line(second, Tone::Second), self.line(first, Tone::First)];
        let mut lines: Vec<_> = lines.into_iter().flatten().collect();
        let farthest = lines
            .iter()
            .filter_map(|line| line.points.last())
            .map(|point| point.0);
        let (low, high) = (0.0, farthest.reduce(f64::max)?.clamp(FEWEST_NINES, MOST_NINES));
        for line in &mut lines {
            line.points.retain(|point| point.0 <= high);
        }
        let ticks = PERCENTILE_TICKS.map(|(percentile, text)| (nines(percentile), text.to_owned()));
        Some(Chart {
            title: self.title,
            about: self.about.to_owned(),
            x: XAxis {
                label: "percentile".to_owned(),
                scale: Scale::Linear { low, high },
                ticks: ticks.into_iter().filter(|(place, _)| *place <= high).collect(),
                kind: XKind::Percentile,
            },
            y: Scale::fitting(
                lines
                    .iter()
                    .flat_map(|line| &line.points)
                    .filter_map(|point| point.1),
            ),
            unit: self.unit.name(),
            lines,
            limit: None,
            warmup_until: None,
        })
    }

    fn line(&self, (label, distribution): (&'static str, &Option<Distribution>), tone: Tone) -> Option<Line> {
        let points = curve_points(distribution.as_ref()?, self.unit);
        Some(Line {
            label,
            tone,
            shape: Shape::Line,
            points,
        })
    }
}

/// How many nines a percentile has: 0.9 has one, 0.99 has two.
fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile).log10()
}

/// A point for each bucket of the histogram: the share of values up to its middle one, and its value.
fn curve_points(distribution: &Distribution, unit: Unit) -> Vec<(f64, Option<f64>)> {
    let total = distribution.histogram.count() as f64;
    let mut below = 0;
    let buckets = distribution.histogram.buckets().map(|(bucket, count)| {
        below += count;
        let share = (below as f64 - 0.5) / total;
        let value = unit
            .shown(bucket_bounds_ns(bucket).1)
            .clamp(distribution.min, distribution.max);
        (nines(share), Some(value))
    });
    std::iter::once((0.0, Some(distribution.min)))
        .chain(buckets)
        .collect()
}
