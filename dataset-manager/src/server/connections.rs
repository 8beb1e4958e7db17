//! Connections: TLS, and limits on what one of them can hold up.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use reprise_identity::ManagerSecrets;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections at a time: some for each of a thousand workers.
const MAX_CONNECTIONS: usize = 4_096;
/// A TLS handshake takes no longer.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The head of a request takes no longer, nor does a connection stay without one.
const HEAD: Duration = Duration::from_mins(1);
/// The head of a request is no longer.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// How long to wait after an error of accepting, such as no file descriptor being left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A certificate or key that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Not PEM.
    #[error("Cannot use the run's {what}: {source}. Mount the run's Secret.")]
    Pem {
        /// Certificate or key.
        what: &'static str,
        /// What is wrong.
        source: pem::Error,
    },
    /// They do not fit each other, or are of no known kind.
    #[error("Cannot use the run's certificate and key: {0}. Mount the run's Secret.")]
    Rustls(#[from] rustls::Error),
}

pub(super) fn acceptor(secrets: &ManagerSecrets) -> Result<TlsAcceptor, TlsError> {
    let pem = |what| move |source| TlsError::Pem { what, source };
    let chain = CertificateDer::pem_slice_iter(secrets.certificate_pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(pem("certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(secrets.key_pem.expose().as_bytes()).map_err(pem("key"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

pub(super) async fn serve_tls(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    routes: Router,
    end: CancellationToken,
) {
    let serve = move |stream: TcpStream, end| {
        let (acceptor, routes) = (acceptor.clone(), routes.clone());
        async move {
            // Whoever does not shake hands in time, or not properly, gets nothing; workers see their own side's error.
            match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => serve(stream, routes, end).await,
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                Err(_) => tracing::debug!("TLS handshake took too long"),
            }
        }
    };
    accept(listener, end, serve).await;
}

pub(super) async fn serve_plain(listener: TcpListener, routes: Router, end: CancellationToken) {
    accept(listener, end, move |stream, end| {
        serve(stream, routes.clone(), end)
    })
    .await;
}

async fn accept<F>(
    listener: TcpListener,
    end: CancellationToken,
    serve: impl Fn(TcpStream, CancellationToken) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let limit = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = TaskTracker::new();
    while let Some(Ok(permit)) = end.run_until_cancelled(Arc::clone(&limit).acquire_owned()).await {
        let Some(accepted) = end.run_until_cancelled(listener.accept()).await else {
            break;
        };
        match accepted {
            Ok((stream, _)) => {
                // Small answers are not to wait for more; a refusal of the option costs only time.
                let _ = stream.set_nodelay(true);
                let connection = serve(stream, end.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    connections.close();
    connections.wait().await;
}

/// Answers the calls of one connection; after `end`, the one under way is the last.
async fn serve<S>(stream: S, routes: Router, end: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    let mut connection = std::pin::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = end.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "connection broke off");
    }
}
