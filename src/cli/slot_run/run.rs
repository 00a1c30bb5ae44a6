//! Run of the slots: prepares accounts, directories and the starter, then runs the event loop.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context;
use bstr::{BString, ByteSlice};
use clap::ValueEnum;

use super::options::SlotRunCli;
use super::slot_config::{self, LoadedSlots};
use crate::cli::common::{Problem, ProgramContext, Status, StyleChoice, finish_events, stderr_outlet};
use crate::config::{Config, ConfigView};
use crate::os::{RealWorld, clock};
use crate::quirks::QuirkMode;
use crate::runner::control::check_length;
use crate::runner::events::EventStream;
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::hook_limits;
use crate::runner::journal::JournalError;
use crate::runner::slot::{
    ConfigReloader, ExecutionPointError, ExecutionPointOutcome, ExecutionPointSetup, InputDevices,
    MachineSampler, PrivateDirectory, RecoveredRun, RunJournal, StarterConfig, StarterConfigCheck,
    StarterProgram, check_directories, check_room, claim_lease_seconds, clean_execute, default_socket,
    empty_macro_warning, format_journal_error, hook_account, make_state_directory, run as run_live,
    setting_warnings, state_directory,
};
use crate::runner::starter::ExecuteCleaner;
use crate::slot::{AfterShutdown, ExecutionPoint, HostMeasurements, StartdSettings, configure};
use crate::starter::container::ContainerParameters;
use crate::starter::volume_group::VolumeGroup;
use crate::text::arguments::join_v2_raw;
use crate::text::plural::counted;
use crate::world::World;
use htc_base::FixableError;

/// Returns the cleaner that removes files and processes of killed starters. Errors in its parameters are ignored here,
/// because starters report them.
fn leftover_cleaner(view: &ConfigView<'_>) -> ExecuteCleaner {
    let base = view.string("BASE_CGROUP").ok().flatten().map(|setting| setting.value).unwrap_or_default();
    let group = VolumeGroup::read(view).unwrap_or_default();
    ExecuteCleaner::new(&ContainerParameters::read(view).unwrap_or_default(), base, group)
}

pub(super) fn run(cli: &SlotRunCli, session: &ProgramContext) -> anyhow::Result<Status> {
    // The target of events is opened before other files, because one of them could otherwise get the number of the
    // requested descriptor.
    let json = cli.events.open()?;
    let mut events = EventStream::new(&format!("{}: ", session.name()), stderr_outlet(), json)
        .with_errors_only(cli.output.quiet)
        .with_loss_reports(stderr_outlet())
        .with_style(cli.lines.line_style(cli.output.color));
    let mut failed = false;
    let (status, unfetched) = loop {
        let (outcome, refused) = run_once(cli, session, &mut events)?;
        failed |= outcome.failed > 0;
        if outcome.timed_out {
            break (Status::TimedOut, None);
        }
        match outcome.next {
            AfterShutdown::Restarts => {}
            AfterShutdown::StaysDown => break (Status::StaysDown, None),
            AfterShutdown::Ends => {
                let status = if failed { Status::No } else { Status::Done };
                let reason = explain_unknown_fetches(&outcome)
                    .or_else(|| explain_unfetched_work(cli, &outcome, &refused));
                break (status, reason);
            }
        }
    };
    match (finish_events(events, status), unfetched) {
        (Status::Done | Status::No, Some(reason)) => Err(Problem::new(Status::No, reason).into()),
        (status, _) => Ok(status),
    }
}

/// Returns a warning about FETCH_WORK calls that may have taken a job from the queue without reporting it, or `None`.
fn explain_unknown_fetches(outcome: &ExecutionPointOutcome) -> Option<String> {
    let (first, more) = outcome.unknown_fetches.split_first()?;
    let more = match more.len() {
        0 => String::new(),
        more => format!(" (and {})", counted(more, "more call")),
    };
    Some(format!("a job may be lost: {first}{more}"))
}

/// Returns the reason why the queue may still have jobs although the run ended because no hook returned a job, or
/// `None`. `refused` are the hooks that could not be used.
fn explain_unfetched_work(
    cli: &SlotRunCli,
    outcome: &ExecutionPointOutcome,
    refused: &BTreeMap<String, String>,
) -> Option<String> {
    if !ends_without_work(cli) || outcome.signal.is_some() {
        return None;
    }
    if let Some(reason) = &outcome.starter_problem {
        return Some(format!("the queue may still have jobs: no starter could run a job: {reason}"));
    }
    let mut slots = outcome.uncalled_fetches.iter().chain(refused);
    let (slot, reason) = slots.next()?;
    let more = match slots.count() {
        0 => String::new(),
        more => format!(" ({} as well)", counted(more, "more slot")),
    };
    Some(format!("the queue may still have jobs: {slot} could not call FETCH_WORK: {reason}{more}"))
}

/// Returns true if the run ends when there is no more work (`--once`).
fn ends_without_work(cli: &SlotRunCli) -> bool {
    cli.run.once || cli.run.idle_exit.is_some()
}

/// Returns the reason why no slot can ever run a job, or `None`. It is only needed for runs that end when there is no
/// more work: a queue to which refused jobs return would hand them out again forever.
fn unusable_reason(cli: &SlotRunCli, settings: &StartdSettings) -> Option<String> {
    let mut reasons = settings.slots.iter().map(|slot| slot.broken.as_ref());
    let first = reasons.next()??;
    let all = ends_without_work(cli) && reasons.all(|reason| reason.is_some());
    all.then(|| format!("no slot can run a job: {}", first.reason))
}

/// Returns the configured FETCH_WORK hooks that cannot be used, by slot.
fn refused_fetch_hooks(settings: &StartdSettings) -> BTreeMap<String, String> {
    let refused = settings.slots.iter().filter_map(|slot| {
        let reason = slot.hooks.as_ref()?.fetch_refused.clone()?;
        Some((slot.id.clone(), reason))
    });
    refused.collect()
}

/// Runs the slots once, from reading the configuration to the end. A drain may request another run. Also returns the
/// FETCH_WORK hooks that could not be used.
fn run_once(
    cli: &SlotRunCli,
    session: &ProgramContext,
    events: &mut EventStream,
) -> anyhow::Result<(ExecutionPointOutcome, BTreeMap<String, String>)> {
    let LoadedSlots { config, world, measurements, settings, mut warnings, sleeper, .. } =
        slot_config::load_or_end(cli, session)?;
    let quirks = cli.quirks.quirks;
    let view = config.view(&*world);
    let (execute, log) = required_directories(&config, &view, &*world)?;
    let starter = slot_config::starter_path(cli, &config, &*world)?;
    if !starter.path.is_file() {
        let path = starter.path.display();
        warnings.push(format!("STARTER: there is no file '{path}': no job can be started"));
    }
    let check = make_starter_check(cli, &world, &starter, execute.clone())?;
    let account = hook_account(&view).map_err(|error| Problem::unreadable(error.to_string()))?;
    warnings.extend(account.warning.map(|warning| warning.problem_with_fix()));
    let cleaner = leftover_cleaner(&view);
    let (journal, recovered) = match &log {
        Some(log) => recover(cli, log, &cleaner, &*world, &mut warnings)?,
        None => Default::default(),
    };
    if let Some(execute) = &execute {
        let cleaner = Some(&cleaner).filter(|_| !starter.foreign && !starter.skips_checks);
        warnings.extend(clean(execute, cleaner, quirks, &world));
    }
    warnings.extend(setting_warnings(&config, &*world, &settings, starter.foreign));
    let (control, socket_warning) = open_control_socket(cli, log.as_deref());
    warnings.extend(socket_warning);
    slot_config::warn_once(session, &warnings);
    // The private directory is created next to the journal, which refers to it, because programs that clean temporary
    // directories do not remove it there.
    let parent = journal.as_ref().map_or_else(std::env::temp_dir, |journal| journal.directory().to_owned());
    let private = match PrivateDirectory::new(&parent) {
        Ok(private) => private,
        Err(error) => {
            // The recovered events were removed from the journal, so they are reported here.
            recovered.events.iter().for_each(|event| events.report(event));
            return Err(error).context("cannot create a directory for the run");
        }
    };
    let options = ExecutionPointSetup {
        default_lease: claim_lease_seconds(&view),
        sleep_method: sleeper,
        journal,
        recovered,
        unusable: unusable_reason(cli, &settings),
        cleaner,
        account,
        log_directory: log,
        hook_limits: hook_limits::daemon_limits(&view),
        control,
        hook_timeout: cli.run.hook_timeout,
        timeout: cli.end.map(|end| end.since(clock::monotonic_now())),
        environment: DaemonEnvironment::from_program(&*world, &cli.config.to_config_choice()),
        starter_options: starter_options_text(cli),
        relays_events: cli.events.is_descriptor(),
        quirks,
        config_reloader: reload(cli, &world, measurements, &starter),
        starter_config_check: check,
        starter,
        world: world.clone(),
        private_directory: private.path().to_owned(),
    };
    let refused = refused_fetch_hooks(&settings);
    let machine = ExecutionPoint::new(settings, world.clone(), clock::now());
    let outcome = run_live(machine, options, MachineSampler::new(InputDevices::read(&view)), events);
    drop(private);
    outcome.map(|outcome| (outcome, refused)).map_err(run_problem)
}

/// Returns the function that checks, at the start and before each job, if starters can read their configuration and have disk
/// space.
fn make_starter_check(
    cli: &SlotRunCli,
    world: &Rc<RealWorld>,
    starter: &StarterProgram,
    execute: Option<PathBuf>,
) -> anyhow::Result<StarterConfigCheck> {
    if starter.skips_checks {
        return Ok(Box::new(|| Ok(())));
    }
    let mut config = StarterConfig::new(cli.config.to_config_choice(), world, !starter.foreign);
    config.check().map_err(|error| Problem::unreadable(format!("starters could not run: {error}")))?;
    Ok(Box::new(move || config.check().and_then(|()| execute.as_deref().map_or(Ok(()), check_room))))
}

/// Removes what an earlier run left in EXECUTE, and returns messages. `cleaner` is `None` if the starters can do this better.
fn clean(
    execute: &Path,
    cleaner: Option<&ExecuteCleaner>,
    quirks: QuirkMode,
    world: &RealWorld,
) -> Vec<String> {
    let cleaned = cleaner.map(|cleaner| cleaner.clean(execute, None, true, world)).unwrap_or_default();
    let lines = cleaned.into_iter().map(|entry| entry.line);
    lines.chain(clean_execute(execute, quirks)).collect()
}

fn run_problem(error: ExecutionPointError) -> anyhow::Error {
    match error {
        ExecutionPointError::Listen(path, cause) => {
            let what = format!("cannot listen on '{}'", path.display());
            Problem::unreadable(what).caused_by(cause).into()
        }
        ExecutionPointError::Reactor(_) => error.into(),
    }
}

/// Returns the directories EXECUTE and LOG; fails if one does not exist.
fn required_directories(
    config: &Config,
    view: &ConfigView<'_>,
    world: &dyn World,
) -> anyhow::Result<(Option<PathBuf>, Option<PathBuf>)> {
    let execute = slot_config::param_directory(config, world, "EXECUTE");
    let log = slot_config::param_directory(config, world, "LOG");
    check_directories(execute.as_deref(), log.as_deref()).map_err(|problem| {
        let hint = empty_macro_warning(view, problem.parameter);
        hint.into_iter().fold(Problem::unreadable(problem.to_string()), Problem::hint)
    })?;
    Ok((execute, log))
}

/// Opens the journal and recovers what a killed run left behind. If there is no journal, adds a warning.
fn recover(
    cli: &SlotRunCli,
    log: &Path,
    cleaner: &ExecuteCleaner,
    world: &dyn World,
    warnings: &mut Vec<String>,
) -> anyhow::Result<(Option<RunJournal>, RecoveredRun)> {
    match open_journal(&state_directory(log, cli.local_name.as_deref()))? {
        OpenedJournal::Open(mut opened, damage) => {
            let recovered = opened.recover(cleaner, world);
            let mut recovered =
                recovered.map_err(|error| Problem::unreadable(format_journal_error(&error)))?;
            damage.into_iter().for_each(|damage| recovered.warn(damage));
            Ok((Some(opened), recovered))
        }
        OpenedJournal::Unavailable(reason) => {
            warnings.push(reason);
            Ok(Default::default())
        }
    }
}

/// Returns the function that reads the configuration again (`reconfig`).
fn reload(
    cli: &SlotRunCli,
    world: &Rc<RealWorld>,
    measurements: HostMeasurements,
    starter: &StarterProgram,
) -> ConfigReloader {
    let (options, local_name, world) = (cli.config.clone(), cli.local_name.clone(), world.clone());
    let (quirks, limits, checks_parameters) =
        (cli.quirks.quirks, slot_config::run_limits(cli), !starter.foreign);
    let unchecked = starter.skips_checks;
    Box::new(move || {
        let (config, mut warnings) = slot_config::read_config(&options, local_name.as_deref(), &*world)
            .map_err(|error| format!("{error:#}"))?;
        let configured =
            configure(&config, &*world, &measurements, quirks, limits).map_err(|error| error.to_string())?;
        warnings.extend(configured.warnings);
        if !unchecked {
            StarterConfig::new(options.to_config_choice(), &world, checks_parameters).check()?;
        }
        Ok((configured.settings, warnings))
    })
}

/// Result of opening the journal of a run.
enum OpenedJournal {
    /// The journal, and a warning if its file was damaged.
    Open(RunJournal, Option<String>),
    /// Warning that the journal could not be opened.
    Unavailable(String),
}

/// Opens the journal in the state directory.
///
/// # Errors
/// Fails if another execution point uses the journal.
fn open_journal(directory: &Path) -> anyhow::Result<OpenedJournal> {
    let unavailable = |reason: String| {
        let path = directory.display();
        Ok(OpenedJournal::Unavailable(format!(
            "cannot record running jobs, so they are lost if this program is killed: '{path}': {reason}"
        )))
    };
    if let Err(error) = make_state_directory(directory) {
        return unavailable(error.to_string());
    }
    match RunJournal::open(directory) {
        Ok((journal, damage)) => Ok(OpenedJournal::Open(journal, damage)),
        Err(error @ JournalError::InUse { .. }) => {
            Err(Problem::unreadable(format!("another execution point is running with this LOG: {error}"))
                .hint("end it with 'htc-slot-run off', or set another LOG and EXECUTE for this one")
                .into())
        }
        Err(error) => unavailable(format_journal_error(&error)),
    }
}

/// Returns the socket for requests: the socket given with `--control`, otherwise a socket in LOG. If there is no
/// socket, returns a warning with the reason.
fn open_control_socket(cli: &SlotRunCli, log: Option<&Path>) -> (Option<PathBuf>, Option<String>) {
    if cli.run.control.is_some() {
        return (cli.run.control.clone(), None);
    }
    let Some(log) = log else { return (None, None) };
    let directory = state_directory(log, cli.local_name.as_deref());
    let socket = default_socket(log, cli.local_name.as_deref());
    match make_state_directory(&directory).and_then(|()| check_length(&socket)) {
        Ok(()) => (Some(socket), None),
        Err(error) => {
            let path = directory.display();
            (
                None,
                Some(format!(
                    "requests cannot be received: '{path}': {error}; use --control SOCKET to name another socket"
                )),
            )
        }
    }
}

fn path_bytes(path: &Path) -> BString {
    <[u8]>::from_path(path).map_or_else(|| path.to_string_lossy().into_owned().into(), BString::from)
}

/// Returns the options of this program that its starters need.
fn starter_options_text(cli: &SlotRunCli) -> BString {
    let mut words: Vec<BString> = Vec::new();
    let mut add = |name: &str, value: Option<BString>| {
        words.push(name.into());
        words.extend(value);
    };
    if cli.quirks.quirks == QuirkMode::Reference {
        add("--quirks", Some("reference".into()));
    }
    if let Some(file) = cli.events.file() {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        add("--events", Some(path_bytes(&file)));
    }
    if let Some(limit) = cli.run.hook_timeout {
        add("--hook-timeout", Some(limit.as_secs_f64().to_string().into()));
    }
    if let Some(file) = &cli.config.config_file {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        add("--config-file", Some(path_bytes(&file)));
    }
    // Without `--no-env`, parameters are passed in the environment. Passing them twice would apply `X = $(X) more` twice.
    if cli.config.no_env {
        add("--no-env", None);
        for (name, value) in &cli.config.param {
            add("--param", Some(format!("{name}={value}").into()));
        }
    }
    if cli.output.quiet {
        add("--quiet", None);
    }
    if cli.lines.timestamps != StyleChoice::Auto
        && let Some(when) = cli.lines.timestamps.to_possible_value()
    {
        add("--timestamps", Some(when.get_name().into()));
    }
    join_v2_raw(&words)
}
