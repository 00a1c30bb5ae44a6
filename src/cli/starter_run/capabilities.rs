//! `--classad`: what this starter can do, as a startd asks it.

use std::io::Write;

use super::super::common::{Problem, Session, Status, stdout};
use super::configuration::load;
use super::forms::listed;
use super::options::Cli;
use crate::classad::Value;
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::starter::{Abilities, AbilityError};

/// What a starter tells of what it can do (`-classad`).
pub(super) fn capabilities(cli: &Cli, session: &Session) -> anyhow::Result<Status> {
    let world = cli.clock.world();
    let config = load(cli, false, &world, session)?;
    let environment = DaemonEnvironment::of_program(&world, &cli.config.choice());
    let mut warn = |text: &str| session.warn(text);
    let found = Abilities::find(&config.view(&world), &environment, cli.quirks.quirks, &mut warn);
    let Abilities { found, has_sshd } = found.map_err(|error| match error {
        AbilityError::Knob(error) => Problem::of_value(error).into(),
        AbilityError::Runtime(reason) => Problem::unreadable(reason).into(),
        error @ AbilityError::Asking(..) => anyhow::Error::from(error),
    })?;
    let mut text = String::new();
    for (name, value) in found {
        let value = match value {
            Value::Bool(true) => "True".into(),
            Value::Bool(false) => "False".into(),
            other => other.unparse_old(),
        };
        text += &format!("{name} = {value}\n");
    }
    text += &format!("HasSshd = {has_sshd}\n");
    stdout().write_all(&listed(cli.output.format(), [text.as_bytes()]))?;
    Ok(Status::Tool(0))
}
