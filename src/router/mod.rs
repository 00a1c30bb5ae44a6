//! The job router as a pure machine: routes, choice, limits, the life of a routed job.

mod hook_verdict;

pub use hook_verdict::{HookAnswer, HookDecision, HookVerdict, hook_verdict};
