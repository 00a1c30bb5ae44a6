//! The knobs about containers, as texts: most are expressions over slot and job.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;

use bstr::{BString, ByteSlice};

use crate::config::{ValueError, View};
use crate::text::list;
use crate::world::World;

/// Every knob that is read, but for the volumes, whose names the configuration makes.
const NAMES: &[&str] = &[
    "DEFAULT_CONTAINER_IMAGE",
    "DOCKER",
    "DOCKER_DROP_ALL_CAPABILITIES",
    "DOCKER_EXTRA_ARGUMENTS",
    "DOCKER_IMAGE_CACHE_SIZE",
    "DOCKER_LOG_DRIVER_NONE",
    "DOCKER_MAP_ALL_GPUS",
    "DOCKER_MOUNT_VOLUMES",
    "DOCKER_PAT_PRODUCER",
    "DOCKER_PERFORM_TEST",
    "DOCKER_RUN_UNDER_INIT",
    "DOCKER_SHM_SIZE",
    "DOCKER_SKIP_IMAGE_ARCH_CHECK",
    "DOCKER_TEST_IMAGE_NAME",
    "DOCKER_TEST_IMAGE_PATH",
    "DOCKER_TRUST_LOCAL_IMAGES",
    "LIBEXEC",
    "SINGULARITY",
    "SINGULARITY_ADD_ROCM_FLAG",
    "SINGULARITY_ALLOWED_JOB_ENV_VARS",
    "SINGULARITY_BIND_EXPR",
    "SINGULARITY_EXTRA_ARGUMENTS",
    "SINGULARITY_IGNORE_MISSING_BIND_TARGET",
    "SINGULARITY_IMAGE_EXPR",
    "SINGULARITY_JOB",
    "SINGULARITY_RUN_TEST_BEFORE_JOB",
    "SINGULARITY_TARGET_DIR",
    "SINGULARITY_TEST_SANDBOX",
    "SINGULARITY_TEST_SANDBOX_TIMEOUT",
    "SINGULARITY_USE_LAUNCHER",
    "SINGULARITY_USE_PID_NAMESPACES",
    "SINGULARITY_VERBOSITY",
    "USE_DEFAULT_CONTAINER",
];

/// The knobs that name a program.
const PROGRAMS: &[&str] = &["DOCKER", "SINGULARITY"];

/// What the configuration says about containers.
#[derive(Clone, Debug, Default)]
pub struct ContainerKnobs {
    texts: BTreeMap<&'static str, BString>,
    volumes: Vec<Volume>,
}

/// A volume that DOCKER_MOUNT_VOLUMES names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name there.
    pub name: BString,
    /// `DOCKER_VOLUME_DIR_<name>`: `source` or `source:target[:options]`.
    pub directory: Option<BString>,
    /// `DOCKER_VOLUME_DIR_<name>_MOUNT_IF`, an expression.
    pub mount_if: Option<BString>,
}

impl ContainerKnobs {
    /// Reads them all.
    ///
    /// # Errors
    /// An expansion without end.
    pub fn read(view: &View<'_>) -> Result<Self, ValueError> {
        let text = |name: &str| Ok::<_, ValueError>(view.string(name)?.map(|setting| setting.value));
        let mut texts = BTreeMap::new();
        for name in NAMES {
            if let Some(value) = text(name)? {
                texts.insert(*name, value);
            }
        }
        for name in PROGRAMS {
            let found = texts.get(name).and_then(|program| on_path(program, view.world()));
            texts.extend(found.map(|found| (*name, found)));
        }
        let mut volumes = Vec::new();
        for name in texts.get("DOCKER_MOUNT_VOLUMES").into_iter().flat_map(|names| list::split(names)) {
            let knob = format!("DOCKER_VOLUME_DIR_{}", name.as_bstr());
            volumes.push(Volume {
                name: name.into(),
                directory: text(&knob)?,
                mount_if: text(&format!("{knob}_MOUNT_IF"))?,
            });
        }
        Ok(ContainerKnobs { texts, volumes })
    }

    /// A knob's text, if it is set to anything.
    pub fn text(&self, name: &str) -> Option<&BString> {
        debug_assert!(NAMES.contains(&name), "{name} is not read");
        self.texts.get(name)
    }

    /// The volumes in the order of DOCKER_MOUNT_VOLUMES.
    pub fn volumes(&self) -> &[Volume] {
        &self.volumes
    }

    /// The same with one knob set.
    #[cfg(test)]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<BString>) -> Self {
        self.texts.insert(name, value.into());
        self
    }
}

/// The absolute path of a program that is named without a directory. Only such a path is ever called: the calls begin in
/// directories that the job can write, and most of them with the rights of the daemons.
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
    use crate::os::RealWorld;

    #[test]
    fn a_program_is_never_found_where_a_job_could_have_laid_it() {
        let world = RealWorld::new();
        let shell = on_path(b"sh", &world).unwrap();
        assert!(shell.starts_with(b"/") && shell.ends_with(b"/sh"), "{shell}");
        for name in ["bin/docker", "./docker", "/bin/sh", "no-such-program-here", "", "sudo docker"] {
            assert_eq!(on_path(name.as_bytes(), &world), None, "{name}");
        }
    }
}
