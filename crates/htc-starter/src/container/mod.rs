//! Jobs in containers, as pure functions: which runtime a job gets, every command line of that runtime in order, and
//! what its answers mean.
//!
//! Job, slot and knobs go in; a [`ContainerPlan`] comes out: command line with the reason for each of its words,
//! mounts, environment, limits, what has to be removed. `--dry-run` prints it, the runner carries it out; a runtime is a
//! child like any other. What a runtime has to be asked first (its version, its images) is a [`ToolCall`] with an
//! answer.
//!
//! Reference: `singularity.cpp`, `docker_proc.cpp`, `docker-api.cpp`; recordings c20 to c24 and c37.

mod capability;
mod choice;
mod docker;
mod docker_create;
mod docker_credentials;
mod docker_images;
mod docker_state;
mod docker_usage;
mod environment;
mod knobs;
mod plan;
mod rehearsal;
mod singularity;
mod singularity_binds;
mod surroundings;
mod tool;
mod version;

pub use capability::{Capabilities, Probe};
pub use choice::{Choice, choose};
pub(super) use docker::fits as docker_fits;
pub use docker::{DockerNames, docker_program, docker_words, label_call, remove_call, untag_call};
pub use docker_create::create;
pub use docker_credentials::docker_config;
pub(super) use docker_credentials::{config, config_of, producer_call};
pub(super) use docker_images::parse_tags;
pub use docker_images::{Image, Pruning, all_images_call, cached_mib, images_call, parse_images, tags_call};
pub use docker_state::{ContainerState, state_call};
pub(super) use docker_usage::no_host_ports;
pub use docker_usage::{DockerUsage, host_ports, ports_request};
pub use knobs::{ContainerKnobs, Volume, on_path};
pub use plan::{CommandLine, ContainerPlan, Limit, Mount, Passed, Piece, Runtime};
pub use rehearsal::rehearsed_answer;
pub(super) use singularity::version_failed;
pub use singularity::{singularity, test_call, test_failure, version_call};
pub use surroundings::{Inputs, Remark, Remarks, Surroundings};
pub use tool::{Actor, ToolCall, Variables};
pub use version::Version;
