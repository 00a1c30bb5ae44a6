//! Creates the files that a recorded configuration names in a separate directory, and the slots of the
//! configuration.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::ByteSlice;
use htc_hooks::classad::format::long;
use htc_hooks::config::{CommandPolicy, Config, LoadOptions, LookupContext};
use htc_hooks::os::RealWorld;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::{
    BenchmarkSettings, ExitLimits, HostMeasurements, SleepState, SleepSupport, StartdSettings, configure,
};
use htc_hooks::world::{NetworkAdapter, World};

use super::super::{Result, forks};
use super::ads;
use super::recording::Recording;

/// Recordings whose configuration was edited in place: values before the edits, from the log.
const FIRST: &[(&str, &str)] = &[(
    "condor_reconfig that changes slot counts, shares, NUM_CPUS, MEMORY; then restart",
    "NUM_CPUS = 4\nMEMORY = 1024\nNUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = cpus=1\n",
)];

/// The only recording of an unmodified startd run by root, for which no backfill client runs. The others use
/// a startd that was modified so that clients run.
const NO_CLIENT: &str = "Backfill with daemons of root: the client cannot be started; stock startd";

/// A directory with the files of one recording.
pub struct Fixture {
    top: tempfile::TempDir,
    text: String,
    measurements: HostMeasurements,
    /// Load of the recorded machine.
    pub load: f64,
    pub world: Rc<RealWorld>,
    /// True if a backfill client can run there.
    backfill: bool,
}

impl Fixture {
    /// Creates everything.
    pub fn lay(recording: &Recording) -> Result<Self> {
        let mut config = recording.config.clone();
        for (_, first) in FIRST.iter().filter(|(title, _)| *title == recording.title) {
            config = format!("{config}\n{first}");
        }
        let mut fixture = Self::of(&config, &recording.directory.join("scripts"))?;
        fixture.backfill = recording.title != NO_CLIENT;
        fixture.measured_at(recording, 0.0)?;
        Ok(fixture)
    }

    /// Sets the machine's measurements from the first ad after this time, or the last ad before it.
    pub fn measured_at(&mut self, recording: &Recording, at: f64) -> Result<()> {
        let Some(name) = recording.status_after(at) else { return Ok(()) };
        if let Some(ad) = ads::read(&recording.directory, name)?.into_values().next() {
            self.measurements = measured(&ad);
            self.load = ad.get("TotalLoadAvg").and_then(|load| load.parse().ok()).unwrap_or(0.0);
        }
        Ok(())
    }

    /// Creates a fixture with this configuration and these scripts.
    pub fn of(config: &str, scripts: &Path) -> Result<Self> {
        let top = tempfile::tempdir().map_err(|error| format!("a fresh directory: {error}"))?;
        let measurements = measured(&BTreeMap::new());
        let mut fixture = Fixture {
            top,
            text: String::new(),
            measurements,
            load: 0.0,
            world: Rc::new(RealWorld::new()),
            backfill: false,
        };
        for directory in
            ["log", "spool", "execute", "lock", "run", "state", "hook.d", "job.d", "scripts", "libexec"]
        {
            make(&fixture.local().join(directory))?;
        }
        copy(scripts, &fixture.local().join("scripts"), &fixture)?;
        // A startd looks for the GPU discovery program there.
        let discovery = fixture.local().join("scripts").join("gpudisc");
        if discovery.exists() {
            let name = fixture.local().join("libexec").join("condor_gpu_discovery");
            std::os::unix::fs::symlink(&discovery, &name)
                .map_err(|error| format!("{}: {error}", name.display()))?;
        }
        let config = fixture.fill_in(config);
        for name in named(&config, "hook.d/") {
            program(&fixture.local().join("hook.d").join(name), "#!/bin/sh\n")?;
        }
        fixture.text = config;
        Ok(fixture)
    }

    /// Returns LOCAL_DIR.
    pub fn local(&self) -> PathBuf {
        self.top.path().to_owned()
    }

    /// Replaces the placeholders of a recording by the values here.
    pub fn fill_in(&self, text: &str) -> String {
        let local = self.local().display().to_string();
        text.replace("@LOCAL_DIR@", &local).replace("@RELEASE_DIR@", &local).replace("@HOST@", &self.host())
    }

    /// Returns the full name of this host.
    pub fn host(&self) -> String {
        let [_, full, _] = self.world.host();
        full
    }

    /// Appends lines that were added to the configuration later.
    pub fn add(&mut self, lines: &str) {
        let lines = self.fill_in(lines);
        self.text = format!("{}\n{lines}\n", self.text);
    }

    /// Replaces values by the placeholders of a recording.
    pub fn take_out(&self, text: &str) -> String {
        ads::taken_out(text, &self.local().display().to_string(), &self.host())
    }

    /// Returns the current configuration.
    pub fn config(&self) -> Result<Config> {
        let path = self.local().join("condor_config");
        fs::write(&path, &self.text).map_err(|error| format!("{}: {error}", path.display()))?;
        let who = LookupContext { subsystem: "STARTD".into(), ..LookupContext::default() };
        let options = LoadOptions {
            file: Some(path),
            environment: false,
            commands: CommandPolicy::BOUNDED_RUN,
            ..LoadOptions::default()
        };
        let loaded = Config::load(&*self.world, &who, &options);
        loaded.map(|(config, _)| config).map_err(|error| error.to_string())
    }

    /// Returns the output of the recorded fake benchmarks if their calls are not recorded: the arguments of
    /// `echo`.
    pub fn benchmarks(&self, settings: &BenchmarkSettings) -> Vec<(String, Vec<u8>)> {
        let programs = settings.jobs.iter().filter_map(|job| {
            let path = PathBuf::from(job.executable.to_str_lossy().into_owned());
            let name = path.file_name()?.to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).ok()?;
            let said = text.lines().filter_map(|line| line.split_once("echo ").map(|(_, said)| said));
            let said: String = said.map(|line| format!("{}\n", line.trim_matches(['"', '\'']))).collect();
            (!said.is_empty()).then(|| (name, said.into_bytes()))
        });
        programs.collect()
    }

    /// Returns the slots of the current configuration.
    pub fn settings(&self) -> Result<StartdSettings> {
        let config = self.config()?;
        let made =
            configure(&config, &*self.world, &self.measurements, QuirkMode::Reference, ExitLimits::default());
        let mut settings = made.map(|configured| configured.settings).map_err(|error| error.to_string())?;
        if let Some(backfill) = &mut settings.backfill {
            backfill.dead_client.as_reference &= !self.backfill;
        }
        Ok(settings)
    }
}

/// Returns the recorded machine's measurements, taken from an ad.
fn measured(ad: &ads::Attributes) -> HostMeasurements {
    let number = |name: &str, default: i64| {
        ad.get(name).and_then(|value| value.parse::<f64>().ok()).map_or(default, |number| number as i64)
    };
    let text = |name: &str, default: &str| {
        ad.get(name).map_or_else(|| default.to_owned(), |value| value.trim_matches('"').to_owned())
    };
    let listed = text("StarterAbilityList", "");
    let told = |name: &str| listed.split(',').any(|ability| ability == name) || STARTER.contains(&name);
    let capabilities: String =
        ad.iter().filter(|(name, _)| told(name)).map(|(name, value)| format!("{name} = {value}\n")).collect();
    HostMeasurements {
        slot_volumes: BTreeMap::new(),
        address: "<127.0.0.1:9618?addrs=127.0.0.1-9618>".to_owned(),
        adapter: ad.get("HardwareAddress").map(|_| NetworkAdapter {
            hardware_address: text("HardwareAddress", ""),
            subnet_mask: text("SubnetMask", ""),
            ..NetworkAdapter::default()
        }),
        execute_problem: None,
        disk_free: number("TotalDisk", 82_296_812),
        disk_total: number("DetectedDisk", 264_212_084),
        volume: text("ExecuteVolume", "65024"),
        rotational: Some(text("HasRotationalScratch", "true") == "true"),
        virtual_memory: number("TotalVirtualMemory", 24_683_672),
        container_runtimes: Default::default(),
        gpu_discovery_output: None,
        sleep_support: SleepSupport {
            supported: text("HibernationSupportedStates", "")
                .split(',')
                .filter_map(SleepState::from_name)
                .collect(),
            method: None,
        },
        starter_ad: (!capabilities.is_empty()).then(|| long::parse(capabilities.as_bytes()).0),
    }
}

/// Attributes that a starter reports in addition to its capabilities.
const STARTER: &[&str] = &[
    "JavaVendor",
    "JavaVersion",
    "JavaSpecificationVersion",
    "MappingMethod",
    "HasCommonFilesTransfer",
    "HasFileTransferPluginMethods",
];

/// Returns the names that follow `directory` in a configuration.
fn named<'a>(config: &'a str, directory: &'a str) -> impl Iterator<Item = &'a str> {
    let word = |rest: &'a str| {
        rest.split(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c))).next().unwrap_or_default()
    };
    config.split(directory).skip(1).map(word).filter(|name| !name.is_empty())
}

fn make(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn program(path: &Path, text: &str) -> Result<()> {
    forks::write_file(|| fs::write(path, text))
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path, fixture: &Fixture) -> Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    for entry in entries.flatten().filter(|entry| entry.path().is_file()) {
        let text = fs::read(entry.path()).map_err(|error| format!("{}: {error}", entry.path().display()))?;
        program(&to.join(entry.file_name()), &fixture.fill_in(&text.to_str_lossy()))?;
    }
    Ok(())
}
