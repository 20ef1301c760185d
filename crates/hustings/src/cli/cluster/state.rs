//! `hustings state`: what the holder of an office stores for its successors.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hustings_text::quote;
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::{Failure, warn};
use super::target::variable;
use super::{ClientArgs, ClusterFailure, EXIT_CODES, text};

/// The largest state that any configuration allows. More is not read.
const MAX_BYTES: u64 = 16 << 20;

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings state get billing                   print the state of `billing`
  hustings state get billing --output FILE     write it to a file
  hustings run billing -- sh -c 'hustings state get billing | ./resume; ...; ./save | hustings state put billing'
  hustings state put billing --token 42 FILE   store a file, as the holder with the token 42
  hustings state list                          print which offices have a state, its size, and who stored it when
  hustings state delete billing                delete it, as an operator

Only the holder of an office can store its state, with its token; it is refused if another holder was appointed since.
A state is at most 1 MiB unless the configuration says otherwise. When `put` returns, a majority has stored it.
`delete` with a token needs no more than `put` does; without one it needs the right to operate, and no holder is asked.
{EXIT_CODES}"))]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Print the state of an office.
    Get(GetArgs),
    /// Store the state of an office, from a file or standard input.
    Put(PutArgs),
    /// List the states of all offices.
    List(ListArgs),
    /// Delete the state of an office.
    Delete(DeleteArgs),
}

#[derive(Args, Debug)]
struct GetArgs {
    /// The office.
    office: String,
    /// Write the state to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    client_args: ClientArgs,
}

#[derive(Args, Debug)]
struct PutArgs {
    /// The office.
    office: String,
    /// The file to store; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The token of the holder [default: $HUSTINGS_TOKEN, which `hustings run` sets].
    #[arg(long, value_name = "N")]
    token: Option<u64>,
    #[command(flatten)]
    client_args: ClientArgs,
}

#[derive(Args, Debug)]
struct ListArgs {
    #[command(flatten)]
    client_args: ClientArgs,
}

#[derive(Args, Debug)]
struct DeleteArgs {
    /// The office.
    office: String,
    /// Delete it as the holder with this token [default: $HUSTINGS_TOKEN; without either, as an operator].
    #[arg(long, value_name = "N")]
    token: Option<u64>,
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn run(args: &StateArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match &args.action {
        Action::Get(args) => get(args, console),
        Action::Put(args) => put(args, console),
        Action::List(args) => list(args, console),
        Action::Delete(args) => delete(args, console),
    }
}

fn get(args: &GetArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let state = args.client_args.target.connect()?.state(&args.office)?;
    let Some(state) = state else {
        match args.client_args.format {
            Format::Json => writeln!(console.out, "{}", json!({ "office": args.office, "state": null }))?,
            Format::Text => warn(console, &format!("no holder of `{}` has stored a state", quote(&args.office))),
        }
        return Ok(Exit::No);
    };
    if let Some(path) = &args.output {
        std::fs::write(path, &state.data).map_err(file_failure(path))?;
    }
    match (args.client_args.format, &args.output) {
        (Format::Json, output) => {
            let text = String::from_utf8(state.data.clone()).ok().filter(|_| output.is_none());
            let about = json!({
                "office": args.office,
                "state": {
                    "holder": state.holder,
                    "token": state.token,
                    "revision": state.revision,
                    "unix_ms": state.unix_ms,
                    "bytes": state.data.len(),
                    "text": text,
                },
            });
            writeln!(console.out, "{about}")?;
        }
        (Format::Text, None) => console.out.write_all(&state.data)?,
        (Format::Text, Some(path)) => {
            let (bytes, path) = (state.data.len(), path.display());
            let when = text::time(state.unix_ms);
            let (holder, token) = (&state.holder, state.token);
            writeln!(console.out, "{path}: {bytes} bytes, stored by {holder} (token {token}) at {when}")?;
        }
    }
    Ok(Exit::Done)
}

fn put(args: &PutArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let token = match args.token {
        Some(token) => token,
        None => token_of_environment()?.ok_or(ClusterFailure::NoToken { found: None })?,
    };
    let data = read_bounded(&args.file)?;
    args.client_args.target.connect()?.put_state(&args.office, token, &data)?;
    match args.client_args.format {
        Format::Json => writeln!(console.out, "{}", json!({ "office": args.office, "bytes": data.len() }))?,
        Format::Text => writeln!(console.out, "stored {} bytes for {}", data.len(), quote(&args.office))?,
    }
    Ok(Exit::Done)
}

fn list(args: &ListArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let states = args.client_args.target.connect()?.states()?;
    match args.client_args.format {
        Format::Json => writeln!(console.out, "{}", json!({ "states": states }))?,
        Format::Text => {
            let rows = states.into_iter().map(|state| {
                let stored = text::time(state.unix_ms);
                vec![state.office, state.bytes.to_string(), state.holder, state.token.to_string(), stored]
            });
            text::table(&["office", "bytes", "stored by", "token", "at"], rows, console)?;
        }
    }
    Ok(Exit::Done)
}

fn delete(args: &DeleteArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let token = match args.token {
        Some(token) => Some(token),
        None => token_of_environment()?,
    };
    args.client_args.target.connect()?.delete_state(&args.office, token)?;
    match args.client_args.format {
        Format::Json => writeln!(console.out, "{}", json!({ "office": args.office, "state": null }))?,
        Format::Text => writeln!(console.out, "deleted the state of {}", quote(&args.office))?,
    }
    Ok(Exit::Done)
}

/// The token that `hustings run` has set for its command, if this is one.
fn token_of_environment() -> Result<Option<u64>, ClusterFailure> {
    let Some(given) = variable("HUSTINGS_TOKEN") else { return Ok(None) };
    let found = given.to_string_lossy().into_owned();
    found.parse().map(Some).map_err(|_| ClusterFailure::NoToken { found: Some(quote(&found)) })
}

/// Reads a file, or standard input, up to what can be stored.
fn read_bounded(path: &Path) -> Result<Vec<u8>, ClusterFailure> {
    let mut data = Vec::new();
    let read = match path.as_os_str() == "-" {
        true => io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut data),
        false => File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut data)),
    };
    read.map_err(file_failure(path))?;
    if data.len() as u64 > MAX_BYTES {
        return Err(ClusterFailure::StateTooLarge { path: path.to_path_buf(), limit: MAX_BYTES });
    }
    Ok(data)
}

fn file_failure(path: &Path) -> impl FnOnce(io::Error) -> ClusterFailure {
    let path = path.to_path_buf();
    move |error| ClusterFailure::StateFile { path, error }
}
