//! `reprise pin`: which version of a trace there is, and how to run exactly that again.

use jiff::{SignedDuration, Timestamp};
use reprise_contract::summary::{DatasetFile, Pin};
use reprise_dataset_manager::prepare::{Checked, Waiting, pin_of};
use reprise_report::columns::{table, text};
use reprise_report::numbers::{count, counted, duration};
use serde::Serialize;

use crate::args::PinArguments;
use crate::dataset::dataset;
use crate::exit::{Done, Failure};
use crate::interrupt::Interrupt;
use crate::output::{print, print_json};
use crate::progress::Shown;
use crate::terminal;

/// What is known of a trace before it is fetched.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<Pin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    /// In the order of reading.
    files: Vec<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<DatasetFile>,
    /// When a presigned URL stops working.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct File {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// Checks access, and says what was found.
pub(crate) fn pin(arguments: &PinArguments) -> Result<Done, Failure> {
    let dataset = dataset(&arguments.dataset)?;
    let interrupt = Interrupt::listen()?;
    let shown = Shown::default();
    let waiting = Waiting::new(interrupt.cancel(), &shown).map_err(Failure::preparing)?;
    let checked = Checked::new(&dataset, None, &waiting).map_err(Failure::preparing)?;
    let found = found(&checked);
    if arguments.json {
        print_json(&found)?;
    } else {
        print(&render(
            &found,
            Timestamp::now(),
            terminal::width().unwrap_or(u16::MAX),
        ))?;
    }
    Ok(Done::Shown)
}

fn found(checked: &Checked) -> Found {
    let pinned = &checked.pinned;
    let files = pinned.files().map(|file| File {
        name: file.name.to_owned(),
        bytes: file.bytes,
    });
    Found {
        reference: pinned.reference().to_string(),
        pin: pin_of(pinned),
        format: pinned.format().map(ToOwned::to_owned),
        files: files.collect(),
        bytes: pinned.bytes(),
        manifest: checked.manifest(),
        expires: pinned.reference().expiry(),
        warnings: pinned.warnings().iter().map(ToString::to_string).collect(),
    }
}

fn render(found: &Found, now: Timestamp, width: u16) -> String {
    let Found {
        reference,
        pin,
        format,
        files,
        bytes,
        manifest,
        expires,
        warnings,
    } = found;
    let version = pin.as_ref().and_then(|pin| pin.version.as_ref());
    let canonical = pin.as_ref().and_then(|pin| pin.canonical.as_ref());
    let size = bytes.map_or_else(String::new, |bytes| format!(", {} bytes", count(bytes)));
    let mut rows = table(width);
    rows.add_row(["Reference", reference]);
    rows.add_row(["Version", version.map_or("none", String::as_str)]);
    rows.add_row([
        "Files".to_owned(),
        counted(files.len() as u64, "file", "files") + &size,
    ]);
    if let [only] = files.as_slice() {
        rows.add_row(["", &only.name]);
    }
    if let Some(manifest) = manifest {
        rows.add_row([
            "Manifest".to_owned(),
            format!("{}, SHA-256 {}", manifest.name, manifest.sha256),
        ]);
    }
    if let Some(format) = format {
        rows.add_row(["Format", format]);
    }
    if let Some(expiry) = expires {
        rows.add_row(["Expires".to_owned(), format!("{expiry}, {}", left(*expiry, now))]);
    }
    for warning in warnings {
        rows.add_row(["Warning", warning]);
    }
    text(rows) + &again(reference, version, canonical)
}

/// How long a presigned URL still lives.
fn left(expiry: Timestamp, now: Timestamp) -> String {
    let left = expiry.duration_since(now);
    if left <= SignedDuration::ZERO {
        "and so not any more".to_owned()
    } else {
        format!("in {}", duration(left.as_secs_f64()))
    }
}

/// What a spec says to run exactly this again.
fn again(reference: &str, version: Option<&String>, canonical: Option<&String>) -> String {
    match (canonical, version) {
        (Some(canonical), _) => {
            format!("\n\nTo run exactly this again:\n\n  dataset:\n    source: {canonical}\n")
        }
        (None, Some(version)) => format!(
            "\n\nTo run exactly this again, or be told that it changed:\n\n  dataset:\n    source: {reference}\n    \
             version: '{}'\n",
            version.replace('\'', "''")
        ),
        (None, None) => "\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_presigned_url_has_left_is_told() {
        let expiry: Timestamp = "2026-08-01T12:00:00Z".parse().unwrap();
        let at = |text: &str| left(expiry, text.parse().unwrap());
        assert_eq!(at("2026-08-01T11:30:00Z"), format!("in {}", duration(1800.0)));
        assert_eq!(at("2026-08-01T12:00:00Z"), "and so not any more");
    }
}
