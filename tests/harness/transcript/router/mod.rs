//! Replays recordings of the real job router with the router's state machine in virtual time. The machine
//! sees the queue as the recorded router saw it, and hooks return the recorded outputs. All hook calls (path,
//! standard input), all writes to the queue with their attributes, all submitted copies, and messages in the
//! daemon's log are compared.

mod actions;
mod calls;
mod events;
mod queues;
mod recording;
mod second;
mod session;
mod throttle;
mod units;
mod values;

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use htc_hooks::config::{CommandPolicy, Config, LoadOptions, LookupContext};
use htc_hooks::os::RealWorld;

use recording::Recording;
pub use recording::is_one;
use session::{Session, Stage};

use super::exceptions::Exceptions;
use super::findings::Difference;
use super::subject::Subject;
use super::{Outcome, Result};

/// Replays one recording.
pub fn fill(directory: &Path, subject: &Subject, outcome: &mut Outcome) -> Result<()> {
    replay(directory, subject, 0, outcome)?;
    // The number of polls in a long time without any trace is uncertain by one.
    for extra in [-1, 1] {
        if outcome.differences.is_empty() || !Recording::read(directory, extra)?.has_more_calls {
            break;
        }
        let mut other = Outcome { differences: Vec::new(), ..outcome.clone() };
        replay(directory, subject, extra, &mut other)?;
        if other.differences.len() < outcome.differences.len() {
            *outcome = other;
        }
    }
    Ok(())
}

fn replay(directory: &Path, subject: &Subject, extra: i32, outcome: &mut Outcome) -> Result<()> {
    let recording = Recording::read(directory, extra)?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let local = place.path().display().to_string();
    let config = place.path().join("condor_config");
    let write = |path: &Path, text: &str| fs::write(path, text).map_err(|error| error.to_string());
    write(&config, &recording.config.replace("@LOCAL_DIR@", &local).replace("@RELEASE_DIR@", &local))?;
    let hooks = place.path().join("hooks");
    fs::create_dir(&hooks).map_err(|error| error.to_string())?;
    for (name, text) in &recording.behaviours {
        let path = hooks.join(name);
        write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
    }
    let world = RealWorld::new();
    let who = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
    let options = LoadOptions {
        file: Some(config),
        environment: false,
        commands: CommandPolicy::BOUNDED_RUN,
        ..LoadOptions::default()
    };
    let (config, _) = Config::load(&world, &who, &options).map_err(|error| error.to_string())?;
    let view = config.view(&world);
    let period = htc_hooks::router::RouterParameters::load(&view, &mut |_| {}).polling_period.as_secs_f64();
    let exceptions = Exceptions::load()?;
    let stage = Stage {
        subject,
        recording: &recording,
        view: &view,
        world: &world,
        exceptions: &exceptions,
        local,
        period,
        printed: RefCell::default(),
    };
    if let Some(more) = throttle::recorded(directory) {
        throttle::compare(&stage, &more, outcome);
        return Ok(());
    }
    let mut session = play(&stage);
    outcome.counts = session.counts;
    outcome.differences = std::mem::take(&mut session.differences);
    sentences(&recording, &session, outcome);
    events::compare(&recording, &session, outcome);
    Ok(())
}

/// Replays from poll to poll, including the events in between. The state of the queue at a recorded poll is
/// uncertain by about a second, and the schedd writes with some delay: several possibilities are followed,
/// and the one with the fewest differences counts.
fn play<'a>(stage: &'a Stage<'a>) -> Session<'a> {
    let recording = stage.recording;
    let mut sessions = vec![Session::new(stage)];
    let mut lives = recording.lives.iter().skip(1).copied().peekable();
    let periodic = recording.units.iter().filter(|unit| unit.periodic).map(|unit| unit.after + 0.2);
    let periodic = match recording.periodic.is_empty() {
        true => periodic.collect::<Vec<_>>(),
        false => recording.periodic.clone(),
    };
    let mut periodic = periodic.into_iter().peekable();
    let mut last = 0.0;
    for (number, &at) in recording.polls.iter().enumerate() {
        let next = recording.polls.get(number + 1).copied().unwrap_or(recording.end);
        while let Some(begun) = lives.next_if(|begun| *begun <= at + 0.5) {
            for session in &mut sessions {
                session.deliver(begun);
                session.restart(begun);
            }
        }
        while let Some(due) = periodic.next_if(|due| *due < at) {
            if due - last > 1.0 {
                sessions.iter_mut().for_each(|session| session.periodic(due));
                last = due;
            }
        }
        let looks = sessions.iter().flat_map(|session| match session.is_dead {
            true => vec![session.clone()],
            false => session.looks(at, next),
        });
        sessions = Session::best(looks.collect());
    }
    sessions.iter_mut().for_each(Session::finish);
    sessions.sort_by_key(|session| session.differences.len());
    sessions.into_iter().next().unwrap_or_else(|| Session::new(stage))
}

/// Compares the messages of the daemon's log, job by job, up to the end of the log.
fn sentences(recording: &Recording, session: &Session<'_>, outcome: &mut Outcome) {
    let mut sources: Vec<&str> = recording.messages.iter().map(|message| message.source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    for source in sources {
        let recorded =
            recording.messages.iter().filter(|message| message.source == source).map(|message| &message.text);
        let recorded: Vec<&String> = recorded.collect();
        let empty = Vec::new();
        let ours = session.messages.get(source).unwrap_or(&empty);
        outcome.counts.states.compared += recorded.len();
        let same = recorded.iter().zip(ours).take_while(|(a, b)| **a == *b).count();
        let is_parted = session.parted.iter().any(|id| id.to_string() == source);
        let complete = match is_parted {
            true => same == ours.len(),
            false => same == recorded.len() && (recording.is_log_cut || same == ours.len()),
        };
        if !complete {
            outcome.differences.push(Difference {
                place: format!("job {source}"),
                what: format!("sentence {}", same + 1),
                recorded: recorded.get(same).map(|text| (*text).clone()),
                ours: ours.get(same).cloned(),
            });
        }
    }
}
