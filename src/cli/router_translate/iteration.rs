//! Iteration of the TRANSFORM statement in the last transform.

use std::cell::RefCell;
use std::path::Path;

use crate::cli::common::{OpenInput, Problem, open_stdio_pipe};
use crate::config::command::{self, CommandError};
use crate::os::read_whole;
use crate::transform::{IterationPlan, Observer, Transform, TransformSession};

/// Plans the iteration of a rule set. `stdin` is the rest of standard input after rules that were read from it; items that the
/// iteration reads are removed from `stdin`.
pub(super) fn plan_iteration(
    session: &mut TransformSession<'_>,
    transforms: &[Transform],
    stdin: Option<&mut Vec<u8>>,
    observer: &mut dyn Observer,
) -> anyhow::Result<Option<IterationPlan>> {
    let Some((last, before)) = transforms.split_last() else { return Ok(None) };
    if let Some(other) = before.iter().find(|transform| transform.envelope.iteration.is_some()) {
        let message = format!("{} iterates but is not the last transform", other.name);
        return Err(Problem::unreadable(message).hint("list it last").into());
    }
    let (world, policy) = (session.world, session.commands);
    let command_error = RefCell::new(None);
    let command = |text: &[u8]| {
        let result = command::run_command(text, policy, world);
        result.map(|(output, _)| output).map_err(|error| command_error.replace(Some(error))).ok()
    };
    let mut read_items = |path: Option<&Path>| {
        let input = OpenInput::open_raw(path.unwrap_or(Path::new("-")), open_stdio_pipe().0)?;
        read_whole(input.into_exact_reader())
    };
    let planned = session.plan_iteration(last, observer, &mut read_items, &command);
    let plan = planned.map_err(|error| {
        let place = last.envelope.iteration.as_ref().map(|iteration| {
            let line = &iteration.line;
            format!("{}:{}: ", line.source.name, line.number)
        });
        let place = place.unwrap_or_default();
        let problem = Problem::unreadable(format!("{place}cannot iterate over {}", last.name));
        match command_error.take() {
            Some(CommandError::Refused) => {
                anyhow::Error::new(error).context(problem.hint("rules run commands only with --exec"))
            }
            Some(reason) => anyhow::Error::new(reason).context(error).context(problem),
            None => anyhow::Error::new(error).context(problem),
        }
    })?;
    if let (Some(plan), Some(rest)) = (&plan, stdin) {
        rest.drain(..plan.consumed.min(rest.len()));
    }
    Ok(plan)
}
