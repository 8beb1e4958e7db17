//! Where requests go.

use std::net::SocketAddr;
use std::sync::Arc;

use http::Uri;
use http::uri::{Authority, PathAndQuery};
use reprise_content::template::Api;
use rustls::pki_types::ServerName;
use url::{Host, Url};

/// A URL that requests are posted to.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) authority: Authority,
    pub(crate) path: Uri,
    pub(crate) tls_name: Option<ServerName<'static>>,
    url: Url,
}

/// A URL that requests cannot be posted to.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Not a URL.
    #[error("Cannot use target {url:?}: {source}. Write it like http://host:8000.")]
    NotAUrl {
        /// What was written.
        url: String,
        /// What is wrong.
        source: url::ParseError,
    },
    /// Neither HTTP nor HTTPS, or no host.
    #[error(
        "Cannot use target {0:?}: only http and https URLs with a host are supported. Write it like http://host:8000."
    )]
    NotHttp(String),
}

impl Target {
    /// Reads a target. A URL with a path is used as it is; one without gets the path of `api`.
    ///
    /// # Errors
    /// When it is no HTTP URL.
    pub fn parse(text: &str, api: Api) -> Result<Self, TargetError> {
        let mut url = Url::parse(text).map_err(|source| TargetError::NotAUrl {
            url: text.to_owned(),
            source,
        })?;
        let not_http = || TargetError::NotHttp(text.to_owned());
        if !matches!(url.scheme(), "http" | "https") {
            return Err(not_http());
        }
        if matches!(url.path(), "" | "/") {
            url.set_path(api.path());
        }
        let host = match url.host().ok_or_else(not_http)? {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let tls_name = if url.scheme() == "https" {
            Some(ServerName::try_from(host.clone()).map_err(|_| not_http())?)
        } else {
            None
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Ok(Self {
            port: url.port_or_known_default().ok_or_else(not_http)?,
            authority: url
                .authority()
                .rsplit('@')
                .next()
                .unwrap_or_default()
                .parse()
                .map_err(|_| not_http())?,
            path: path.parse::<PathAndQuery>().map_err(|_| not_http())?.into(),
            host,
            tls_name,
            url,
        })
    }

    /// The URL that requests are posted to.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Asks for the target's addresses, once for the whole run, so that no request waits for a name server.
    pub(crate) fn resolve(&self) -> Resolved {
        let addresses = std::net::ToSocketAddrs::to_socket_addrs(&(self.host.as_str(), self.port));
        Resolved(match addresses.map(Iterator::collect::<Vec<_>>) {
            Ok(addresses) if !addresses.is_empty() => Ok(addresses.into()),
            Ok(_) => Err("the name has no address".into()),
            Err(error) => Err(error.to_string().into()),
        })
    }
}

/// A target's addresses, or why there are none.
#[derive(Clone, Debug)]
pub(crate) struct Resolved(pub(crate) Result<Arc<[SocketAddr]>, Arc<str>>);

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(text: &str) -> String {
        let target = Target::parse(text, Api::Chat).unwrap();
        format!(
            "{} {} {} tls={}",
            target.authority,
            target.port,
            target.path,
            target.tls_name.is_some()
        )
    }

    #[test]
    fn a_url_without_a_path_gets_the_path_of_the_api() {
        assert_eq!(
            posted("http://vllm.svc:8000"),
            "vllm.svc:8000 8000 /v1/chat/completions tls=false"
        );
        assert_eq!(posted("https://host/"), "host 443 /v1/chat/completions tls=true");
    }

    #[test]
    fn a_url_with_a_path_is_used_as_it_is() {
        assert_eq!(
            posted("http://[::1]:80/custom?x=1"),
            "[::1] 80 /custom?x=1 tls=false"
        );
    }

    #[test]
    fn other_urls_are_refused() {
        for text in ["host:8000", "ftp://host/", "/path", "http://"] {
            let error = Target::parse(text, Api::Chat).unwrap_err().to_string();
            assert!(error.starts_with("Cannot use target"), "{error}");
        }
    }
}
