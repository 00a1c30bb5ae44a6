//! Speaking to an execution point that runs.

use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::options::{Cli, ControlOptions, DrainOptions};

use crate::cli::common::{Column, Painter, Problem, Status, pipe_ends, table};
use crate::runner::slot::{Answer, Request, ask};

fn send(socket: &Path, request: &Request) -> anyhow::Result<Answer> {
    let answer = ask(socket, request).map_err(|error| {
        Problem::unreadable(format!("no execution point answers at '{}'", socket.display()))
            .caused_by(error)
            .hint("start it with --control and the same path")
    })?;
    match answer.error {
        Some(error) => Err(Problem::usage(error).into()),
        None => Ok(answer),
    }
}

/// A command with a slot and a speed.
pub(super) fn simple(command: &str, options: &ControlOptions) -> anyhow::Result<Status> {
    let how = match (options.fast, options.peaceful) {
        (true, _) => Some("fast".to_owned()),
        (_, true) => Some("peaceful".to_owned()),
        _ => None,
    };
    let request =
        Request { command: command.to_owned(), slot: options.slot.clone(), how, ..Request::default() };
    send(&options.control, &request).map(|_| Status::Done)
}

/// A drain, in the name of whoever asks for it.
pub(super) fn drain(options: &DrainOptions) -> anyhow::Result<Status> {
    let how = match (options.quick, options.fast) {
        (true, _) => "quick",
        (_, true) => "fast",
        _ => "graceful",
    };
    let by = || {
        let uid = nix::unistd::geteuid();
        let account = nix::unistd::User::from_uid(uid).ok().flatten();
        format!("by {}", account.map_or_else(|| uid.to_string(), |account| account.name))
    };
    let request = Request {
        command: "drain".to_owned(),
        how: Some(how.to_owned()),
        reason: Some(options.reason.clone().unwrap_or_else(by)),
        resume: options.resume,
        ..Request::default()
    };
    send(&options.control, &request).map(|_| Status::Done)
}

/// The slots as a table, or as JSON.
pub(super) fn status(cli: &Cli, options: &ControlOptions) -> anyhow::Result<Status> {
    let request = Request { command: "status".to_owned(), slot: options.slot.clone(), ..Request::default() };
    let answer = send(&options.control, &request)?;
    let wanted = |id: &str| options.slot.as_ref().is_none_or(|slot| slot.eq_ignore_ascii_case(id));
    let slots: Vec<_> = answer.slots.into_iter().filter(|slot| wanted(&slot.slot)).collect();
    let (_, mut output) = pipe_ends();
    let text = if let Some(rows) = cli.output.rows(&slots)? {
        rows
    } else {
        let columns = [
            Column::left("SLOT"),
            Column::left("STATE"),
            Column::left("ACTIVITY"),
            Column::right("JOB SECONDS"),
        ];
        let rows = slots.into_iter().map(|slot| {
            let seconds = slot.job_seconds.map_or_else(String::new, |seconds| seconds.to_string());
            [slot.slot, slot.state, slot.activity, seconds]
        });
        table(&columns, rows, Painter::stdout(cli.output.color))
    };
    output.write_all(text.as_bytes()).context("standard output")?;
    output.flush().context("standard output")?;
    Ok(Status::Done)
}
