//! `doctor`: will this configuration work here?

use std::sync::atomic::Ordering;

use super::load::{self, Loaded};
use super::options::Cli;
use crate::cli::common::{Painter, Problem, Status, print_out, status_of};
use crate::config::not_done::NotDone;
use crate::lint::doctor::{Check as HealthCheck, Patient, Standing, examine, rehearsed};
use crate::runner::slot::{StarterConfig, hook_account};
use crate::world::World;

/// A line for each thing that was looked at. Exit status 0: nothing will fail.
pub(super) fn doctor(cli: &Cli) -> anyhow::Result<Status> {
    let mut late = false;
    let checks = match load::load(cli) {
        Ok(loaded) => {
            let checks = of_loaded(cli, &loaded);
            late = loaded.world.cut().load(Ordering::Relaxed);
            checks
        }
        Err(error) if status_of(&error) == Status::TimedOut => return Err(error),
        // What follows from it cannot be looked at.
        Err(error) => vec![HealthCheck::fails("configuration", format!("{error:#}"), "correct it first")],
    };
    let painter = Painter::stdout(cli.output.color);
    let lines = || checks.iter().map(|check| line(check, painter)).collect();
    let text: String = cli.output.rows(&checks)?.unwrap_or_else(lines);
    print_out(text)?;
    if late {
        let text = "the time given with --timeout is over before all was looked at";
        return Err(Problem::new(Status::TimedOut, text).into());
    }
    let fails = checks.iter().any(|check| check.standing == Standing::Fails);
    Ok(if fails { Status::No } else { Status::Done })
}

fn of_loaded(cli: &Cli, loaded: &Loaded) -> Vec<HealthCheck> {
    let Loaded { config, world, around, settings, warnings, .. } = loaded;
    let world_of_config: &dyn World = &**world;
    let view = config.view(world_of_config);
    let starter = match load::starter(cli, config, world_of_config) {
        Ok(starter) => starter,
        Err(error) => {
            let todo = "set STARTER to a program, or install htc-starter-run beside this one";
            return vec![HealthCheck::fails("starter", format!("{error:#}"), todo)];
        }
    };
    let ours: &[&str] = if starter.foreign { &["startd"] } else { &["startd", "starter"] };
    let readable = StarterConfig::new(cli.config.choice(), world, !starter.foreign).check();
    let patient = Patient {
        config,
        world: world_of_config,
        settings,
        around,
        account: hook_account(&view).map_err(|error| error.to_string()),
        starter,
        execute: load::directory(config, world_of_config, "EXECUTE"),
        log: load::directory(config, world_of_config, "LOG"),
    };
    let mut checks = vec![match readable {
        Ok(()) => HealthCheck::good("configuration", "execution point and starters can read it"),
        Err(error) => {
            HealthCheck::fails("configuration", format!("starters cannot read it: {error}"), "correct it")
        }
    }];
    checks.extend(examine(&patient));
    checks.extend(job(cli, &patient, &checks));
    // What a refused hook is warned of is among the checks.
    let known = |text: &str| {
        let mut found = checks.iter().filter(|check| check.standing != Standing::Good);
        found.any(|check| text.contains(check.found.as_str()))
    };
    let told = warnings.iter().filter(|text| !text.contains("hook path '") && !known(text));
    let told: Vec<_> = told.map(|text| HealthCheck::note("configuration", text.as_str(), "")).collect();
    checks.extend(told);
    let not_done = NotDone::of(&view).lines(&view, ours);
    checks.extend(not_done.into_iter().map(|line| HealthCheck::note("lint", line, "")));
    checks
}

/// What a job would come to, where a job could come so far.
fn job(cli: &Cli, patient: &Patient<'_>, checks: &[HealthCheck]) -> Option<HealthCheck> {
    let lacks = |check: &HealthCheck| {
        check.standing == Standing::Fails && ["configuration", "execute", "users"].contains(&check.subject)
    };
    if patient.starter.foreign || checks.iter().any(lacks) {
        return None;
    }
    let account = patient.account.as_ref().ok()?;
    rehearsed(&cli.config.choice(), patient.world, account.identity.as_ref(), cli.quirks.quirks)
}

fn line(check: &HealthCheck, painter: Painter) -> String {
    let word = match check.standing {
        Standing::Good => "ok   ".to_owned(),
        Standing::Note => "note ".to_owned(),
        Standing::Fails => painter.bad("fails").to_string(),
    };
    let todo = if check.todo.is_empty() { String::new() } else { format!("; {}", check.todo) };
    let shown = format!("{}{todo}", check.found).replace(|c: char| c.is_control(), " ");
    format!("{word}  {:<13}  {shown}\n", check.subject)
}
