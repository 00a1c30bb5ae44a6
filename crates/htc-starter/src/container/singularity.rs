//! Command line of a job under Singularity or Apptainer.
//!
//! Reference: `Singularity::setup` and `runTest` of `singularity.cpp`.

use bstr::{BString, ByteSlice};

use super::environment;
use super::inputs::ContainerInputs;
use super::plan::{AnnotatedCommandLine, ContainerMount, ContainerPlan, ContainerRuntime};
use super::singularity_binds::add_binds;
use super::tool::{PULL_TIMEOUT, ToolAccount, ToolCall, ToolEnvironment};
use super::version::RuntimeVersion;
use crate::expression::{describe_setting, references_ad_by_name};
use crate::start_failure::StartFailure;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;
use htc_base::text::arguments;
use htc_base::text::environment::Environment;

/// Beginning of the message of every setup failure.
const SETUP_FAILED_TEXT: &str = "Singularity enabled but setup failed; failing job.";

/// Script in the container that records that the runtime has reached the job.
const LAUNCHER_SCRIPT: &str = "/condor_container_launcher.sh";

/// Returns the call that prints the version of the runtime.
///
/// # Errors
/// Returns an error if SINGULARITY is not set.
pub fn version_call(inputs: &ContainerInputs<'_>) -> Result<ToolCall, StartFailure> {
    let program = singularity_program(inputs).ok_or_else(|| setup_failure("SINGULARITY is not set"))?;
    Ok(ToolCall::new(&[program], ["--version"], ToolAccount::Job))
}

/// Returns the program in SINGULARITY, or `None` if the parameter is not set.
fn singularity_program(inputs: &ContainerInputs<'_>) -> Option<BString> {
    inputs.parameters().text("SINGULARITY").cloned()
}

fn setup_failure(why: impl std::fmt::Display) -> StartFailure {
    StartFailure::silent(format!("{SETUP_FAILED_TEXT} {why}")).after_event()
}

/// Returns the failure for a runtime whose version could not be read.
pub(crate) fn version_failure(why: &str) -> StartFailure {
    setup_failure(why)
}

/// Plans the process of a job in a container. `words` is the job's command line outside of a container, which includes
/// the command unless `command` is empty. `job` is the job's environment.
///
/// # Errors
/// Returns an error if no image is named or if the extra arguments are invalid.
pub fn plan_singularity_process(
    inputs: &ContainerInputs<'_>,
    version: &RuntimeVersion,
    words: &[BString],
    job: Environment,
) -> Result<ContainerPlan, StartFailure> {
    let program = singularity_program(inputs).ok_or_else(|| setup_failure("SINGULARITY is not set"))?;
    let mut environment = job;
    environment::remove_forbidden_variables(inputs, &mut environment);
    let (image, image_from) = find_image(inputs)?;
    let (command, arguments) = match words.split_first() {
        Some((command, arguments)) => (Some(command), arguments),
        None => (None, &[][..]),
    };
    let target = target_directory(inputs);
    let mut line = AnnotatedCommandLine::default();
    line.add([program], "SINGULARITY");
    let verbosity = inputs.parameters().text("SINGULARITY_VERBOSITY");
    line.add([verbosity.cloned().unwrap_or_else(|| "-s".into())], "SINGULARITY_VERBOSITY");
    let verb = if command.is_some() { "exec" } else { "run" };
    line.add([verb], if command.is_some() { "Cmd" } else { "no Cmd: the image's own command" });
    let mut mounts = Vec::new();
    add_directories(inputs, target.as_ref(), &mut line, &mut mounts);
    if let Some((target, _)) = &target {
        environment::retarget_scratch_paths(inputs, version, target, &mut environment);
    }
    let gpu = add_gpu_options(inputs, &mut line)?;
    mounts.extend(add_binds(inputs, image.as_bstr(), gpu, &mut line)?);
    if inputs.job_inputs.job.iwd.as_bstr() == inputs.scratch() {
        line.add(["--home".into(), BString::from(inputs.scratch())], "Iwd is the scratch directory");
    }
    add_containment_options(inputs, &mut line);
    add_extra_arguments(inputs, &mut line)?;
    let image = resolve_image_path(inputs, image);
    line.add([image.clone()], image_from);
    let before_command = line.words();
    if let Some(command) = command {
        if inputs.plain_boolean_parameter("SINGULARITY_USE_LAUNCHER")? {
            line.add([LAUNCHER_SCRIPT], "SINGULARITY_USE_LAUNCHER");
        }
        line.add([command_in_container(inputs, command, target.as_ref())], "Cmd");
    }
    line.add(arguments.iter().cloned(), "Arguments");
    environment::convert_for_runtime(inputs, version, &mut environment);
    let test = inputs.plain_boolean_parameter("SINGULARITY_RUN_TEST_BEFORE_JOB")?;
    if !test {
        line.add_unused("SINGULARITY_RUN_TEST_BEFORE_JOB", "is false: the image is not tested first");
    }
    Ok(ContainerPlan {
        runtime: ContainerRuntime::Singularity,
        image,
        // 25.14 does not count the word of the launcher in `orig_args_len`. With a launcher it therefore removes one
        // word too few, and the launcher remains after the image.
        test_command: test.then(|| test_command(&before_command, command.is_some() && has_launcher(&line))),
        line,
        mounts,
        environment,
        limits: Vec::new(),
        directories: Vec::new(),
        container_to_remove: None,
    })
}

fn has_launcher(line: &AnnotatedCommandLine) -> bool {
    line.annotated_arguments().iter().any(|piece| piece.because == "SINGULARITY_USE_LAUNCHER")
}

/// Returns the command line that tests the image: `test` in place of `exec` or `run`, without the arguments of the job.
fn test_command(words: &[BString], launcher: bool) -> Vec<BString> {
    let mut test = Vec::new();
    for word in words {
        match word.as_slice() {
            b"exec" | b"run" => test.extend(["-q".into(), BString::from("test")]),
            _ => test.push(word.clone()),
        }
    }
    if launcher {
        test.push(LAUNCHER_SCRIPT.into());
    }
    test
}

/// Returns the image and the parameter or attribute that names it.
fn find_image(inputs: &ContainerInputs<'_>) -> Result<(BString, &'static str), StartFailure> {
    const PARAMETER: &str = "SINGULARITY_IMAGE_EXPR";
    const UNKNOWN: &str = "unable to determine the image to use";
    let set = inputs.parameters().setting(PARAMETER);
    let text = set.map_or_else(|| "SingularityImage".into(), |setting| setting.value.clone());
    let of_job = inputs.job_string("ContainerImage");
    let found = match of_job.is_some() && set.is_some() {
        true => inputs.string_parameter(PARAMETER, "the image is the job's ContainerImage"),
        false => inputs.eval_string(&text),
    };
    if let Some(image) = found {
        return Ok((image, PARAMETER));
    }
    match of_job {
        Some(image) if image.is_empty() => Err(setup_failure(UNKNOWN)),
        Some(image) => Ok((image, "ContainerImage")),
        // 25.14 uses the text of the parameter itself. Without the quirk, the text is used only if it cannot be an
        // expression.
        None if inputs.job_inputs.quirks.reproduces(Quirk::SingularityImageDefault)
            || is_path_or_url(&text) =>
        {
            Ok((text, PARAMETER))
        }
        None => Err(setup_failure(format!(
            "no image: {PARAMETER} = {text} is not a string, and there is no ContainerImage"
        ))),
    }
}

/// Returns true if the text is an unquoted path or URL.
fn is_path_or_url(text: &[u8]) -> bool {
    text.starts_with(b"/") || text.contains_str("://")
}

/// Resolves a relative path of an image in Iwd, unless Iwd is the scratch directory.
fn resolve_image_path(inputs: &ContainerInputs<'_>, image: BString) -> BString {
    let iwd = &inputs.job_inputs.job.iwd;
    match iwd.as_bstr() == inputs.scratch() || image.starts_with(b"/") || image.contains_str("://") {
        true => image,
        false => [iwd.as_slice(), b"/", &image].concat().into(),
    }
}

/// Returns the path of the job's directory in the container, and the parameter or attribute that sets it.
fn target_directory(inputs: &ContainerInputs<'_>) -> Option<(BString, &'static str)> {
    let parameter = inputs.parameters().text("SINGULARITY_TARGET_DIR").filter(|target| !target.is_empty());
    let of_knob = parameter.map(|target| (target.clone(), "SINGULARITY_TARGET_DIR"));
    of_knob.or_else(|| Some((inputs.job_string("ContainerTargetDir")?, "ContainerTargetDir")))
}

/// Adds `-S`, `-B`, `-W` and `--pwd`: the mounts and the job's working directory.
fn add_directories(
    inputs: &ContainerInputs<'_>,
    target: Option<&(BString, &'static str)>,
    line: &mut AnnotatedCommandLine,
    mounts: &mut Vec<ContainerMount>,
) {
    let (iwd, scratch) = (inputs.job_inputs.job.iwd.as_bstr(), inputs.scratch());
    let slot = inputs.slot_directory();
    let has_other_iwd = iwd != scratch;
    for (directory, from) in inputs.mount_under_scratch() {
        line.add(["-S".into(), directory.clone()], from);
        mounts.push(ContainerMount { source: None, target: directory, because: from.into() });
    }
    let two = |option: &str, value: &[u8]| [BString::from(option), BString::from(value)];
    let mut bind =
        |source: &[u8], inside: &[u8], from: &'static str, line: &mut AnnotatedCommandLine, whole: bool| {
            let spec = [source, b":", inside].concat();
            line.add(two("-B", if whole { &spec } else { source }), from);
            let (source, target) = (Some(source.into()), inside.into());
            let mount = ContainerMount { source, target, because: from.into() };
            if !mounts.contains(&mount) {
                mounts.push(mount);
            }
        };
    if has_other_iwd {
        bind(iwd, iwd, "Iwd", line, false);
    }
    if let (Ok(true), Some(libexec)) =
        (inputs.plain_boolean_parameter("SINGULARITY_USE_LAUNCHER"), inputs.parameters().text("LIBEXEC"))
    {
        let script = [libexec.as_slice(), LAUNCHER_SCRIPT.as_bytes()].concat();
        bind(&script, LAUNCHER_SCRIPT.as_bytes(), "SINGULARITY_USE_LAUNCHER", line, true);
    }
    line.add(two("-W", scratch), "the scratch directory");
    let whole = if has_other_iwd { iwd } else { slot };
    match target {
        None => {
            line.add(two("--pwd", iwd), "Iwd");
            line.add_unused("SINGULARITY_TARGET_DIR", "is not set");
            line.add_unused("ContainerTargetDir", "the job has none");
            bind(whole, whole, if has_other_iwd { "Iwd" } else { "the scratch directory" }, line, false);
        }
        Some((target, from)) if has_other_iwd => {
            line.add(two("--pwd", target), *from);
            bind(slot, b"/condor_scratch", from, line, true);
            bind(whole, target, from, line, true);
        }
        Some((target, from)) => {
            let pwd = scratch.replace(slot, target);
            line.add(two("--pwd", &pwd), *from);
            bind(whole, target, from, line, true);
        }
    }
}

/// Adds `--nv` and `--rocm`. Returns true if the slot has a GPU.
fn add_gpu_options(
    inputs: &ContainerInputs<'_>,
    line: &mut AnnotatedCommandLine,
) -> Result<bool, StartFailure> {
    let machine = || inputs.machine();
    if machine().string("AssignedGPUs").is_none_or(|assigned| assigned.is_empty()) {
        line.add_unused("AssignedGPUs", "the slot has no GPU: neither --nv nor --rocm");
        return Ok(false);
    }
    match machine().string("GPUs_NvidiaDriver") {
        Some(driver) if !driver.is_empty() => line.add(["--nv"], "GPUs_NvidiaDriver"),
        _ => line.add_unused("GPUs_NvidiaDriver", "the slot has no GPU: no --nv"),
    }
    if machine().int("GPUs_Rocm").is_some_and(|version| version > 0) {
        line.add(["--rocm"], "GPUs_Rocm");
    } else if inputs.plain_boolean_parameter("SINGULARITY_ADD_ROCM_FLAG")? {
        line.add(["--rocm"], "SINGULARITY_ADD_ROCM_FLAG");
    }
    Ok(true)
}

/// Adds `-C` if PID namespaces can be used, otherwise the options that do not need them.
fn add_containment_options(inputs: &ContainerInputs<'_>, line: &mut AnnotatedCommandLine) {
    const PARAMETER: &str = "SINGULARITY_USE_PID_NAMESPACES";
    let (literal, strange) = inputs.parameters().pid_namespaces(inputs.job_inputs.world);
    if let Some(setting) = strange {
        let shown = describe_setting(PARAMETER, setting);
        inputs.add_setting_remark(
            PARAMETER,
            format!("{shown} is neither true nor false: it is treated as 'auto'"),
        );
    }
    let (whole, because) = match literal {
        Some(whole) => (whole, PARAMETER),
        None => {
            (inputs.machine().boolean("HasPidNamespaces").unwrap_or(false), "HasPidNamespaces of the slot")
        }
    };
    match whole {
        true => line.add(["-C"], because),
        false => line.add(["--contain", "--ipc", "--cleanenv"], because),
    }
}

fn add_extra_arguments(
    inputs: &ContainerInputs<'_>,
    line: &mut AnnotatedCommandLine,
) -> Result<(), StartFailure> {
    const PARAMETER: &str = "SINGULARITY_EXTRA_ARGUMENTS";
    let Some(setting) = inputs.parameters().setting(PARAMETER) else {
        line.add_unused(PARAMETER, "is not set");
        return Ok(());
    };
    let text = inputs.eval_string(&setting.value).unwrap_or_else(|| {
        if references_ad_by_name(&setting.value) {
            let shown = describe_setting(PARAMETER, setting);
            inputs.add_setting_remark(
                PARAMETER,
                format!(
                    "{shown} is not a string for this job: the words of the expression are used as arguments"
                ),
            );
        }
        setting.value.clone()
    });
    let words = arguments::parse_v1_raw_or_v2_quoted(&text).map_err(|error| {
        setup_failure(format!("{PARAMETER} = {text}: {error}")).with_origin(Some(&setting.origin))
    })?;
    line.add(words, PARAMETER);
    Ok(())
}

/// Returns the path of the command in the container. A path in the scratch directory becomes a path below the target
/// directory.
fn command_in_container(
    inputs: &ContainerInputs<'_>,
    command: &BString,
    target: Option<&(BString, &'static str)>,
) -> BString {
    match target {
        Some((target, _)) if command.starts_with(inputs.scratch()) => {
            [target.as_slice(), b"/", &command[inputs.slot_directory().len()..]].concat().into()
        }
        _ => command.clone(),
    }
}

/// Returns the call that tests the image, with the job's account and environment.
pub fn test_call(plan: &ContainerPlan) -> Option<ToolCall> {
    let words = plan.test_command.clone()?;
    let variables = ToolEnvironment::Explicit(plan.environment.entries());
    // `runTest` waits without a limit, because the runtime may download an image.
    Some(ToolCall {
        environment: variables,
        limit: PULL_TIMEOUT,
        ..ToolCall::new(&[], words, ToolAccount::Job)
    })
}

/// Returns the failure of an image test, with the first line of the runtime's output. The failure holds the job, as the
/// manual says, or requeues it, as in 25.14, if `requeues` is true.
pub fn test_failure(output: &[u8], requeues: bool) -> StartFailure {
    let mut text = BString::from("Singularity test failed:");
    text.extend_from_slice(&first_error_line(output));
    let subcode = if requeues { -1000 } else { 0 };
    StartFailure::new(text, HoldCode::SingularityTestFailed.number(), subcode).after_event()
}

/// Returns the first line of an output, at most 255 bytes, without terminal colour sequences (`RemoveANSIcodes`).
pub(super) fn first_error_line(output: &[u8]) -> BString {
    let read = &output[..output.len().min(255)];
    let line = read.split(|byte| matches!(byte, b'\n' | 0)).next().unwrap_or_default();
    let mut plain = BString::default();
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match escape_sequence_len(&line[at..]) {
            Some(length) => at += length,
            None => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    plain
}

/// Returns the length of the control sequence at the start of a text.
fn escape_sequence_len(text: &[u8]) -> Option<usize> {
    let start = match text {
        [0x9b, ..] => 1,
        [0x1b, b'[', ..] => 2,
        _ => return None,
    };
    let run = |from: usize, range: std::ops::RangeInclusive<u8>| {
        text[from..].iter().take_while(|byte| range.contains(byte)).count()
    };
    let parameters = start + run(start, b'0'..=b'?');
    let last = parameters + run(parameters, b' '..=b'/');
    text.get(last).filter(|byte| (b'@'..=b'~').contains(byte)).map(|_| last + 1)
}
