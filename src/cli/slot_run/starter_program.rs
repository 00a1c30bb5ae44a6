//! The program that runs jobs: STARTER where somebody names one, else the sibling; and what it says it can do.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use bstr::{BString, ByteSlice};

use super::options::Cli;
use crate::classad::ClassAd;
use crate::cli::common::{ConfigOptions, Problem};
use crate::config::Config;
use crate::quirks::Quirk;
use crate::runner::slot::StarterProgram;
use crate::world::{Command, World};

/// The sibling program that runs jobs.
const SIBLING: &str = "htc-starter-run";
/// How long another starter may take to say what it can do; 25.14 waits without end.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long our own may take to try the container runtimes of the machine, each call of which has a limit of its own.
const RUNTIMES_PATIENCE: Duration = Duration::from_secs(300);
/// What it tells of them.
const RUNTIMES: [&str; 12] = [
    "HasDocker",
    "HasDockerURL",
    "HasContainer",
    "DockerVersion",
    "DockerOfflineReason",
    "HasSingularity",
    "HasSandboxImage",
    "HasSIF",
    "HasPidNamespaces",
    "SingularityVersion",
    "SingularityOfflineReason",
    "SingularityUserNamespaces",
];

/// STARTER where a source sets it, else the program beside us.
///
/// # Errors
/// It is missing. 25.14 goes on without one named by STARTER, accepts jobs and loses them, which `--quirks reference` does.
pub(super) fn find(cli: &Cli, config: &Config, world: &dyn World) -> anyhow::Result<StarterProgram> {
    // Absolute, so that a name without slash is not looked for in PATH.
    let program = |path: &Path| StarterProgram {
        path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        foreign: path.file_name().is_none_or(|name| name != SIBLING),
    };
    if let Some(path) = &cli.run.starter {
        if !world.may_execute(path) || !path.is_file() {
            let what = if path.is_file() { "cannot be executed" } else { "is no file" };
            return Err(Problem::unreadable(format!("--starter: '{}' {what}", path.display())).into());
        }
        return Ok(program(path));
    }
    if let Some(setting) = config.view(world).string("STARTER").ok().flatten()
        && !setting.origin.is_default()
    {
        let path = setting.value.to_path_lossy();
        if !path.is_file() && !cli.quirks.quirks.has(Quirk::StarterUnchecked) {
            let message = format!("{}: STARTER: there is no file '{}'", setting.origin, path.display());
            return Err(Problem::unreadable(message).into());
        }
        return Ok(program(&path));
    }
    let own = std::env::current_exe().context("cannot find the directory of this program")?;
    let path = own.with_file_name(SIBLING);
    if !path.is_file() {
        let message = format!("'{}', which runs the jobs, is missing", path.display());
        return Err(Problem::unreadable(message)
            .hint("install it beside this program, or set STARTER in the configuration")
            .into());
    }
    Ok(program(&path))
}

/// What a starter that is not ours prints when it is called with `-classad` (`Starter::config`); empty if that cannot be read
/// as an ad, or is nothing, which the warning says. `None` for our own, which is known.
pub(super) fn abilities(starter: &StarterProgram, world: &dyn World) -> (Option<ClassAd>, Option<String>) {
    if !starter.foreign {
        return (None, None);
    }
    match asked(starter, world) {
        Ok(ad) => (Some(ad), None),
        Err(reason) => {
            let path = starter.path.display();
            let warning = format!(
                "the starter '{path}' does not say what it can do: '-classad' {reason}; the slots are without its Has* \
                 attributes"
            );
            (Some(ClassAd::new()), Some(warning))
        }
    }
}

/// What our own starter finds out about the container runtimes of the machine; asked only where there is one.
pub(super) fn runtimes(
    starter: &StarterProgram,
    options: &ConfigOptions,
    config: &Config,
    world: &dyn World,
) -> ClassAd {
    let there = |knob: &str| {
        let path = config.view(world).string(knob).ok().flatten().map(|setting| setting.value);
        let path = path.map(|path| path.strip_prefix(b"sudo ").map_or(path.clone(), BString::from));
        path.is_some_and(|path| world.stat(path.to_path_lossy().as_ref()).is_ok())
    };
    let Some(path) = <[u8]>::from_path(&starter.path).filter(|_| there("DOCKER") || there("SINGULARITY"))
    else {
        return ClassAd::new();
    };
    let mut argv = vec![BString::from(path), "--classad".into()];
    if let Some(file) = &options.config_file {
        argv.extend(["--config-file".into(), BString::from(<[u8]>::from_path(file).unwrap_or_default())]);
    }
    for (name, value) in &options.set_knob {
        argv.extend(["--set-knob".into(), BString::from(format!("{name}={value}"))]);
    }
    let command = Command {
        argv,
        stdin: Vec::new(),
        merge_stderr: false,
        timeout: RUNTIMES_PATIENCE,
        output_limit: 1 << 20,
    };
    let mut ad = ClassAd::new();
    for line in world.run(&command).map(|output| output.stdout).unwrap_or_default().lines() {
        let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        if RUNTIMES.iter().any(|known| known.as_bytes() == name) {
            // A line that is none tells nothing.
            let _ = ad.insert_line(line);
        }
    }
    ad
}

fn asked(starter: &StarterProgram, world: &dyn World) -> Result<ClassAd, String> {
    let path = <[u8]>::from_path(&starter.path).ok_or("cannot be asked for")?;
    let command = Command {
        argv: vec![BString::from(path), "-classad".into()],
        stdin: Vec::new(),
        merge_stderr: false,
        timeout: PATIENCE,
        output_limit: 1 << 20,
    };
    let output = world.run(&command).map_err(|error| format!("failed ({error})"))?;
    let mut ad = ClassAd::new();
    for line in output.stdout.lines() {
        if ad.insert_line(line).is_err() {
            return Err(format!("prints '{}', which is no attribute", line.as_bstr()));
        }
    }
    match ad.is_empty() {
        true => Err("prints nothing".to_owned()),
        false => Ok(ad),
    }
}
