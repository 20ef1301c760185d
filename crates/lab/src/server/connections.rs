//! Serves connections: how many there may be, and how slow.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

/// How long a visitor may take to send the head of a request, and how long it may be idle between two.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest head of a request, in bytes.
const MAX_HEADER_BYTES: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
/// The most connections, and those of one address. A class room behind one address shares them.
const MAX_CONNECTIONS: usize = 1_024;
const MAX_CONNECTIONS_OF_ONE: usize = 256;
/// A connection whose other end takes nothing for this long is closed.
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause after a failed `accept`, for example without free file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Serves all connections, without end.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let visitors = Visitors::default();
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder.max_buf_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // Retrying at once would spin.
            tokio::time::sleep(ACCEPT_RETRY).await;
            continue;
        };
        // One that is too many is closed.
        if let Some(visit) = visitors.admit(from.ip()) {
            tokio::spawn(serve_one(builder.clone(), router.clone(), stream, from, visit));
        }
    }
}

async fn serve_one(builder: http1::Builder, router: Router, stream: TcpStream, from: SocketAddr, visit: Visit) {
    // Without these options the connection works as well.
    let _ = stream.set_nodelay(true);
    let timeout = UNACKNOWLEDGED_TIMEOUT.as_millis() as u32;
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, timeout);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(from));
        let mut router = router.clone();
        async move { Ok::<_, Infallible>(router.call(request).await.unwrap_or_else(|never| match never {})) }
    });
    // What ended a connection concerns its visitor alone.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
    drop(visit);
}

/// An IPv6 host has a whole network of addresses: /64.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into())
        }
        address => address,
    }
}

/// How many connections there are, by address.
#[derive(Clone, Default)]
struct Visitors(Arc<Mutex<HashMap<IpAddr, usize>>>);

impl Visitors {
    fn admit(&self, from: IpAddr) -> Option<Visit> {
        let from = network_of(from);
        let mut counts = self.counts();
        let is_full = counts.values().sum::<usize>() >= MAX_CONNECTIONS;
        let count = counts.entry(from).or_default();
        if is_full || *count >= MAX_CONNECTIONS_OF_ONE {
            counts.retain(|_, count| *count > 0);
            return None;
        }
        *count += 1;
        Some(Visit { visitors: self.clone(), from })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that counts until it is dropped.
struct Visit {
    visitors: Visitors,
    from: IpAddr,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut counts = self.visitors.counts();
        if let Some(count) = counts.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_one_host_count_together() {
        let visitors = Visitors::default();
        let address = |number: usize| IpAddr::V6(((0x2001_0db8 << 96) | number as u128).into());
        let visits: Vec<Visit> =
            (0..2 * MAX_CONNECTIONS_OF_ONE).filter_map(|host| visitors.admit(address(host))).collect();
        assert_eq!((visits.len(), visitors.counts().len()), (MAX_CONNECTIONS_OF_ONE, 1));
        let mapped: IpAddr = "::ffff:10.0.0.1".parse().expect("an address");
        assert_eq!(network_of(mapped), IpAddr::from([10, 0, 0, 1]));
    }

    #[test]
    fn connections_are_limited_and_given_back() {
        let visitors = Visitors::default();
        let address = |number: u8| IpAddr::from([10, 0, 0, number]);
        let mut visits: Vec<Visit> = (0..MAX_CONNECTIONS_OF_ONE).filter_map(|_| visitors.admit(address(1))).collect();
        assert_eq!(visits.len(), MAX_CONNECTIONS_OF_ONE);
        assert!(visitors.admit(address(1)).is_none());
        for other in 2.. {
            let more: Vec<Visit> = (0..MAX_CONNECTIONS_OF_ONE).map_while(|_| visitors.admit(address(other))).collect();
            if more.is_empty() {
                break;
            }
            visits.extend(more);
        }
        assert_eq!(visits.len(), MAX_CONNECTIONS);
        assert_eq!(visitors.counts().len(), MAX_CONNECTIONS / MAX_CONNECTIONS_OF_ONE, "nobody else is remembered");
        visits.pop();
        assert!(visitors.admit(address(99)).is_some());
        drop(visits);
        assert!(visitors.counts().is_empty());
    }
}
