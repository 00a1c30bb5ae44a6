//! Running of simulations to their end, with a progress line and a time limit.

use std::time::{Duration, Instant};

use super::options::SlotRunCli;
use crate::cli::common::{Problem, Progress, Status};
use crate::simulate::Simulation;

/// Number of parts into which a simulation is divided. The clock is checked after each part.
const CLOCK_CHECKS: u64 = 500;
/// Time after which the progress line is shown.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

/// Runs simulations of the same length side by side to their ends. If this takes long, shows a progress line.
/// `should_continue` is called at intervals; if it returns false, the simulations are stopped.
pub(super) fn run_side_by_side<'a>(
    cli: &SlotRunCli,
    simulations: &mut [Simulation<'a>],
    should_continue: &mut dyn FnMut(&mut [Simulation<'a>]) -> bool,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut progress: Option<Progress> = None;
    simulations.iter_mut().for_each(Simulation::begin);
    for slice in 1..=CLOCK_CHECKS {
        let mut has_more = false;
        for simulation in &mut *simulations {
            let end_time = (simulation.length_micros() / CLOCK_CHECKS).saturating_mul(slice);
            has_more |= simulation.advance(end_time, false);
        }
        if !should_continue(simulations) {
            return Ok(());
        }
        if let Some(progress) = &progress {
            progress.advance(1);
        } else if began.elapsed() > PROGRESS_DELAY && has_more {
            let bar = Progress::new("simulating", Some(CLOCK_CHECKS), cli.output.quiet);
            bar.advance(slice);
            progress = Some(bar);
        }
        if !has_more {
            break;
        }
        if cli.events.timeout.is_some_and(|limit| began.elapsed() >= limit) {
            let percent = slice * 100 / CLOCK_CHECKS;
            let text = format!("the time limit (--timeout) expired after {percent} % of the scenario");
            return Err(Problem::new(Status::TimedOut, text).into());
        }
    }
    for simulation in &mut *simulations {
        simulation.advance(u64::MAX, true);
    }
    should_continue(simulations);
    Ok(())
}
