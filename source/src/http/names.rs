//! Looking up hosts.

use std::io;
use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use crate::guard::{Access, GuardProblem};

/// The system's resolver. It is ours so that its failures can be told from others, and because it is the place where
/// addresses that must not be reached are refused: what it gives is what is connected to.
pub(super) struct Names(pub(super) Access);

/// Why a name has no address for us. Found again among the causes of a failed connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NameError {
    #[error("no address was found")]
    NotFound(#[source] io::Error),
    #[error(transparent)]
    Guard(#[from] GuardProblem),
}

/// The addresses of a host that may be connected to.
pub(crate) async fn resolve(access: &Access, host: &str) -> Result<Vec<SocketAddr>, NameError> {
    if let Access::Anonymous(rules) = access {
        rules.check_host(host)?;
    }
    // Port 0 is replaced by the one of the URL.
    let addresses: Vec<_> = lookup_host((host, 0))
        .await
        .map_err(NameError::NotFound)?
        .collect();
    if let Access::Anonymous(rules) = access {
        rules.check_addresses(addresses.iter().map(SocketAddr::ip))?;
    }
    Ok(addresses)
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let access = self.0.clone();
        Box::pin(async move {
            let addresses = resolve(&access, name.as_str()).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
