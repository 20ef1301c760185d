//! The HTTP API of a node: offices, sessions with leases, watches, operations and health checks.
//!
//! [`Server`] runs on threads of its own inside the node's process. It is a client of the node's own Unix socket: it
//! adds no work to the node's event loop but the requests that it sends there, and none of the node's decisions is made
//! here.
//! `docs/api.md` describes the API for its users; `GET /openapi.json` is its description for programs.
//!
//! - `server`: listeners, limits of connections, TLS.
//! - `admission`: which connections may stay. `auth`, `rate`: who calls, what they may do, and how often.
//! - `routes`: the routes, a file for each group of them; `extract`, `error`, `json` and `model` are their parts.
//! - `sessions`: campaigns of HTTP clients, with the argument why two of them never act at the same time.
//! - `offices`: what the node knows of all offices, and who watches them. `stream`: connections of watchers. `link`:
//!   connections to the node.

mod admission;
mod auth;
mod error;
mod extract;
mod hosts;
mod json;
mod link;
mod model;
mod offices;
mod rate;
mod routes;
mod server;
mod sessions;
mod state;
mod stream;
mod tls;

pub use auth::{NewToken, TokenFileError, TokenRight, add_token};
pub use routes::document as openapi;
pub use server::{Reloader, ServeError, Server};
pub use state::Log;
pub use tls::TlsError;
