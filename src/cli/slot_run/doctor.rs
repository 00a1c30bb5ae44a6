//! `doctor`: checks if the configuration works on this machine.

use std::sync::atomic::Ordering;

use super::options::{DoctorOptions, SlotRunCli};
use super::slot_config::{self, LoadedSlots};
use crate::cli::common::{Painter, Problem, ProgramContext, Status, exit_status_of, write_to_stdout};
use crate::config::target_version::TargetVersion;
use crate::config::unsupported::UnsupportedSettings;
use crate::config::{CommandPolicy, LookupContext};
use crate::lint::daemons::LintRequest;
use crate::lint::doctor::{
    CheckStatus, DoctorCheck as HealthCheck, DoctorInput, configuration_checks, rehearse_job, run_all_checks,
};
use crate::runner::slot::{StarterConfig, hook_account};
use crate::slot::HookWarning;
use crate::world::World;

/// Keys of the result of a check.
const CHECK_KEYS: [&str; 4] = ["subject", "standing", "found", "todo"];

/// Prints a line for each check. The exit status is 0 if no check predicts a failure.
pub(super) fn doctor(
    cli: &SlotRunCli,
    options: &DoctorOptions,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let mut has_timed_out = false;
    let checks = match slot_config::load_or_end(cli, session) {
        Ok(loaded) => {
            let checks = check_loaded_slots(cli, &loaded);
            has_timed_out = loaded.world.timeout_flag().load(Ordering::Relaxed);
            checks
        }
        Err(error) if exit_status_of(&error) == Status::TimedOut => return Err(error),
        // Without a valid configuration, all further checks are skipped.
        Err(error) => vec![HealthCheck::failed(
            "configuration",
            format!("{error:#}").trim_end_matches('.').to_owned(),
            "correct it first",
        )],
    };
    let fails = checks.iter().any(|check| check.standing == CheckStatus::Fails);
    let checks = options.order.apply_to_rows(checks, session)?;
    let painter = Painter::stdout(cli.output.color);
    let lines = || -> String { checks.iter().map(|check| finding_line(check, painter)).collect() };
    match options.rows.render(&checks, &CHECK_KEYS)? {
        Some(rows) => write_to_stdout(rows)?,
        None => write_to_stdout(cli.output.render_json(&checks)?.unwrap_or_else(lines))?,
    }
    if has_timed_out {
        let text = "the time limit (--timeout) expired before everything was checked";
        return Err(Problem::new(Status::TimedOut, text).into());
    }
    Ok(if fails { Status::No } else { Status::Done })
}

fn check_loaded_slots(cli: &SlotRunCli, loaded: &LoadedSlots) -> Vec<HealthCheck> {
    let LoadedSlots { config, world, measurements, settings, warnings, hook_warnings, .. } = loaded;
    let world_of_config: &dyn World = &**world;
    let view = config.view(world_of_config);
    let starter = match slot_config::starter_path(cli, config, world_of_config) {
        Ok(starter) => starter,
        Err(error) => {
            let todo =
                "set STARTER to a program, or install htc-starter-run in the directory of this program";
            return vec![HealthCheck::failed("starter", format!("{error:#}"), todo)];
        }
    };
    let ours: &[&str] = if starter.foreign { &["startd"] } else { &["startd", "starter"] };
    let readability = StarterConfig::new(cli.config.to_config_choice(), world, !starter.foreign).check();
    let input = DoctorInput {
        config,
        world: world_of_config,
        settings,
        surroundings: measurements,
        account: hook_account(&view),
        starter,
        execute: slot_config::param_directory(config, world_of_config, "EXECUTE"),
        log: slot_config::param_directory(config, world_of_config, "LOG"),
    };
    let mut checks = match readability {
        Ok(()) => check_configuration(cli, loaded),
        Err(error) => {
            let found = format!("starters cannot read it: {error}");
            vec![HealthCheck::failed("configuration", found, "correct it")]
        }
    };
    checks.extend(run_all_checks(&input));
    checks.extend(check_job(cli, &input, &checks));
    // Warnings about refused hooks are left out, because other checks report them.
    let is_reported = |text: &str| {
        let mut found = checks.iter().filter(|check| check.standing != CheckStatus::Good);
        found.any(|check| text.contains(check.found.as_str()))
    };
    let is_refused_path = |text: &str| {
        hook_warnings.iter().any(|one| matches!(one, HookWarning::RefusedPath(refused) if refused == text))
    };
    let notes = warnings.iter().filter(|text| !is_refused_path(text) && !is_reported(text));
    let notes: Vec<_> = notes.map(|text| HealthCheck::noted("configuration", text.as_str(), "")).collect();
    checks.extend(notes);
    let unsupported_lines = UnsupportedSettings::collect(&view).warning_lines(&view, ours);
    checks.extend(unsupported_lines.into_iter().map(|line| HealthCheck::noted("lint", line, "")));
    checks
}

/// Reports the findings of lint about the configuration, so that `doctor` does not accept a configuration with
/// mistakes.
fn check_configuration(cli: &SlotRunCli, loaded: &LoadedSlots) -> Vec<HealthCheck> {
    let context = LookupContext { subsystem: "STARTD".into(), local_name: "".into() };
    let options = cli.config.to_config_choice().load_options(CommandPolicy::BOUNDED_RUN);
    let request = LintRequest {
        context: &context,
        options: &options,
        files: &[],
        only_unsupported: false,
        used_by: &[],
        version: TargetVersion::default(),
        redact: false,
        checks_corrections: false,
    };
    let findings = match request.lint_config(&*loaded.world) {
        Ok(result) => result.findings,
        Err(error) => return vec![HealthCheck::failed("configuration", error.to_string(), "correct it")],
    };
    configuration_checks(&findings)
}

/// Rehearses a job, unless the results of earlier checks prevent it.
fn check_job(cli: &SlotRunCli, input: &DoctorInput<'_>, checks: &[HealthCheck]) -> Option<HealthCheck> {
    let prevents_job = |check: &HealthCheck| {
        check.standing == CheckStatus::Fails && ["configuration", "execute", "users"].contains(&check.subject)
    };
    if input.starter.foreign || checks.iter().any(prevents_job) {
        return None;
    }
    let account = input.account.as_ref().ok()?;
    rehearse_job(&cli.config.to_config_choice(), input.world, account.identity.as_ref(), cli.quirks.quirks)
}

fn finding_line(check: &HealthCheck, painter: Painter) -> String {
    let word = match check.standing {
        CheckStatus::Good => "ok   ".to_owned(),
        CheckStatus::Note => "note ".to_owned(),
        CheckStatus::Fails => painter.bad("fails").to_string(),
    };
    let todo = if check.todo.is_empty() { String::new() } else { format!("; {}", check.todo) };
    let shown = format!("{}{todo}", check.found).replace(|c: char| c.is_control(), " ");
    format!("{word}  {:<13}  {shown}\n", check.subject)
}
