//! Execution of each cron job of an execution point once, so that the published attributes are known for slots that
//! run no jobs.

use std::io;
use std::time::Duration;

use crate as hook_test;
use crate::{CronList, CronPlan, CronSession, CronSessionEvent, SessionPause};
use htc_base::quirks::QuirkMode;
use htc_hook::cron_job::CronManager;
use htc_os::{Reactor, RealWorld, clock};
use htc_runner::cron::{CronContext, CronNotice};
use htc_runner::hook_environment::ConfigSelection;
use htc_slot::cron_ads::CronAds;
use htc_slot::{ExecutionPoint, StartdEvent};

/// Result of running the cron jobs once.
#[derive(Clone, Debug)]
pub struct CronOutcome {
    /// True if a program could not be started or printed invalid lines, which the published ads do not show.
    pub failed: bool,
    /// Ads that the cron jobs have published.
    ads: CronAds,
}

/// Runs each cron job once, and kills the programs that have not ended after `patience`. Calls `warn` with the name
/// of a job and a warning about it. Returns `None` if no cron jobs are configured.
///
/// # Errors
/// The log directory cannot be created, or waiting for the programs fails.
pub fn run_cron_once(
    machine: &ExecutionPoint,
    choice: &ConfigSelection,
    quirks: QuirkMode,
    patience: Duration,
    warn: &mut dyn FnMut(&str),
) -> io::Result<Option<CronOutcome>> {
    let settings = machine.cron_settings().clone();
    if settings.jobs.is_empty() {
        return Ok(None);
    }
    let log = tempfile::Builder::new().prefix("htc-slot-run.").tempdir()?;
    let world = RealWorld::new();
    let surroundings = CronContext {
        manager: CronManager::Startd,
        // Cron jobs do not get the daemon's session keys (CONDOR_PRIVATE_...), and neither do those of 25.14.
        environment: hook_test::caller_environment(&world, choice, QuirkMode::Manual),
        directory: log.path().to_owned(),
        identity: None,
        quirks,
    };
    let plan = CronPlan {
        runs: 1,
        seconds: None,
        reconfig: Vec::new(),
        job_begins: None,
        patience,
        time_limit: None,
    };
    let list = CronList {
        jobs: settings.jobs,
        max_load: settings.max_load,
        auto_publish: settings.auto_publish,
        skipped: false,
    };
    let mut reactor = Reactor::new(&[])?;
    let mut session = CronSession::new(plan, surroundings, &[], &world, &mut reactor);
    let mut report = |_: &CronSession<'_>, event: &CronSessionEvent| match event {
        CronSessionEvent::Killed(name) => warn(&format!("{name} did not end in time and was killed")),
        CronSessionEvent::OnDemand(name) => {
            warn(&format!("{name} runs only on demand (OnDemand), and nothing starts it"));
        }
        CronSessionEvent::Notice(CronNotice::NotStarted { name, reason }) => {
            warn(&format!("{name} could not be started: {reason}"));
        }
        CronSessionEvent::Notice(CronNotice::Published { job, block }) => {
            block.bad_lines.iter().for_each(|bad| warn(&format!("{job}: {}", bad.reference_message())));
        }
        // Without handled signals, such a signal ends this program.
        CronSessionEvent::Notice(_) | CronSessionEvent::JobBegins | CronSessionEvent::SignalsCaller(_) => {}
    };
    session.configure(list, &mut report);
    while session.run(&mut report)? == SessionPause::Reconfig {}
    let (failed, ads) = (session.has_failures(), session.published_ads().clone());
    drop(session);
    Ok(Some(CronOutcome { failed, ads }))
}

impl CronOutcome {
    /// Publishes the ads of the cron jobs in the slots of the execution point.
    pub fn publish(self, machine: &mut ExecutionPoint) {
        publish(machine, self.ads);
    }
}

/// Publishes the ads of cron jobs in the slots of the execution point.
pub fn publish(machine: &mut ExecutionPoint, ads: CronAds) {
    let now = clock::now();
    machine.step(now, StartdEvent::CronPublished(Box::new(ads)));
    machine.step(now, StartdEvent::Refresh);
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use htc_base::world::FrozenClockWorld;
    use htc_runner::slot::passive_execution_point;
    use htc_simulate::plan::parse_cron_output;
    use htc_slot::{ExitLimits, HostMeasurements, configure};
    use htc_testing::config_of;

    #[test]
    fn without_cron_jobs_the_given_attributes_are_used() {
        let (config, world) = config_of("STARTD", "NUM_CPUS = 1\nMEMORY = 100\nDISK = 1000\n");
        let made = configure(
            &config,
            &world,
            &HostMeasurements::default(),
            QuirkMode::Manual,
            ExitLimits::default(),
        )
        .unwrap();
        let mut machine = passive_execution_point(made.settings, Rc::new(world));
        let choice = ConfigSelection::default();
        assert!(
            run_cron_once(&machine, &choice, QuirkMode::Manual, Duration::from_secs(1), &mut |_| {})
                .unwrap()
                .is_none()
        );
        let now = FrozenClockWorld { world: &RealWorld::new(), now: clock::now() };
        let ads = parse_cron_output("HasCode = true\n", QuirkMode::Manual, &now).unwrap();
        publish(&mut machine, ads);
        let (key, ..) = machine.slots().next().unwrap();
        assert!(machine.sent_ad(key).unwrap().contains("HasCode"));
    }
}
