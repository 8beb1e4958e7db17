//! Looking up hosts.

use std::io;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

/// The system's resolver. It is ours so that its failures can be told from others, and because it is the place where
/// addresses that must not be reached can be refused.
pub(crate) struct SystemNames;

/// Marks a failed look-up among the causes of a failed connection.
#[derive(Debug, thiserror::Error)]
#[error("no address was found")]
pub(crate) struct NameNotFound(#[source] pub(crate) io::Error);

impl Resolve for SystemNames {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // Port 0 is replaced by the one of the URL.
            let addresses = lookup_host((name.as_str(), 0)).await.map_err(NameNotFound)?;
            Ok(Box::new(addresses.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}
