//! More than one call: do the answers differ, what do they depend on, how long do they take.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::one;
use super::options::Shared;
use crate::cli::common::{Align, Column, Painter, Problem, Session, Status, table};
use crate::os::{Reactor, RealWorld};
use crate::process::Exit;
use crate::runner::hook_environment::HookEnvironment;
use crate::runner::hook_test::{Ending, Finding, Outcome, Rule, Setup, Shown, call};
use crate::world::World;

/// What two calls are compared by. `root` is where it ran: it has a new name for each call, so that an answer may hold it
/// without being another one.
fn answer(outcome: &Outcome, root: &Path) -> (Option<crate::process::Exit>, Vec<u8>) {
    match &outcome.ending {
        Ending::Ran(ended) => {
            let name = root.as_os_str().as_encoded_bytes();
            (ended.exit, ended.stdout.replace(name, "(scratch directory)"))
        }
        _ => (None, Vec::new()),
    }
}

/// The first lines in which two outputs differ.
fn difference(before: &[u8], after: &[u8]) -> String {
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(before), lines(after));
    let most = before.len().max(after.len());
    for at in 0..most {
        let (left, right) = (before.get(at), after.get(at));
        if left != right {
            let show = |line: Option<&String>| match line {
                Some(line) => format!("'{}'", line.chars().take(70).collect::<String>()),
                None => "nothing".to_owned(),
            };
            return format!("line {}: {} then {}", at + 1, show(left), show(right));
        }
    }
    "its exit status".to_owned()
}

/// Calls the hook again and tells whether it answers the same; the signal that interrupted it, if one did.
pub(super) fn repeat(
    setup: &Setup,
    reactor: &mut Reactor,
    times: u32,
    keep: Option<&Path>,
    shown: &mut Shown,
) -> anyhow::Result<Result<(), i32>> {
    let first = answer(&shown.outcome, &shown.root);
    let mut varies = false;
    for number in 2..=times {
        let again = match setup.shown(reactor, |_| {}).map_err(one::problem)? {
            Ok(again) => again,
            Err(signal) => return Ok(Err(signal)),
        };
        if let Some(directory) = keep {
            one::keep(&again.record, directory)?;
        }
        let other = answer(&again.outcome, &again.root);
        if other != first && !varies {
            varies = true;
            shown.findings.push(Finding::new(
                Rule::Varies,
                format!("call {number} answers differently: {}", difference(&first.1, &other.1)),
                "make the answer depend on the ads alone, or expect it to vary",
            ));
            if keep.is_none() {
                break;
            }
        }
    }
    Ok(Ok(()))
}

/// Calls the hook in other surroundings, one thing changed at a time.
pub(super) fn probe(
    setup: &Setup,
    reactor: &mut Reactor,
    shown: &mut Shown,
) -> anyhow::Result<Result<(), i32>> {
    let first = answer(&shown.outcome, &shown.root);
    let elsewhere = tempfile::tempdir()?;
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(elsewhere.path(), std::fs::Permissions::from_mode(0o777))?;
    }
    let mut interrupted = None;
    let mut ask =
        |change: &dyn Fn(&mut HookEnvironment), directory: bool| -> anyhow::Result<Option<String>> {
            if interrupted.is_some() {
                return Ok(None);
            }
            let place = setup.place().map_err(one::problem)?;
            let mut environment = setup.environment(&place);
            change(&mut environment);
            let mut spec = setup.child(&place, environment).map_err(one::problem)?;
            if directory {
                spec.cwd = Some(elsewhere.path().to_owned());
            }
            let outcome = match call(reactor, spec, Some(setup.patience), &mut |_| {})? {
                Ok(outcome) => outcome,
                Err(signal) => {
                    interrupted = Some(signal);
                    return Ok(None);
                }
            };
            let other = answer(&outcome, place.root());
            Ok((other != first).then(|| difference(&first.1, &other.1)))
        };
    if let Some(how) = ask(&|_| {}, false)? {
        shown.findings.push(Finding::new(
            Rule::Varies,
            format!("a second call answers differently: {how}"),
            "make the answer depend on the ads alone, or expect it to vary",
        ));
        return Ok(Ok(()));
    }
    if let Some(how) = ask(&|_| {}, true)? {
        shown.findings.push(Finding::new(
            Rule::DependsOnDirectory,
            format!("in another working directory it answers differently: {how}"),
            "name files by full paths; the working directory is the daemon's LOG or the job's scratch directory",
        ));
    }
    let home = |environment: &mut HookEnvironment| environment.variables.set("HOME", "/nonexistent");
    if let Some(how) = ask(&home, false)? {
        shown.findings.push(Finding::new(
            Rule::DependsOnHome,
            format!("with another HOME it answers differently: {how}"),
            "the HOME of a daemon is root's, or that of the job's account in starter hooks",
        ));
    }
    let own: Vec<(BString, BString)> = RealWorld::new()
        .environment()
        .into_iter()
        .map(|(name, value)| {
            use std::os::unix::ffi::OsStringExt;
            (name.into_vec().into(), value.into_vec().into())
        })
        .collect();
    let shell = |environment: &mut HookEnvironment| {
        for (name, value) in &own {
            if !environment.variables.contains(name) {
                environment.variables.set(name.clone(), value.clone());
            }
        }
    };
    if let Some(how) = ask(&shell, false)? {
        shown.findings.push(Finding::new(
            Rule::DependsOnEnvironment,
            format!("with the variables of your shell it answers differently: {how}"),
            "a daemon does not have them; set what is needed in the hook",
        ));
    }
    Ok(interrupted.map_or(Ok(()), Err))
}

/// Calls the hook so many times and prints how long it took.
pub(super) fn time(
    setup: &Setup,
    reactor: &mut Reactor,
    times: u32,
    cli: &Shared,
    session: &Session,
) -> anyhow::Result<Status> {
    if let Some(reason) = &setup.refusal {
        return Err(Problem::new(Status::No, reason.clone()).into());
    }
    let mut took: Vec<Duration> = Vec::new();
    let (mut user, mut system) = (Duration::ZERO, Duration::ZERO);
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    let place = setup.place().map_err(one::problem)?;
    let environment = setup.environment(&place);
    for _ in 0..times.max(1) {
        let spec = setup.child(&place, environment.clone()).map_err(one::problem)?;
        let outcome = match call(reactor, spec, Some(setup.patience), &mut |_| {})? {
            Ok(outcome) => outcome,
            Err(number) => return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false })),
        };
        took.push(outcome.took);
        let end = match &outcome.ending {
            Ending::Ran(ended) => {
                user += ended.usage.user;
                system += ended.usage.system;
                ended.exit.map_or("still running".to_owned(), |exit| exit.to_string())
            }
            Ending::NotStarted { reason, .. } | Ending::Refused { reason } => reason.clone(),
        };
        *ends.entry(end).or_default() += 1;
    }
    took.sort_unstable();
    let count = took.len().max(1);
    let at =
        |share: f64| took.get(((count - 1) as f64 * share).round() as usize).copied().unwrap_or_default();
    let total: Duration = took.iter().sum();
    let ms = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1e3);
    let columns = [
        Column::right("CALLS"),
        Column { heading: "LEAST", align: Align::Right },
        Column::right("MEDIAN"),
        Column::right("P90"),
        Column::right("P99"),
        Column::right("MOST"),
        Column::right("MEAN"),
        Column::right("USER"),
        Column::right("SYSTEM"),
    ];
    let per = |time: Duration| ms(time / u32::try_from(count).unwrap_or(u32::MAX));
    let row = vec![
        took.len().to_string(),
        ms(at(0.0)),
        ms(at(0.5)),
        ms(at(0.9)),
        ms(at(0.99)),
        ms(at(1.0)),
        per(total),
        per(user),
        per(system),
    ];
    if cli.output.json || cli.output.jsonl {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let each = |time: Duration| milliseconds(time) / count as f64;
        let all = serde_json::json!({
            "calls": took.len(),
            "milliseconds": {
                "least": milliseconds(at(0.0)),
                "median": milliseconds(at(0.5)),
                "p90": milliseconds(at(0.9)),
                "p99": milliseconds(at(0.99)),
                "most": milliseconds(at(1.0)),
                "mean": each(total),
                "user": each(user),
                "system": each(system),
            },
            "ends": ends,
        });
        use std::io::Write;
        std::io::stdout().write_all(cli.output.rows(&[all])?.unwrap_or_default().as_bytes())?;
    } else {
        session.tell("milliseconds a call\n");
        use std::io::Write;
        let painter = if cli.output.quiet { Painter::plain() } else { Painter::stderr(cli.output.color) };
        let painter =
            if std::io::IsTerminal::is_terminal(&std::io::stdout()) { painter } else { Painter::plain() };
        std::io::stdout().write_all(table(&columns, [row], painter).as_bytes())?;
    }
    for (end, count) in ends.iter().filter(|_| !cli.output.json && !cli.output.jsonl) {
        session.tell(&format!("{count} of {}: {end}\n", took.len()));
    }
    Ok(if ends.len() == 1 && ends.keys().all(|end| end == "exited with status 0") {
        Status::Done
    } else {
        Status::No
    })
}
