//! Requests over time, drawn with blocks.

use reprise_dataset::inspection::Rate;

use reprise_report::numbers::{duration, number};

/// Lines that the highest column takes.
const HEIGHT: usize = 4;
/// Columns of the terminal that all columns of the chart take together, at most.
const WIDTH: usize = 60;
/// An eighth of a line to a whole one.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the rate over time. A time with any request has a block, however small.
pub(super) fn draw(rate: &Rate) -> String {
    let peak = rate.requests.iter().copied().max().unwrap_or(0).max(1);
    let levels: Vec<usize> = rate
        .requests
        .iter()
        .map(|requests| level(*requests, peak))
        .collect();
    let column_width = (WIDTH / levels.len().max(1)).max(1);
    let top = number(rate.peak_requests_per_second);
    let margin = top.len();
    let mut lines = vec![format!(
        " Requests/s over time; a column is {}",
        duration(rate.bucket_seconds)
    )];
    for line in (0..HEIGHT).rev() {
        let label = match line {
            0 => "0",
            line if line == HEIGHT - 1 => &top,
            _ => "",
        };
        let blocks: String = levels
            .iter()
            .flat_map(|level| std::iter::repeat_n(block(*level, line), column_width))
            .collect();
        lines.push(format!(" {label:>margin$} │{blocks}").trim_end().to_owned());
    }
    let width = column_width * levels.len();
    let end = duration(rate.bucket_seconds * levels.len() as f64);
    lines.push(format!(" {:margin$} └{}", "", "─".repeat(width)));
    lines.push(format!(
        " {:margin$}  0 s{end:>rest$}",
        "",
        rest = width.saturating_sub(3)
    ));
    lines.join("\n")
}

/// The height of a column in eighths of a line, rounded up.
fn level(requests: u32, peak: u32) -> usize {
    let eighths = (HEIGHT * BLOCKS.len()) as u64;
    let level = (u64::from(requests) * eighths).div_ceil(u64::from(peak));
    usize::try_from(level).unwrap_or(usize::MAX)
}

/// What a column of this height shows on a line, counted from the bottom.
fn block(level: usize, line: usize) -> char {
    match level.saturating_sub(line * BLOCKS.len()) {
        0 => ' ',
        eighths => BLOCKS[eighths.min(BLOCKS.len()) - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(requests: Vec<u32>) -> String {
        let peak = requests.iter().copied().max().unwrap_or(0);
        draw(&Rate {
            bucket_seconds: 60.0,
            peak_requests_per_second: f64::from(peak) / 60.0,
            requests,
        })
    }

    #[test]
    fn columns_are_as_high_as_their_share_of_the_peak() {
        insta::assert_snapshot!(chart((0..60).collect()));
    }

    #[test]
    fn few_columns_are_drawn_wide_and_a_single_request_is_seen() {
        insta::assert_snapshot!(chart(vec![100_000, 0, 1, 50_000]));
    }

    #[test]
    fn the_fullest_chart_fits_its_width() {
        let drawn = chart(vec![u32::MAX; 60]);
        assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    }
}
