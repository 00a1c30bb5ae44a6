//! Parameters of containers: texts, expressions over slot and job, and values that do not depend on slot or job.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;

use bstr::{BString, ByteSlice};

use crate::job_exit::eval_condition;
use crate::start_failure::StartFailure;
use htc_base::text::list;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::{ConfigView, Setting, ValueError};

/// Parameters whose text is used unchanged. DOCKER_VOLUME_DIR_* are missing because the configuration determines their
/// names.
const TEXT_PARAMETERS: &[&str] = &[
    "DOCKER",
    "DOCKER_EXTRA_ARGUMENTS",
    "DOCKER_MOUNT_VOLUMES",
    "DOCKER_NETWORKS",
    "DOCKER_PAT_PRODUCER",
    "DOCKER_TEST_IMAGE_NAME",
    "DOCKER_TEST_IMAGE_PATH",
    "LIBEXEC",
    "SINGULARITY",
    "SINGULARITY_ALLOWED_JOB_ENV_VARS",
    "SINGULARITY_TARGET_DIR",
    "SINGULARITY_TEST_SANDBOX",
    "SINGULARITY_VERBOSITY",
];

/// Parameters that are expressions over slot and job. Only [`super::inputs::ContainerInputs`] evaluates these
/// parameters, and reports the ones without a usable value.
const EXPRESSION_PARAMETERS: &[&str] = &[
    "DEFAULT_CONTAINER_IMAGE",
    "DOCKER_DROP_ALL_CAPABILITIES",
    "DOCKER_SHM_SIZE",
    "SINGULARITY_BIND_EXPR",
    "SINGULARITY_EXTRA_ARGUMENTS",
    "SINGULARITY_IMAGE_EXPR",
    "SINGULARITY_JOB",
    "SINGULARITY_USE_PID_NAMESPACES",
    "USE_DEFAULT_CONTAINER",
];

/// Boolean parameters that do not depend on slot or job, with their defaults.
const BOOLEAN_PARAMETERS: &[(&str, bool)] = &[
    ("DOCKER_LOG_DRIVER_NONE", true),
    ("DOCKER_MAP_ALL_GPUS", false),
    ("DOCKER_PERFORM_TEST", true),
    ("DOCKER_RUN_UNDER_INIT", true),
    ("DOCKER_SKIP_IMAGE_ARCH_CHECK", false),
    ("DOCKER_TRUST_LOCAL_IMAGES", false),
    ("SINGULARITY_ADD_ROCM_FLAG", false),
    ("SINGULARITY_IGNORE_MISSING_BIND_TARGET", false),
    ("SINGULARITY_RUN_TEST_BEFORE_JOB", true),
    ("SINGULARITY_USE_LAUNCHER", false),
];

/// Integer parameters that do not depend on slot or job, with their defaults.
const INTEGER_PARAMETERS: &[(&str, i64)] =
    &[("DOCKER_IMAGE_CACHE_SIZE", 8), ("SINGULARITY_TEST_SANDBOX_TIMEOUT", 120)];

/// Parameters that name a program.
const PROGRAM_PARAMETERS: &[&str] = &["DOCKER", "SINGULARITY"];

/// Parameters of containers. An invalid value causes an exception only at the point where 25.14 reads the parameter.
#[derive(Clone, Debug, Default)]
pub struct ContainerParameters {
    settings: BTreeMap<&'static str, Setting<BString>>,
    flags: BTreeMap<&'static str, Result<bool, ValueError>>,
    numbers: BTreeMap<&'static str, Result<i64, ValueError>>,
    volumes: Vec<DockerVolume>,
}

/// Volume named by DOCKER_MOUNT_VOLUMES.
#[derive(Clone, Debug, PartialEq)]
pub struct DockerVolume {
    /// Name of the volume in DOCKER_MOUNT_VOLUMES.
    pub name: BString,
    /// `DOCKER_VOLUME_DIR_<name>`: `source` or `source:target[:options]`.
    pub directory: Option<BString>,
    /// `DOCKER_VOLUME_DIR_<name>_MOUNT_IF`, an expression.
    pub mount_if: Option<Setting<BString>>,
}

impl ContainerParameters {
    /// Reads all parameters of containers.
    ///
    /// # Errors
    /// Returns an error if a macro expands without end.
    pub fn read(view: &ConfigView<'_>) -> Result<Self, ValueError> {
        let mut parameters = ContainerParameters::default();
        for name in TEXT_PARAMETERS.iter().chain(EXPRESSION_PARAMETERS) {
            if let Some(setting) = view.string(name)? {
                parameters.settings.insert(*name, setting);
            }
        }
        for name in PROGRAM_PARAMETERS {
            let setting = parameters.settings.get_mut(name);
            if let Some((setting, found)) = setting
                .and_then(|setting| on_path(&setting.value, view.world()).map(|found| (setting, found)))
            {
                setting.value = found;
            }
        }
        for (name, default) in BOOLEAN_PARAMETERS {
            let read = view.boolean(name).map(|set| set.map_or(*default, |setting| setting.value));
            let words = if *default { "True" } else { "False" };
            parameters.flags.insert(*name, read.map_err(|error| error.with_default(words)));
        }
        for (name, default) in INTEGER_PARAMETERS {
            let read = view.int(name).map(|set| set.map_or(*default, |setting| setting.value));
            parameters.numbers.insert(*name, read.map_err(|error| error.with_default(&default.to_string())));
        }
        let names = parameters.text("DOCKER_MOUNT_VOLUMES").cloned().unwrap_or_default();
        for name in list::split(&names) {
            let parameter = format!("DOCKER_VOLUME_DIR_{}", name.as_bstr());
            parameters.volumes.push(DockerVolume {
                name: name.into(),
                directory: view.string(&parameter)?.map(|setting| setting.value),
                mount_if: view.string(&format!("{parameter}_MOUNT_IF"))?,
            });
        }
        Ok(parameters)
    }

    /// Returns a parameter whose text is used unchanged, or `None` if it is empty.
    pub fn text(&self, name: &str) -> Option<&BString> {
        debug_assert!(TEXT_PARAMETERS.contains(&name), "{name} is not a string");
        self.settings.get(name).map(|setting| &setting.value)
    }

    /// Returns a text or expression parameter together with its origin.
    pub(super) fn setting(&self, name: &str) -> Option<&Setting<BString>> {
        debug_assert!(
            TEXT_PARAMETERS.contains(&name) || EXPRESSION_PARAMETERS.contains(&name),
            "{name} is not read"
        );
        self.settings.get(name)
    }

    /// Returns a boolean parameter that does not depend on slot or job.
    ///
    /// # Errors
    /// Returns an error for an invalid value, at which 25.14 exits with an exception.
    pub fn boolean(&self, name: &str) -> Result<bool, StartFailure> {
        read(&self.flags, BOOLEAN_PARAMETERS, name)
    }

    /// Returns an integer parameter that does not depend on slot or job.
    ///
    /// # Errors
    /// Returns the errors of [`ContainerParameters::boolean`].
    pub fn integer(&self, name: &str) -> Result<i64, StartFailure> {
        read(&self.numbers, INTEGER_PARAMETERS, name)
    }

    /// Returns SINGULARITY_USE_PID_NAMESPACES as true or false, or `None` for `auto`. Any other word is treated as
    /// `auto` and also returned as the second value.
    pub(super) fn pid_namespaces(&self, world: &dyn World) -> (Option<bool>, Option<&Setting<BString>>) {
        let nothing = ClassAd::new();
        let Some(setting) = self.setting("SINGULARITY_USE_PID_NAMESPACES") else { return (None, None) };
        let truth = eval_condition(&setting.value, &nothing, &nothing, world);
        let strange = truth.is_none() && !setting.value.trim().eq_ignore_ascii_case(b"auto");
        (truth, strange.then_some(setting))
    }

    /// Returns the volumes in the order of DOCKER_MOUNT_VOLUMES.
    pub fn volumes(&self) -> &[DockerVolume] {
        &self.volumes
    }

    /// Returns the parameters with one parameter set in addition.
    #[cfg(test)]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<BString>) -> Self {
        let (source, value) = (BString::from("test"), value.into());
        let origin = htc_config::SettingOrigin { name: name.into(), source, line: None, template: None };
        self.settings.insert(name, Setting { raw: value.clone(), value, origin });
        self
    }
}

/// Returns a value that was read, or its default in the table if the parameter was not read.
fn read<T: Copy>(
    values: &BTreeMap<&'static str, Result<T, ValueError>>,
    table: &[(&str, T)],
    name: &str,
) -> Result<T, StartFailure> {
    let default = table.iter().find(|(known, _)| *known == name).map(|(_, default)| *default);
    debug_assert!(default.is_some(), "{name} is not read");
    match (values.get(name), default) {
        (Some(read), _) => read.as_ref().copied().map_err(StartFailure::from_setting_error),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(StartFailure::silent(format!("{name} is not read"))),
    }
}

/// Returns the absolute path of a program that is named without a directory. Programs are only called by absolute path,
/// because the calls start in directories that the job can write to, and most calls run under the account of the
/// daemons.
pub fn on_path(name: &[u8], world: &dyn World) -> Option<BString> {
    if name.is_empty() || name.iter().any(|byte| matches!(byte, b'/' | b' ')) {
        return None;
    }
    let search = world.env("PATH".as_ref()).unwrap_or_default();
    let mut candidates = std::env::split_paths(&search).map(|directory| directory.join(name.to_path_lossy()));
    let found = candidates.find(|candidate| candidate.is_absolute() && world.may_execute(candidate))?;
    Some(found.into_os_string().into_vec().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    #[test]
    fn a_program_is_never_searched_for_in_relative_directories() {
        let world = RealWorld::new();
        let shell = on_path(b"sh", &world).unwrap();
        assert!(shell.starts_with(b"/") && shell.ends_with(b"/sh"), "{shell}");
        for name in ["bin/docker", "./docker", "/bin/sh", "no-such-program-here", "", "sudo docker"] {
            assert_eq!(on_path(name.as_bytes(), &world), None, "{name}");
        }
    }
}
