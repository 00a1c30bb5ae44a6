//! What cron jobs publish, before slots are asked: given as a file, or by running each of them once.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use super::options::Cli;
use crate::cli::common::{Problem, Session, Status};
use crate::hook_testing::cron_once::{publish, run_cron_once};
use crate::os::{RealWorld, clock};
use crate::quirks::Quirks;
use crate::simulate::plan::published;
use crate::slot::ExecutionPoint;
use crate::world::{Frozen, World};

/// A program that has not ended by then is killed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets a machine have what stands in a file of attributes, as if a cron job had printed it.
pub(super) fn given(machine: &mut ExecutionPoint, path: &Path, quirks: Quirks) -> anyhow::Result<()> {
    let cannot = || Problem::cannot_read(path.display());
    let text = std::fs::read_to_string(path).with_context(cannot)?;
    let world = RealWorld::new();
    let ads = published(&text, quirks, &Frozen { world: &world, now: world.now() })
        .map_err(|reason| Problem::unreadable(format!("{}: {reason}", path.display())))?;
    publish(machine, ads);
    Ok(())
}

/// Runs each cron job of the configuration once, and lets the machine have what they publish. What fails is told.
pub(super) fn run_first(machine: &mut ExecutionPoint, cli: &Cli, session: &Session) -> anyhow::Result<()> {
    let patience = cli.end.map_or(PATIENCE, |end| PATIENCE.min(end.since(clock::tick())));
    let mut warn = |text: &str| session.warn(&format!("--run-cron: {text}"));
    let run = run_cron_once(machine, (&cli.config.choice(), cli.quirks.quirks), patience, &mut warn);
    let Some(run) = run.context("cannot run cron jobs")? else {
        session.warn("--run-cron: the configuration has no cron job (STARTD_CRON_JOBLIST)");
        return Ok(());
    };
    if cli.end.is_some_and(|end| clock::tick() >= end) {
        let text = "the time given with --timeout is over before the cron jobs have ended";
        return Err(Problem::new(Status::TimedOut, text).into());
    }
    if run.failed {
        session.warn("--run-cron: what failed is not published; 'htc-hook-test startd-cron' tells more");
    }
    run.publish(machine);
    Ok(())
}
