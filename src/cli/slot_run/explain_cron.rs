//! Attributes that cron jobs publish, for `explain`. They are read from a file, or each cron job is run once.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use super::options::SlotRunCli;
use crate::cli::common::{OpenInput, Problem, ProgramContext, Status, open_stdio_pipe};
use crate::hook_testing::cron_once::{publish, run_cron_once};
use crate::os::{RealWorld, clock, read_at_most};
use crate::quirks::QuirkMode;
use crate::simulate::plan::parse_cron_output;
use crate::slot::ExecutionPoint;
use crate::world::{FrozenClockWorld, World};

/// Maximum size of a file with attributes, in bytes.
const MAX_CRON_OUTPUT_BYTES: u64 = 64 << 20;
/// Time after which a cron job is killed.
const CRON_TIME_LIMIT: Duration = Duration::from_secs(60);

/// Publishes the attributes in a file, as if a cron job had printed them.
pub(super) fn publish_attribute_file(
    machine: &mut ExecutionPoint,
    path: &Path,
    quirks: QuirkMode,
) -> anyhow::Result<()> {
    let cannot = || Problem::cannot_read(path.display());
    let input = OpenInput::open(path, open_stdio_pipe().0)?;
    let text = read_at_most(input.reader, MAX_CRON_OUTPUT_BYTES).with_context(cannot)?;
    let text = String::from_utf8(text).with_context(cannot)?;
    let world = RealWorld::new();
    let ads = parse_cron_output(&text, quirks, &FrozenClockWorld { world: &world, now: world.now() })
        .map_err(|reason| Problem::unreadable(format!("{}: {reason}", path.display())))?;
    publish(machine, ads);
    Ok(())
}

/// Runs each cron job of the configuration once, and publishes its output. Failures are reported.
pub(super) fn run_cron_jobs_once(
    machine: &mut ExecutionPoint,
    cli: &SlotRunCli,
    session: &ProgramContext,
) -> anyhow::Result<()> {
    let patience =
        cli.end.map_or(CRON_TIME_LIMIT, |end| CRON_TIME_LIMIT.min(end.since(clock::monotonic_now())));
    let mut warn = |text: &str| session.warn(&format!("--run-cron: {text}"));
    let run = run_cron_once(machine, &cli.config.to_config_choice(), cli.quirks.quirks, patience, &mut warn);
    let Some(run) = run.context("cannot run cron jobs")? else {
        session.warn("--run-cron: the configuration has no cron job (STARTD_CRON_JOBLIST)");
        return Ok(());
    };
    if cli.end.is_some_and(|end| clock::monotonic_now() >= end) {
        let text = "the time limit (--timeout) expired before the cron jobs ended";
        return Err(Problem::new(Status::TimedOut, text).into());
    }
    if run.failed {
        session
            .warn("--run-cron: invalid output is not published; 'htc-hook-test startd-cron' shows details");
    }
    run.publish(machine);
    Ok(())
}
