//! A small HTTP server for tests, with TLS or without.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A call as the server sees it.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) authorization: String,
    pub(crate) body: Bytes,
}

/// What the server does with a call.
pub(crate) enum Reply {
    /// It answers.
    Answer(StatusCode, Bytes),
    /// It answers with so many bytes fewer than it promises.
    CutShort(Bytes, usize),
    /// It hangs up.
    HangUp,
}

#[derive(Debug, thiserror::Error)]
#[error("hangs up")]
struct HungUp;

/// Serves in a thread of its own until the process ends.
pub(crate) fn serve<F>(
    tls: Option<TlsAcceptor>,
    answer: impl Fn(Call) -> F + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = Reply> + Send + 'static,
{
    let (tell, address) = std::sync::mpsc::channel();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let (tls, answer) = (tls.clone(), Arc::clone(&answer));
                tokio::spawn(async move {
                    let service = service_fn(move |request| respond(Arc::clone(&answer), request));
                    // A connection that breaks is what some tests are about.
                    let _ = match tls {
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else {
                                return;
                            };
                            http1::Builder::new()
                                .serve_connection(TokioIo::new(stream), service)
                                .await
                        }
                        None => {
                            http1::Builder::new()
                                .serve_connection(TokioIo::new(stream), service)
                                .await
                        }
                    };
                });
            }
        });
    });
    address.recv().unwrap()
}

async fn respond<F: Future<Output = Reply>>(
    answer: Arc<impl Fn(Call) -> F>,
    request: Request<Incoming>,
) -> Result<Response<CutBody>, HungUp> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| HungUp)?.to_bytes();
    let authorization = head.headers.get(http::header::AUTHORIZATION);
    let call = Call {
        method: head.method,
        uri: head.uri,
        authorization: authorization
            .map(|value| value.to_str().unwrap().to_owned())
            .unwrap_or_default(),
        body,
    };
    let (status, bytes, missing) = match answer(call).await {
        Reply::Answer(status, bytes) => (status, bytes, 0),
        Reply::CutShort(bytes, missing) => (StatusCode::OK, bytes, missing),
        Reply::HangUp => return Err(HungUp),
    };
    let length = bytes.len() + missing;
    Ok(Response::builder()
        .status(status)
        .header(http::header::CONTENT_TYPE, "application/json")
        .header(http::header::CONTENT_LENGTH, length)
        .body(CutBody(Full::new(bytes)))
        .unwrap())
}

/// A body that may be shorter than its promised length.
struct CutBody(Full<Bytes>);

impl hyper::body::Body for CutBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
        std::pin::Pin::new(&mut self.0).poll_frame(context)
    }
}
