//! Specification of a control group for a process and its descendants.

/// Number of a device in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    /// Major number, which selects the driver.
    pub major: u32,
    /// Minor number, which selects a device of the driver.
    pub minor: u32,
}

/// Control group to be created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlGroupSpec {
    /// Parent of the control group (BASE_CGROUP), without leading and trailing slashes.
    pub parent_group: String,
    /// Name of the control group.
    pub name: String,
    /// Memory limit in bytes, or `None` for no limit.
    pub memory_limit: Option<u64>,
    /// Amount of memory in bytes that the kernel does not reclaim when memory is short, or `None`.
    pub memory_low: Option<u64>,
    /// Limit of memory and swap space together, in bytes, or `None` for no limit; never below `memory_limit`.
    pub memory_and_swap_limit: Option<u64>,
    /// CPU weight: 100 for each CPU.
    pub cpu_weight: u64,
    /// True to limit the number of processes in the group to a fraction of the machine's maximum.
    pub limits_processes: bool,
    /// Character devices that the processes cannot open.
    pub hidden_devices: Vec<DeviceNumber>,
    /// User id and group id of the account that may create subgroups, or `None`.
    pub delegated_to: Option<(u32, u32)>,
}
