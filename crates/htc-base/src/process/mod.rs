//! What a child process is to be and how it ended: plain data, no system call. `os` carries it out.

mod exit;
mod group;
mod signal;
mod spec;

pub use exit::{Exit, Usage};
pub use group::GroupSpec;
pub use signal::{signal_description, signal_number};
pub use spec::{Ancestor, ChildSpec, Identity, LeftBehind, Limit, LimitKind, Namespaces, Session, Stdio};
