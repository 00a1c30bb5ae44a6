//! The program that runs jobs: STARTER where somebody names one, else the sibling; and what it says it can do.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::passive_execution_point::configured_surroundings;
use crate::hook_environment::{ConfigSelection, DaemonEnvironment};
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::{ExternalCommand, World};
use htc_classad::{ClassAd, Dialect};
use htc_config::Config;
use htc_slot::HostMeasurements;
use htc_starter::JavaParameters;

/// The sibling program that runs jobs.
const SIBLING_PROGRAM: &str = "htc-starter-run";
/// How long another starter may take to say what it can do; 25.14 waits without end.
const ABILITIES_TIMEOUT: Duration = Duration::from_secs(20);

/// How long our own may take to try the container runtimes of the machine, each call of which has a limit of its own.
const RUNTIMES_TIMEOUT: Duration = Duration::from_secs(300);
/// What it tells of them.
const RUNTIME_ATTRIBUTES: [&str; 16] = [
    "HasJava",
    "JavaVendor",
    "JavaVersion",
    "JavaSpecificationVersion",
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

/// Which program runs jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarterProgram {
    /// Its path.
    pub path: PathBuf,
    /// Whether it is one that the administrator named: then only its exit status tells of its jobs.
    pub foreign: bool,
    /// Whether nothing of it is looked at before it is given a job, as by 25.14.
    pub skips_checks: bool,
}

/// Why there is no program that runs jobs.
#[derive(Debug, thiserror::Error)]
pub enum StarterProgramError {
    /// The one that was given cannot be run.
    #[error("--starter: '{}' {}", .0.display(), if .0.is_file() { "cannot be executed" } else { "is no file" })]
    Given(PathBuf),
    /// STARTER names nothing.
    #[error("{place}: STARTER: there is no file '{}'", path.display())]
    Configured {
        /// Where it is set.
        place: String,
        /// What it says.
        path: PathBuf,
    },
    /// The sibling is not where it is installed.
    #[error("'{}', which runs the jobs, is missing", .0.display())]
    Missing(PathBuf),
    /// Nobody knows where that would be.
    #[error("cannot find the directory of this program")]
    Lost(#[source] io::Error),
}

impl StarterProgram {
    /// `given`, or STARTER where a source sets it, else the program beside us.
    ///
    /// # Errors
    /// It is missing. 25.14 goes on without one named by STARTER, accepts jobs and loses them, which `--quirks reference` does.
    pub fn find(
        given: Option<&Path>,
        config: &Config,
        world: &dyn World,
        quirks: QuirkMode,
    ) -> Result<Self, StarterProgramError> {
        let unchecked = quirks.reproduces(Quirk::StarterUnchecked);
        // Absolute, so that a name without slash is not looked for in PATH.
        let program = |path: &Path| StarterProgram {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            foreign: path.file_name().is_none_or(|name| name != SIBLING_PROGRAM),
            skips_checks: unchecked,
        };
        if let Some(path) = given {
            let usable = world.may_execute(path) && path.is_file();
            return if usable { Ok(program(path)) } else { Err(StarterProgramError::Given(path.to_owned())) };
        }
        if let Some(setting) = config.view(world).string("STARTER").ok().flatten()
            && !setting.origin.is_default()
        {
            let path = setting.value.to_path_lossy().into_owned();
            if !path.is_file() && !unchecked {
                // The words of the reference for what stands above all files.
                let place = setting.origin.to_string().replace("<Over>", "--set-knob");
                return Err(StarterProgramError::Configured { place, path });
            }
            return Ok(program(&path));
        }
        let path =
            std::env::current_exe().map_err(StarterProgramError::Lost)?.with_file_name(SIBLING_PROGRAM);
        if path.is_file() { Ok(program(&path)) } else { Err(StarterProgramError::Missing(path)) }
    }

    /// What is around the slots of a configuration on this machine when this program runs their jobs, which it is asked what it
    /// can do; and a warning where it does not say.
    pub fn surroundings(
        &self,
        config: &Config,
        world: &dyn World,
        choice: &ConfigSelection,
    ) -> (HostMeasurements, Option<String>) {
        let mut around = configured_surroundings(config, world);
        let mut warning = None;
        if self.foreign {
            (around.starter_ad, warning) = self.query_abilities(world, choice);
        } else {
            around.container_runtimes = self.query_runtimes(config, world, choice);
        }
        (around, warning)
    }

    /// What a starter that is not ours prints when it is called with `-classad` (`Starter::config`); empty if that cannot be read
    /// as an ad, or is nothing, which the warning says.
    fn query_abilities(
        &self,
        world: &dyn World,
        choice: &ConfigSelection,
    ) -> (Option<ClassAd>, Option<String>) {
        match self.run_classad_query(world, choice) {
            Ok(ad) => (Some(ad), None),
            Err(reason) => {
                let path = self.path.display();
                let warning = format!(
                    "the starter '{path}' does not say what it can do: '-classad' {reason}; the slots are without its Has* \
                     attributes"
                );
                (Some(ClassAd::new()), Some(warning))
            }
        }
    }

    /// What our own starter finds out about the container runtimes of the machine; asked only where there is one.
    fn query_runtimes(&self, config: &Config, world: &dyn World, choice: &ConfigSelection) -> ClassAd {
        let there = |knob: &str| {
            let path = config.view(world).text(knob);
            let path = path.map(|path| path.strip_prefix(b"sudo ").map_or(path.clone(), BString::from));
            path.is_some_and(|path| world.stat(path.to_path_lossy().as_ref()).is_ok())
        };
        let Some(path) = <[u8]>::from_path(&self.path).filter(|_| {
            there("DOCKER")
                || there("SINGULARITY")
                || JavaParameters::read(&config.view(world)).is_ok_and(|java| java.has_probe_class(world))
        }) else {
            return ClassAd::new();
        };
        let mut argv = vec![BString::from(path), "--classad".into()];
        if let Some(file) = &choice.file {
            argv.extend(["--config-file".into(), BString::from(<[u8]>::from_path(file).unwrap_or_default())]);
        }
        for (name, value) in &choice.parameters {
            argv.extend(["--set-knob".into(), [name.as_slice(), value].join(&b'=').into()]);
        }
        if choice.no_env {
            argv.push("--no-env".into());
        }
        let command = ExternalCommand {
            argv,
            stdin: Vec::new(),
            merge_stderr: false,
            timeout: RUNTIMES_TIMEOUT,
            output_limit: 1 << 20,
        };
        let mut ad = ClassAd::new();
        for line in world.run(&command).map(|output| output.stdout).unwrap_or_default().lines() {
            let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
            if RUNTIME_ATTRIBUTES.iter().any(|known| known.as_bytes() == name) {
                // A line that is none tells nothing.
                let _ = ad.insert_line_with(line, Dialect::of_world(world));
            }
        }
        ad
    }

    fn run_classad_query(&self, world: &dyn World, choice: &ConfigSelection) -> Result<ClassAd, String> {
        let path = <[u8]>::from_path(&self.path).ok_or("cannot be asked for")?;
        let mut argv = config_selection_prefix(world, choice);
        argv.extend([BString::from(path), "-classad".into()]);
        let output = world
            .run(&ExternalCommand::new(argv, ABILITIES_TIMEOUT))
            .map_err(|error| format!("failed ({error})"))?;
        let ad = parse_printed_ad(&output.stdout, world)?;
        match ad.is_empty() {
            true if matches!(output.exit, Exit::Code(126 | 127)) => {
                Err("failed: it cannot be executed".to_owned())
            }
            true => Err("prints nothing".to_owned()),
            false => Ok(ad),
        }
    }
}

/// What stands before a program that is to read the configuration of the command line; nothing where it finds that by itself. The
/// values are no more than our own command line has.
fn config_selection_prefix(world: &dyn World, choice: &ConfigSelection) -> Vec<BString> {
    let chosen = DaemonEnvironment::from_program(world, choice);
    let plain = DaemonEnvironment::from_program(world, &ConfigSelection::default());
    let (chosen, plain) = (chosen.variables(), plain.variables());
    let mut words: Vec<BString> = Vec::new();
    for (name, _) in plain.iter().filter(|(name, _)| !chosen.iter().any(|(kept, _)| kept == name)) {
        words.extend(["-u".into(), name.clone()]);
    }
    let new = chosen.iter().filter(|variable| !plain.contains(variable));
    words.extend(new.map(|(name, value)| BString::from([&name[..], value].join(&b'='))));
    match words.is_empty() {
        true => words,
        false => std::iter::once("/usr/bin/env".into()).chain(words).collect(),
    }
}

/// The ad that a program has printed; the error says what of it is none.
pub(super) fn parse_printed_ad(text: &[u8], world: &dyn World) -> Result<ClassAd, String> {
    let mut ad = ClassAd::new();
    for line in text.lines() {
        if ad.insert_line_with(line, Dialect::of_world(world)).is_err() {
            return Err(format!("prints '{}', which is no attribute", line.as_bstr()));
        }
    }
    Ok(ad)
}
