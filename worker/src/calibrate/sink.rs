//! An endpoint inside this process that answers everything at once.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// A short stream.
const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"As\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" fast\"}}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":2}}\n\n\
    data: [DONE]\n\n";

/// An endpoint on the loopback, in a thread of its own until it is dropped.
pub(super) struct Sink {
    address: SocketAddr,
    answered: Arc<AtomicU64>,
    ended: CancellationToken,
}

impl Sink {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let sink = Self {
            address: listener.local_addr()?,
            answered: Arc::default(),
            ended: CancellationToken::new(),
        };
        let (answered, ended) = (sink.answered.clone(), sink.ended.clone());
        thread::Builder::new()
            .name("calibration-sink".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = accept(listener, answered) => {}
                        () = ended.cancelled() => {}
                    }
                });
            })?;
        Ok(sink)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    #[cfg(test)]
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

async fn accept(listener: TcpListener, answered: Arc<AtomicU64>) {
    loop {
        // What cannot be accepted fails on the other side, where it is told.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let answered = answered.clone();
        let service = service_fn(move |request| answer(request, answered.clone()));
        tokio::spawn(async move {
            let mut server = hyper::server::conn::http1::Builder::new();
            // A connection that breaks is told of on the other side.
            let _ = server
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    answered: Arc<AtomicU64>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    // A body that breaks off breaks its connection.
    let _ = request.into_body().collect().await;
    answered.fetch_add(1, Ordering::Relaxed);
    let mut response = Response::new(Full::new(Bytes::from_static(ANSWER.as_bytes())));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}
