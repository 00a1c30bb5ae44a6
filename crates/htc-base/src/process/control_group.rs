//! The control group that a process and all that descends from it are to be in, before it exists.

/// A control group to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlGroupSpec {
    /// BASE_CGROUP: what it is made below, without slashes around it.
    pub parent_group: String,
    /// Its name.
    pub name: String,
    /// Limit of memory in bytes.
    pub memory_limit: Option<u64>,
    /// Memory that is left to it when the machine has too little, in bytes.
    pub memory_low: Option<u64>,
    /// Limit of memory and swap space together, in bytes; never below `memory`.
    pub memory_and_swap_limit: Option<u64>,
    /// Share of the processors; 100 for each processor.
    pub cpu_weight: u64,
    /// Whether it holds no more processes than a part of what the machine can have.
    pub limits_processes: bool,
    /// Character devices that cannot be opened: major and minor number.
    pub hidden_devices: Vec<(u32, u32)>,
    /// Who may make groups in it: user and group id.
    pub delegated_to: Option<(u32, u32)>,
}
