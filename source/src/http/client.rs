//! The HTTP client, for everything that is fetched over HTTP.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use url::{Host, Url};

use super::names::Names;
use super::retry::Retry;
use crate::error::Problem;
use crate::guard::{Access, GuardProblem};

pub(crate) const USER_AGENT: &str = concat!("reprise/", env!("CARGO_PKG_VERSION"));
pub(crate) const MAX_REDIRECTS: usize = 10;

/// How long we wait for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For a connection, with TLS where there is any.
    pub(crate) connect: Duration,
    /// For the head of an answer, and between two reads of its body.
    pub(crate) idle: Duration,
    pub(crate) retry: Retry,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_mins(1),
            retry: Retry::default(),
        }
    }
}

impl Patience {
    /// Whoever pins for others has more to do than to wait for one.
    pub(crate) fn of(access: &Access) -> Self {
        match access {
            Access::Ambient => Self::default(),
            Access::Anonymous(_) => Self {
                connect: Duration::from_secs(5),
                idle: Duration::from_secs(15),
                ..Self::default()
            },
        }
    }
}

/// A client for requests to the host of `first`, and to where they are redirected: at most ten times, and never from
/// https to http.
///
/// # Errors
///
/// When `first` may not be reached, or when the client cannot be set up.
pub(crate) fn client(access: &Access, first: &Url, patience: &Patience) -> Result<Client, Problem> {
    let client = builder(access, first, patience)?.redirect(redirects(access.clone()));
    client
        .build()
        .map_err(|error| Problem::Client(error.without_url()))
}

/// What all clients have in common. How redirects are followed is left to set: with `Policy::none` the caller follows
/// them, each with a client for its URL.
///
/// Of this user's environment it takes the usual proxy variables, except for this machine itself, which no proxy can
/// reach for us. With anonymous access it takes nothing, and every address is checked before it is connected to. What it
/// trusts is the machine's in both cases (`SSL_CERT_FILE` and `SSL_CERT_DIR`).
///
/// # Errors
///
/// When `first` may not be reached.
pub(crate) fn builder(access: &Access, first: &Url, patience: &Patience) -> Result<ClientBuilder, Problem> {
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(patience.connect)
        .read_timeout(patience.idle)
        // It would hand a presigned URL to the host that it redirects to.
        .referer(false)
        .dns_resolver(Arc::new(Names(access.clone())));
    match access {
        Access::Anonymous(rules) => {
            rules.check_url(first)?;
            Ok(builder.no_proxy())
        }
        Access::Ambient if is_this_machine(first) => Ok(builder.no_proxy()),
        Access::Ambient => Ok(builder),
    }
}

/// Why a redirect is not followed.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(super) enum RedirectRefusal {
    #[error("too many redirects")]
    TooMany,
    #[error("a redirect from https to http")]
    Downgrade,
    #[error(transparent)]
    Guard(#[from] GuardProblem),
}

impl From<RedirectRefusal> for Problem {
    fn from(refusal: RedirectRefusal) -> Self {
        match refusal {
            RedirectRefusal::TooMany => Self::Redirect,
            RedirectRefusal::Downgrade => Self::Downgrade,
            RedirectRefusal::Guard(problem) => Self::Guard(problem),
        }
    }
}

fn redirects(access: Access) -> Policy {
    Policy::custom(
        move |attempt| match check_redirect(&access, attempt.previous(), attempt.url()) {
            Ok(()) => attempt.follow(),
            Err(refusal) => attempt.error(refusal),
        },
    )
}

fn check_redirect(access: &Access, previous: &[Url], next: &Url) -> Result<(), RedirectRefusal> {
    if previous.len() > MAX_REDIRECTS {
        return Err(RedirectRefusal::TooMany);
    }
    let was_secure = previous.last().is_some_and(|url| url.scheme() == "https");
    if was_secure && next.scheme() == "http" {
        return Err(RedirectRefusal::Downgrade);
    }
    match access {
        Access::Ambient => Ok(()),
        Access::Anonymous(rules) => Ok(rules.check_url(next)?),
    }
}

/// No proxy can reach it for us.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_from_https_to_http_is_refused() {
        let [secure, plain] = ["https://a.test/x", "http://a.test/x"].map(|url| Url::parse(url).unwrap());
        let check = |from: &Url, to| check_redirect(&Access::Ambient, std::slice::from_ref(from), to);
        assert!(matches!(check(&secure, &plain), Err(RedirectRefusal::Downgrade)));
        for (from, to) in [(&secure, &secure), (&plain, &secure), (&plain, &plain)] {
            assert!(check(from, to).is_ok());
        }
    }
}
