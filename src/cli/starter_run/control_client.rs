//! Client for requests to a running starter, and the control socket of a starter.

use std::path::PathBuf;

use super::options::StarterRunCli;
use crate::cli::common::{Problem, Status, write_to_stdout};
use crate::os::Reactor;
use crate::runner::control::ControlSocket;
use crate::runner::starter::{StarterOrder, listen, send_order as ask_starter};

/// Sends the request of `--ask WORD` to the starter whose socket is given by `--control`.
pub(super) fn query_starter(cli: &StarterRunCli, word: &str) -> anyhow::Result<Status> {
    let job = &cli.job;
    let socket = job.control.clone().unwrap_or_default();
    let order = StarterOrder {
        command: word.to_owned(),
        reason: job.reason.clone(),
        code: job.code,
        subcode: job.subcode,
    };
    let reply = ask_starter(&socket, &order).map_err(|error| {
        Problem::unreadable(format!("no starter answers on '{}'", socket.display()))
            .caused_by(error)
            .hint("start it with --control and the same path")
    })?;
    if let Some(error) = reply.error {
        let status = if reply.refused_by_state { Status::No } else { Status::Usage };
        return Err(Problem::new(status, error).into());
    }
    if let (Some(name), Some(state)) = (&reply.job, &reply.state) {
        let row = serde_json::json!({ "job": name, "state": state });
        write_to_stdout(cli.output.render_json(&[row])?.unwrap_or_else(|| format!("{name} {state}\n")))?;
    }
    Ok(Status::Done)
}

/// Opens the control socket (`--control`), or returns `None` if it is not given.
pub(super) fn socket(path: Option<&PathBuf>, reactor: &mut Reactor) -> anyhow::Result<Option<ControlSocket>> {
    let Some(path) = path else { return Ok(None) };
    let control = listen(path, reactor).map_err(|error| {
        Problem::unreadable(format!("cannot listen on '{}'", path.display())).caused_by(error)
    })?;
    Ok(Some(control))
}
