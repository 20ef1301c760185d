//! The node that a command talks to, and the conversation with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use hustings_cluster::api::{
    Change, Client, ClientError, Metrics, OfficeStatus, Reply, Request, RequestError, StateInfo, Status, StoredState,
    Trace,
};
use hustings_cluster::config::Config;
use hustings_text::quote;

use super::{ClusterFailure, LEADER};

/// The configuration file if neither an option nor a variable names one.
const DEFAULT_CONFIG: &str = "hustings.toml";
/// The socket of a node that was installed from a package: asked if nothing names another one, and there is no
/// configuration in the working directory.
const PACKAGED_SOCKET: &str = "/run/hustings/hustings.sock";
/// How long a node may take to answer by itself; requests that move an office may take two hand-overs longer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);
/// The assumed length of a hand-over if the configuration is not read.
const ASSUMED_HAND_OVER: Duration = Duration::from_secs(30);
/// How often a command that waits for a holder asks again. Usually the node reports the holder earlier.
const HOLDER_RECHECK: Duration = Duration::from_millis(100);

/// Which node to ask.
#[derive(Args, Debug)]
pub(crate) struct NodeTarget {
    /// The node's configuration file [default: $HUSTINGS_CONFIG, or ./hustings.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The node's socket, instead of its configuration file [default: $HUSTINGS_SOCKET, or that of a node
    /// from a package].
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    socket: Option<PathBuf>,
    /// How long to wait for the node to come up and, where a holder is asked for, for the office to have one; 0s does
    /// not wait.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = humantime::parse_duration)]
    wait: Duration,
}

impl NodeTarget {
    /// Connects to the node.
    pub(crate) fn connect(&self) -> Result<NodeClient, ClusterFailure> {
        let start = Instant::now();
        let (socket, hand_over) = match &self.socket {
            Some(socket) => (socket.clone(), ASSUMED_HAND_OVER),
            None => match default_socket().filter(|_| self.config.is_none()) {
                Some(socket) => (socket, ASSUMED_HAND_OVER),
                None => {
                    let config = Config::read_as_client(&config_path(self.config.as_ref()))?;
                    (config.socket, config.timing.hand_over)
                }
            },
        };
        let client = Client::connect(&socket, self.wait)?;
        let wait_until = start.checked_add(self.wait);
        Ok(NodeClient { client, socket, wait_until, timeout: REPLY_TIMEOUT + hand_over * 2 })
    }
}

/// The socket to connect to if no option names one: the variable's, or that of a node from a package.
pub(super) fn default_socket() -> Option<PathBuf> {
    let packaged = || {
        let is_alone = variable("HUSTINGS_CONFIG").is_none() && !Path::new(DEFAULT_CONFIG).exists();
        Some(PathBuf::from(PACKAGED_SOCKET)).filter(|socket| is_alone && socket.exists())
    };
    variable("HUSTINGS_SOCKET").map(PathBuf::from).or_else(packaged)
}

/// The configuration file to read: the option, else the variable, else the default.
pub(crate) fn config_path(option: Option<&PathBuf>) -> PathBuf {
    let named = option.cloned().or_else(|| variable("HUSTINGS_CONFIG").map(PathBuf::from));
    named.unwrap_or_else(|| PathBuf::from(DEFAULT_CONFIG))
}

/// Whether an office has a holder that a majority confirmed.
pub(crate) fn is_held(status: &OfficeStatus) -> bool {
    status.current && status.holder.is_some()
}

pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// A connection to a node, with one method per kind of request.
#[derive(Debug)]
pub(crate) struct NodeClient {
    pub(crate) client: Client,
    socket: PathBuf,
    /// When the time to wait is over; `None` if that is beyond what the clock can represent.
    wait_until: Option<Instant>,
    timeout: Duration,
}

impl NodeClient {
    fn call(&mut self, request: &Request) -> Result<Reply, ClusterFailure> {
        match self.client.call(request, Some(self.timeout))? {
            Reply::Error(error) => Err(error.into()),
            reply => Ok(reply),
        }
    }

    /// Sends a request that changes something, and waits until it is done.
    pub(crate) fn execute(&mut self, request: &Request) -> Result<(), ClusterFailure> {
        match self.call(request)? {
            Reply::Done => Ok(()),
            _ => Err(ClusterFailure::UnexpectedReply),
        }
    }

    /// The state of the cluster, with all offices.
    pub(crate) fn status(&mut self) -> Result<Status, ClusterFailure> {
        let mut status = match self.call(&Request::Status)? {
            Reply::Status(status) => *status,
            _ => return Err(ClusterFailure::UnexpectedReply),
        };
        while let Some(after) = status.next_office.take() {
            match self.call(&Request::Offices { after: Some(after), limit: None })? {
                Reply::Offices { offices, next } => {
                    status.offices.extend(offices);
                    status.next_office = next;
                }
                _ => return Err(ClusterFailure::UnexpectedReply),
            }
        }
        Ok(status)
    }

    /// The part of the node's configuration in which all members must agree.
    pub(crate) fn settings(&mut self) -> Result<String, ClusterFailure> {
        let mut settings = String::new();
        loop {
            match self.call(&Request::Settings { offset: settings.len() })? {
                Reply::Settings { text, next } => {
                    settings += &text;
                    if next.is_none_or(|next| next != settings.len()) {
                        return Ok(settings);
                    }
                }
                _ => return Err(ClusterFailure::UnexpectedReply),
            }
        }
    }

    /// Changes a member. Whether there is one, a majority says: what this node knows may be old.
    pub(crate) fn change_member(&mut self, name: &str, request: &Request) -> Result<(), ClusterFailure> {
        match self.execute(request) {
            Err(ClusterFailure::Rejected(refusal)) if refusal.code == "unknown-member" => {}
            done => return done,
        }
        let Status { members, current, .. } = self.status()?;
        match current && !members.iter().any(|member| member.name == name) {
            true => Err(ClusterFailure::unknown("member", name, members.iter().map(|member| member.name.as_str()))),
            false => Err(ClusterFailure::UncertainMember(quote(name))),
        }
    }

    /// The name of the node.
    pub(crate) fn own_name(&mut self, office: &str) -> Result<String, ClusterFailure> {
        match self.call(&Request::Terms { office: office.to_string() })? {
            Reply::Terms(terms) => Ok(terms.node),
            _ => Err(ClusterFailure::UnexpectedReply),
        }
    }

    pub(crate) fn office(&mut self, office: &str) -> Result<OfficeStatus, ClusterFailure> {
        match self.call(&Request::Leader { office: office.to_string() })? {
            Reply::Office(status) => Ok(status),
            _ => Err(ClusterFailure::UnexpectedReply),
        }
    }

    /// The holder of an office. If the office is vacant, or its holder has failed and the next one is not elected yet,
    /// waits for the next holder as long as `--wait` allows. Returns the last answer.
    pub(crate) fn wait_for_holder(&mut self, office: &str) -> Result<OfficeStatus, ClusterFailure> {
        let mut status = self.office(office)?;
        if is_held(&status) || self.time_left().is_zero() {
            return Ok(status);
        }
        // On a connection of its own, because its replies may arrive at any time.
        let mut watch = Client::connect(&self.socket, Duration::ZERO)?;
        watch.send(&Request::Watch { office: Some(office.to_string()) })?;
        while !is_held(&status) {
            let left = self.time_left();
            if left.is_zero() {
                break;
            }
            match watch.recv(Some(left.min(HOLDER_RECHECK))) {
                Ok(Reply::Office(answer)) => status = answer,
                Ok(Reply::Error(error)) => return Err(error.into()),
                Ok(_) => return Err(ClusterFailure::UnexpectedReply),
                // A watch reports changes. An answer that could not be confirmed may be right without any.
                Err(ClientError::Timeout { .. }) => watch.send(&Request::Leader { office: office.to_string() })?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(status)
    }

    /// Waits for the holder of an office that is to be moved. Returns at once if the office never had a holder: that is
    /// an error of the request that follows. Only `leader` is certain to get one.
    pub(crate) fn wait_until_held(&mut self, office: &str) -> Result<(), ClusterFailure> {
        let status = self.office(office)?;
        if status.current && status.token == 0 && office != LEADER {
            return Ok(());
        }
        self.wait_for_holder(office).map(drop)
    }

    fn time_left(&self) -> Duration {
        self.wait_until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }

    pub(crate) fn history(&mut self, office: Option<&str>) -> Result<Vec<Change>, ClusterFailure> {
        match self.call(&Request::History { office: office.map(str::to_string) })? {
            Reply::History { changes } => Ok(changes),
            _ => Err(ClusterFailure::UnexpectedReply),
        }
    }

    /// The state of an office; `None` if it has none.
    pub(crate) fn state(&mut self, office: &str) -> Result<Option<StoredState>, ClusterFailure> {
        Ok(self.client.get_state(office, self.timeout)?)
    }

    /// Stores the state of an office.
    pub(crate) fn put_state(&mut self, office: &str, token: u64, data: &[u8]) -> Result<(), ClusterFailure> {
        Ok(self.client.put_state(office, token, data, self.timeout)?)
    }

    /// All states, without their bytes.
    pub(crate) fn states(&mut self) -> Result<Vec<StateInfo>, ClusterFailure> {
        Ok(self.client.list_states(self.timeout)?)
    }

    /// Deletes the state of an office, as its holder or, without a token, as an operator.
    pub(crate) fn delete_state(&mut self, office: &str, token: Option<u64>) -> Result<(), ClusterFailure> {
        Ok(self.client.delete_state(office, token, self.timeout)?)
    }

    pub(crate) fn metrics(&mut self) -> Result<Metrics, ClusterFailure> {
        match self.call(&Request::Metrics)? {
            Reply::Metrics(metrics) => Ok(*metrics),
            _ => Err(ClusterFailure::UnexpectedReply),
        }
    }

    /// Everything that the node remembers, page by page.
    pub(crate) fn trace(&mut self) -> Result<Trace, ClusterFailure> {
        Ok(self.client.trace(self.timeout)?)
    }

    /// The names of all offices.
    pub(crate) fn offices(&mut self) -> Result<Vec<String>, ClusterFailure> {
        Ok(self.status()?.offices.into_iter().map(|office| office.office).collect())
    }

    /// Fails, with a suggestion, if no member has this name.
    pub(crate) fn check_member(&mut self, name: &str) -> Result<(), ClusterFailure> {
        let members = self.status()?.members;
        if members.iter().any(|member| member.name == name) {
            return Ok(());
        }
        Err(ClusterFailure::unknown("member", name, members.iter().map(|member| member.name.as_str())))
    }

    /// Turns "nobody holds this office" into "there is no such office", with a suggestion, where that is the cause.
    pub(crate) fn explain_office_error(&mut self, office: &str, failure: ClusterFailure) -> ClusterFailure {
        let ClusterFailure::Rejected(RequestError { code, .. }) = &failure else { return failure };
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
