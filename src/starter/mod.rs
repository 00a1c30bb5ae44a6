//! The starter as a pure machine: one job with its hooks, sandbox, updates and outcome.
