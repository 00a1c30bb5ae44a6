//! `--classad`: prints the capabilities of this starter, as a startd queries them.

use std::io::Write;

use super::super::common::{Problem, ProgramContext, Status, stdout};
use super::ad_list::render_ad_list;
use super::configuration::load;
use super::options::StarterRunCli;
use crate::classad::Value;
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::starter::{CapabilityError, StarterCapabilities};

/// Name of the program under which ads end with an empty line.
const OWN_NAME: &str = "htc-starter-run";

/// Prints the capabilities of the starter (`-classad`).
pub(super) fn print_capabilities(cli: &StarterRunCli, session: &ProgramContext) -> anyhow::Result<Status> {
    let world = cli.clock.world();
    let config = load(cli, false, &world, session)?;
    let environment = DaemonEnvironment::from_program(&world, &cli.config.to_config_choice());
    let mut warn = |text: &str| session.warn(text);
    let capabilities =
        StarterCapabilities::detect(&config.view(&world), &environment, cli.quirks.quirks, &mut warn);
    let StarterCapabilities { attributes, has_sshd } = capabilities.map_err(|error| match error {
        CapabilityError::Parameter(error) => Problem::from_value_error(error).into(),
        CapabilityError::Runtime(reason) => Problem::unreadable(reason).into(),
        error @ CapabilityError::ProgramQuery(..) => anyhow::Error::from(error),
    })?;
    let mut text = String::new();
    for (name, value) in attributes {
        let value = match value {
            Value::Bool(true) => "True".into(),
            Value::Bool(false) => "False".into(),
            other => other.unparse_old(),
        };
        text += &format!("{name} = {value}\n");
    }
    text += &format!("HasSshd = {has_sshd}\n");
    // Under the name `condor_starter`, only the lines are printed, as in the reference.
    if session.name() == OWN_NAME && !cli.output.wants_json() {
        text.push('\n');
    }
    stdout().write_all(&render_ad_list(cli.output.ad_format(), [text.as_bytes()]))?;
    Ok(Status::Tool(0))
}
