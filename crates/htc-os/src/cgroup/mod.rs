//! Control groups of jobs: creation, limits, usage, killing and removal.
//!
//! A machine may have version 2, version 1, or some controllers in each version. The group of a job is then
//! one directory in every hierarchy with a controller that is used. The trait `version::CgroupVersion` hides
//! the differences between the versions. Reference: `proc_family_direct_cgroup_v2.cpp`,
//! `proc_family_direct_cgroup_v1.cpp`.

mod group;
mod hierarchy;
mod oom_score;
mod usage;
mod v1;
mod v2;
mod version;

pub use group::remove_leftover_group;
pub use group::{ControlGroup, GroupCreationError, GroupSetting, GroupSettingResult};
pub use hierarchy::reference_uses_cgroups;
pub use oom_score::with_job_oom_score;
pub use usage::GroupUsage;
