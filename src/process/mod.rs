//! What a child process is to be and how it ended: plain data, no system call. `os` carries it out.

mod exit;
mod spec;

pub use exit::{Exit, Usage};
pub use spec::{ChildSpec, Identity, Limit, LimitKind, Session, Stdio};
