//! Listens, and serves connections on threads of its own.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;
use hustings_cluster::clock::Clock;
use hustings_cluster::config::{Config, Http, HttpLimits};
use hustings_cluster::faults::{DisabledRules, Rule};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower_service::Service;

use crate::admission::{Admission, Place};
use crate::auth::{Authenticator, Peer, TokenFileError, Tokens};
use crate::hosts::Hosts;
use crate::link::{Link, REQUEST_TIMEOUT};
use crate::offices::Offices;
use crate::rate::RateLimit;
use crate::routes;
use crate::sessions::Sessions;
use crate::state::{Log, Shared, State};
use crate::stream::EventStream;
use crate::tls::{self, TlsError};

/// How long a client may take to send the head of a request, and how long it may be idle between two.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a TLS handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the orderly end of a connection may take.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest head of a request, in bytes.
const MAX_HEADER_BYTES: usize = 8 * 1024;
const MAX_HEADERS: usize = 64;
/// How many states are read or stored at the same time. Each is in memory meanwhile.
const MAX_STATE_TRANSFERS: usize = 16;
/// The largest number of connections for health checks.
const MAX_PROBE_CONNECTIONS: usize = 256;
/// The largest number of connections of callers who are not known yet.
const MAX_STRANGERS: usize = 1024;
/// A connection whose other end acknowledges nothing for this long is closed.
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause after a failed `accept`, for example without free file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// How many threads serve. One alone needs an eighth of a second to send an event to ten thousand watchers, most of it
/// in the kernel; more would only take the cores from the node.
const WORKERS: usize = 2;
/// Descriptors that the rest of the process needs.
const OTHER_DESCRIPTORS: u64 = 512;

/// Why the API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be used.
    #[error("cannot listen on {address} (`{key}`): {error}")]
    Bind {
        /// The key of the configuration.
        key: &'static str,
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The token file cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// A certificate or key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The operating system denied a thread.
    #[error("cannot start the threads of the HTTP API: {0}")]
    Thread(io::Error),
}

/// The API of one node, bound to its addresses.
pub struct Server {
    http: Http,
    api: StdListener,
    probe: Option<StdListener>,
    tls: Option<SharedTls>,
    state: Shared,
}

/// The TLS of new connections. Replaced when the node reloads.
type SharedTls = Arc<RwLock<TlsAcceptor>>;

/// Replaces the tokens and the certificates of an API that is being served.
#[derive(Clone)]
pub struct Reloader {
    tls: Option<SharedTls>,
    state: Shared,
}

impl Reloader {
    /// Reads the files of the API again. What is returned applies them: new requests and new connections use them.
    pub fn prepare(&self, http: &Http) -> Result<impl FnOnce() + Send + use<>, ServeError> {
        let tokens = http.tokens.as_deref().map(Tokens::read).transpose()?.unwrap_or_default();
        let tls = http.tls.as_ref().map(tls::load).transpose()?;
        let reloader = self.clone();
        Ok(move || {
            *reloader.state.authenticator.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
            // Whether there is TLS at all is decided at the start.
            if let (Some(shared), Some(tls)) = (&reloader.tls, tls) {
                reloader.state.hosts.set_certificate(tls.names);
                *shared.write().unwrap_or_else(PoisonError::into_inner) = TlsAcceptor::from(tls.config);
            }
        })
    }
}

impl std::fmt::Debug for Reloader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reloader").finish_non_exhaustive()
    }
}

impl Server {
    /// Reads the files and binds the addresses of the API. Nothing is answered yet.
    ///
    /// Of the disabled rules, [`Rule::SessionPromise`] concerns it.
    pub fn bind(
        config: &Config,
        http: &Http,
        clock: Clock,
        log: Log,
        disabled_rules: DisabledRules,
    ) -> Result<Server, ServeError> {
        let tokens = http.tokens.as_deref().map(Tokens::read).transpose()?.unwrap_or_default();
        let tls = http.tls.as_ref().map(tls::load).transpose()?;
        let certificate_right =
            http.tls.as_ref().map_or(hustings_cluster::api::Right::Campaign, |tls| tls.client_right);
        let limits = http.limits;
        let address = config.own().map(|own| own.address.as_str()).unwrap_or_default();
        let names = tls.as_ref().map_or_else(Vec::new, |tls| tls.names.clone());
        let state = State {
            node: config.own().map(|own| own.name.clone()).unwrap_or_default(),
            link: Link::new(config.socket.clone()),
            offices: Offices::new(config.limits.watches, REQUEST_TIMEOUT),
            sessions: Sessions::new(config.socket.clone(), clock, config.timing.drift_ppm, limits.sessions)
                .with_promises(!disabled_rules.contains(Rule::SessionPromise)),
            watchers: Arc::new(Semaphore::new(limits.watchers)),
            max_watchers: limits.watchers,
            authenticator: Authenticator { tokens: RwLock::new(tokens), anonymous: http.anonymous, certificate_right },
            max_state_bytes: usize::try_from(config.limits.state).unwrap_or(usize::MAX),
            state_transfers: Semaphore::new(MAX_STATE_TRANSFERS),
            hosts: Hosts::new(&http.allowed_hosts, address, names),
            rate: RateLimit::new(limits.requests_per_second),
            clock,
            log,
            refusals: Mutex::default(),
        };
        let api = bind("http.listen", http.listen)?;
        let probe = http.probe_listen.map(|address| bind("http.probe-listen", address)).transpose()?;
        raise_descriptor_limit(
            (limits.connections + max_strangers(&limits)) as u64 + 2 * limits.sessions as u64 + OTHER_DESCRIPTORS,
        );
        let tls = tls.map(|tls| Arc::new(RwLock::new(TlsAcceptor::from(tls.config))));
        Ok(Server { http: http.clone(), api, probe, tls, state: Arc::new(state) })
    }

    /// Serves on threads of its own, for as long as the process lives.
    pub fn start(self) -> Result<Reloader, ServeError> {
        let reloader = Reloader { tls: self.tls.clone(), state: self.state.clone() };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("http")
            .enable_io()
            .enable_time()
            .build()
            .map_err(ServeError::Thread)?;
        let thread = std::thread::Builder::new().name("http".to_string());
        thread.spawn(move || runtime.block_on(self.serve())).map_err(ServeError::Thread)?;
        Ok(reloader)
    }

    async fn serve(self) {
        let (state, log) = (self.state.clone(), self.state.log.clone());
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        log(format_args!("the API listens on {scheme}://{}", self.http.listen));
        if self.tls.is_none() && !self.http.listen.ip().is_loopback() {
            log(format_args!("WARNING: bearer tokens cross the network in plain text; set [http.tls]"));
        }
        if let (Some(probe), Some(address)) = (self.probe, self.http.probe_listen) {
            log(format_args!("health checks and metrics are at http://{address}, without authentication"));
            let listener = Listener {
                router: routes::probe_router(state.clone()),
                tls: None,
                // Nobody is known there.
                admission: Admission::new(MAX_PROBE_CONNECTIONS, 0),
                builder: connection_builder(),
            };
            tokio::spawn(listener.accept_all(probe));
        }
        let follower = state.clone();
        tokio::spawn(async move { follower.offices.follow(follower.link.socket()).await });
        let listener = Listener {
            router: routes::router(state),
            tls: self.tls,
            admission: Admission::new(max_strangers(&self.http.limits), self.http.limits.connections),
            builder: connection_builder(),
        };
        listener.accept_all(self.api).await;
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("http", &self.http).finish_non_exhaustive()
    }
}

fn bind(key: &'static str, address: SocketAddr) -> Result<StdListener, ServeError> {
    let bound = StdListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    bound.map_err(|error| ServeError::Bind { key, address, error })
}

/// Raises the soft limit of file descriptors, as far as the hard limit allows.
fn raise_descriptor_limit(needed: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < needed) {
        let wanted = maximum.map_or(needed, |maximum| needed.min(maximum));
        // If it is denied, there are fewer connections than configured.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

fn connection_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .max_headers(MAX_HEADERS)
        .half_close(false);
    builder
}

/// One address with its routes.
struct Listener {
    router: Router,
    tls: Option<SharedTls>,
    admission: Arc<Admission>,
    builder: http1::Builder,
}

impl Listener {
    async fn accept_all(self, listener: StdListener) {
        let Ok(listener) = TcpListener::from_std(listener) else { return };
        let shared = Arc::new(self);
        loop {
            let Ok((stream, address)) = listener.accept().await else {
                // Retrying at once would spin.
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            };
            let (listener, place) = (shared.clone(), shared.admission.enter(address.ip()));
            let own = place.clone();
            let task = tokio::spawn(async move { listener.serve(stream, address, own).await });
            place.is_served_by(task.abort_handle());
        }
    }

    async fn serve(&self, stream: TcpStream, address: SocketAddr, place: Arc<Place>) {
        // Events must leave at once; and a watcher whose host is gone must not stay.
        let _ = stream.set_nodelay(true);
        let timeout = UNACKNOWLEDGED_TIMEOUT.as_millis() as u32;
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, timeout);
        let peer = Peer { address: address.ip(), certificate: None };
        let Some(tls) = &self.tls else { return self.serve_stream(stream, peer, place).await };
        let tls = tls.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await else { return };
        let certificates = stream.get_ref().1.peer_certificates();
        let certificate = certificates.and_then(|chain| chain.first()).map(tls::client_name);
        self.serve_stream(stream, Peer { certificate, ..peer }, place).await;
    }

    /// Serves one connection until it ends, or becomes a stream: then a task of its own, which is smaller, has it.
    async fn serve_stream(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: Peer,
        place: Arc<Place>,
    ) {
        let takeover = Mutex::new(None);
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let mut request: Request = request.map(Body::new);
            request.extensions_mut().insert(peer.clone());
            request.extensions_mut().insert(place.clone());
            let (mut router, takeover) = (self.router.clone(), &takeover);
            // What a HEAD is answered with is never a stream.
            let is_get = request.method() == Method::GET;
            Box::pin(async move {
                let mut response = router.call(request).await.unwrap_or_else(|never| match never {});
                if is_get && let Some(stream) = EventStream::take_from(&mut response) {
                    *lock(takeover) = Some(stream);
                    // Hyper is dropped before it could ask again.
                    std::future::pending::<()>().await;
                }
                Ok::<_, Infallible>(response)
            })
        });
        let mut connection = self.builder.serve_connection(TokioIo::new(stream), service);
        let stream = poll_fn(|context| {
            let polled = connection.poll_without_shutdown(context);
            match lock(&takeover).take() {
                Some(stream) => Poll::Ready(Some(stream)),
                // What ended a connection concerns its client alone.
                None => polled.map(|_| None),
            }
        });
        let stream = stream.await;
        let mut io = connection.into_parts().io.into_inner();
        match stream {
            None => _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, io.shutdown()).await,
            Some(stream) => {
                tokio::spawn(async move {
                    stream.run(io).await;
                    drop(place);
                });
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many connections there may be on which nobody who is known has sent a request yet.
fn max_strangers(limits: &HttpLimits) -> usize {
    limits.connections.min(MAX_STRANGERS)
}
