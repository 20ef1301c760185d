//! The laboratory's page: elections that can be seen, stepped through and broken by hand.
//!
//! A run is a request (algorithm, network, faults, seed) and a list of interventions; the engine is deterministic, so
//! that is all there is to share. The server runs the whole election and answers with its [`timeline`]: every event
//! with its cause, what it sent, what changed and a sentence about it. The page steps through that locally. An
//! intervention is one more entry of the list, and another request.
//!
//! - `request`: the text of a run, as it stands in the address of the page.
//! - `run`, `timeline`, `narration`, `layout`: from a request to what the page shows.
//! - `chart`, `lessons`, `listing`: charts over the number of nodes, guided scenarios, the catalogue.
//! - `live`: a cluster of real nodes, read from their sockets.
//! - `server`: HTTP, and who may ask.
//! - `../page`: the page itself, embedded.

mod chart;
mod error;
mod export;
mod layout;
pub mod lessons;
mod listing;
pub mod live;
mod narration;
pub mod open;
pub mod request;
pub mod run;
mod server;
pub mod timeline;

pub use error::LabError;
pub use server::{Lab, Listener, Options};
