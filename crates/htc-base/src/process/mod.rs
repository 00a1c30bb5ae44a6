//! Child processes: specification and exit status as plain data, without system calls. The crate `htc-os` executes them.

mod child_spec;
mod control_group;
mod exit;
mod process_instance;
mod signal;

pub use child_spec::{
    AncestorStamp, ChildSpec, LeftoverPolicy, Namespaces, ProcessIdentity, ResourceLimit, ResourceLimitKind,
    SessionMode, Stdio,
};
pub use control_group::{ControlGroupSpec, DeviceNumber};
pub use exit::{Exit, ProcessUsage};
pub use process_instance::ProcessInstance;
pub use signal::{signal_description, signal_number};
