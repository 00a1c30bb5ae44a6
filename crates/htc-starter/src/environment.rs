//! Environment variables that a starter sets for its hooks and jobs.
//!
//! Reference: `Starter::PublishToEnv` and `Starter::GetJobEnv` of `starter.cpp`, `OsProc::StartJob`. In increasing
//! precedence: `STARTER_JOB_ENVIRONMENT`, the job's environment, the published variables. The starter's own
//! environment, as far as the job inherits it, has the lowest precedence. Hooks get the starter's environment, in which
//! the published variables override others.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice, ByteVec};

use super::job_info::{JobInfo, join_directory};
use super::settings::{EnvironmentInheritance, StarterSettings};
use super::start_failure::StartFailure;
use htc_base::job::attr;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::environment::{Environment, EnvironmentError};
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, regex};

/// Placeholder for the scratch directory in values.
const SCRATCH_PLACEHOLDER: &[u8] = b"#CoNdOrScRaTcHdIr#";

/// Inputs for the environment of hooks and jobs.
pub struct EnvironmentInputs<'a> {
    /// Parameters of the starter.
    pub settings: &'a StarterSettings,
    /// Properties of the job that a prepare hook cannot change.
    pub job: &'a JobInfo,
    /// Job ad.
    pub ad: &'a ClassAd,
    /// Slot ad; empty for fetched jobs if 25.14 is reproduced.
    pub machine: &'a ClassAd,
    /// The scratch directory.
    pub scratch: &'a Path,
    /// Value of TMPDIR, TEMP and TMP.
    pub temporary: &'a Path,
    /// Process ID of the starter.
    pub starter_pid: u32,
    /// Name of the slot; may be empty.
    pub slot: &'a BStr,
    /// Home directory of the job's account.
    pub home: Option<&'a BStr>,
    /// File of the result ad; `None` if there is no such file or the ad goes to standard output.
    pub output_ad: Option<&'a BStr>,
    /// Exit of PreCmd, if PreCmd has ended and the job has not been started since then.
    pub pre_exit: Option<Exit>,
    /// Exit of the job, or `None` while the job has not ended.
    pub main_exit: Option<Exit>,
    /// Process IDs of the running processes.
    pub pids: &'a [u32],
    /// Selection of the quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// World in which expressions are evaluated.
    pub world: &'a dyn World,
}

impl<'a> EnvironmentInputs<'a> {
    /// Returns a context in which expressions of the job ad can be evaluated.
    pub(super) fn job_context(&self) -> Context<'a> {
        Context::new(self.world).my(self.ad)
    }

    /// Returns a context in which expressions of the slot ad can be evaluated.
    pub(super) fn slot_context(&self) -> Context<'a> {
        Context::new(self.world).my(self.machine)
    }

    /// Adds the published variables to `environment`. They override variables with the same names.
    pub fn publish(&self, environment: &mut Environment) {
        let settings = self.settings;
        let scratch = BString::from(self.scratch.as_os_str().as_bytes());
        let in_scratch = |name: &[u8]| join_directory(&scratch, name);
        let mut set = |name: &str, value: BString| environment.set(name, value);
        set("BATCH_SYSTEM", "HTCondor".into());
        set("_CONDOR_JOB_IWD", self.job.iwd.clone());
        let pids: Vec<_> = self.pids.iter().map(u32::to_string).collect();
        set("_CONDOR_JOB_PIDS", pids.join(" ").into());
        if let Some(bin) = &settings.bin {
            set("_CONDOR_BIN", bin.clone());
        }
        for (of, exit) in [("PRE", self.pre_exit), ("MAINJOB", self.main_exit)] {
            match exit {
                Some(Exit::Code(code)) => set(&format!("_CONDOR_{of}_EXIT_CODE"), code.to_string().into()),
                Some(Exit::Signal { number, .. }) => {
                    set(&format!("_CONDOR_{of}_EXIT_SIGNAL"), number.to_string().into())
                }
                None => {}
            }
        }
        let context = self.job_context();
        if let Some(proxy) = context.string("x509userproxy") {
            let proxy = if proxy.starts_with(b"/") { proxy } else { join_directory(&self.job.iwd, &proxy) };
            set("X509_USER_PROXY", proxy);
        }
        self.publish_assigned_resources(environment);
        let mut set = |name: &str, value: BString| environment.set(name, value);
        if let Some(output) = self.output_ad {
            set("_CONDOR_OUTPUT_CLASSAD", output.into());
        }
        set("CONDOR_STARTER_PID", self.starter_pid.to_string().into());
        set("_CONDOR_SCRATCH_DIR", scratch.clone());
        set("APPTAINER_CACHEDIR", scratch.clone());
        set("SINGULARITY_CACHEDIR", scratch.clone());
        set("_CONDOR_SLOT", self.slot.into());
        if let Some((low, high)) = settings.ports {
            set("_CONDOR_HIGHPORT", high.to_string().into());
            set("_CONDOR_LOWPORT", low.to_string().into());
        }
        for name in ["TMPDIR", "TEMP", "TMP"] {
            set(name, self.temporary.as_os_str().as_bytes().into());
        }
        self.publish_thread_count(environment);
        let mut set = |name: &str, value: BString| environment.set(name, value);
        if let Some(wrapper) = &settings.wrapper
            && self.world.may_execute(wrapper.to_path_lossy().as_ref())
        {
            set("_CONDOR_WRAPPER_ERROR_FILE", in_scratch(b".job_wrapper_failure"));
        }
        set("_CONDOR_MACHINE_AD", in_scratch(b".machine.ad"));
        set("_CONDOR_JOB_AD", in_scratch(b".job.ad"));
        if let Some(directory) = &self.job.credentials.directory {
            set("_CONDOR_CREDS", directory.clone());
        }
        if let Some(cache) = &self.job.credentials.cache {
            set("KRB5CCNAME", [b"FILE:", &cache[..]].concat().into());
        }
        set("_CHIRP_DELAYED_UPDATE_PREFIX", settings.chirp_prefix.clone());
        if let (true, Some(home)) = (settings.sets_home, self.home) {
            set("HOME", home.into());
        }
        environment.change_values(|_, value| {
            value
                .contains_str(SCRATCH_PLACEHOLDER)
                .then(|| value.replace(SCRATCH_PLACEHOLDER, &scratch).into())
        });
    }

    /// Sets variables with the number of CPUs for multithreaded programs, unless the job sets them.
    fn publish_thread_count(&self, environment: &mut Environment) {
        let cpus = self.slot_context().int(attr::CPUS).unwrap_or(0);
        if cpus <= 0 {
            return;
        }
        let stops = self.quirks.reproduces(Quirk::ThreadVariablesStop);
        let mut value_found = BString::default();
        for name in list::split(&self.settings.thread_variables) {
            match environment.get(name) {
                Some(value) => value_found = value.clone(),
                // The reference does not clear the value of the previous lookup.
                None if stops => {}
                None => value_found.clear(),
            }
            if value_found.is_empty() {
                environment.set(name, cpus.to_string());
            }
        }
    }

    /// Sets the IDs of resources assigned to the slot, such as GPUs.
    fn publish_assigned_resources(&self, environment: &mut Environment) {
        let machine = self.slot_context();
        let Some(resources) = machine.string("MachineResources") else { return };
        let mut gpus = false;
        for resource in list::split(&resources) {
            gpus |= resource.eq_ignore_ascii_case(b"gpus");
            let attribute = format!("Assigned{}", resource.as_bstr());
            let parameters = self.settings.assigned_resources.get(&resource.to_ascii_lowercase());
            let prototype = parameters.map_or(&b""[..], |(prototype, _)| prototype);
            let assigned = machine.string(&attribute);
            let has = self.machine.contains(resource.as_bstr().to_string().as_str());
            if assigned.is_none() && (!has || prototype.is_empty()) {
                continue;
            }
            let ids = assigned.or_else(|| parameters.map(|(_, value)| value.clone())).unwrap_or_default();
            self.publish_prototypes(environment, prototype, &ids);
            environment.set(format!("_CONDOR_{attribute}"), ids);
        }
        if gpus && self.settings.nvidia {
            self.publish_nvidia(environment);
        }
    }

    /// Sets `NVIDIA_VISIBLE_DEVICES` from the UUIDs of the devices.
    fn publish_nvidia(&self, environment: &mut Environment) {
        let machine = self.slot_context();
        let text = |expression: &str| {
            let value = machine.eval(
                &htc_classad::Expr::parse_with(expression.as_bytes(), Dialect::of_world(self.world)).ok()?,
            );
            value.as_str().map(BString::from)
        };
        let devices = match text("AvailableGPUs[0].id") {
            Some(id) if id.starts_with(b"MIG-") => {
                text("join(\",\",evalInEachContext(DeviceUuid, AvailableGPUs))")
            }
            _ => text("join(\",\",evalInEachContext(strcat(\"GPU-\",DeviceUuid),AvailableGPUs))"),
        };
        match devices.filter(|devices| !devices.is_empty()) {
            Some(devices) => {
                environment.set("NVIDIA_VISIBLE_DEVICES", devices.clone());
                environment.set("CUDA_VISIBLE_DEVICES", devices);
            }
            None => environment.set("NVIDIA_VISIBLE_DEVICES", "none"),
        }
    }

    /// Processes the `NAME=/pattern/replacement/` items and the final `NAME` of a prototype
    /// (`SetEnvironmentForAssignedRes`).
    fn publish_prototypes(&self, environment: &mut Environment, mut prototype: &[u8], ids: &[u8]) {
        let digits = || BString::from_iter(ids.iter().copied().filter(|b| b.is_ascii_digit() || *b == b','));
        loop {
            prototype = prototype.trim_start();
            if prototype.is_empty() {
                return;
            }
            let Some((name, rest)) = prototype.split_once_str("=") else {
                let bare = matches!(prototype, b"CUDA_VISIBLE_DEVICES" | b"GPU_DEVICE_ORDINAL");
                environment.set(prototype, if bare { digits() } else { ids.into() });
                return;
            };
            let rest = rest.trim_start();
            let Some((&mark, body)) = rest.split_first() else { return };
            let mut parts = body.splitn(3, |&byte| byte == mark);
            let (Some(pattern), Some(replacement), Some(after)) = (parts.next(), parts.next(), parts.next())
            else {
                return;
            };
            let value = if name == b"CUDA_VISIBLE_DEVICES" && pattern.is_empty() {
                digits()
            } else {
                let Some(edited) = self.edit_assigned_ids(ids, pattern, replacement) else { return };
                edited
            };
            environment.set(name, value);
            prototype = after.strip_prefix(b",").unwrap_or(after);
        }
    }

    /// Replaces the first match in each ID and joins the IDs with commas. Returns `None` if the pattern does not compile.
    fn edit_assigned_ids(&self, ids: &[u8], pattern: &[u8], replacement: &[u8]) -> Option<BString> {
        let regex = regex::Regex::compile(pattern, regex::RegexOptions::default()).ok()?;
        let misread = self.quirks.reproduces(Quirk::AssignedEnvEdit);
        let mut edited = BString::default();
        for id in list::split(ids) {
            if !edited.is_empty() {
                edited.push(b',');
            }
            let Ok(Some(found)) = regex.captures(id, regex::SearchOptions::default()) else {
                edited.push_str(id);
                continue;
            };
            let whole = found.whole_match();
            edited.push_str(&id[..whole.start]);
            let mut at = replacement.iter();
            while let Some(&byte) = at.next() {
                match (byte, at.as_slice().first()) {
                    (b'$', Some(digit)) if digit.is_ascii_digit() => {
                        at.next();
                        let group = usize::from(digit - b'0');
                        edited.push_str(if misread {
                            misread_capture_group(id, &found, group)
                        } else {
                            found.group(group).map_or(&b""[..], |range| &id[range])
                        });
                    }
                    _ => edited.push(byte),
                }
            }
            // 25.14 reads the 64-bit offsets as pairs of 32-bit numbers, so each end offset is 0.
            edited.push_str(&id[if misread { 0 } else { whole.end }..]);
        }
        Some(edited)
    }

    /// Returns the complete environment of the job without ancestor markers. `own` is the starter's own environment.
    ///
    /// # Errors
    /// Returns an error if STARTER_JOB_ENVIRONMENT or the environment in the ad is invalid.
    pub fn job_environment(&self, own: &[(BString, BString)]) -> Result<Environment, StartFailure> {
        let mut environment = Environment::new();
        let failed = |error: EnvironmentError, where_from: &str, value: &[u8]| {
            let mut text = BString::from("Aborting OSProc::StartJob: ");
            text.push_str(error.reference_text());
            text.push_str(where_from);
            text.push_str(value);
            StartFailure::silent(text)
        };
        let parameter = &self.settings.job_environment;
        environment
            .merge_v1_raw_or_v2_quoted(parameter)
            .map_err(|error| failed(error, " The full value for STARTER_JOB_ENVIRONMENT: ", parameter))?;
        merge_from_ad(&mut environment, self.ad, "", self.world).map_err(|error| {
            failed(error, " (This error was from the environment string in the job ClassAd.)", b"")
        })?;
        self.publish(&mut environment);
        match &self.settings.inherits {
            EnvironmentInheritance::Nothing => Ok(environment),
            EnvironmentInheritance::All => {
                let mut all = Environment::new();
                own.iter().for_each(|(name, value)| all.set(name.clone(), value.clone()));
                all.merge(&environment);
                Ok(all)
            }
            EnvironmentInheritance::Filtered(filter) => {
                for (name, value) in own {
                    if !environment.contains(name) && filter.passes(name, value) {
                        environment.set(name.clone(), value.clone());
                    }
                }
                Ok(environment)
            }
        }
    }
}

/// Returns the text that 25.14 inserts for `$N`. 25.14 takes the N-th pair of 32-bit numbers from the 64-bit offsets,
/// whose second half is always 0.
fn misread_capture_group<'i>(id: &'i [u8], found: &regex::Captures, group: usize) -> &'i [u8] {
    if group >= found.len() {
        return b"";
    }
    let pair = found.group(group / 2);
    let offset = pair.map_or(0, |range| if group.is_multiple_of(2) { range.start } else { range.end });
    // The length in 25.14 is minus the offset: an empty string for offset 0, otherwise the text up to the end.
    if offset == 0 { b"" } else { id.get(offset..).unwrap_or_default() }
}

/// Merges the environment of an ad: `<prefix>Environment` (V2) if it is a string, otherwise `<prefix>Env` (V1).
///
/// # Errors
/// Returns an error if the text is not a valid environment.
pub fn merge_from_ad(
    environment: &mut Environment,
    ad: &ClassAd,
    prefix: &str,
    world: &dyn World,
) -> Result<(), EnvironmentError> {
    let string = |name: &str| Context::new(world).my(ad).string(format!("{prefix}{name}"));
    if let Some(text) = string(attr::ENVIRONMENT_V2) {
        return environment.merge_v2_raw(&text);
    }
    match string(attr::ENVIRONMENT_V1) {
        Some(text) => {
            let delimiter = Context::new(world).my(ad).string(attr::ENVIRONMENT_V1_DELIMITER);
            environment.merge_v1(&text, delimiter.and_then(|text| text.first().copied()))
        }
        None => Ok(()),
    }
}
