//! Names used with docker: the program, the container, the image, and the tag that marks an image as one of ours.
//!
//! Reference: `DockerProc::StartJob` of `docker_proc.cpp`, `add_docker_arg`, `toAnnotatedImageName` of `docker-api.cpp`.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::docker_credentials::{docker_config_directory, wants_docker_credentials};
use super::inputs::ContainerInputs;
use super::parameters::ContainerParameters;
use super::plan::ContainerPlan;
use super::tool::{PULL_TIMEOUT, ToolAccount, ToolCall, ToolEnvironment};
use crate::start_failure::StartFailure;
use htc_base::job::attr;
use htc_base::quirks::Quirk;

/// Prefix of the tags of our images, followed by the user.
const OWN_IMAGE_PREFIX: &str = "htcondor.org/";

/// Returns the beginning of every docker command line: the program in DOCKER, or sudo and the program after it.
///
/// # Errors
/// Returns an error if DOCKER is not set or is not valid.
pub fn docker_program(parameters: &ContainerParameters) -> Result<Vec<BString>, StartFailure> {
    let parameter = parameters.text("DOCKER").ok_or_else(|| StartFailure::silent("DOCKER is undefined."))?;
    let invalid = || StartFailure::silent(format!("DOCKER is defined as '{parameter}' which is not valid."));
    parse_docker_parameter(parameter).ok_or_else(invalid)
}

/// Splits the value of DOCKER into words; returns `None` for sudo alone.
pub fn parse_docker_parameter(parameter: &[u8]) -> Option<Vec<BString>> {
    match parameter.strip_prefix(b"sudo ").map(ByteSlice::trim_start) {
        Some(b"") => None,
        Some(program) => Some(vec!["/usr/bin/sudo".into(), program.into()]),
        None => Some(vec![parameter.into()]),
    }
}

/// Returns the call that reads the label which all our containers have.
pub fn has_label_call(program: &[BString], container: &str) -> ToolCall {
    let format = "{{index .Config.Labels \"org.htcondorproject\"}}";
    ToolCall {
        limit: CLEANUP_TIMEOUT,
        ..ToolCall::new(program, ["inspect", "--format", format, container], ToolAccount::Starter)
    }
}

/// Returns the call that removes a container left by another starter.
pub fn remove_call(program: &[BString], container: &str) -> ToolCall {
    ToolCall {
        limit: CLEANUP_TIMEOUT,
        ..ToolCall::new(program, ["rm", "-f", "-v", container], ToolAccount::Starter)
    }
}

/// Returns the call that removes the image with this name.
pub fn untag_call(program: &[BString], image: &str) -> ToolCall {
    ToolCall { limit: CLEANUP_TIMEOUT, ..ToolCall::new(program, ["rmi", image], ToolAccount::Starter) }
}

/// Time limit of [`has_label_call`], [`remove_call`] and [`untag_call`].
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Names of one job's container and image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DockerNames {
    /// Beginning of every docker command line: the program, possibly after sudo.
    pub program: Vec<BString>,
    /// Name of the container.
    pub container: BString,
    /// Name of the image.
    pub image: BString,
    /// Attribute or parameter that names the image.
    pub image_from: &'static str,
    /// Our tag for the image. The image is treated as present if docker has this tag.
    pub own_image: BString,
    /// True if the job may use an image that other users pulled (DOCKER_TRUST_LOCAL_IMAGES).
    pub trusts_local_images: bool,
    /// Reason why the image cannot be tagged; reported after docker has listed its images.
    pub fault: Option<StartFailure>,
    /// Directory of docker's configuration, if the job provides registry credentials.
    pub config: Option<PathBuf>,
}

impl DockerNames {
    /// Determines the names for the container and the image of a job.
    ///
    /// # Errors
    /// Returns an error if DOCKER is not valid or nothing names an image.
    pub fn from_inputs(inputs: &ContainerInputs<'_>) -> Result<Self, StartFailure> {
        let named = ["DockerImage", "ContainerImage"];
        let mut found = named.iter().filter_map(|name| inputs.job_string(name).map(|image| (image, *name)));
        let Some((image, image_from)) = found.next() else {
            let text = "Neither DockerImage nor ContainerImage defined in job ad, unable to start job.";
            return Err(StartFailure::silent(text));
        };
        let program = docker_program(inputs.parameters())?;
        let image = with_tag(image.strip_prefix(b"docker://").unwrap_or(&image));
        let (trusting, fault) = match inputs.plain_boolean_parameter("DOCKER_TRUST_LOCAL_IMAGES") {
            Ok(trusting) => (trusting, None),
            Err(failure) => (false, Some(failure)),
        };
        // 25.14 reads the account only from User.
        let with_owner = !inputs.job_inputs.quirks.reproduces(Quirk::OwnerIgnored);
        let owner = || inputs.job_string(attr::OWNER).filter(|_| with_owner);
        let user = inputs.job_string(attr::USER).or_else(owner).unwrap_or_default().replace("@", "_at_");
        let nobody = || {
            StartFailure::silent(format!(
                "the job ad has no User, so the image {image} cannot be tagged for a user"
            ))
        };
        let fault = fault.or_else(|| (!trusting && user.is_empty()).then(nobody));
        let own = match trusting {
            true => image.clone(),
            false => [OWN_IMAGE_PREFIX.as_bytes(), &user, b"/", &image].concat().into(),
        };
        let job = inputs.job_inputs.job;
        let (slot, pid) = (inputs.job_inputs.slot, inputs.job_inputs.starter_pid);
        let container = format!("HTCJob{}_{}_{slot}_PID{pid}", job.cluster, job.proc).into();
        let sends = wants_docker_credentials(inputs.job_inputs.ad, inputs.job_inputs.world);
        let config = sends.then(|| docker_config_directory(&inputs.host.slot_directory));
        Ok(DockerNames {
            program,
            container,
            image,
            image_from,
            own_image: own,
            trusts_local_images: trusting,
            fault,
            config,
        })
    }

    /// Returns a call with a short time limit about the container or the image.
    pub fn short_call<W: Into<BString>>(&self, words: impl IntoIterator<Item = W>) -> ToolCall {
        ToolCall::new(&self.program, words, ToolAccount::Starter)
    }

    /// Returns the `pull` call. Its standard error goes to a file, for the error message.
    pub fn pull_call(&self, inputs: &ContainerInputs<'_>) -> ToolCall {
        let words: [BString; 3] = ["pull".into(), "-q".into(), self.image.clone()];
        self.long_call(words.to_vec(), inputs)
    }

    /// Returns a call that runs under the daemons' account and writes its standard error to a file in the scratch
    /// directory.
    fn long_call(&self, words: Vec<BString>, inputs: &ContainerInputs<'_>) -> ToolCall {
        ToolCall {
            environment: ToolEnvironment::InheritedWithHome(inputs.host.daemon_home.clone()),
            limit: PULL_TIMEOUT,
            errors: Some(inputs.job_inputs.scratch.join(STDERR_FILE)),
            directory: Some("/".into()),
            extra_variables: self.config.iter().map(|path| config_variable(path)).collect(),
            ..ToolCall::new(&self.program, words, ToolAccount::Daemon)
        }
    }

    /// Returns the call that creates the planned container.
    pub fn create_call(&self, plan: &ContainerPlan, inputs: &ContainerInputs<'_>) -> ToolCall {
        let words = plan.line.words();
        self.long_call(words[self.program.len().min(words.len())..].to_vec(), inputs)
    }

    /// Returns the `tag` call, which marks the image as ours and records when it was last used.
    pub fn tag_call(&self) -> ToolCall {
        self.short_call([BString::from("tag"), self.image.clone(), self.own_image.clone()])
    }

    /// Returns the call that reads the architecture of the image.
    pub fn architecture_call(&self) -> ToolCall {
        let words = ["inspect", "--format", "{{.Architecture}}"].map(BString::from);
        self.short_call(words.into_iter().chain([self.image.clone()]))
    }

    /// Returns the `rm` call, which also removes the container's volumes.
    pub fn remove_container_call(&self) -> ToolCall {
        self.short_call([BString::from("rm"), "-f".into(), "-v".into(), self.container.clone()])
    }

    /// Returns the `kill --signal` call.
    pub fn kill_call(&self, signal: i32) -> ToolCall {
        let signal = BString::from(signal.to_string());
        self.short_call([BString::from("kill"), "--signal".into(), signal, self.container.clone()])
    }

    /// Returns the `pause` or `unpause` call.
    pub fn pause_call(&self, pause: bool) -> ToolCall {
        self.short_call([BString::from(if pause { "pause" } else { "unpause" }), self.container.clone()])
    }

    /// Returns the command line of the process that represents the job and has the job's standard files.
    pub fn start_command(&self) -> Vec<BString> {
        let words = [BString::from("start"), "-a".into(), self.container.clone()];
        self.program.iter().cloned().chain(words).collect()
    }
}

/// Returns the variable that names the directory of docker's configuration.
fn config_variable(directory: &Path) -> BString {
    [b"DOCKER_CONFIG=", directory.as_os_str().as_bytes()].concat().into()
}

/// File for the standard error of `pull` and `create`.
const STDERR_FILE: &str = ".docker_stderror";

/// Adds `:latest` if the image has neither a tag nor a digest. The colon of a registry's port does not start a tag.
fn with_tag(image: &[u8]) -> BString {
    let last = image.rfind_byte(b'/').map_or(0, |at| at + 1);
    match image.contains(&b'@') || image[last..].contains(&b':') {
        true => image.into(),
        false => [image, b":latest"].concat().into(),
    }
}

/// Returns the name of the image to which one of our tags refers. If `trusting` is true, the tag itself is the name.
pub(super) fn original_image_name(own: &[u8], trusting: bool) -> Option<BString> {
    if trusting {
        return Some(own.into());
    }
    let (_, image) = own.strip_prefix(OWN_IMAGE_PREFIX.as_bytes())?.split_once_str("/")?;
    Some(image.into())
}

/// Returns true if the name is one of our tags.
pub(super) fn is_own_image(name: &[u8]) -> bool {
    name.starts_with(OWN_IMAGE_PREFIX.as_bytes())
}

/// Returns true if an image for this architecture runs here. Only x86-64 is checked; an empty value is accepted.
pub(crate) fn is_architecture_compatible(architecture: &[u8]) -> bool {
    let architecture = architecture.lines().next().unwrap_or_default().trim();
    !cfg!(target_arch = "x86_64") || architecture.is_empty() || architecture == b"amd64"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_tag_is_the_latest_one() {
        for (image, expected) in [
            ("alpine", "alpine:latest"),
            ("alpine:3", "alpine:3"),
            ("alpine@sha256:0123", "alpine@sha256:0123"),
            ("reg:5000/x/y", "reg:5000/x/y:latest"),
            ("reg:5000/x/y:1", "reg:5000/x/y:1"),
            (" alpine:3 ", " alpine:3 "),
        ] {
            assert_eq!(with_tag(image.as_bytes()), expected);
        }
    }

    #[test]
    fn our_tag_contains_the_name_of_the_image() {
        assert_eq!(
            original_image_name(b"htcondor.org/alice_at_x/reg:5000/a:1", false),
            Some("reg:5000/a:1".into())
        );
        assert_eq!(original_image_name(b"alpine:3", false), None);
        assert_eq!(original_image_name(b"alpine:3", true), Some("alpine:3".into()));
    }

    #[test]
    fn an_image_without_an_architecture_is_accepted() {
        assert!(is_architecture_compatible(b"") && is_architecture_compatible(b"\n"));
        if cfg!(target_arch = "x86_64") {
            assert!(is_architecture_compatible(b"amd64\n") && !is_architecture_compatible(b"arm64\n"));
        }
    }
}
