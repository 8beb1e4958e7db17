//! `reprise cache`: what is kept of S3 and HTTP.

mod table;

use std::env;
use std::path::Path;
use std::time::Duration;

use reprise_crds::TimeSpan;
use reprise_source::{ByteSize, Cache, CacheSettings, HubCacheUsage, Listing, Prune, Reference};
use serde::Serialize;

use crate::args::{
    CacheArguments, CacheCommand, CacheLsArguments, CachePruneArguments, CachePruned, CacheVerifyArguments,
};
use crate::exit::{Done, Failure};
use crate::output::{print, print_json};
use crate::progress::Showing;
use crate::terminal;

/// Everything that `reprise cache ls` says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    folder: &'a Path,
    bytes: u64,
    /// In bytes.
    limit: Option<u64>,
    #[serde(flatten)]
    listing: Listing,
    hugging_face: Option<HubCacheUsage>,
}

/// Lists, prunes or verifies the cache.
pub(crate) fn cache(arguments: &CacheArguments) -> Result<Done, Failure> {
    let settings = CacheSettings::from_variables(|name| env::var_os(name)).map_err(Failure::input)?;
    let cache = Cache::open(settings).map_err(Failure::input)?;
    match &arguments.command {
        CacheCommand::Ls(arguments) => list(&cache, arguments),
        CacheCommand::Prune(arguments) => prune(&cache, arguments),
        CacheCommand::Verify(arguments) => verify(&cache, arguments),
    }
}

fn list(cache: &Cache, arguments: &CacheLsArguments) -> Result<Done, Failure> {
    let listing = cache.list()?;
    let hugging_face = HubCacheUsage::of_environment().map_err(|error| {
        anyhow::anyhow!("Cannot use the Hugging Face cache: {error}. Check the permissions of its folder.")
    })?;
    let listed = Listed {
        folder: cache.root(),
        bytes: listing.bytes(),
        limit: cache.limit().map(|ByteSize(limit)| limit),
        listing,
        hugging_face,
    };
    if arguments.json {
        print_json(&listed)?;
    } else {
        print(&table::listed(&listed, width()))?;
    }
    Ok(Done::Shown)
}

fn prune(cache: &Cache, arguments: &CachePruneArguments) -> Result<Done, Failure> {
    let what = match arguments.what {
        CachePruned {
            older_than: Some(age),
            ..
        } => Prune::OlderThan(age),
        CachePruned {
            to_size: Some(size), ..
        } => Prune::ToSize(size),
        CachePruned { partials: true, .. } => Prune::Partials,
        CachePruned { .. } => Prune::All,
    };
    let text = if arguments.dry_run {
        table::prunable(&cache.prunable(what)?, width())
    } else {
        table::pruned(&cache.prune(what)?, width())
    };
    print(&text)?;
    Ok(Done::Shown)
}

fn verify(cache: &Cache, arguments: &CacheVerifyArguments) -> Result<Done, Failure> {
    let show = |progress| Showing::reading(&Reference::of_path(cache.root()), progress);
    let verified = if arguments.dry_run {
        cache.check(show)?
    } else {
        cache.verify(show)?
    };
    if arguments.json {
        print_json(&verified)?;
    } else {
        print(&table::verified(&verified, width()))?;
    }
    if verified.is_sound() {
        return Ok(Done::Shown);
    }
    let remedy = if arguments.dry_run {
        "Remove them with `reprise cache verify`"
    } else {
        "What was removed needs no care"
    };
    Err(anyhow::anyhow!(
        "Cannot use all of the cache {}: files in it are damaged or missing. {remedy}; the next run that needs them fetches \
         them again.",
        cache.root().display()
    )
    .into())
}

/// Parses `30d`, and what a spec takes for a length of time.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    let days = text
        .strip_suffix('d')
        .and_then(|days| days.parse::<u32>().ok())
        .map(|days| Duration::from_hours(24 * u64::from(days)));
    match days {
        Some(age) => Ok(age),
        None => match text.parse::<TimeSpan>() {
            Ok(age) => Ok(age.get()),
            Err(_) => Err("write a length of time, such as 30d or 12h".to_owned()),
        },
    }
}

/// Parses `10GiB`.
pub(crate) fn size(text: &str) -> Result<ByteSize, &'static str> {
    text.parse()
        .map_err(|_| "write a number of bytes, or one with a unit, such as 10GiB")
}

fn width() -> u16 {
    terminal::width().unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_days_or_lengths_of_time() {
        assert_eq!(age("30d"), Ok(Duration::from_hours(720)));
        assert_eq!(age("1h30m"), Ok(Duration::from_mins(90)));
        for text in ["", "d", "30", "-1d", "1.5d", "99999999999d"] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
