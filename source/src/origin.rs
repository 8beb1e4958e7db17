//! The place that a reference leads to, whatever kind it is.

use crate::error::Problem;
use crate::http::HttpSource;
use crate::hub::HubSource;
use crate::local_place::LocalPlace;
use crate::remote::{Body, Found, Remote, RemoteFile, Span};
use crate::s3::S3Source;

/// One variant a source.
pub(crate) enum Origin {
    Local(LocalPlace),
    Http(HttpSource),
    Hub(HubSource),
    S3(S3Source),
}

/// The same expression for each kind of place.
macro_rules! of_each {
    ($origin:expr, $remote:ident => $expression:expr) => {
        match $origin {
            Origin::Local($remote) => $expression,
            Origin::Http($remote) => $expression,
            Origin::Hub($remote) => $expression,
            Origin::S3($remote) => $expression,
        }
    };
}

impl Remote for Origin {
    async fn look_up(&self) -> Result<Found, Problem> {
        of_each!(self, remote => remote.look_up().await)
    }

    async fn beside(&self, found: &Found, name: &str) -> Result<Option<RemoteFile>, Problem> {
        of_each!(self, remote => remote.beside(found, name).await)
    }

    async fn read(&self, found: &Found, file: &RemoteFile, span: Span) -> Result<Body, Problem> {
        of_each!(self, remote => remote.read(found, file, span).await)
    }
}
