//! Running of simulations to their end, with a progress line and a time limit.

use std::time::{Duration, Instant};

use super::options::SlotRunCli;
use crate::cli::common::{Problem, Progress, Status};
use crate::simulate::Simulation;

/// Number of steps after which the clock is checked.
const CLOCK_CHECKS: u64 = 500;
/// Time after which the progress line is shown.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

/// Runs simulations of the same length side by side to their ends. If this takes long, shows a progress line. `look` is called at
/// intervals, and stops the simulations by returning false.
pub(super) fn run_side_by_side<'a>(
    cli: &SlotRunCli,
    simulations: &mut [Simulation<'a>],
    look: &mut dyn FnMut(&mut [Simulation<'a>]) -> bool,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut progress: Option<Progress> = None;
    simulations.iter_mut().for_each(Simulation::begin);
    for slice in 1..=CLOCK_CHECKS {
        let mut more = false;
        for simulation in &mut *simulations {
            let until = (simulation.length_micros() / CLOCK_CHECKS).saturating_mul(slice);
            more |= simulation.advance(until, false);
        }
        if !look(simulations) {
            return Ok(());
        }
        if let Some(progress) = &progress {
            progress.advance(1);
        } else if began.elapsed() > PROGRESS_DELAY && more {
            let bar = Progress::new("simulating", Some(CLOCK_CHECKS), cli.output.quiet);
            bar.advance(slice);
            progress = Some(bar);
        }
        if !more {
            break;
        }
        if cli.events.timeout.is_some_and(|limit| began.elapsed() >= limit) {
            let played = slice * 100 / CLOCK_CHECKS;
            let text = format!("the time limit (--timeout) expired after {played} % of the scenario");
            return Err(Problem::new(Status::TimedOut, text).into());
        }
    }
    for simulation in &mut *simulations {
        simulation.advance(u64::MAX, true);
    }
    look(simulations);
    Ok(())
}
