//! Process that is started for a job ad: command, arguments, files and limits.
//!
//! Reference: `OsProc::StartJob` and `canonicalizeJobPath` of `os_proc.cpp`, `ScriptProc::StartJob` of
//! `script_proc.cpp`. The ad is the one that the prepare hook may have changed. Only the directory and the standard
//! files come from the original ad.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::action::{JobProcess, StandardFile};
use super::environment::{EnvironmentInputs, merge_from_ad};
use super::isolation::{INIT_PROGRAM, ProcessIsolation};
use super::job_info::{is_universe_supported, join_directory};
use super::start_failure::StartFailure;
use htc_base::job::{HoldCode, Universe, attr};
use htc_base::process::{ResourceLimit, ResourceLimitKind, SessionMode};
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::arguments;
use htc_base::text::environment::Environment;
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_hook::transfer::url;

/// Variable that names the file in which the first process of a PID namespace records the exit of the job.
const STATUS_FILE_VARIABLE: &str = "_CONDOR_PID_NS_INIT_STATUS_FILENAME";

fn to_path(bytes: &[u8]) -> PathBuf {
    bytes.to_path_lossy().into_owned()
}

/// Returns the job's universe after PREPARE_JOB, which may have changed it since the job was accepted (`Starter::SpawnJob`).
///
/// # Errors
/// Returns an error if the universe needs a shadow.
pub fn current_universe(ad: &ClassAd, world: &dyn World) -> Result<i64, StartFailure> {
    let universe = Context::new(world).my(ad).int(attr::JOB_UNIVERSE).unwrap_or(5);
    if is_universe_supported(universe) {
        return Ok(universe);
    }
    let name = Universe::from_number(universe).map_or("unknown", Universe::name);
    Err(StartFailure::silent(format!("Starter doesn't support universe {universe} ({name})")))
}

/// Returns the process of the job itself. `own` is the starter's environment, `mounts` the result of [`plan_mounts`].
///
/// # Errors
/// Returns the reason, in the reference's words, why the job cannot be started.
pub fn plan_job_process(
    inputs: &EnvironmentInputs<'_>,
    own: &[(BString, BString)],
    mounts: Vec<(PathBuf, PathBuf)>,
) -> Result<JobProcess, StartFailure> {
    let (ad, settings, world) = (inputs.ad, inputs.settings, inputs.world);
    let context = || Context::new(world).my(ad);
    let Some(command) = context().string(attr::CMD) else {
        return Err(StartFailure::silent("Cmd not found in JobAd.  Aborting StartJob."));
    };
    let transferred = context().boolean("TransferExecutable").unwrap_or(true);
    let kept = context().boolean("PreserveRelativeExecutable").unwrap_or(false);
    let command = match () {
        () if inputs.job.transfers_files && transferred => {
            join_directory(inputs.scratch.as_os_str().as_bytes(), url::base_name(&command))
        }
        // An empty command stays empty, so that it cannot be executed (`canonicalizeJobPath`).
        () if command.starts_with(b"/") || command.is_empty() || (kept && !transferred) => command,
        () => join_directory(&inputs.job.iwd, &command),
    };
    let mut argv: Vec<BString> = Some(command.clone()).into_iter().filter(|name| !name.is_empty()).collect();
    argv.extend(argument_list(ad, "", world).map_err(|error| {
        StartFailure::silent(format!(
            "Failed to read job arguments from JobAd.  Aborting OsProc::StartJob: {error}"
        ))
    })?);
    let environment = inputs.job_environment(own)?;
    let files = standard_files(inputs);
    let nice = settings.renice.as_ref().map_or(Ok(0), |expression| nice_value(ad, expression, world));
    Ok(JobProcess {
        arguments_shown: arguments::join_v2_raw(argv.get(1..).unwrap_or_default()),
        program: executable_path(&command, inputs.scratch),
        command,
        argv,
        environment: environment.entries(),
        cwd: inputs.scratch.join(to_path(&inputs.job.iwd)),
        files,
        // These failures are reported after the standard files have been opened. The first one determines the outcome.
        failures: nice.clone().err().into_iter().collect(),
        nice: nice.unwrap_or(0),
        limits: resource_limits(inputs),
        limit_warnings: address_space_limit(inputs)
            .1
            .map(|line| ("address-space-limit", line))
            .into_iter()
            .collect(),
        mounts,
        session: if settings.process_groups { SessionMode::NewSession } else { SessionMode::Inherit },
        ..JobProcess::default()
    })
}

/// Puts USER_JOB_WRAPPER, if it is set, before the command of the process. Call this function last, so that the wrapper
/// also runs a container runtime.
pub fn with_job_wrapper(process: JobProcess, inputs: &EnvironmentInputs<'_>) -> JobProcess {
    let Some(wrapper) = &inputs.settings.wrapper else { return process };
    let mut process = with_program_in_front(process, wrapper.clone(), inputs.scratch);
    if !inputs.world.may_execute(&to_path(wrapper)) && process.failures.is_empty() {
        let text = format!("Cannot find/execute USER_JOB_WRAPPER file {wrapper}");
        process.failures.push(StartFailure::silent(text).after_event());
    }
    process
}

/// Returns a process that runs `program` with the command line of the given process as its arguments.
fn with_program_in_front(process: JobProcess, program: BString, scratch: &Path) -> JobProcess {
    let argv: Vec<BString> = std::iter::once(program).chain(process.argv.iter().cloned()).collect();
    with_command(process, argv, scratch)
}

/// Returns an interactive shell in place of the job, with the starter's standard files, in the scratch directory, like
/// the shell that `condor_ssh_to_job` starts.
pub(super) fn shell_process(process: JobProcess, shell: &BString, scratch: &Path) -> JobProcess {
    let files = [StandardFile::Inherited, StandardFile::Inherited, StandardFile::Inherited];
    let cwd = scratch.to_owned();
    JobProcess {
        files,
        cwd,
        session: SessionMode::ForegroundGroup,
        ..with_command(process, vec![shell.clone()], scratch)
    }
}

/// Returns the process with another command line.
pub(super) fn with_command(process: JobProcess, argv: Vec<BString>, scratch: &Path) -> JobProcess {
    let program = argv.first().cloned().unwrap_or_default();
    JobProcess {
        arguments_shown: arguments::join_v2_raw(argv.get(1..).unwrap_or_default()),
        program: executable_path(&program, scratch),
        command: program,
        argv,
        ..process
    }
}

/// Adds the namespaces to the process. If it has a PID namespace, also adds the init process.
pub(super) fn with_namespaces(
    process: JobProcess,
    made: ProcessIsolation,
    inputs: &EnvironmentInputs<'_>,
) -> JobProcess {
    let Some(file) = made.status_file.clone() else { return JobProcess { isolation: made, ..process } };
    let InitProcess { path: init, link, shown_instead: shown } = find_init_process(inputs);
    let mut process = process;
    let entry = [STATUS_FILE_VARIABLE.as_bytes(), b"=", file.as_os_str().as_bytes()].concat();
    let place = process.environment.partition_point(|other| other.as_slice() < entry.as_slice());
    process.environment.insert(place, entry.into());
    let words: Vec<BString> = std::iter::once(&init).chain(&process.argv).cloned().collect();
    let named = (process.command.clone(), process.arguments_shown.clone());
    let mut process = with_command(process, words, inputs.scratch);
    if !shown {
        // Failures name the job, not the init process that starts it.
        (process.command, process.arguments_shown) = named;
    }
    // /proc/self/exe works in any mount namespace; argv[0] selects the function of the program.
    let program = if link.is_some() { PathBuf::from("/proc/self/exe") } else { process.program.clone() };
    JobProcess { program, isolation: ProcessIsolation { init_link: link, ..made }, ..process }
}

/// Program that runs as the first process of a PID namespace.
struct InitProcess {
    path: BString,
    /// Link through which this program is called, if it is the init process itself; otherwise `None`.
    link: Option<PathBuf>,
    /// True if error messages show the init program instead of the job's command.
    shown_instead: bool,
}

/// Returns the init program of LIBEXEC (in 25.14 even if the program does not exist), or otherwise this program through
/// a link next to the scratch directory.
fn find_init_process(inputs: &EnvironmentInputs<'_>) -> InitProcess {
    let shown = inputs.quirks.reproduces(Quirk::PidnsInitOfLibexec);
    let of_libexec = inputs.settings.isolation.libexec.as_ref().map(|libexec| {
        let path = [libexec.as_slice(), b"/", INIT_PROGRAM.as_bytes()].concat();
        BString::from(path)
    });
    let there = |path: &BString| inputs.world.may_execute(&path.to_path_lossy());
    match of_libexec {
        Some(path) if shown || there(&path) => InitProcess { path, link: None, shown_instead: shown },
        _ => {
            let link = match (inputs.settings.nested_scratch, inputs.scratch.parent()) {
                (true, Some(top)) => top.join("htcondor").join(INIT_PROGRAM),
                _ => inputs.scratch.join(".condor_pid_ns").join(INIT_PROGRAM),
            };
            InitProcess { path: link.as_os_str().as_bytes().into(), link: Some(link), shown_instead: shown }
        }
    }
}

/// Returns the path of the program. A relative path is resolved in the scratch directory.
fn executable_path(program: &BString, scratch: &Path) -> PathBuf {
    match program.starts_with(b"/") || program.is_empty() {
        true => to_path(program),
        false => scratch.join(to_path(program)),
    }
}

/// Returns the process of PreCmd (`prefix` `Pre`) or PostCmd (`Post`), or `None` if the ad has none.
///
/// # Errors
/// Returns an error if the environment is invalid. Invalid arguments are treated as an empty list.
pub fn plan_script_process(
    inputs: &EnvironmentInputs<'_>,
    prefix: &'static str,
) -> Result<Option<JobProcess>, StartFailure> {
    let (ad, world) = (inputs.ad, inputs.world);
    let string = |name: &str| Context::new(world).my(ad).string(format!("{prefix}{name}"));
    let Some(command) = string("Cmd").filter(|command| !command.is_empty()) else { return Ok(None) };
    let program =
        if command.starts_with(b"/") { to_path(&command) } else { inputs.scratch.join(to_path(&command)) };
    let mut argv = vec![BString::from(format!("condor_{prefix}script"))];
    let filled = |text: &BString| !text.is_empty();
    argv.extend(match (string("Arguments").filter(filled), string("Args").filter(filled)) {
        (Some(text), _) => arguments::parse_v2_raw(&text).unwrap_or_default(),
        (None, Some(text)) => arguments::parse_v1_raw(&text),
        (None, None) => Vec::new(),
    });
    let mut environment = Environment::new();
    let read = match string("Environment").filter(filled) {
        Some(text) => environment.merge_v2_raw(&text),
        None => match string("Env").filter(filled) {
            // Unlike the job's Env, this attribute cannot name its delimiter (`MergeFromV1Raw`).
            Some(text) => environment.merge_v1(&[b";", &text[..]].concat(), None),
            None => merge_from_ad(&mut environment, &ClassAd::new(), "", world),
        },
    };
    if let Err(error) = read {
        let text =
            format!("Invalid {prefix}Environment found in JobAd ({error}).  Aborting ScriptProc::StartJob.");
        return Err(StartFailure::silent(text));
    }
    inputs.publish(&mut environment);
    let limits = resource_limits(inputs);
    Ok(Some(JobProcess {
        arguments_shown: arguments::join_v2_raw(&argv[1..]),
        command: program.as_os_str().as_bytes().into(),
        program,
        argv,
        environment: environment.entries(),
        cwd: inputs.scratch.join(to_path(&inputs.job.iwd)),
        nice: 10,
        limits,
        script: true,
        session: SessionMode::Inherit,
        ..JobProcess::default()
    }))
}

/// Returns the arguments in `<prefix>Arguments` (V2) if it is a string, otherwise in `<prefix>Args` (V1).
///
/// # Errors
/// Returns an error if a V2 string has an unbalanced quote.
pub(super) fn argument_list(
    ad: &ClassAd,
    prefix: &str,
    world: &dyn World,
) -> Result<Vec<BString>, arguments::ArgumentError> {
    let string = |name: &str| Context::new(world).my(ad).string(format!("{prefix}{name}"));
    if let Some(text) = string(attr::ARGUMENTS_V2) {
        return arguments::parse_v2_raw(&text);
    }
    Ok(string(attr::ARGUMENTS_V1).map(|text| arguments::parse_v1_raw(&text)).unwrap_or_default())
}

/// Returns the files of descriptors 0 to 2: from the command line, otherwise from the original ad.
pub(super) fn standard_files(inputs: &EnvironmentInputs<'_>) -> [StandardFile; 3] {
    let context = || inputs.job_context();
    let truncate = context().boolean("EraseOutputAndErrorOnRestart").unwrap_or(true)
        && !context().boolean("WantCheckpointSignal").unwrap_or(false)
        && !context().boolean("WantFTOnCheckpoint").unwrap_or(false);
    [0, 1, 2].map(|at: usize| match (&inputs.job.overrides[at], &inputs.job.files[at]) {
        (Some(own), _) if own.as_bstr() == "-" => StandardFile::Inherited,
        (Some(name), _) | (None, Some(name)) => {
            let name = if name.is_empty() { PathBuf::new() } else { inputs.scratch.join(to_path(name)) };
            StandardFile::Path { path: name, truncate: truncate && at > 0 }
        }
        (None, None) => StandardFile::Null,
    })
}

/// Evaluates JOB_RENICE_INCREMENT as the attribute `Renice` of the job ad, and limits the value to 0 to 19.
fn nice_value(ad: &ClassAd, expression: &[u8], world: &dyn World) -> Result<i32, StartFailure> {
    let expression = Expr::parse_with(expression, Dialect::of_world(world).old()).map_err(|_| {
        StartFailure::silent("ERROR: failed to insert JOB_RENICE_INCREMENT into job ad").after_event()
    })?;
    let mut ad = ad.clone();
    ad.insert("Renice", expression);
    let nice = Context::new(world).my(&ad).int("Renice").unwrap_or(10);
    Ok(i32::try_from(nice.clamp(0, 19)).unwrap_or(19))
}

/// Returns the soft stack limit that `StackSize` requests, or `None` if it requests no limit. The kernel treats a
/// negative number as a very large one.
pub fn stack_limit(ad: &ClassAd, world: &dyn World) -> Option<u64> {
    Context::new(world).my(ad).int("StackSize").filter(|size| *size != 0).map(i64::cast_unsigned)
}

/// Returns the resource limits: core from `CoreSize`, address space from STARTER_RLIMIT_AS, stack from `StackSize`.
/// Raises all other limits to their hard limits (`Starter::Init`).
fn resource_limits(inputs: &EnvironmentInputs<'_>) -> Vec<ResourceLimit> {
    let context = || inputs.job_context();
    let core = match context().int("CoreSize") {
        Some(size) => u64::try_from(size).ok(),
        None => Some(0),
    };
    let stack = stack_limit(inputs.ad, inputs.world);
    let mut limits = vec![
        ResourceLimit { kind: ResourceLimitKind::Core, soft: core, hard: core },
        ResourceLimit { kind: ResourceLimitKind::Stack, soft: stack, hard: None },
        ResourceLimit { kind: ResourceLimitKind::Cpu, soft: None, hard: None },
        ResourceLimit { kind: ResourceLimitKind::FileSize, soft: None, hard: None },
        ResourceLimit { kind: ResourceLimitKind::Data, soft: None, hard: None },
    ];
    if let (Some(megabytes), _) = address_space_limit(inputs)
        && megabytes != 0
    {
        let bytes = megabytes.wrapping_mul(1024 * 1024).cast_unsigned();
        limits.push(ResourceLimit {
            kind: ResourceLimitKind::AddressSpace,
            soft: Some(bytes),
            hard: Some(bytes),
        });
    }
    limits
}

/// Returns STARTER_RLIMIT_AS in MiB, and a warning if the value is invalid. The reference evaluates the longest valid
/// prefix, such as the 1 of `1G` (`ClassAdParser::ParseExpression`).
fn address_space_limit(inputs: &EnvironmentInputs<'_>) -> (Option<i64>, Option<String>) {
    let Some(text) = &inputs.settings.rlimit_as else { return (None, None) };
    let Ok((expression, end)) = Expr::parse_prefix(text, Dialect::of_world(inputs.world)) else {
        return (
            None,
            Some(format!("STARTER_RLIMIT_AS = {text} is not a valid expression: there is no limit")),
        );
    };
    match inputs.slot_context().target(inputs.ad).eval(&expression) {
        Value::Int(megabytes) => {
            let rest = text[end..].trim();
            let wrong = (!rest.is_empty()).then(|| {
                format!(
                    "STARTER_RLIMIT_AS = {text}: a limit of {megabytes} MiB, as in HTCondor; '{}' is ignored: the value \
                     is a number of MiB without a unit",
                    rest.as_bstr()
                )
            });
            (Some(megabytes), wrong)
        }
        value => {
            let shown = value.unparse();
            (
                None,
                Some(format!("STARTER_RLIMIT_AS = {text} is {shown} and not an integer: there is no limit")),
            )
        }
    }
}

/// Parses MOUNT_UNDER_SCRATCH: directories over which the directory with the same path below the scratch directory is
/// bind-mounted. The value is an expression over the job ad, or a plain list if it does not start with an expression (a
/// path does not). The runner skips entries that are not directories. Returns `None` if the parameter is not set; an
/// empty list means that no entry is usable.
///
/// # Errors
/// Returns an error if the expression does not evaluate to a string.
pub fn plan_mounts(
    setting: &[u8],
    ad: &ClassAd,
    scratch: &Path,
    world: &dyn World,
) -> Result<Option<Vec<(PathBuf, PathBuf)>>, StartFailure> {
    let setting = setting.trim();
    if setting.is_empty() {
        return Ok(None);
    }
    let value = match Expr::parse_prefix(setting, Dialect::of_world(world)) {
        Err(_) => BString::from(setting),
        Ok((expression, _)) => {
            let value = Context::new(world).my(ad).eval(&expression);
            match value.as_str() {
                Some(text) => text.into(),
                None => {
                    let shown = value.unparse();
                    let text =
                        format!("ERROR: MOUNT_UNDER_SCRATCH does not evaluate to a string, it is : {shown}");
                    return Err(StartFailure::silent(text));
                }
            }
        }
    };
    if value.is_empty() {
        return Ok(None);
    }
    let mut mounts: Vec<(PathBuf, PathBuf)> = Vec::new();
    for target in list::split(&value).map(to_path) {
        if mounts.iter().all(|(_, known)| *known != target) {
            let inside = target.strip_prefix("/").unwrap_or(&target);
            mounts.push((scratch.join(inside), target));
        }
    }
    Ok(Some(mounts))
}

/// Returns the mounts, with mounts of /tmp and /var/tmp before them. If the scratch directory is encrypted, the job
/// must not write its data to other directories (`VanillaProc::StartJob`).
pub fn with_private_tmp(mounts: Vec<(PathBuf, PathBuf)>, scratch: &Path) -> Vec<(PathBuf, PathBuf)> {
    let own = ["tmp", "var/tmp"].map(|name| (scratch.join(name), Path::new("/").join(name)));
    let others = mounts.into_iter().filter(|mount| !own.contains(mount)).collect::<Vec<_>>();
    own.into_iter().chain(others).collect()
}

/// Returns TMPDIR of the job: `/tmp` if it is private to the job, otherwise the scratch directory. In 25.14 it is
/// `/tmp` for any setting of MOUNT_UNDER_SCRATCH, even if nothing was mounted.
pub fn temporary_directory(
    mounts: Option<&[(PathBuf, PathBuf)]>,
    scratch: &Path,
    quirks: QuirkMode,
) -> PathBuf {
    let mapped = match quirks.reproduces(Quirk::TmpdirUnmounted) {
        true => mounts.is_some(),
        false => mounts.unwrap_or_default().iter().any(|(_, target)| target == Path::new("/tmp")),
    };
    if mapped { PathBuf::from("/tmp") } else { scratch.to_owned() }
}

/// Returns the failure for a program that could not be executed. `detail` precedes the system's error, for example to
/// name a missing interpreter.
pub fn execute_failure(process: &JobProcess, detail: &str, errno: i32, reason: &str) -> StartFailure {
    let mut text = format!("Failed to execute '{}'", process.command);
    if !process.arguments_shown.is_empty() {
        text += &format!(" with arguments {}", process.arguments_shown);
    }
    text += ": ";
    if !detail.is_empty() {
        text += detail;
        text += " ";
    }
    text += &format!("(errno={errno}: '{reason}')");
    StartFailure::new(text, HoldCode::FailedToCreateProcess.number(), errno.into())
}

/// Returns the failures for PreCmd or PostCmd that could not be executed. The reference reports first the cause, then
/// the script itself.
pub fn script_failures(process: &JobProcess, errno: i32, reason: &str) -> Vec<StartFailure> {
    let (command, arguments) = (&process.command, &process.arguments_shown);
    let with = if arguments.is_empty() { String::new() } else { format!(" with arguments {arguments}") };
    let text = format!("Failed to execute '{command}'{with}: {reason}");
    vec![
        StartFailure::new(text, HoldCode::FailedToCreateProcess.number(), errno.into()),
        StartFailure::new(format!("Create_Process({command},{arguments}, ...) failed"), 0, 0),
    ]
}

/// Returns the failure for a standard file (0, 1 or 2) that could not be opened.
pub fn open_failure(name: &Path, descriptor: usize, errno: i32, reason: &str) -> StartFailure {
    let (phrase, code) = match descriptor {
        0 => ("standard input", HoldCode::UnableToOpenInput.number()),
        1 => ("standard output", HoldCode::UnableToOpenOutput.number()),
        _ => ("standard error", HoldCode::UnableToOpenOutput.number()),
    };
    let text = format!("Failed to open '{}' as {phrase}: {reason} (errno {errno})", name.display());
    StartFailure::new(text, code, errno.into())
}
