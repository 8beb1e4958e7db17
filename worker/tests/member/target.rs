//! A target that answers and counts.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;

use crate::http::{Reply, serve};

const ANSWER: &[u8] = br#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

/// A target that answers each request after a while, and keeps the bodies.
pub(crate) struct Target {
    address: SocketAddr,
    bodies: Arc<Mutex<Vec<Bytes>>>,
}

impl Target {
    pub(crate) fn start(after: Duration) -> Self {
        let bodies = Arc::<Mutex<Vec<Bytes>>>::default();
        let seen = Arc::clone(&bodies);
        let address = serve(None, move |call| {
            seen.lock().unwrap().push(call.body);
            async move {
                tokio::time::sleep(after).await;
                Reply::Answer(StatusCode::OK, Bytes::from_static(ANSWER))
            }
        });
        Self { address, bodies }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many requests have come.
    pub(crate) fn count(&self) -> usize {
        self.bodies.lock().unwrap().len()
    }
}
