//! Creation of an execution point from the command line and the configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use bstr::ByteSlice;

use super::options::SlotRunCli;
use crate::classad::ClassAd;
use crate::cli::common::{ClockOptions, ConfigOptions, InputWatch, Problem, ProgramContext, Status};
use crate::config::{CommandPolicy, Config, LoadOptions, LookupContext};
use crate::os::{RealWorld, clock};
use crate::runner::configured_world;
use crate::runner::slot::{SleepMethod, StarterProgram, StarterProgramError, configured_surroundings};
use crate::slot::{
    ConfigureError, ExitLimits, HookWarning, HostMeasurements, SleepSupport, StartdSettings, configure,
};
use crate::world::World;

/// Inputs that all verbs need: configuration, settings and warnings.
pub(super) struct LoadedSlots {
    pub config: Config,
    pub world: Rc<RealWorld>,
    pub measurements: HostMeasurements,
    pub settings: StartdSettings,
    pub warnings: Vec<String>,
    /// Warnings about hooks, which are also in `warnings`.
    pub hook_warnings: Vec<HookWarning>,
    /// Method to suspend the machine, or `None`.
    pub sleeper: Option<SleepMethod>,
}

/// Function that returns the file and line where a parameter is set to a value.
type SettingLocator<'a> = &'a dyn Fn(&str, &str) -> Option<(String, usize)>;

/// Machine of a scenario: its parameters, which override the configuration but not `--param`, and its disk.
pub(super) struct HypotheticalMachine<'a> {
    /// Configuration file that replaces `--config-file`, or `None`.
    pub file: Option<&'a Path>,
    pub knobs: &'a BTreeMap<String, String>,
    /// Disk space in KiB, or `None` to use the size of the real machine's file system.
    pub disk: Option<i64>,
    /// Function that returns the file and line where a parameter is set to a value.
    pub set_at: SettingLocator<'a>,
}

impl HypotheticalMachine<'_> {
    /// Returns the place where a parameter that overrides all files is set: the command line or a line of the scenario.
    fn setting_location(&self, parameter: &str, options: &ConfigOptions) -> String {
        let has_name = |name: &String| name.eq_ignore_ascii_case(parameter);
        let scenario_setting = self.knobs.iter().find(|(name, _)| has_name(name));
        let scenario_setting =
            scenario_setting.filter(|_| !options.param.iter().any(|(name, _)| has_name(name)));
        let at = scenario_setting.and_then(|(name, value)| (self.set_at)(name, value));
        at.map_or_else(|| COMMAND_LINE.to_owned(), |(file, line)| format!("{file}:{line}"))
    }
}

/// Option that sets parameters on the command line, for messages.
pub(super) const COMMAND_LINE: &str = "--param";

/// Loads the slots of a hypothetical machine as [`load`] does, but without measuring the real machine.
pub(super) fn load_hypothetical(
    cli: &SlotRunCli,
    machine: &HypotheticalMachine<'_>,
) -> anyhow::Result<LoadedSlots> {
    let world = RealWorld::new();
    let mut options = cli.config.clone();
    if let Some(file) = machine.file {
        options.config_file = Some(file.to_owned());
    }
    options.param = machine.knobs.clone().into_iter().chain(options.param).collect();
    let (config, mut warnings) = read_config(&options, cli.local_name.as_deref(), &world)?;
    let world = Rc::new(configured_world(world, &config, &mut |text| warnings.push(text.to_owned())));
    let mut measurements = configured_surroundings(&config, &*world);
    measurements.gpu_discovery_output = cli.gpus.as_deref().map(read_gpu_file).transpose()?;
    measurements.execute_problem = None;
    measurements.slot_volumes.clear();
    measurements.sleep_support = SleepSupport::all_states();
    // The free space of the real machine is not used because it changes, so that simulations would not be repeatable.
    measurements.disk_free = measurements.disk_total;
    if let Some(disk) = machine.disk {
        (measurements.disk_free, measurements.disk_total) = (disk, disk);
    }
    let to_problem = |error| {
        slot_config_problem_with(error, &|parameter| machine.setting_location(parameter, &cli.config))
    };
    let configured =
        configure(&config, &*world, &measurements, cli.quirks.quirks, run_limits(cli)).map_err(to_problem)?;
    warnings.extend(configured.warnings);
    let (mut settings, hook_warnings) = (configured.settings, configured.hook_warnings);
    // A hypothetical machine supports every sleep state.
    settings.power.allowed = true;
    settings.power.sleeps_if_unwakeable = true;
    Ok(LoadedSlots { config, world, measurements, settings, warnings, hook_warnings, sleeper: None })
}

/// Reads the configuration and creates the slots. When `--timeout` expires, programs that the configuration runs are
/// killed.
pub(super) fn load(cli: &SlotRunCli) -> anyhow::Result<LoadedSlots> {
    load_or_time_out(cli, None, true)
}

/// Loads slots as [`load`] does. If the configuration is a pipe, the program also ends when `--timeout` expires during
/// the wait for the pipe.
pub(super) fn load_or_end(cli: &SlotRunCli, session: &ProgramContext) -> anyhow::Result<LoadedSlots> {
    loading_watch(cli, None, session).wait_for(|| load(cli))
}

/// Returns a watch that ends the program when `--timeout` expires while the program waits for input.
pub(super) fn input_watch(cli: &SlotRunCli, session: &ProgramContext) -> InputWatch {
    InputWatch::start(cli.end.map(|end| end.since(clock::monotonic_now())), session)
}

/// Returns the watch for loading. It is [`input_watch`] if the configuration or the file of `--gpus` is a pipe.
/// Otherwise there is no limit, because the program must not end before it has killed the programs that the
/// configuration runs.
fn loading_watch(cli: &SlotRunCli, file: Option<&Path>, session: &ProgramContext) -> InputWatch {
    let config = file.or(cli.config.config_file.as_deref());
    let is_pipe = |file: &Path| !file.is_file();
    match config.is_some_and(is_pipe) || cli.gpus.as_deref().is_some_and(is_pipe) {
        true => input_watch(cli, session),
        false => InputWatch::default(),
    }
}

/// Loads slots for queries as [`load`] does, except that a missing EXECUTE is only a warning. `file`, if given, replaces
/// `--config-file`.
pub(super) fn load_for_query(
    cli: &SlotRunCli,
    file: Option<&Path>,
    session: &ProgramContext,
) -> anyhow::Result<LoadedSlots> {
    loading_watch(cli, file, session).wait_for(|| load_or_time_out(cli, file, false))
}

/// Returns the real world, with the time of `--now` if that option is given.
pub(super) fn query_world(cli: &SlotRunCli) -> RealWorld {
    ClockOptions { now: cli.now, seed: None }.world()
}

/// Loads the slots. If a program was killed when `--timeout` expired, reports the timeout with the last error as its
/// cause, because later errors are only consequences.
fn load_or_time_out(cli: &SlotRunCli, file: Option<&Path>, to_run: bool) -> anyhow::Result<LoadedSlots> {
    let world = query_world(cli).with_command_deadline(cli.end);
    let timeout_flag = world.timeout_flag();
    let loaded = load_in_world(cli, world, file, to_run);
    if !timeout_flag.load(Ordering::Relaxed) {
        return loaded;
    }
    let last = match loaded {
        Ok(loaded) => loaded.warnings.join("; "),
        Err(error) => format!("{error:#}"),
    };
    let text = format!("the time limit (--timeout) expired before there were slots: {last}");
    Err(Problem::new(Status::TimedOut, text).into())
}

fn load_in_world(
    cli: &SlotRunCli,
    world: RealWorld,
    file: Option<&Path>,
    to_run: bool,
) -> anyhow::Result<LoadedSlots> {
    let mut options = cli.config.clone();
    if let Some(file) = file {
        options.config_file = Some(file.to_owned());
    }
    let (config, mut warnings) = read_config(&options, cli.local_name.as_deref(), &world)?;
    let world = Rc::new(configured_world(world, &config, &mut |text| warnings.push(text.to_owned())));
    let (mut measurements, mut warning) = (configured_surroundings(&config, &*world), None);
    if let Ok(starter) = starter_path(cli, &config, &*world) {
        (measurements, warning) = starter.surroundings(&config, &*world, &options.to_config_choice());
    }
    measurements.gpu_discovery_output = cli.gpus.as_deref().map(read_gpu_file).transpose()?;
    warnings.extend(warning);
    let (sleeper, sleep, warning) = SleepMethod::find(&config, &*world);
    measurements.sleep_support = sleep;
    warnings.extend(warning);
    if !to_run && let Some(missing) = measurements.execute_problem.take() {
        warnings.push(format!("{missing}; the slots behave as if it existed"));
    }
    let configured = configure(&config, &*world, &measurements, cli.quirks.quirks, run_limits(cli))
        .map_err(slot_config_problem)?;
    warnings.extend(configured.warnings);
    let (settings, hook_warnings) = (configured.settings, configured.hook_warnings);
    Ok(LoadedSlots { config, world, measurements, settings, warnings, hook_warnings, sleeper })
}

/// Maximum number of bytes that are read from the output of the GPU discovery program.
const MAX_GPU_OUTPUT: u64 = 1 << 20;

/// Reads the file of `--gpus`, which must contain output of the GPU discovery program.
fn read_gpu_file(path: &Path) -> anyhow::Result<String> {
    let file = || format!("{}", path.display());
    let bytes = RealWorld::new()
        .read_file(path, Some(MAX_GPU_OUTPUT))
        .map_err(|error| Problem::unreadable(format!("--gpus {}: {error}", file())))?;
    let text = bytes.to_str_lossy().into_owned();
    let mut ad = ClassAd::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        if ad.insert_line(line.as_bytes()).is_err() {
            let problem =
                format!("--gpus {}: line {number} is not a valid attribute: `{}`", file(), line.trim());
            return Err(Problem::unreadable(problem)
                .hint("the file is the output of `condor_gpu_discovery -properties`, such as DetectedGPUs=\"GPU-1, GPU-2\"")
                .into());
        }
    }
    if !ad.contains("DetectedGPUs") {
        return Err(Problem::unreadable(format!("--gpus {}: DetectedGPUs is missing", file())).into());
    }
    Ok(text)
}

/// Reads the configuration as the execution point's daemon would.
pub(super) fn read_config(
    options: &ConfigOptions,
    local_name: Option<&str>,
    world: &dyn World,
) -> anyhow::Result<(Config, Vec<String>)> {
    let context =
        LookupContext { subsystem: "STARTD".into(), local_name: local_name.unwrap_or_default().into() };
    // Explanations need the lines of all settings, including those that equal their defaults.
    let options = LoadOptions {
        keep_texts: true,
        keep_defaults: true,
        ..options.load_options(CommandPolicy::BOUNDED_RUN)
    };
    match Config::load(world, &context, &options) {
        Ok((config, warnings)) => {
            let warnings = warnings.iter().map(|warning| warning.text.to_str_lossy().trim().to_owned());
            Ok((config, warnings.collect()))
        }
        Err(error) => Err(Problem::from_config_error(error).into()),
    }
}

/// Returns the program that runs jobs.
pub(super) fn starter_path(
    cli: &SlotRunCli,
    config: &Config,
    world: &dyn World,
) -> anyhow::Result<StarterProgram> {
    let starter_option = cli.run.starter.as_deref();
    StarterProgram::find(starter_option, config, world, cli.quirks.quirks).map_err(|error| {
        let problem = Problem::unreadable(error.to_string());
        match error {
            StarterProgramError::Missing(_) => problem
                .hint("install it in the directory of this program, or set STARTER in the configuration")
                .into(),
            StarterProgramError::Lost(cause) => problem.caused_by(cause).into(),
            StarterProgramError::Given(_) | StarterProgramError::Configured { .. } => problem.into(),
        }
    })
}

pub(super) fn run_limits(cli: &SlotRunCli) -> ExitLimits {
    ExitLimits {
        exit_when_no_work: cli.run.once,
        max_jobs: cli.run.max_jobs,
        idle_exit: cli.run.idle_exit,
        allow_hibernate: cli.run.allow_hibernate,
    }
}

/// Returns the error for slots that cannot be created, with its location.
pub(super) fn slot_config_problem(error: ConfigureError) -> anyhow::Error {
    slot_config_problem_with(error, &|_| COMMAND_LINE.to_owned())
}

/// Returns the same error as [`slot_config_problem`]. `setter` returns the place where a parameter that overrides all
/// files is set.
fn slot_config_problem_with(error: ConfigureError, setter: &dyn Fn(&str) -> String) -> anyhow::Error {
    let mut message = error.to_string();
    if let ConfigureError::Parameter { name, origin, excerpt, .. } = &error {
        if let Some(origin) = origin {
            // `<Over>` is the reference's name for settings that override all files.
            message = format!("{}: {message}", origin.to_string().replace("<Over>", &setter(name)));
        }
        if let Some(excerpt) = excerpt {
            // The first line of the excerpt is left out if the message contains it.
            let is_in_message = excerpt.lines().next().is_some_and(|line| message.ends_with(line.trim()));
            for line in excerpt.lines().skip(usize::from(is_in_message)) {
                message += "\n    ";
                message += line;
            }
        }
    }
    Problem::unreadable(message).into()
}

/// Returns the directory that a parameter names, or `None`.
pub(super) fn param_directory(config: &Config, world: &dyn World, name: &str) -> Option<PathBuf> {
    let setting = config.view(world).string(name).ok().flatten()?;
    Some(Path::new(&*setting.value.to_os_str_lossy()).to_owned())
}

/// Prints each warning once.
pub(super) fn warn_once(session: &ProgramContext, warnings: &[String]) {
    for warning in warnings {
        session.warn(warning);
    }
}
