//! The command line of a job under Singularity or Apptainer.
//!
//! Reference: `Singularity::setup` and `runTest` of `singularity.cpp`; recordings c20, c20b, c37.

use bstr::{BString, ByteSlice};

use super::environment;
use super::plan::{CommandLine, ContainerPlan, Mount, Runtime};
use super::singularity_binds::binds;
use super::surroundings::Inputs;
use super::tool::{Actor, LONG, ToolCall, Variables};
use super::version::Version;
use crate::expression::{asks_by_name, shown};
use crate::failure::StartFailure;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;
use htc_base::text::arguments;
use htc_base::text::environment::Environment;

/// What every failure of the set-up ends in.
const SETUP_FAILED: &str = "Singularity enabled but setup failed; failing job.";

/// The script that tells that the runtime has come as far as the job.
const LAUNCHER: &str = "/condor_container_launcher.sh";

/// The question which version it is. A program that is not configured or not there is none.
///
/// # Errors
/// No SINGULARITY.
pub fn version_call(inputs: &Inputs<'_>) -> Result<ToolCall, StartFailure> {
    let program = program(inputs).ok_or_else(|| setup_failed("SINGULARITY is not set"))?;
    Ok(ToolCall::new(&[program], ["--version"], Actor::Job))
}

/// The program, if there is to be one.
fn program(inputs: &Inputs<'_>) -> Option<BString> {
    inputs.knobs().text("SINGULARITY").cloned()
}

fn setup_failed(why: impl std::fmt::Display) -> StartFailure {
    StartFailure::silent(format!("{SETUP_FAILED} {why}")).after_event()
}

/// The failure of `--version`, or of finding the program.
pub(crate) fn version_failed(why: &str) -> StartFailure {
    setup_failed(why)
}

/// Plans the job's process: `words` are its command line outside of a container, with the command first unless `command`
/// is empty; `job` is its environment.
///
/// # Errors
/// No image, extra arguments that cannot be read.
pub fn singularity(
    inputs: &Inputs<'_>,
    version: &Version,
    words: &[BString],
    job: Environment,
) -> Result<ContainerPlan, StartFailure> {
    let program = program(inputs).ok_or_else(|| setup_failed("SINGULARITY is not set"))?;
    let mut environment = job;
    environment::clean(inputs, &mut environment);
    let (image, image_from) = image(inputs)?;
    let (command, arguments) = match words.split_first() {
        Some((command, arguments)) => (Some(command), arguments),
        None => (None, &[][..]),
    };
    let target = target_directory(inputs);
    let mut line = CommandLine::default();
    line.add([program], "SINGULARITY");
    let verbosity = inputs.knobs().text("SINGULARITY_VERBOSITY");
    line.add([verbosity.cloned().unwrap_or_else(|| "-s".into())], "SINGULARITY_VERBOSITY");
    let verb = if command.is_some() { "exec" } else { "run" };
    line.add([verb], if command.is_some() { "Cmd" } else { "no Cmd: what the image runs" });
    let mut mounts = Vec::new();
    directories(inputs, target.as_ref(), &mut line, &mut mounts);
    if let Some((target, _)) = &target {
        environment::retarget(inputs, version, target, &mut environment);
    }
    let gpu = graphics(inputs, &mut line)?;
    mounts.extend(binds(inputs, image.as_bstr(), gpu, &mut line)?);
    if inputs.about.job.iwd.as_bstr() == inputs.scratch() {
        line.add(["--home".into(), BString::from(inputs.scratch())], "Iwd is the scratch directory");
    }
    containment(inputs, &mut line);
    extra_arguments(inputs, &mut line)?;
    let image = placed(inputs, image);
    line.add([image.clone()], image_from);
    let before_command = line.words();
    if let Some(command) = command {
        if inputs.flag("SINGULARITY_USE_LAUNCHER")? {
            line.add([LAUNCHER], "SINGULARITY_USE_LAUNCHER");
        }
        line.add([inside(inputs, command, target.as_ref())], "Cmd");
    }
    line.add(arguments.iter().cloned(), "Arguments");
    environment::convert(inputs, version, &mut environment);
    let test = inputs.flag("SINGULARITY_RUN_TEST_BEFORE_JOB")?;
    if !test {
        line.pass("SINGULARITY_RUN_TEST_BEFORE_JOB", "is false: the image is not tried first");
    }
    Ok(ContainerPlan {
        runtime: Runtime::Singularity,
        image,
        // One word less for the launcher, as `orig_args_len` does not count it: it stays behind the image.
        test: test.then(|| test_words(&before_command, command.is_some() && line_has_launcher(&line))),
        line,
        mounts,
        environment,
        limits: Vec::new(),
        directories: Vec::new(),
        removes: None,
    })
}

fn line_has_launcher(line: &CommandLine) -> bool {
    line.pieces().iter().any(|piece| piece.because == "SINGULARITY_USE_LAUNCHER")
}

/// The same with `test` in place of `exec` or `run`, and without the job.
fn test_words(words: &[BString], launcher: bool) -> Vec<BString> {
    let mut test = Vec::new();
    for word in words {
        match word.as_slice() {
            b"exec" | b"run" => test.extend(["-q".into(), BString::from("test")]),
            _ => test.push(word.clone()),
        }
    }
    if launcher {
        test.push(LAUNCHER.into());
    }
    test
}

/// The image and what named it.
fn image(inputs: &Inputs<'_>) -> Result<(BString, &'static str), StartFailure> {
    const KNOB: &str = "SINGULARITY_IMAGE_EXPR";
    const UNKNOWN: &str = "unable to determine the image to use";
    let set = inputs.knobs().setting(KNOB);
    let text = set.map_or_else(|| "SingularityImage".into(), |setting| setting.value.clone());
    let of_job = inputs.job_string("ContainerImage");
    let found = match of_job.is_some() && set.is_some() {
        true => inputs.string(KNOB, "the image is the job's own ContainerImage"),
        false => inputs.string_of(&text),
    };
    if let Some(image) = found {
        return Ok((image, KNOB));
    }
    match of_job {
        Some(image) if image.is_empty() => Err(setup_failed(UNKNOWN)),
        Some(image) => Ok((image, "ContainerImage")),
        // 25.14 takes the text itself. Only where it cannot be meant as an expression is that of use.
        None if inputs.about.quirks.has(Quirk::SingularityImageDefault) || is_location(&text) => {
            Ok((text, KNOB))
        }
        None => Err(setup_failed(format!(
            "no image: {KNOB} = {text} gives no string, and there is no ContainerImage"
        ))),
    }
}

/// Whether a text is a path or an address without quotes.
fn is_location(text: &[u8]) -> bool {
    text.starts_with(b"/") || text.contains_str("://")
}

/// A relative image lies in Iwd, unless that is the scratch directory.
fn placed(inputs: &Inputs<'_>, image: BString) -> BString {
    let iwd = &inputs.about.job.iwd;
    match iwd.as_bstr() == inputs.scratch() || image.starts_with(b"/") || image.contains_str("://") {
        true => image,
        false => [iwd.as_slice(), b"/", &image].concat().into(),
    }
}

/// Where inside the directory of the job is seen, and what says so.
fn target_directory(inputs: &Inputs<'_>) -> Option<(BString, &'static str)> {
    let knob = inputs.knobs().text("SINGULARITY_TARGET_DIR").filter(|target| !target.is_empty());
    let of_knob = knob.map(|target| (target.clone(), "SINGULARITY_TARGET_DIR"));
    of_knob.or_else(|| Some((inputs.job_string("ContainerTargetDir")?, "ContainerTargetDir")))
}

/// `-S`, `-B`, `-W`, `--pwd`: what of the machine is seen inside, and where the job begins.
fn directories(
    inputs: &Inputs<'_>,
    target: Option<&(BString, &'static str)>,
    line: &mut CommandLine,
    mounts: &mut Vec<Mount>,
) {
    let (iwd, scratch) = (inputs.about.job.iwd.as_bstr(), inputs.scratch());
    let slot = inputs.slot_directory();
    let elsewhere = iwd != scratch;
    for (directory, from) in inputs.under_scratch() {
        line.add(["-S".into(), directory.clone()], from);
        mounts.push(Mount { source: None, target: directory, because: from.into() });
    }
    let two = |option: &str, value: &[u8]| [BString::from(option), BString::from(value)];
    let mut bind = |source: &[u8], inside: &[u8], from: &'static str, line: &mut CommandLine, whole: bool| {
        let spec = [source, b":", inside].concat();
        line.add(two("-B", if whole { &spec } else { source }), from);
        let (source, target) = (Some(source.into()), inside.into());
        let mount = Mount { source, target, because: from.into() };
        if !mounts.contains(&mount) {
            mounts.push(mount);
        }
    };
    if elsewhere {
        bind(iwd, iwd, "Iwd", line, false);
    }
    if let (Ok(true), Some(libexec)) =
        (inputs.flag("SINGULARITY_USE_LAUNCHER"), inputs.knobs().text("LIBEXEC"))
    {
        let script = [libexec.as_slice(), LAUNCHER.as_bytes()].concat();
        bind(&script, LAUNCHER.as_bytes(), "SINGULARITY_USE_LAUNCHER", line, true);
    }
    line.add(two("-W", scratch), "the scratch directory");
    let whole = if elsewhere { iwd } else { slot };
    match target {
        None => {
            line.add(two("--pwd", iwd), "Iwd");
            line.pass("SINGULARITY_TARGET_DIR", "is not set");
            line.pass("ContainerTargetDir", "the job has none");
            bind(whole, whole, if elsewhere { "Iwd" } else { "the scratch directory" }, line, false);
        }
        Some((target, from)) if elsewhere => {
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

/// `--nv`, `--rocm`; whether the slot has a GPU at all.
fn graphics(inputs: &Inputs<'_>, line: &mut CommandLine) -> Result<bool, StartFailure> {
    let machine = || inputs.machine();
    if machine().string("AssignedGPUs").is_none_or(|assigned| assigned.is_empty()) {
        line.pass("AssignedGPUs", "the slot has none: neither --nv nor --rocm");
        return Ok(false);
    }
    match machine().string("GPUs_NvidiaDriver") {
        Some(driver) if !driver.is_empty() => line.add(["--nv"], "GPUs_NvidiaDriver"),
        _ => line.pass("GPUs_NvidiaDriver", "the slot has none: no --nv"),
    }
    if machine().int("GPUs_Rocm").is_some_and(|version| version > 0) {
        line.add(["--rocm"], "GPUs_Rocm");
    } else if inputs.flag("SINGULARITY_ADD_ROCM_FLAG")? {
        line.add(["--rocm"], "SINGULARITY_ADD_ROCM_FLAG");
    }
    Ok(true)
}

/// `-C` where PID namespaces can be had, else what there is without them.
fn containment(inputs: &Inputs<'_>, line: &mut CommandLine) {
    const KNOB: &str = "SINGULARITY_USE_PID_NAMESPACES";
    let (literal, strange) = inputs.knobs().pid_namespaces(inputs.about.world);
    if let Some(setting) = strange {
        let shown = shown(KNOB, setting);
        inputs.remark(KNOB, format!("{shown} is neither true nor false: it counts as 'auto'"));
    }
    let (whole, because) = match literal {
        Some(whole) => (whole, KNOB),
        None => {
            (inputs.machine().boolean("HasPidNamespaces").unwrap_or(false), "HasPidNamespaces of the slot")
        }
    };
    match whole {
        true => line.add(["-C"], because),
        false => line.add(["--contain", "--ipc", "--cleanenv"], because),
    }
}

fn extra_arguments(inputs: &Inputs<'_>, line: &mut CommandLine) -> Result<(), StartFailure> {
    const KNOB: &str = "SINGULARITY_EXTRA_ARGUMENTS";
    let Some(setting) = inputs.knobs().setting(KNOB) else {
        line.pass(KNOB, "is not set");
        return Ok(());
    };
    let text = inputs.string_of(&setting.value).unwrap_or_else(|| {
        if asks_by_name(&setting.value) {
            let shown = shown(KNOB, setting);
            inputs.remark(KNOB, format!("{shown} gives no string for this job: its words are the arguments"));
        }
        setting.value.clone()
    });
    let words = arguments::parse_v1_raw_or_v2_quoted(&text).map_err(|error| {
        setup_failed(format!("{KNOB} = {text}: {error}")).standing_at(Some(&setting.origin))
    })?;
    line.add(words, KNOB);
    Ok(())
}

/// The command as it is called inside: one that lies in the scratch directory is seen below the target directory.
fn inside(inputs: &Inputs<'_>, command: &BString, target: Option<&(BString, &'static str)>) -> BString {
    match target {
        Some((target, _)) if command.starts_with(inputs.scratch()) => {
            [target.as_slice(), b"/", &command[inputs.slot_directory().len()..]].concat().into()
        }
        _ => command.clone(),
    }
}

/// The call that tries the image, with the job's rights and environment.
pub fn test_call(plan: &ContainerPlan) -> Option<ToolCall> {
    let words = plan.test.clone()?;
    let variables = Variables::These(plan.environment.entries());
    // `runTest` waits for its end: an image may be downloaded in it.
    Some(ToolCall { variables, limit: LONG, ..ToolCall::new(&[], words, Actor::Job) })
}

/// The failure of an image that could not be tried, from what the runtime wrote. The job is held, as the manual says; `requeues`: it goes
/// back, as in 25.14.
pub fn test_failure(output: &[u8], requeues: bool) -> StartFailure {
    let mut text = BString::from("Singularity test failed:");
    text.extend_from_slice(&test_line(output));
    let subcode = if requeues { -1000 } else { 0 };
    StartFailure::new(text, HoldCode::SingularityTestFailed.number(), subcode).after_event()
}

/// The first line of at most 255 bytes, without the sequences that colour a terminal (`RemoveANSIcodes`).
pub(super) fn test_line(output: &[u8]) -> BString {
    let read = &output[..output.len().min(255)];
    let line = read.split(|byte| matches!(byte, b'\n' | 0)).next().unwrap_or_default();
    let mut plain = BString::default();
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match escape(&line[at..]) {
            Some(length) => at += length,
            None => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    plain
}

/// The length of the control sequence that a text begins with.
fn escape(text: &[u8]) -> Option<usize> {
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
