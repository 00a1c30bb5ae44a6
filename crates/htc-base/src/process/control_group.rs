//! Specification of a control group for a process and its descendants.

/// Control group to be created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlGroupSpec {
    /// BASE_CGROUP, its parent, without leading and trailing slashes.
    pub parent_group: String,
    /// Its name.
    pub name: String,
    /// Memory limit in bytes, or `None`.
    pub memory_limit: Option<u64>,
    /// Memory protected from reclaim when the machine is short of it, in bytes, or `None`.
    pub memory_low: Option<u64>,
    /// Limit of memory and swap together, in bytes, or `None`; never below `memory_limit`.
    pub memory_and_swap_limit: Option<u64>,
    /// CPU weight: 100 for each processor.
    pub cpu_weight: u64,
    /// True to limit its number of processes to a fraction of the machine's maximum.
    pub limits_processes: bool,
    /// Character devices that cannot be opened: major and minor number.
    pub hidden_devices: Vec<(u32, u32)>,
    /// User and group id that may create groups in it, or `None`.
    pub delegated_to: Option<(u32, u32)>,
}
