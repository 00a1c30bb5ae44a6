//! Hooks of an HTC execution point and of a job router, run, tested and explained without any daemon.
//!
//! The library behind the seven `htc-*` programs. It reads the same configuration, the same ads and the same
//! unmodified hook scripts as an HTCondor pool (reference: version 25.14) and does with them what the daemons do.
//! `ARCHITECTURE.md` holds the full map; this is the short one. A layer imports only lower layers, rooms of one
//! layer do not import one another, and nothing in L2 to L4 touches the operating system.
//!
//! | layer | rooms | what they are |
//! |---|---|---|
//! | L0 | [`text`], [`process`], [`world`], [`time`], [`quirks`], [`honoured`] | plain data and small text languages |
//! | L1 | [`classad`], [`os`] | the ClassAd language, a crate of its own (`crates/classad`); the kernel, which knows no slot |
//! | L2 | [`config`], [`job`] | the macro configuration; the field's words |
//! | L3 | [`transform`], [`transfer`], [`hook`], [`queue`], [`user_log`], [`user_policy`], [`journal`] | ad transforms, file transfer, the hook protocol, stored ads, job events, the policy of jobs, records of what is under way |
//! | L4 | [`router`], [`slot`], [`starter`], [`shadow`] | the machines: pure, one step at a time |
//! | L5 | [`runner`] | carries out what the machines ask for |
//! | L6 | `cli` | the only place that knows clap, anyhow, tables, stdout and exit codes |
//!
//! Invariants, each held by a test: no I/O and no clock below L5 except in `os` (everything outside comes through
//! [`world::World`]); evaluation is total; parsing reports every error with its span and never aborts; a machine is
//! `step(now, event) -> actions`; an attribute nobody knows survives every stage with its spelling; bytes are kept.

pub use htc_classad as classad;

pub mod config;
pub mod honoured;
pub mod hook;
pub mod job;
pub mod journal;
pub mod os;
pub mod picture;
pub mod process;
pub mod queue;
pub mod quirks;
pub mod router;
pub mod runner;
pub mod shadow;
pub mod slot;
pub mod starter;
pub mod text;
pub mod time;
pub mod transfer;
pub mod transform;
pub mod user_log;
pub mod user_policy;
pub mod world;

#[cfg(feature = "cli")]
pub mod cli;
