//! `hustings token`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hustings_http::{NewToken, TokenRight, add_token};
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::ClusterFailure;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings token jobs --right campaign --file tokens.toml   prints the token, and adds its hash to the file
  hustings token ops --right operate                        prints the token, and the lines for the file

The file is `http.tokens` in the configuration of each node that is to accept the token; SIGHUP makes a node read it again.
It has only the hash. Whoever has the token has its right, so keep it in a file of mode 600, not on command lines.")]
pub(crate) struct TokenArgs {
    /// Who uses the token; the audit log has this name.
    name: String,
    /// What the token allows.
    #[arg(long, value_enum)]
    right: RightArg,
    /// Adds the token to this file; it is created if it does not exist.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RightArg {
    /// To read.
    Read,
    /// To read, and to campaign for offices.
    Campaign,
    /// To campaign, and to operate the cluster: transfers, pauses.
    Operate,
}

pub(crate) fn run(args: &TokenArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let right = match args.right {
        RightArg::Read => TokenRight::Read,
        RightArg::Campaign => TokenRight::Campaign,
        RightArg::Operate => TokenRight::Operate,
    };
    let NewToken { secret, sha256, entry } =
        add_token(args.file.as_deref(), &args.name, right).map_err(ClusterFailure::Token)?;
    match (args.format, &args.file) {
        (Format::Json, _) => {
            writeln!(console.out, "{}", json!({ "name": args.name, "token": secret, "sha256": sha256 }))?
        }
        (Format::Text, Some(_)) => writeln!(console.out, "{secret}")?,
        (Format::Text, None) => {
            writeln!(console.out, "# The token, which is stored nowhere: {secret}\n# For the token file:\n{entry}")?;
        }
    }
    Ok(Exit::Done)
}
