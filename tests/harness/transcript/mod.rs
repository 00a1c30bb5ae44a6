//! Replays recorded sessions of the real daemons with `htc-slot-run` and `htc-starter-run`, and with the
//! router.
//!
//! A scenario directory contains a whole configuration, the behaviour of its hooks and jobs, and a record of
//! every call that the real daemons made (README.md next to the recordings describes the format). The harness
//! creates the same files in a new directory, runs our program as long as the daemons ran, sends it the same
//! commands and signals, records the input of its hooks, and compares: argv, standard input by attribute,
//! environment, descriptors, identity, order, resulting ads, and states of the slots. Allowed differences are
//! listed in `exceptions.toml`, with reasons.

mod accounts;
mod alone;
mod calls;
mod compare;
mod edits;
pub mod exceptions;
pub mod findings;
pub mod forks;
mod handed_out;
mod normalise;
pub mod not_done;
pub mod outcome;
mod phase;
mod play;
mod policy;
pub mod processes;
mod readings;
mod recorded;
mod router;
mod scenario;
mod stage;
mod states;
pub mod subject;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use subject::Subject;

pub use outcome::{Outcome, report};

/// Result whose error is one sentence that contains the path.
pub type Result<T> = std::result::Result<T, String>;

/// Options of a replay.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of the programs under test.
    pub programs: PathBuf,
    /// Number of scenarios that run in parallel; they sleep most of the time.
    pub parallel: usize,
    /// Keep the directories in which scenarios ran, and print their paths.
    pub keep: bool,
    /// Maximum number of attempts for what is played with real processes, at least 1. A recording is one sample of many
    /// races: milliseconds decide in which second a fetch occurs. The best attempt counts.
    pub attempts: usize,
    /// Compare only calls of this type of hook.
    pub only: Option<String>,
    /// Replay only cases whose names begin with this, in a scenario of cases of a starter that is run
    /// directly.
    pub case: Option<String>,
}

/// Replays these scenario directories; the outcomes are in the order of the directories.
pub fn replay(scenarios: &[PathBuf], options: &Options) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.parallel.clamp(1, scenarios.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(directory) = scenarios.get(index) else { break };
                    let outcome = replay_one(directory, options);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, outcome));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// A replay with more differences than this does not differ because of a race.
const RACES: usize = 60;
/// Recordings that take longer are not repeated.
const SHORT: Duration = Duration::from_secs(90);

fn replay_one(directory: &Path, options: &Options) -> Outcome {
    let mut best = attempt(directory, options, 1);
    let once = router::is_one(directory) || policy::is_one(directory) || alone::is_family(directory);
    for number in 2..=options.attempts {
        let differs = (1..=RACES).contains(&best.differences.len()) && best.fault.is_none();
        if !differs || best.took > SHORT || options.keep || once {
            break;
        }
        let next = attempt(directory, options, number);
        if next.fault.is_none() && next.differences.len() < best.differences.len() {
            best = next;
        }
        best.attempts = number;
    }
    best
}

fn attempt(directory: &Path, options: &Options, number: usize) -> Outcome {
    let begun = Instant::now();
    let name = directory.file_name().unwrap_or(directory.as_os_str()).to_string_lossy().into_owned();
    let mut outcome = Outcome::of(name);
    if let Err(reason) = fill(directory, options, number, &mut outcome) {
        outcome.fault = Some(reason);
    }
    outcome.took = begun.elapsed();
    outcome
}

fn fill(directory: &Path, options: &Options, number: usize, outcome: &mut Outcome) -> Result<()> {
    let subject = Subject::of(directory);
    if router::is_one(directory) {
        return router::fill(directory, &subject, outcome);
    }
    if policy::is_one(directory) {
        return policy::fill(directory, &subject, options, outcome);
    }
    if alone::is_family(directory) {
        return alone::replay(directory, &subject, options, outcome);
    }
    let list = not_done::List::load()?;
    if let Err(reason) = execution_point(directory, &subject, options, number, outcome) {
        outcome.fault = Some(reason);
    }
    list.settle(&subject, outcome);
    Ok(())
}

/// Finds listed cases of a session or a direct run of the starter that the recording does not have. Nothing
/// is replayed.
pub fn listed_in_vain(directory: &Path) -> Result<Vec<findings::Difference>> {
    if router::is_one(directory) || policy::is_one(directory) {
        return Ok(Vec::new());
    }
    let subject = Subject::of(directory);
    let (list, exceptions) = (not_done::List::load()?, exceptions::Exceptions::load()?);
    if !list.names_cases(&subject) && !exceptions.names_cases(&subject) {
        return Ok(Vec::new());
    }
    let known = match alone::is_family(directory) {
        true => alone::names_of_cases(directory)?,
        false => compare::places(&scenario::Scenario::read(directory)?),
    };
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Ok([list.unknown(&subject, &known), exceptions.unknown(&subject, &known)].concat())
}

/// Replays a recording of slots and their starters.
fn execution_point(
    directory: &Path,
    subject: &Subject,
    options: &Options,
    number: usize,
    outcome: &mut Outcome,
) -> Result<()> {
    let scenario = scenario::Scenario::read(directory)?;
    if let Some(reason) = scenario.not_ours() {
        return Err(reason);
    }
    let accounts = accounts::Accounts::probe(&mut outcome.left_out);
    let stage = stage::Stage::build(&scenario, &accounts)?;
    let played = play::play(&scenario, &stage, &accounts, &options.programs, number)?;
    let calls = recorded::read(&stage)?;
    let mut exceptions = exceptions::Exceptions::load()?;
    exceptions.as_caller = !accounts.own;
    let comparison = compare::Comparison {
        scenario: &scenario,
        subject,
        accounts: &accounts,
        exceptions: &exceptions,
        only: options.only.as_deref(),
    };
    (outcome.counts, outcome.differences) = comparison.compare(&calls, &played);
    if options.keep {
        outcome.kept = Some(stage.keep());
    }
    Ok(())
}

/// Executes the command line `transcript [--programs DIR] [--parallel N] [--attempts N] [--keep] [--only HOOK] [--case NAME]
/// DIR...`; returns true if there are no differences.
pub fn main(arguments: &[String]) -> Result<bool> {
    let mut options =
        Options { programs: PathBuf::new(), parallel: 8, keep: false, attempts: 1, only: None, case: None };
    let mut directories = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().cloned().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--programs" => options.programs = PathBuf::from(value()?),
            "--parallel" => {
                options.parallel = value()?.parse().map_err(|_| "--parallel needs a number".to_owned())?
            }
            "--attempts" => {
                options.attempts = value()?.parse().map_err(|_| "--attempts needs a number".to_owned())?
            }
            "--only" => options.only = Some(value()?),
            "--case" => options.case = Some(value()?),
            "--keep" => options.keep = true,
            directory => directories.push(PathBuf::from(directory)),
        }
    }
    if directories.is_empty() {
        return Err("no scenario directory given: transcript DIR...".to_owned());
    }
    // The router is replayed in this process.
    let programs = directories.iter().any(|path| !router::is_one(path));
    if programs && options.programs.as_os_str().is_empty() {
        options.programs = super::programs::find(&["htc-slot-run", "htc-starter-run"])?;
    }
    if programs {
        let given = options.programs.display().to_string();
        options.programs = std::fs::canonicalize(&options.programs)
            .map_err(|error| format!("--programs {given}: {error}"))?;
    }
    let outcomes = replay(&directories, &options);
    Ok(report(&outcomes))
}
