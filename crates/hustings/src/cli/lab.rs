//! `hustings lab`, and `--open` of other commands.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use hustings_cluster::config::Config;
use hustings_elections::Catalogue;
use hustings_lab::live::{LiveNode, Monitor};
use hustings_lab::request::{self, Bounds};
use hustings_lab::timeline::Timeline;
use hustings_lab::{Lab, LabError, Listener, Options, lessons, open};
use hustings_sim::simulate::Field;
use tempfile::NamedTempFile;

use super::args::Format;
use super::cluster::ClusterFailure;
use super::console::{Console, Exit};
use super::failure::Failure;
use super::signals::stop_flag;

const EXAMPLES: &str = "Examples:
  hustings lab                                     print the page's address, and open it
  hustings lab --run 'a=franklin&n=16&ids=random'  with this run; the text is what follows # in an address
  hustings lab wrong.jsonl                         with a trace that `hustings sim --trace jsonl` has written
  hustings lab --lessons my-lessons                with a teacher's own lessons
  hustings lab --cluster a/hustings.toml           with a running cluster, read-only
  hustings lab --class --listen 0.0.0.0:8080       for a class: many visitors, small runs

The page listens on loopback and wants a token that only the printed address has. See docs/lab.md.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LabArgs {
    /// Shows this trace first, a file of `--trace jsonl`.
    pub(crate) trace: Option<PathBuf>,
    /// Shows this run first: the text that follows `#` in an address of the page.
    #[arg(long, value_name = "RUN", conflicts_with = "trace")]
    pub(crate) run: Option<String>,
    /// Adds the lessons of a folder: its files NAME.toml.
    #[arg(long, value_name = "DIR")]
    pub(crate) lessons: Option<PathBuf>,
    /// Shows a running cluster as well, read-only: the configuration file of a node on this host.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["class", "trace", "run"])]
    pub(crate) cluster: Option<PathBuf>,
    /// Address to listen on; port 0 is a free one. Addresses other than loopback need --class.
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0))]
    pub(crate) listen: SocketAddr,
    /// Serves many visitors: without a token, with small runs and limits for each visitor.
    #[arg(long)]
    pub(crate) class: bool,
    /// Name under which browsers may ask for the page, in addition to its address. Repeatable.
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// Prints the address, but does not open a browser.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Format of the output: the address as text, or as one JSON object.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(crate) fn run(args: &LabArgs, catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if !args.class && !args.listen.ip().is_loopback() {
        return Err(Failure::Conflict {
            problem: format!("--listen {}: without --class the page listens on loopback only", args.listen),
            help: "say --class: small runs, limits for each visitor, and no token".to_string(),
        });
    }
    let mut lab = Lab::new(catalogue.clone());
    if let Some(folder) = &args.lessons {
        lab.add_lessons(lessons::in_folder(folder, catalogue).map_err(failed("--lessons"))?);
    }
    let first = match (&args.trace, &args.run) {
        (Some(path), _) => lab.open(read_trace(path, catalogue)?),
        (None, Some(text)) => {
            let bounds = if args.class { Bounds::CLASS } else { Bounds::OWN };
            request::parse(text, catalogue, &bounds).map_err(failed("--run"))?;
            text.trim_start_matches('#').to_string()
        }
        (None, None) if args.cluster.is_some() => "live".to_string(),
        (None, None) => String::new(),
    };
    if let Some(path) = &args.cluster {
        let config = Config::read_as_client(path).map_err(ClusterFailure::from)?;
        lab.show_cluster(Monitor::start(vec![LiveNode { name: String::new(), socket: config.socket }], None));
    }
    let options = Options { listen: args.listen, hosts: args.hosts.clone(), class: args.class };
    serve(lab, options, &first, !args.no_browser && !args.class, args.format, console)
}

/// Shows a run of `hustings sim`.
pub(crate) fn show_run(
    algorithm: &str,
    fields: &[(Field, String)],
    catalogue: &Catalogue,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let text = request::text(algorithm, fields);
    request::parse(&text, catalogue, &Bounds::OWN).map_err(failed("--open"))?;
    serve(Lab::new(catalogue.clone()), Options::default(), &text, true, Format::Text, console)
}

/// Shows a trace.
pub(crate) fn show_trace(path: &Path, catalogue: &Catalogue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    show_timeline(read_trace(path, catalogue)?, catalogue, console)
}

/// Shows a run that is known already.
pub(crate) fn show_timeline(
    timeline: Timeline,
    catalogue: &Catalogue,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let mut lab = Lab::new(catalogue.clone());
    let first = lab.open(timeline);
    serve(lab, Options::default(), &first, true, Format::Text, console)
}

fn failed(what: &'static str) -> impl Fn(LabError) -> Failure {
    move |error| Failure::Lab { what: what.to_string(), error }
}

/// The maximum size of a trace, as on the page itself.
const MAX_TRACE: u64 = 32 << 20;

fn read_trace(path: &Path, catalogue: &Catalogue) -> Result<Timeline, Failure> {
    use std::io::Read;
    let shown = path.display().to_string();
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_TRACE + 1).read_to_end(&mut bytes));
    read.map_err(|error| Failure::Experiment { path: shown.clone(), error })?;
    if bytes.len() as u64 > MAX_TRACE {
        let error = std::io::Error::other(format!("it is longer than {MAX_TRACE} bytes"));
        return Err(Failure::Experiment { path: shown, error });
    }
    open::trace(&bytes, catalogue).map_err(|error| Failure::Lab { what: shown, error })
}

fn serve(
    lab: Lab,
    options: Options,
    first: &str,
    opens_browser: bool,
    format: Format,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let address = options.listen.to_string();
    let could_not = |error| Failure::Serve { address: address.clone(), error };
    let stop = stop_flag().map_err(Failure::Signals)?;
    let listener = Listener::bind(options).map_err(could_not)?;
    let url = listener.url(first);
    match format {
        Format::Text => writeln!(console.out, "The page is at {url}\nCtrl-C ends it.")?,
        Format::Json => writeln!(console.out, "{}", serde_json::json!({ "url": url }))?,
    }
    console.out.flush()?;
    let _file = opens_browser.then(|| open_browser(&url));
    listener.serve(lab, &stop).map_err(could_not)?;
    Ok(Exit::Done)
}

/// Opens the address in the user's browser, if there is a display. If that fails, the printed address remains.
///
/// The address has a token, and every user of the host sees the arguments of a program. So the browser is given a file
/// that only this user can read, which leads to the address. It is removed when what is returned is dropped.
pub(crate) fn open_browser(url: &str) -> Option<NamedTempFile> {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let program = match (cfg!(target_os = "macos"), has_display) {
        (true, _) => "open",
        (false, true) => "xdg-open",
        (false, false) => return None,
    };
    let file = redirect_to(url).ok()?;
    let mut browser = Command::new(program);
    browser.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = browser.spawn() {
        // It ends soon, and is not left as a zombie.
        std::thread::spawn(move || child.wait());
    }
    Some(file)
}

/// A page in a private file that leads to another one.
fn redirect_to(url: &str) -> std::io::Result<NamedTempFile> {
    let url = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let mut file = tempfile::Builder::new().prefix("hustings-").suffix(".html").tempfile()?;
    writeln!(
        file,
        "<!doctype html><meta charset=\"utf-8\"><title>Hustings</title><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">The page</a>"
    )?;
    file.flush()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_user_can_read_where_the_browser_is_led() {
        let file = redirect_to("http://127.0.0.1:1/?token=secret#a=bully&values=\"<").expect("there is room");
        let text = std::fs::read_to_string(file.path()).expect("it was written");
        assert!(text.contains("url=http://127.0.0.1:1/?token=secret#a=bully&amp;values=&quot;&lt;\""), "{text}");
        let mode = file.as_file().metadata().expect("it is open").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
