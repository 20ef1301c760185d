//! `hustings resign`, `transfer`, `pause` and `resume`.

use clap::Args;
use hustings_cluster::api::Request;
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::place::Asked;
use super::{Common, EXIT_CODES, text};

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings resign leader                       the next best takes over; ask any node

The holder stops first, then the next one is appointed. Who resigned does not stand again for ten seconds.
{EXIT_CODES}"))]
pub(crate) struct ResignArgs {
    /// The office.
    office: String,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn resign(args: &ResignArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut asked = args.common.place.connect()?;
    let request = Request::Resign { office: args.office.clone() };
    asked.order(&request).map_err(|failure| asked.about_office(&args.office, failure))?;
    tell(&mut asked, &args.office, args.common.format, console)
}

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings transfer leader --to b

`b` is made ready first, then the holder stops, then `b` is appointed. If that fails, the holder keeps the office.
{EXIT_CODES}"))]
pub(crate) struct TransferArgs {
    /// The office.
    office: String,
    /// The member that is to hold it.
    #[arg(long, value_name = "NAME")]
    to: String,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn transfer(args: &TransferArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut asked = args.common.place.connect()?;
    asked.check_member(&args.to)?;
    let request = Request::Transfer { office: args.office.clone(), to: args.to.clone() };
    asked.order(&request).map_err(|failure| asked.about_office(&args.office, failure))?;
    tell(&mut asked, &args.office, args.common.format, console)
}

fn tell(asked: &mut Asked, office: &str, format: Format, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let status = asked.office(office)?;
    match format {
        Format::Text => writeln!(console.out, "{}", text::office(&status))?,
        Format::Json => writeln!(console.out, "{}", json!(status))?,
    }
    Ok(Exit::Done)
}

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings pause                               before hosts are worked on
  hustings resume                              afterwards

Whoever holds an office keeps it; an office whose holder is lost stays empty until `hustings resume`.
{EXIT_CODES}"))]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    common: Common,
}

pub(crate) fn pause(args: &PauseArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    args.common.place.connect()?.order(&Request::Pause)?;
    match args.common.format {
        Format::Text => writeln!(console.out, "paused: nobody new is elected until `hustings resume`")?,
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
    common: Common,
}

pub(crate) fn resume(args: &ResumeArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    args.common.place.connect()?.order(&Request::Resume)?;
    match args.common.format {
        Format::Text => writeln!(console.out, "elections go on")?,
        Format::Json => writeln!(console.out, "{}", json!({ "paused": false }))?,
    }
    Ok(Exit::Done)
}
