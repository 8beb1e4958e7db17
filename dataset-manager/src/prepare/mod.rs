//! From a reference to content that can be sent.

mod error;
mod first_record;
mod input;
mod observer;
mod parquet;
mod source;
mod waiting;

use std::collections::BTreeMap;
use std::path::Path;

use reprise_content::store::{Content, Origin, Writer};
use reprise_content::{Body, Piece, corpus};
use reprise_contract::summary::DatasetFile;
use reprise_crds::{Api, Dataset};
use reprise_dataset::{Facts, Format, Options};

pub use error::{Fault, PrepareError};
pub use first_record::Times;
pub use input::{CheckTimes, FormatChoice, Known, TraceInput};
pub use observer::{Activity, Observer};
pub use source::{Checked, OnMachine, Record, pin_of};
pub use waiting::Waiting;

/// Content that can be sent, and what is known of where it came from.
pub struct Prepared {
    /// What can be sent.
    pub content: Content,
    /// What the trace's records say.
    pub facts: Facts,
    /// The format of the trace.
    pub format: Format,
    /// Who named it.
    pub format_choice: FormatChoice,
    /// Whether some text is made of the corpus.
    pub has_corpus_text: bool,
    /// Turns without a recorded output length.
    pub turns_without_output_length: u32,
    /// Turns whose decoding a grammar constrains.
    pub constrained_turns: u32,
    /// What exactly was read.
    pub source: reprise_source::Provenance,
    /// The trace's files, where it was fetched or has several.
    pub files: Vec<DatasetFile>,
    /// Where it came from.
    pub record: Record,
}

/// Reads the trace and builds its content inside `folder`, which must stay as long as the content is used.
///
/// # Errors
/// When the trace cannot be had or used, or the content not be written.
pub fn prepare(
    dataset: &Dataset,
    api: Api,
    seed: u64,
    check_times: CheckTimes<'_>,
    folder: &Path,
    waiting: &Waiting<'_>,
) -> Result<Prepared, PrepareError> {
    let input = TraceInput::open(dataset, Some(api), check_times, waiting)?;
    let (format, format_choice) = (input.format, input.format_choice);
    let options = options_by_name(dataset, &input.options, format);
    let mut writer = Writer::create(folder)?;
    let mut has_corpus_text = false;
    let (mut turns_without_output_length, mut constrained_turns) = (0, 0);
    let Known {
        facts,
        source,
        files,
        record,
    } = input.read(waiting, &mut |turn| {
        turns_without_output_length += u32::from(turn.output_tokens.is_none());
        constrained_turns += u32::from(turn.is_constrained);
        has_corpus_text |= matches!(
            &turn.body,
            Body::Prompt { pieces, .. } if pieces.iter().any(|piece| matches!(piece, Piece::Corpus { .. }))
        );
        writer.push(&turn)
    })?;
    let origin = Origin {
        trace_digest: source.trace_sha256,
        format: format.name().to_owned(),
        options,
        corpus: corpus::NAME.to_owned(),
        seed,
    };
    let content = writer.finish(origin)?;
    Ok(Prepared {
        content,
        facts,
        format,
        format_choice,
        has_corpus_text,
        turns_without_output_length,
        constrained_turns,
        source,
        files,
        record,
    })
}

/// The options that shaped the content, defaults filled in, by name: part of its digest.
fn options_by_name(dataset: &Dataset, options: &Options, format: Format) -> BTreeMap<String, String> {
    let unit = options
        .timestamp_unit
        .unwrap_or_else(|| format.default_timestamp_unit());
    let block_size = format
        .default_block_size()
        .map(|default| options.block_size.unwrap_or(default));
    let mut keep: Vec<_> = dataset
        .options
        .keep_headers
        .iter()
        .map(|name| name.to_lowercase())
        .collect();
    keep.sort_unstable();
    keep.dedup();
    [
        Some(("timestampUnit", unit.name().to_owned())),
        block_size.map(|size| ("blockSize", size.to_string())),
        (!keep.is_empty()).then(|| ("keepHeaders", keep.join(","))),
    ]
    .into_iter()
    .flatten()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}
