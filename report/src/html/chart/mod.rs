//! A chart as inline SVG: axes, lines, a limit, and the data that the pointer shows.

mod scale;

use std::fmt::Write;

use maud::{Markup, html};

use self::scale::VALUE_STEPS;
pub(super) use self::scale::{Scale, TIME_STEPS, label};

/// The drawing's size, in its own units; the page scales it.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 468.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 208.0;

/// A chart.
pub(super) struct Chart {
    /// What it shows, in a few words.
    pub(super) title: &'static str,
    /// What it shows, in a sentence.
    pub(super) about: String,
    /// The horizontal axis.
    pub(super) x: XAxis,
    /// The vertical axis.
    pub(super) y: Scale,
    /// The unit of the vertical axis.
    pub(super) unit: &'static str,
    /// What is drawn, the line that counts last and so on top.
    pub(super) lines: Vec<Line>,
    /// A limit, and its name.
    pub(super) limit: Option<(f64, String)>,
    /// Up to here on the horizontal axis it is warm-up.
    pub(super) warmup_until: Option<f64>,
}

/// A horizontal axis.
#[derive(Clone, Debug)]
pub(super) struct XAxis {
    /// Its name, with its unit.
    pub(super) label: String,
    /// From values to places.
    pub(super) scale: Scale,
    /// Values and what to write there.
    pub(super) ticks: Vec<(f64, String)>,
    /// What a place stands for.
    pub(super) kind: XKind,
}

/// What a place on the horizontal axis stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum XKind {
    /// Time, in this unit.
    Time(&'static str),
    /// A percentile p, placed at -log10(1 - p).
    Percentile,
}

/// One line of a chart.
pub(super) struct Line {
    /// What it is.
    pub(super) label: &'static str,
    /// Its colour.
    pub(super) tone: Tone,
    /// How it is drawn.
    pub(super) shape: Shape,
    /// Its points; a missing value leaves a hole.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

/// A colour of the page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tone {
    /// What was measured.
    First,
    /// What it is compared with.
    Second,
    /// What went wrong.
    Bad,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
            Self::Bad => "bad",
        }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// From point to point.
    Line,
    /// A value holds from its point on for this long.
    Steps(f64),
    /// The same, filled down to the axis.
    Area(f64),
}

impl Chart {
    pub(super) fn render(&self) -> Markup {
        html! {
            figure.chart data-chart=(self.pointer_data()) {
                figcaption {
                    strong { (self.title) }
                    @if self.lines.len() > 1 {
                        span.legend { @for line in self.lines.iter().rev() { span.(line.tone.class()) { (line.label) } } }
                    }
                }
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.title) {
                    (self.warmup())
                    (self.grid())
                    @for line in &self.lines { (self.line(line)) }
                    (self.limit())
                }
                p.about { (self.about) }
            }
        }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.scale.place(value) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - self.y.place(value) * (BOTTOM - TOP)
    }

    fn grid(&self) -> Markup {
        let unit = if self.y.is_log() {
            format!("{} (log)", self.unit)
        } else {
            self.unit.to_owned()
        };
        html! {
            @for tick in self.y.ticks(VALUE_STEPS) {
                line.grid x1=(LEFT) x2=(RIGHT) y1=(short(self.y(tick))) y2=(short(self.y(tick))) {}
                text.tick x=(LEFT - 7.0) y=(short(self.y(tick) + 4.0)) text-anchor="end" { (label(tick)) }
            }
            line.axis x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
            @for (tick, text) in &self.x.ticks {
                line.axis x1=(short(self.x(*tick))) x2=(short(self.x(*tick))) y1=(BOTTOM) y2=(BOTTOM + 4.0) {}
                text.tick x=(short(self.x(*tick))) y=(BOTTOM + 18.0) text-anchor=(self.anchor(*tick)) { (text) }
            }
            text.unit x="0" y="14" { (unit) }
            text.unit x=(RIGHT) y=(HEIGHT - 6.0) text-anchor="end" { (self.x.label) }
        }
    }

    /// A label at the right edge would be cut if it stood in the middle of its tick.
    fn anchor(&self, tick: f64) -> &'static str {
        if self.x(tick) > RIGHT - 24.0 {
            "end"
        } else {
            "middle"
        }
    }

    fn warmup(&self) -> Markup {
        let width = self.warmup_until.map_or(0.0, |until| self.x(until) - LEFT);
        html! {
            @if width >= 1.0 {
                rect.warmup x=(LEFT) y=(TOP) width=(short(width)) height=(BOTTOM - TOP) {}
                @if width >= 60.0 { text.note x=(LEFT + 5.0) y=(TOP + 13.0) { "warm-up" } }
            }
        }
    }

    fn limit(&self) -> Markup {
        html! {
            @if let Some((value, name)) = &self.limit {
                @let y = self.y(*value);
                line.limit x1=(LEFT) x2=(RIGHT) y1=(short(y)) y2=(short(y)) {}
                text.note x=(RIGHT) y=(short(y - 5.0)) text-anchor="end" { (name) }
            }
        }
    }

    fn line(&self, line: &Line) -> Markup {
        let tone = line.tone.class();
        html! {
            @if let Shape::Area(width) = line.shape {
                path.area.(tone) d=(self.area(&line.points, width)) {}
            }
            path.line.(tone) d=(self.outline(line)) {}
        }
    }

    fn outline(&self, line: &Line) -> String {
        let mut path = Path::default();
        for &(x, value) in &line.points {
            let Some(value) = value else {
                path.lift();
                continue;
            };
            path.to(self.x(x), self.y(value));
            if let Shape::Steps(width) | Shape::Area(width) = line.shape {
                path.to(self.x(x + width), self.y(value));
            }
        }
        path.commands
    }

    fn area(&self, points: &[(f64, Option<f64>)], width: f64) -> String {
        let mut path = Path::default();
        let ends = points.first().zip(points.last());
        let Some((&(first, _), &(last, _))) = ends else {
            return path.commands;
        };
        path.to(self.x(first), BOTTOM);
        for &(x, value) in points {
            let y = value.map_or(BOTTOM, |value| self.y(value));
            path.to(self.x(x), y);
            path.to(self.x(x + width), y);
        }
        path.to(self.x(last + width), BOTTOM);
        path.commands + "Z"
    }

    /// What the script needs to show the values under the pointer.
    fn pointer_data(&self) -> String {
        let lines: Vec<_> = self.lines.iter().map(|line| self.pointer_line(line)).collect();
        let (kind, unit) = match self.x.kind {
            XKind::Time(unit) => ("time", unit),
            XKind::Percentile => ("percentile", ""),
        };
        let (low, high) = self.x.scale.ends();
        serde_json::json!({
            "unit": self.unit,
            "x": {"kind": kind, "unit": unit, "left": LEFT, "right": RIGHT, "low": low, "high": high},
            "top": TOP,
            "bottom": BOTTOM,
            "lines": lines,
        })
        .to_string()
    }

    fn pointer_line(&self, line: &Line) -> serde_json::Value {
        let offset = match line.shape {
            Shape::Line => 0.0,
            Shape::Steps(width) | Shape::Area(width) => width / 2.0,
        };
        let points = line.points.iter().filter_map(|&(x, value)| {
            let value = value?;
            Some((
                tenth(self.x(x + offset)),
                tenth(self.y(value)),
                significant(value),
            ))
        });
        serde_json::json!({
            "label": line.label,
            "tone": line.tone.class(),
            "points": points.collect::<Vec<_>>(),
        })
    }
}

/// An SVG path of straight lines.
#[derive(Debug, Default)]
struct Path {
    commands: String,
    down: bool,
}

impl Path {
    /// Draws to a point, or starts there.
    fn to(&mut self, x: f64, y: f64) {
        let (x, y) = (short(x), short(y));
        // A start alone draws nothing; the tiny stroke makes it a dot.
        let written = if self.down {
            write!(self.commands, "L{x} {y}")
        } else {
            write!(self.commands, "M{x} {y}h.1")
        };
        debug_assert!(written.is_ok(), "a string takes every write");
        self.down = true;
    }

    /// Leaves a hole before the next point.
    fn lift(&mut self) {
        self.down = false;
    }
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A place, to a tenth of a unit.
fn short(value: f64) -> String {
    tenth(value).to_string()
}

/// A value to four digits that count.
fn significant(value: f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let factor = 10_f64.powf(3.0 - value.abs().log10().floor());
    (value * factor).round() / factor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(shape: Shape, points: Vec<(f64, Option<f64>)>) -> Chart {
        Chart {
            title: "Lag",
            about: "How late requests went.".to_owned(),
            x: XAxis {
                label: "s".to_owned(),
                scale: Scale::Linear { low: 0.0, high: 4.0 },
                ticks: vec![(0.0, "0".to_owned()), (4.0, "4".to_owned())],
                kind: XKind::Time("s"),
            },
            y: Scale::from_zero(2.0),
            unit: "ms",
            lines: vec![Line {
                label: "lag",
                tone: Tone::First,
                shape,
                points,
            }],
            limit: None,
            warmup_until: None,
        }
    }

    #[test]
    fn a_missing_value_leaves_a_hole() {
        let chart = chart(
            Shape::Line,
            vec![(0.0, Some(0.0)), (1.0, Some(2.0)), (2.0, None), (4.0, Some(1.0))],
        );
        assert_eq!(chart.outline(&chart.lines[0]), "M50 208h.1L154.5 30M468 119h.1");
    }

    #[test]
    fn an_area_is_closed_on_the_axis() {
        let chart = chart(Shape::Area(2.0), vec![(0.0, Some(2.0)), (2.0, None)]);
        assert_eq!(
            chart.area(&chart.lines[0].points, 2.0),
            "M50 208h.1L50 30L259 30L259 208L468 208L468 208Z"
        );
    }

    #[test]
    fn no_point_draws_nothing() {
        let chart = chart(Shape::Area(1.0), vec![]);
        assert_eq!(chart.area(&[], 1.0), "");
        assert!(chart.render().into_string().contains("<svg"));
    }

    #[test]
    fn values_keep_four_digits() {
        let values = [0.0, 0.012_345_6, 2.345_678, 23_456.7].map(significant);
        assert_eq!(
            serde_json::json!(values).to_string(),
            "[0.0,0.01235,2.346,23460.0]"
        );
    }
}
