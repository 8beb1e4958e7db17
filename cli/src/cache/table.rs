//! The cache, for the terminal: plain text of at most 100 columns.

use comfy_table::{Cell, CellAlignment};
use jiff::Timestamp;
use reprise_report::columns;
use reprise_report::numbers::counted;
use reprise_source::{
    ByteSize, CachedContent, CachedFile, CachedPartial, Faulty, HubCacheUsage, Pruned, Verified,
};

use super::Listed;

/// The widest a table gets: wider lines are hard to follow.
const WIDEST: u16 = 100;

/// What `reprise cache ls` shows.
pub(super) fn listed(listed: &Listed<'_>, width: u16) -> String {
    let limit = match listed.limit {
        Some(limit) => format!("at most {} stay", ByteSize(limit)),
        None => "no size limit".to_owned(),
    };
    let contents = counted(listed.listing.contents.len() as u64, "content", "contents");
    let headline = format!(
        "{}: {contents}, {}, {limit}",
        listed.folder.display(),
        ByteSize(listed.bytes)
    );
    let rows = rows(&listed.listing.contents, &listed.listing.partials);
    let hub = listed.hugging_face.as_ref().map(hugging_face);
    let sections = [Some(headline), table(rows, width), hub];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
}

fn hugging_face(HubCacheUsage { folder, bytes }: &HubCacheUsage) -> String {
    format!(
        "Files of hf:// are in the Hugging Face cache, which other tools use too: {}, {}",
        folder.display(),
        ByteSize(*bytes)
    )
}

/// What `reprise cache prune` did.
pub(super) fn pruned(pruned: &Pruned, width: u16) -> String {
    removal("Removed", pruned, width)
}

/// What `reprise cache prune` would do.
pub(super) fn prunable(pruned: &Pruned, width: u16) -> String {
    removal("Would remove", pruned, width)
}

fn removal(removed: &str, pruned: &Pruned, width: u16) -> String {
    let Pruned {
        contents,
        partials,
        bytes,
        bytes_in_use,
    } = pruned;
    let summary = format!(
        "{removed} {} and {}, {}.",
        counted(contents.len() as u64, "content", "contents"),
        counted(partials.len() as u64, "partial file", "partial files"),
        ByteSize(*bytes)
    );
    let in_use = (*bytes_in_use > 0).then(|| format!("{} stay, which are in use.", ByteSize(*bytes_in_use)));
    let summary = [Some(summary), in_use]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let sections = [table(rows(contents, partials), width), Some(summary)];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
}

/// What `reprise cache verify` found.
pub(super) fn verified(verified: &Verified, width: u16) -> String {
    let Verified {
        contents,
        bytes,
        damaged,
        orphans,
        missing,
    } = verified;
    let summary = format!(
        "Read {}, {}: {} damaged, {} without a file, {} missing.",
        counted(*contents, "content", "contents"),
        ByteSize(*bytes),
        damaged.len(),
        orphans.len(),
        missing
    );
    let faults = [("damaged", damaged), ("without a file", orphans)];
    let rows = faults
        .into_iter()
        .flat_map(|(fault, faulty)| faulty.iter().flat_map(move |faulty| fault_rows(fault, faulty)));
    let sections = [table(rows.collect(), width), Some(summary)];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
}

/// One line: a file, its version, its size, and when it was used.
type Row = [String; 4];

fn table(rows: Vec<Row>, width: u16) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let mut table = columns::table(width.min(WIDEST));
    table.set_header(["File", "Version", "Size", "Used (UTC)"]);
    for [file, version, size, used] in rows {
        let size = Cell::new(size).set_alignment(CellAlignment::Right);
        table.add_row([Cell::new(file), Cell::new(version), size, Cell::new(used)]);
    }
    Some(columns::text(table))
}

fn rows(contents: &[CachedContent], partials: &[CachedPartial]) -> Vec<Row> {
    let contents = contents.iter().flat_map(content_rows);
    contents.chain(partials.iter().map(partial_row)).collect()
}

/// A line a file; only the first one has the size, since they share it.
fn content_rows(content: &CachedContent) -> Vec<Row> {
    let used = time(content.used, content.is_in_use);
    let size = ByteSize(content.bytes).to_string();
    let mut rows: Vec<_> = content
        .files
        .iter()
        .map(|file| {
            let CachedFile {
                place, name, version, ..
            } = file;
            let version = version.as_deref().unwrap_or("none told");
            [
                file_name(place, name),
                version.to_owned(),
                "same".to_owned(),
                used.clone(),
            ]
        })
        .collect();
    match rows.first_mut() {
        Some([_, _, first, _]) => *first = size,
        None => rows.push([format!("content {}", content.sha256), String::new(), size, used]),
    }
    rows
}

fn partial_row(partial: &CachedPartial) -> Row {
    let file = match (&partial.place, &partial.name) {
        (Some(place), Some(name)) => file_name(place, name),
        _ => "not known: its process is gone".to_owned(),
    };
    [
        file,
        "partial".to_owned(),
        ByteSize(partial.bytes).to_string(),
        time(partial.written, partial.is_in_use),
    ]
}

fn fault_rows(fault: &str, faulty: &Faulty) -> Vec<Row> {
    let state = if faulty.is_removed {
        "removed"
    } else {
        "not removed"
    };
    let rows = content_rows(&faulty.content).into_iter();
    rows.map(|[file, version, size, used]| {
        let version = if version.is_empty() {
            version
        } else {
            version + ", "
        };
        [file, format!("{version}{fault}, {state}"), size, used]
    })
    .collect()
}

/// A file beside or below the place says its own name too.
fn file_name(place: &str, name: &str) -> String {
    let path = place.split(['?', ' ']).next().unwrap_or(place);
    if path.ends_with(name) {
        place.to_owned()
    } else {
        format!("{place}: {name}")
    }
}

fn time(used: Timestamp, is_in_use: Option<bool>) -> String {
    let time = used.strftime("%Y-%m-%d %H:%M");
    match is_in_use {
        Some(true) => format!("{time}, in use"),
        Some(false) | None => time.to_string(),
    }
}
