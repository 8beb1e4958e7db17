//! Shards whose names say which split of a dataset they belong to.

use std::collections::BTreeMap;

use super::{ParquetError, ParquetShard};
use crate::facts::DatasetWarning;

/// The split that is read where there are several.
const READ: &str = "train";

/// What the name of a shard says: `train-00000-of-00002.parquet`.
struct Named<'a> {
    split: &'a str,
    of: usize,
}

impl<'a> Named<'a> {
    fn parse(name: &'a str) -> Option<Self> {
        let file = name.rsplit('/').next().unwrap_or(name);
        let (rest, of) = file.strip_suffix(".parquet")?.rsplit_once("-of-")?;
        let (split, number) = rest.rsplit_once('-')?;
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
pub(super) fn choose(
    shards: Vec<ParquetShard>,
) -> Result<(Vec<ParquetShard>, Vec<DatasetWarning>), ParquetError> {
    let mut splits: BTreeMap<String, Vec<ParquetShard>> = BTreeMap::new();
    let mut of_no_split = Vec::new();
    for shard in &shards {
        match Named::parse(&shard.name) {
            Some(named) => splits
                .entry(named.split.to_owned())
                .or_default()
                .push(shard.clone()),
            None => of_no_split.push(shard.name.clone()),
        }
    }
    if splits.len() < 2 {
        let missing = of_no_split.is_empty().then(|| missing(&shards)).flatten();
        return Ok((shards, missing.into_iter().collect()));
    }
    let names: Vec<String> = splits.keys().cloned().collect();
    if !of_no_split.is_empty() {
        return Err(ParquetError::ShardsOfNoSplit {
            splits: names,
            others: of_no_split,
        });
    }
    let Some(chosen) = splits.remove(READ) else {
        let first = splits.values().filter_map(|shards| shards.first());
        return Err(ParquetError::SeveralSplits {
            splits: names,
            shards: first.map(|shard| shard.path.clone()).collect(),
        });
    };
    let left_out = DatasetWarning::SplitsLeftOut {
        read: READ.to_owned(),
        left_out: splits.into_keys().collect(),
    };
    let warnings = [Some(left_out), missing(&chosen)];
    Ok((chosen, warnings.into_iter().flatten().collect()))
}

/// Whether the names promise more shards than there are.
fn missing(shards: &[ParquetShard]) -> Option<DatasetWarning> {
    let of = shards.iter().filter_map(|shard| Named::parse(&shard.name));
    let of = of.map(|named| named.of).max()?;
    (shards.len() < of).then_some(DatasetWarning::ShardsMissing {
        there: shards.len(),
        of,
    })
}
