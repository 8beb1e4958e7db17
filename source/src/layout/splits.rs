//! Shards whose names say which split of a dataset they belong to.

use std::collections::BTreeMap;

use super::LayoutWarning;
use super::folder::{READ, Shard};
use super::problem::{LayoutProblem, Subject, printable};

/// What the name of a shard says: `train-00000-of-00002.parquet`, or `train-00000-of-00002-8f3c51d0a9e27b46.parquet`, as
/// older versions of `datasets` named it.
struct Named<'a> {
    split: &'a str,
    of: usize,
}

impl<'a> Named<'a> {
    fn parse(path: &'a str) -> Option<Self> {
        let file = path.rsplit('/').next().unwrap_or(path);
        let (rest, of) = file.strip_suffix(".parquet")?.rsplit_once("-of-")?;
        let (split, number) = rest.rsplit_once('-')?;
        let of = match of.split_once('-') {
            Some((of, hash)) if !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => of,
            Some(_) => return None,
            None => of,
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if split.is_empty() || !is_number(number) || !is_number(of) {
            return None;
        }
        Some(Self {
            split,
            of: of.parse().ok()?,
        })
    }
}

/// The shards to read: all of them, or those of `train` where their names tell several splits. What is not read or not
/// there is said in warnings.
pub(super) fn choose<'a>(
    shards: Vec<Shard<'a>>,
    subject: &Subject,
    reference_to: &dyn Fn(&str) -> String,
) -> Result<(Vec<Shard<'a>>, Vec<LayoutWarning>), LayoutProblem> {
    let mut splits: BTreeMap<&str, Vec<Shard<'a>>> = BTreeMap::new();
    let mut of_no_split = Vec::new();
    for shard in &shards {
        match Named::parse(shard.path) {
            Some(named) => splits.entry(named.split).or_default().push(*shard),
            None => of_no_split.push(reference_to(shard.path)),
        }
    }
    if splits.len() < 2 {
        let missing = of_no_split.is_empty().then(|| missing(&shards)).flatten();
        return Ok((shards, missing.into_iter().collect()));
    }
    let names: Vec<String> = splits.keys().map(|split| printable(split)).collect();
    if !of_no_split.is_empty() {
        return Err(LayoutProblem::ShardsOfNoSplit {
            subject: subject.clone(),
            splits: names,
            others: of_no_split,
        });
    }
    let Some(chosen) = splits.remove(READ) else {
        let first = splits.values().filter_map(|shards| shards.first());
        return Err(LayoutProblem::SeveralSplits {
            subject: subject.clone(),
            splits: names,
            shards: first.map(|shard| reference_to(shard.path)).collect(),
        });
    };
    let left_out = LayoutWarning::SplitsLeftOut {
        read: READ.to_owned(),
        left_out: splits.into_keys().map(printable).collect(),
    };
    let warnings = [Some(left_out), missing(&chosen)];
    Ok((chosen, warnings.into_iter().flatten().collect()))
}

/// Whether the names promise more shards than there are.
fn missing(shards: &[Shard<'_>]) -> Option<LayoutWarning> {
    let of = shards.iter().filter_map(|shard| Named::parse(shard.path));
    let of = of.map(|named| named.of).max()?;
    (shards.len() < of).then_some(LayoutWarning::ShardsMissing {
        there: shards.len(),
        of,
    })
}
