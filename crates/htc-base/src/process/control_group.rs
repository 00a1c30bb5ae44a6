//! Specification of a control group for a process and its descendants.

/// Device number of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    /// Driver.
    pub major: u32,
    /// Device of this driver.
    pub minor: u32,
}

/// Control group to be created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlGroupSpec {
    /// BASE_CGROUP, its parent, without leading and trailing slashes.
    pub parent_group: String,
    /// Name of the control group.
    pub name: String,
    /// Memory limit in bytes, or `None`.
    pub memory_limit: Option<u64>,
    /// Memory protected from reclaim when the machine is short of it, in bytes, or `None`.
    pub memory_low: Option<u64>,
    /// Limit of memory and swap together, in bytes, or `None`; never below `memory_limit`.
    pub memory_and_swap_limit: Option<u64>,
    /// CPU weight: 100 for each processor.
    pub cpu_weight: u64,
    /// True to limit the number of processes in the group to a fraction of the machine's maximum.
    pub limits_processes: bool,
    /// Character devices that cannot be opened.
    pub hidden_devices: Vec<DeviceNumber>,
    /// User and group id that may create subgroups, or `None`.
    pub delegated_to: Option<(u32, u32)>,
}
