//! From a reference to content that can be sent.

mod input;
mod progress;

use std::collections::BTreeMap;
use std::path::Path;

use reprise_content::store::{Content, Origin, Writer};
use reprise_content::{Body, Piece, corpus};
use reprise_crds::{Dataset, UnknownColumns};
use reprise_dataset::{Facts, Format};
use tempfile::TempDir;

use crate::exit::Failure;
use crate::interrupt::Interrupt;

pub(crate) use input::TraceInput;

/// Content that can be sent, and what is known of where it came from.
pub(crate) struct Prepared {
    pub(crate) content: Content,
    pub(crate) facts: Facts,
    pub(crate) format: Format,
    pub(crate) is_format_detected: bool,
    pub(crate) has_corpus_text: bool,
    pub(crate) source: reprise_source::Provenance,
    /// Holds the content's files; they go with it.
    _folder: TempDir,
}

/// Reads the trace and builds its content inside `folder`.
pub(crate) fn prepare(
    dataset: &Dataset,
    seed: u64,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Prepared, Failure> {
    let input = TraceInput::open(dataset)?;
    let (format, is_format_detected) = (input.format, input.is_format_detected);
    let folder = tempfile::Builder::new().prefix(".content-").tempdir_in(folder)?;
    let mut writer = Writer::create(folder.path()).map_err(anyhow::Error::from)?;
    let mut has_corpus_text = false;
    let (facts, source) = input.read(interrupt, &mut |turn| {
        has_corpus_text |= matches!(
            &turn.body,
            Body::Prompt { pieces, .. } if pieces.iter().any(|piece| matches!(piece, Piece::Corpus { .. }))
        );
        writer.push(&turn)
    })?;
    let origin = Origin {
        trace_digest: source.trace_sha256,
        format: format.name().to_owned(),
        options: options_by_name(dataset),
        corpus: corpus::NAME.to_owned(),
        seed,
    };
    let content = writer.finish(origin)?;
    Ok(Prepared {
        content,
        facts,
        format,
        is_format_detected,
        has_corpus_text,
        source,
        _folder: folder,
    })
}

/// The options that were given, by name: part of the content's digest.
fn options_by_name(dataset: &Dataset) -> BTreeMap<String, String> {
    let options = &dataset.options;
    let block_size = options.block_size.map(|size| ("blockSize", size.to_string()));
    let unit = options
        .timestamp_unit
        .map(|unit| ("timestampUnit", input::unit(unit).name().to_owned()));
    let keep = (!options.keep_headers.is_empty()).then(|| ("keepHeaders", options.keep_headers.join(",")));
    let ignore =
        (options.unknown_columns == UnknownColumns::Ignore).then(|| ("unknownColumns", "Ignore".to_owned()));
    [block_size, unit, keep, ignore]
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
