//! Control groups: made for a job, limited, looked at, emptied, removed.
//!
//! A machine may have version 2, version 1, or some controllers of each; a job's group is then one directory in every
//! hierarchy that has a controller of use. What differs between the versions stands behind the trait `version::Version`.
//! Reference: `proc_family_direct_cgroup_v2.cpp`, `proc_family_direct_cgroup_v1.cpp`.

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
