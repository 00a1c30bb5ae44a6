//! Process behaviour: signals, families, deadlines, pipes, with real children.

// Clippy's permission for tests does not reach their helpers.
#![allow(clippy::unwrap_used)]

mod reactor;
mod sandbox;
mod starter;
