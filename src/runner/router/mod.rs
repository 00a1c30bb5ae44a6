//! Carries out what the router asks for.
//!
//! | file | subject |
//! |---|---|
//! | `hooks` | one call of a router hook, to its end |

mod hooks;

pub use hooks::{Called, HookRunner, NoHook};
