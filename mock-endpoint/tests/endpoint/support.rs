//! A client that shows what came over the wire.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use reprise_mock_endpoint::{Config, Handle, start};
use serde_json::Value;
use tokio::net::TcpStream;

/// One connection to an endpoint.
pub(crate) struct Client(SendRequest<Full<Bytes>>);

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    /// Whether the body came to its proper end.
    pub(crate) complete: bool,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    /// Sends a request; an error means that the connection ended before an answer began.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> hyper::Result<Reply> {
        self.0.ready().await?;
        let mut request = Request::builder().method(method).uri(path).header("host", "mock");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.to_owned())).unwrap();
        let (head, mut incoming) = self.0.send_request(request).await?.into_parts();
        let (mut bytes, mut complete) = (Vec::new(), true);
        while let Some(frame) = incoming.frame().await {
            match frame {
                Ok(frame) => bytes.extend(frame.into_data().unwrap()),
                Err(_) => complete = false,
            }
        }
        let body = String::from_utf8(bytes).unwrap();
        Ok(Reply {
            status: head.status,
            headers: head.headers,
            body,
            complete,
        })
    }

    pub(crate) async fn post(&mut self, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.send(Method::POST, path, headers, body).await.unwrap()
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, &[], "").await.unwrap()
    }
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The body with the one member that differs from run to run masked.
    pub(crate) fn masked(&self) -> String {
        let mut masked = String::new();
        let mut rest = self.body.as_str();
        while let Some((before, after)) = rest.split_once("\"created\":") {
            masked.extend([before, "\"created\":T"]);
            rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        }
        masked + rest
    }
}

/// Runs `work` with an endpoint and a connection to it.
pub(crate) fn with_endpoint<F: Future<Output = ()>>(config: Config, work: impl FnOnce(Handle, Client) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let handle = start(config).await.unwrap();
        let client = Client::connect(handle.addr()).await;
        work(handle, client).await;
    });
}
