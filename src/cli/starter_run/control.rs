//! Speaking to a starter that runs, and the socket by which it is spoken to.

use std::path::PathBuf;

use super::options::Cli;
use crate::cli::common::{Problem, Status, print_out};
use crate::os::Reactor;
use crate::runner::control::Control;
use crate::runner::starter::{Order, ask as ask_starter, listen};

/// `--ask WORD`: the starter that listens at `--control` is asked.
pub(super) fn ask(cli: &Cli, word: &str) -> anyhow::Result<Status> {
    let job = &cli.job;
    let socket = job.control.clone().unwrap_or_default();
    let order =
        Order { command: word.to_owned(), reason: job.reason.clone(), code: job.code, subcode: job.subcode };
    let reply = ask_starter(&socket, &order).map_err(|error| {
        Problem::unreadable(format!("no starter answers at '{}'", socket.display()))
            .caused_by(error)
            .hint("start it with --control and the same path")
    })?;
    if let Some(error) = reply.error {
        return Err(Problem::usage(error).into());
    }
    if let (Some(name), Some(state)) = (&reply.job, &reply.state) {
        let row = serde_json::json!({ "job": name, "state": state });
        print_out(cli.output.rows(&[row])?.unwrap_or_else(|| format!("{name} {state}\n")))?;
    }
    Ok(Status::Done)
}

/// The socket of `--control`, if there is to be one.
pub(super) fn socket(path: Option<&PathBuf>, reactor: &mut Reactor) -> anyhow::Result<Option<Control>> {
    let Some(path) = path else { return Ok(None) };
    let control = listen(path, reactor).map_err(|error| {
        Problem::unreadable(format!("cannot listen at '{}'", path.display())).caused_by(error)
    })?;
    Ok(Some(control))
}
