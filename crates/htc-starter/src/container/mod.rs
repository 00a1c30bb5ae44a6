//! Jobs in containers, as pure functions: the choice of the runtime, its command lines in order, and the interpretation
//! of the runtime's output.
//!
//! The inputs are job, slot and parameters. The result is a [`ContainerPlan`]: the command line with the reason for
//! each of its words, mounts, environment, limits, and the container to remove. `--dry-run` prints the plan, and the
//! runner executes it; a runtime is a child process like any other. A query to the runtime, for its version or its
//! images, is a [`ToolCall`] whose output the starter waits for.
//!
//! Reference: `singularity.cpp`, `docker_proc.cpp`, `docker-api.cpp`.

mod capability;
mod docker;
mod docker_create;
mod docker_credentials;
mod docker_images;
mod docker_state;
mod docker_usage;
mod environment;
mod inputs;
mod parameters;
mod plan;
mod rehearsal;
mod runtime_choice;
mod singularity;
mod singularity_binds;
mod tool;
mod version;

pub use capability::{Capabilities, CapabilityProbe};
pub(super) use docker::is_architecture_compatible as docker_fits;
pub use docker::{
    DockerNames, docker_program, has_label_call, parse_docker_parameter, remove_call, untag_call,
};
pub use docker_create::plan_docker_container;
pub use docker_credentials::docker_config_directory;
pub(super) use docker_credentials::{config_from_producer, docker_config_from_ad, producer_call};
pub(super) use docker_images::parse_last_tagged;
pub use docker_images::{
    DockerImage, ImagePruning, image_cache_mib, last_tagged_call, list_all_images_call, list_images_call,
    parse_images,
};
pub use docker_state::{ContainerState, inspect_state_call};
pub(super) use docker_usage::undefined_host_ports;
pub use docker_usage::{DockerUsage, host_ports, ports_request};
pub use inputs::{ContainerHost, ContainerInputs, SettingRemark, SettingRemarks};
pub use parameters::{ContainerParameters, DockerVolume, on_path};
pub use plan::{
    AnnotatedArguments, AnnotatedCommandLine, ContainerLimit, ContainerMount, ContainerPlan,
    ContainerRuntime, UnusedContainerSetting,
};
pub use rehearsal::rehearsed_answer;
pub use runtime_choice::{RuntimeChoice, choose_runtime};
pub(super) use singularity::version_failure;
pub use singularity::{plan_singularity_process, test_call, test_failure, version_call};
pub use tool::{ToolAccount, ToolCall, ToolEnvironment};
pub use version::RuntimeVersion;
