//! Program that runs jobs (the parameter STARTER if it is set, else the sibling program), and the capabilities that
//! it reports.

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

/// Name of the sibling program that runs jobs.
const SIBLING_PROGRAM: &str = "htc-starter-run";
/// Maximum time for another starter to report its capabilities; 25.14 waits without a limit.
const CAPABILITIES_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum time for the sibling program to test the container runtimes, each call of which has a time limit of its
/// own.
const RUNTIMES_TIMEOUT: Duration = Duration::from_secs(300);
/// Attributes that the starter reports about container runtimes.
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

/// Program that runs jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarterProgram {
    /// Path of the starter program.
    pub path: PathBuf,
    /// True if the program is not the sibling program: only its exit status then shows how a job ended.
    pub foreign: bool,
    /// True if the program is used without a check that it can be executed, as in 25.14.
    pub skips_checks: bool,
}

/// Reason why no program can run jobs.
#[derive(Debug, thiserror::Error)]
pub enum StarterProgramError {
    /// The program named on the command line cannot be run.
    #[error("--starter: '{}' {}", .0.display(), if .0.is_file() { "cannot be executed" } else { "is not a file" })]
    Given(PathBuf),
    /// STARTER does not name an executable program.
    #[error("{place}: STARTER: there is no file '{}'", path.display())]
    Configured {
        /// Place where the value is set.
        place: String,
        /// Value of STARTER.
        path: PathBuf,
    },
    /// The sibling program is not installed.
    #[error("'{}', which runs the jobs, is missing", .0.display())]
    Missing(PathBuf),
    /// The directory of the sibling program is unknown.
    #[error("cannot find the directory of this program")]
    Lost(#[source] io::Error),
}

impl StarterProgram {
    /// Returns the program `requested` on the command line, else the program in STARTER if a configuration source
    /// sets it, else the sibling program.
    ///
    /// # Errors
    /// Fails if the program is missing. 25.14 continues without the program named by STARTER, accepts jobs and loses
    /// them; `--quirks reference` does the same.
    pub fn find(
        requested: Option<&Path>,
        config: &Config,
        world: &dyn World,
        quirks: QuirkMode,
    ) -> Result<Self, StarterProgramError> {
        let unchecked = quirks.reproduces(Quirk::StarterUnchecked);
        // The path is made absolute, so that a name without a slash is not searched for in PATH.
        let program = |path: &Path| StarterProgram {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            foreign: path.file_name().is_none_or(|name| name != SIBLING_PROGRAM),
            skips_checks: unchecked,
        };
        if let Some(path) = requested {
            let usable = world.may_execute(path) && path.is_file();
            return if usable { Ok(program(path)) } else { Err(StarterProgramError::Given(path.to_owned())) };
        }
        if let Some(setting) = config.view(world).string("STARTER").ok().flatten()
            && !setting.origin.is_default()
        {
            let path = setting.value.to_path_lossy().into_owned();
            if !path.is_file() && !unchecked {
                // The reference's name for a source that overrides all files is replaced by the name of the option.
                let place = setting.origin.to_string().replace("<Over>", "--param");
                return Err(StarterProgramError::Configured { place, path });
            }
            return Ok(program(&path));
        }
        let path =
            std::env::current_exe().map_err(StarterProgramError::Lost)?.with_file_name(SIBLING_PROGRAM);
        if path.is_file() { Ok(program(&path)) } else { Err(StarterProgramError::Missing(path)) }
    }

    /// Returns the measurements of this machine for the slots of a configuration, including the capabilities that the
    /// program reports. Also returns a warning if the program does not report any.
    pub fn surroundings(
        &self,
        config: &Config,
        world: &dyn World,
        choice: &ConfigSelection,
    ) -> (HostMeasurements, Option<String>) {
        let mut measurements = configured_surroundings(config, world);
        let mut warning = None;
        if self.foreign {
            (measurements.starter_ad, warning) = self.query_capabilities(world, choice);
        } else {
            measurements.container_runtimes = self.query_runtimes(config, world, choice);
        }
        (measurements, warning)
    }

    /// Calls another starter with `-classad` (`Starter::config`) and returns its output, or `None` with a warning if
    /// the output is empty or not a valid ad.
    fn query_capabilities(
        &self,
        world: &dyn World,
        choice: &ConfigSelection,
    ) -> (Option<ClassAd>, Option<String>) {
        match self.run_classad_query(world, choice) {
            Ok(ad) => (Some(ad), None),
            Err(reason) => {
                let path = self.path.display();
                let warning = format!(
                    "the starter '{path}' does not report its capabilities: '-classad' {reason}; the slots lack its Has* \
                     attributes"
                );
                (Some(ClassAd::new()), Some(warning))
            }
        }
    }

    /// Returns the results of the sibling program's tests of container runtimes and java; empty if this machine has
    /// none of them, so that the program need not be called.
    fn query_runtimes(&self, config: &Config, world: &dyn World, choice: &ConfigSelection) -> ClassAd {
        let there = |parameter: &str| {
            let path = config.view(world).text(parameter);
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
            argv.extend(["--param".into(), [name.as_slice(), value].join(&b'=').into()]);
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
                // An invalid line of the output is ignored.
                let _ = ad.insert_line_with(line, Dialect::of_world(world));
            }
        }
        ad
    }

    fn run_classad_query(&self, world: &dyn World, choice: &ConfigSelection) -> Result<ClassAd, String> {
        let path = <[u8]>::from_path(&self.path).ok_or("cannot be queried for")?;
        let mut argv = config_selection_prefix(world, choice);
        argv.extend([BString::from(path), "-classad".into()]);
        let output = world
            .run(&ExternalCommand::new(argv, CAPABILITIES_TIMEOUT))
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

/// Returns the arguments to put before a program that must read the configuration selected on the command line; empty
/// if the program finds that configuration without them. The values in these arguments are also visible on the
/// command line of this program.
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

/// Parses the ad printed by a program; the error describes the invalid part.
pub(super) fn parse_printed_ad(text: &[u8], world: &dyn World) -> Result<ClassAd, String> {
    let mut ad = ClassAd::new();
    for line in text.lines() {
        if ad.insert_line_with(line, Dialect::of_world(world)).is_err() {
            return Err(format!("prints '{}', which is not a valid attribute", line.as_bstr()));
        }
    }
    Ok(ad)
}
