//! Where the node is, and a conversation with it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hustings_cluster::api::{Change, Client, OfficeStatus, Refusal, Reply, Request, Status};
use hustings_cluster::config::Config;

use super::ClusterFailure;

/// Where to look if nobody says anything.
const USUAL: &str = "hustings.toml";
/// A node answers at once, unless it waits for others: twice the time for a hand-over, and this for itself.
const OWN_TIME: Duration = Duration::from_secs(5);
/// The time for a hand-over, where the configuration is not known.
const LONG_HAND_OVER: Duration = Duration::from_secs(30);

/// Which node is asked.
#[derive(Args, Debug)]
pub(crate) struct Place {
    /// The configuration of the node [default: $HUSTINGS_CONFIG, or ./hustings.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The socket of the node, instead of its configuration [default: $HUSTINGS_SOCKET].
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    socket: Option<PathBuf>,
}

impl Place {
    /// A connection to the node.
    pub(crate) fn connect(&self) -> Result<Asked, ClusterFailure> {
        let (socket, hand_over) = match &self.socket {
            Some(socket) => (socket.clone(), LONG_HAND_OVER),
            None => match variable("HUSTINGS_SOCKET").filter(|_| self.config.is_none()) {
                Some(socket) => (PathBuf::from(socket), LONG_HAND_OVER),
                None => {
                    let config = Config::read_as_client(&configuration(self.config.as_ref()))?;
                    (config.socket, config.timing.hand_over)
                }
            },
        };
        Ok(Asked { client: Client::connect(socket)?, patience: OWN_TIME + hand_over * 2 })
    }
}

/// The configuration file that is meant.
pub(crate) fn configuration(typed: Option<&PathBuf>) -> PathBuf {
    let named = typed.cloned().or_else(|| variable("HUSTINGS_CONFIG").map(PathBuf::from));
    named.unwrap_or_else(|| PathBuf::from(USUAL))
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// A node that can be asked.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) client: Client,
    patience: Duration,
}

impl Asked {
    fn ask(&mut self, request: &Request) -> Result<Reply, ClusterFailure> {
        match self.client.ask(request, Some(self.patience))? {
            Reply::Refused(refusal) => Err(refusal.into()),
            reply => Ok(reply),
        }
    }

    /// Asks for something to be done.
    pub(crate) fn order(&mut self, request: &Request) -> Result<(), ClusterFailure> {
        match self.ask(request)? {
            Reply::Done => Ok(()),
            _ => Err(ClusterFailure::Unexpected),
        }
    }

    pub(crate) fn status(&mut self) -> Result<Status, ClusterFailure> {
        match self.ask(&Request::Status)? {
            Reply::Status(status) => Ok(*status),
            _ => Err(ClusterFailure::Unexpected),
        }
    }

    pub(crate) fn office(&mut self, office: &str) -> Result<OfficeStatus, ClusterFailure> {
        match self.ask(&Request::Leader { office: office.to_string() })? {
            Reply::Office(status) => Ok(status),
            _ => Err(ClusterFailure::Unexpected),
        }
    }

    pub(crate) fn history(&mut self, office: Option<&str>) -> Result<Vec<Change>, ClusterFailure> {
        match self.ask(&Request::History { office: office.map(str::to_string) })? {
            Reply::History { changes } => Ok(changes),
            _ => Err(ClusterFailure::Unexpected),
        }
    }

    /// The names of the offices that there are.
    pub(crate) fn offices(&mut self) -> Result<Vec<String>, ClusterFailure> {
        Ok(self.status()?.offices.into_iter().map(|office| office.office).collect())
    }

    /// Fails with the nearest name if no member is called so.
    pub(crate) fn check_member(&mut self, name: &str) -> Result<(), ClusterFailure> {
        let members = self.status()?.members;
        if members.iter().any(|member| member.name == name) {
            return Ok(());
        }
        Err(ClusterFailure::unknown("member", name, members.iter().map(|member| member.name.as_str())))
    }

    /// Why an office was refused, with the nearest name if there is no such office.
    pub(crate) fn about_office(&mut self, office: &str, failure: ClusterFailure) -> ClusterFailure {
        let ClusterFailure::Refused { refusal: Refusal { code, .. } } = &failure else { return failure };
        if code != "not-held" {
            return failure;
        }
        match self.offices() {
            Ok(offices) if !offices.iter().any(|known| known == office) => {
                ClusterFailure::unknown("office", office, offices.iter().map(String::as_str))
            }
            _ => failure,
        }
    }
}
