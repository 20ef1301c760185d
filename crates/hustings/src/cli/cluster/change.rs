//! `hustings resign`, `transfer`, `pause` and `resume`.

use clap::Args;
use hustings_cluster::api::Request;
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::target::NodeClient;
use super::{ClientArgs, EXIT_CODES, text};

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings resign leader                       hand the office to the next member; ask any node

The holder stops first, then the next holder is appointed. The member that resigned does not campaign again for ten
seconds.
{EXIT_CODES}"))]
pub(crate) struct ResignArgs {
    /// The office.
    office: String,
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn resign(args: &ResignArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut node = args.client_args.target.connect()?;
    node.wait_until_held(&args.office)?;
    let request = Request::Resign { office: args.office.clone() };
    node.execute(&request).map_err(|failure| node.explain_office_error(&args.office, failure))?;
    print_holder(&mut node, &args.office, args.client_args.format, console)
}

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings transfer leader --to b

`b` gets ready first, then the holder stops, then `b` is appointed. If that fails, the holder keeps the office.
{EXIT_CODES}"))]
pub(crate) struct TransferArgs {
    /// The office.
    office: String,
    /// The member that takes the office over.
    #[arg(long, value_name = "NAME")]
    to: String,
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn transfer(args: &TransferArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut node = args.client_args.target.connect()?;
    node.check_member(&args.to)?;
    node.wait_until_held(&args.office)?;
    let request = Request::Transfer { office: args.office.clone(), to: args.to.clone() };
    node.execute(&request).map_err(|failure| node.explain_office_error(&args.office, failure))?;
    print_holder(&mut node, &args.office, args.client_args.format, console)
}

fn print_holder(
    node: &mut NodeClient,
    office: &str,
    format: Format,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let status = node.wait_for_holder(office)?;
    match format {
        Format::Text => writeln!(console.out, "{}", text::office(&status))?,
        Format::Json => writeln!(console.out, "{}", json!(status))?,
    }
    Ok(Exit::Done)
}

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings pause                               before maintenance
  hustings resume                              after it

Holders keep their offices. An office whose holder fails stays vacant until `hustings resume`.
{EXIT_CODES}"))]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn pause(args: &PauseArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    args.client_args.target.connect()?.execute(&Request::Pause)?;
    match args.client_args.format {
        Format::Text => writeln!(console.out, "elections are paused until `hustings resume`")?,
        Format::Json => writeln!(console.out, "{}", json!({ "paused": true }))?,
    }
    Ok(Exit::Done)
}

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings resume

{EXIT_CODES}"))]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    client_args: ClientArgs,
}

pub(crate) fn resume(args: &ResumeArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    args.client_args.target.connect()?.execute(&Request::Resume)?;
    match args.client_args.format {
        Format::Text => writeln!(console.out, "elections are resumed")?,
        Format::Json => writeln!(console.out, "{}", json!({ "paused": false }))?,
    }
    Ok(Exit::Done)
}
