//! Replays recordings of slots: states, policy, claims, draining, ads. They do not depend on real processes,
//! so the state machine itself is driven in virtual time: it receives external events (claims of a schedd,
//! ends of starters, commands, outputs of hooks and cron jobs), and the changes of each slot and the ads that
//! it sends are compared.

mod ads;
mod compare;
mod computed;
mod fixture;
mod happening;
mod log;
mod player;
mod recording;
mod submit;
mod verbs;

use std::path::Path;

use super::not_done::{self, List};
use super::outcome::NotDone;
use super::subject::Subject;
use super::{Options, Outcome, Result};

/// Time within a second at which timers run.
#[derive(Clone, Copy, Debug)]
pub struct TimerOffset {
    /// Fraction of a second after which timers run.
    pub phase: f64,
    /// Delay of cron jobs after timers, in seconds.
    pub lag: f64,
}

/// Offsets to try, in seconds, because it is unknown when in a second the recorded daemon's timers ran and
/// what it decided in between.
const PHASES: [TimerOffset; 15] = [
    TimerOffset { phase: 0.0, lag: 0.0 },
    TimerOffset { phase: 0.5, lag: 0.0 },
    TimerOffset { phase: 0.9, lag: 0.0 },
    TimerOffset { phase: 0.25, lag: 0.0 },
    TimerOffset { phase: 0.7, lag: 0.0 },
    TimerOffset { phase: 0.15, lag: 0.0 },
    TimerOffset { phase: 0.35, lag: 0.0 },
    TimerOffset { phase: 0.6, lag: 0.0 },
    TimerOffset { phase: 0.65, lag: 0.1 },
    TimerOffset { phase: 0.65, lag: 0.015 },
    TimerOffset { phase: 0.0, lag: 0.5 },
    TimerOffset { phase: 0.3, lag: 0.1 },
    TimerOffset { phase: 0.85, lag: 0.1 },
    TimerOffset { phase: 0.5, lag: 0.5 },
    TimerOffset { phase: 0.1, lag: 0.9 },
];

/// Returns true if a directory contains such a recording.
pub fn is_one(directory: &Path) -> bool {
    recording::is_one(directory) || computed::is_one(directory)
}

/// Replays one recording.
pub fn fill(directory: &Path, subject: &Subject, options: &Options, outcome: &mut Outcome) -> Result<()> {
    let list = List::load()?;
    // A recording that is not done differs at every offset.
    let phases = if list.of(subject).any(|entry| entry.cases.is_empty()) { 1 } else { PHASES.len() };
    play(directory, subject, options, phases, outcome)?;
    settle(&list, subject, outcome);
    Ok(())
}

/// Removes differences that are listed as not done: those of a whole recording, or by their places. Listed
/// cases without differences must be removed from the list.
fn settle(list: &List, subject: &Subject, outcome: &mut Outcome) {
    let found: Vec<String> =
        outcome.differences.iter().map(|it| format!("{} {}", it.place, it.what)).collect();
    for entry in list.of(subject) {
        if !found.iter().any(|place| entry.is_about(Some(place))) {
            outcome.differences.push(not_done::passes(&entry.cases.join(", "), &entry.reason));
        }
    }
    let mut not_done = Vec::new();
    outcome.differences.retain(|difference| {
        let place = format!("{} {}", difference.place, difference.what);
        let reason = list.reason(subject, &place);
        not_done
            .extend(reason.map(|reason| NotDone { reason: reason.to_owned(), case: Some(place.clone()) }));
        reason.is_none()
    });
    if list.of(subject).any(|entry| entry.cases.is_empty()) && !not_done.is_empty() {
        outcome.counts = outcome.counts.skipped();
    }
    outcome.not_done.append(&mut not_done);
}

fn play(
    directory: &Path,
    subject: &Subject,
    options: &Options,
    phases: usize,
    outcome: &mut Outcome,
) -> Result<()> {
    if computed::is_one(directory) {
        return computed::fill(directory, outcome);
    }
    let recording = recording::Recording::read(directory)?;
    let mut best: Option<(Outcome, TimerOffset)> = None;
    for (number, phase) in PHASES.into_iter().take(phases).enumerate() {
        let mut attempt = Outcome { attempts: number + 1, ..outcome.clone() };
        compare::compare(&recording, &player::play(&recording, phase, None)?, subject, &mut attempt)?;
        let better = best.as_ref().is_none_or(|(best, _)| attempt.differences.len() < best.differences.len());
        let equal = attempt.differences.is_empty();
        if better {
            best = Some((attempt, phase));
        }
        if equal {
            break;
        }
    }
    let Some((best, phase)) = best else { return Ok(()) };
    if std::env::var_os("HTC_REPLAY_SAID").is_some() {
        for happening in &recording.happenings {
            if let Some(verb) = happening.what.verb() {
                println!("{}: +{:.3} htc-slot-run {verb}", outcome.name, happening.at);
            }
        }
    }
    // Replays once more with all external commands sent by verbs; the result of this replay counts.
    let verbs = verbs::Verbs::new(&options.programs)?;
    *outcome = Outcome { attempts: best.attempts, ..outcome.clone() };
    compare::compare(&recording, &player::play(&recording, phase, Some(&verbs))?, subject, outcome)
}
