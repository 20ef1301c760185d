//! Responses without end, without hyper.
//!
//! Hyper keeps two buffers of 8 KiB and its own state for every connection. A node may have ten thousand watchers,
//! which send nothing and are sent the same few bytes. So when a route answers with a stream, the connection is taken
//! from hyper, and what is left of it is a socket and a place in a channel.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::routes::Watcher;

/// A client that does not take an event for this long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// What follows the head of a response: some bytes at once, and then the events of a watcher.
#[derive(Clone)]
pub(crate) struct EventStream(Arc<Mutex<Option<(Bytes, Watcher)>>>);

impl EventStream {
    /// A response that is followed by a stream. Its headers are those of the map.
    pub(crate) fn response(headers: HeaderMap, first: Bytes, watcher: Watcher) -> Response {
        let mut response = Response::new(Body::empty());
        *response.headers_mut() = headers;
        response.extensions_mut().insert(EventStream(Arc::new(Mutex::new(Some((first, watcher))))));
        response
    }

    /// Takes the stream out of a response, if it is followed by one.
    pub(crate) fn take_from(response: &mut Response) -> Option<Takeover> {
        let stream = response.extensions_mut().remove::<EventStream>()?;
        let (first, watcher) = stream.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let mut head = String::from("HTTP/1.1 200 OK\r\n");
        // The router thinks that there is no body, and has said so.
        let headers = response.headers().iter().filter(|(name, _)| **name != header::CONTENT_LENGTH);
        for (name, value) in headers {
            // Writing to a String cannot fail; all our values are text.
            let _ = write!(head, "{name}: {}\r\n", value.to_str().unwrap_or_default());
        }
        // The response ends with the connection.
        head += "connection: close\r\n\r\n";
        Some(Takeover { start: Bytes::from([head.as_bytes(), &first].concat()), watcher })
    }
}

/// A connection's rest of life.
pub(crate) struct Takeover {
    start: Bytes,
    watcher: Watcher,
}

impl Takeover {
    /// Sends events until the client is gone, or does not read.
    pub(crate) async fn run(mut self, mut io: impl AsyncRead + AsyncWrite + Unpin) {
        let mut bytes = std::mem::take(&mut self.start);
        let mut ignored = [0; 16];
        loop {
            let written = timeout(WRITE_TIMEOUT, async {
                io.write_all(&bytes).await?;
                io.flush().await
            });
            if !matches!(written.await, Ok(Ok(()))) {
                return;
            }
            drop(bytes);
            bytes = loop {
                tokio::select! {
                    event = self.watcher.next() => match event {
                        Some(event) => break event,
                        None => return,
                    },
                    read = io.read(&mut ignored) => match read {
                        Ok(1..) => {}
                        Ok(0) | Err(_) => return,
                    },
                }
            };
        }
    }
}
