//! What cron jobs publish, before slots are asked: given as a file, or by running each of them once.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use super::options::Cli;
use crate::cli::common::{Problem, Session, Status};
use crate::hook::cron_job::CronManager;
use crate::os::{Reactor, RealWorld, clock};
use crate::quirks::Quirks;
use crate::runner::cron::{CronNotice, CronSurroundings};
use crate::runner::hook_test::{self, CronList, CronPlan, CronPlay, Pause, PlayEvent};
use crate::runner::simulate::plan::published;
use crate::slot::cron_ads::CronAds;
use crate::slot::{Event, ExecutionPoint};
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
    take(machine, ads);
    Ok(())
}

/// Runs each cron job of the configuration once, and lets the machine have what they publish. What fails is told.
pub(super) fn run_first(machine: &mut ExecutionPoint, cli: &Cli, session: &Session) -> anyhow::Result<()> {
    let settings = machine.cron_settings().clone();
    if settings.jobs.is_empty() {
        session.warn("--run-cron: the configuration has no cron job (STARTD_CRON_JOBLIST)");
        return Ok(());
    }
    let log = tempfile::Builder::new().prefix("htc-slot-run.").tempdir()?;
    let world = RealWorld::new();
    let quirks = cli.quirks.quirks;
    let surroundings = CronSurroundings {
        manager: CronManager::Startd,
        // Cron jobs get no keys of daemons, in the reference neither.
        environment: hook_test::caller_environment(&world, &cli.config.choice(), Quirks::None),
        directory: log.path().to_owned(),
        identity: None,
        quirks,
    };
    let plan =
        CronPlan { runs: 1, seconds: None, reconfig: Vec::new(), job_begins: None, patience: left(cli) };
    let list = CronList {
        jobs: settings.jobs,
        max_load: settings.max_load,
        auto_publish: settings.auto_publish,
        skipped: false,
    };
    let mut reactor = Reactor::new(&[]).context("cannot run cron jobs")?;
    let mut play = CronPlay::new(plan, surroundings, (&[], &world), &mut reactor);
    let mut told = |_: &CronPlay<'_>, event: &PlayEvent| match event {
        PlayEvent::Killed(name) => {
            session.warn(&format!("--run-cron: {name} has not ended in time and is killed"))
        }
        PlayEvent::OnDemand(name) => {
            session.warn(&format!("--run-cron: {name} is run on demand alone, and nobody demands it"));
        }
        PlayEvent::Notice(CronNotice::NotStarted { name, reason }) => {
            session.warn(&format!("--run-cron: {name} could not be started: {reason}"));
        }
        PlayEvent::Notice(CronNotice::Published { job, block }) => {
            for bad in &block.bad {
                session.warn(&format!("--run-cron: {job}: {}", bad.reference_text()));
            }
        }
        PlayEvent::Notice(_) | PlayEvent::JobBegins => {}
    };
    play.configure(list, &mut told);
    while play.run(&mut told).context("cannot run cron jobs")? == Pause::Reconfig {}
    if cli.end.is_some_and(|end| clock::tick() >= end) {
        let text = "the time given with --timeout is over before the cron jobs have ended";
        return Err(Problem::new(Status::TimedOut, text).into());
    }
    if play.bad() {
        session.warn("--run-cron: what failed is not published; 'htc-hook-test startd-cron' tells more");
    }
    let ads = play.ads().clone();
    take(machine, ads);
    Ok(())
}

/// How long cron jobs may take.
fn left(cli: &Cli) -> Duration {
    cli.end.map_or(PATIENCE, |end| PATIENCE.min(end.since(clock::tick())))
}

fn take(machine: &mut ExecutionPoint, ads: CronAds) {
    let now = clock::now();
    machine.step(now, Event::Cron(Box::new(ads)));
    machine.step(now, Event::Refresh);
}
