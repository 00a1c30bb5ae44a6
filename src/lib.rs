//! Hooks of an HTC execution point and of a job router, run, tested and explained without any daemon.
//!
//! The library behind the seven `htc-*` programs. It reads the same configuration, the same ads and the same
//! unmodified hook scripts as an HTCondor pool (reference: version 25.14) and does with them what the daemons do.
//! `ARCHITECTURE.md` holds the full map; this is the short one. All but the command lines stands in crates of their own
//! (`crates/`), which are here under one roof. A crate depends on those above it in the table only.
//!
//! | crate | here | what it is |
//! |---|---|---|
//! | `htc-classad` | [`classad`] | the ClassAd language |
//! | `htc-base` | [`text`], [`process`], [`world`], [`time`], [`quirks`], [`job`] | plain data and small text languages; the field's words |
//! | `htc-os` | [`os`] | the kernel, which knows no slot |
//! | `htc-config` | [`config`], [`supported`] | the macro configuration; what of it is honoured |
//! | `htc-transform` | [`transform`] | ad transforms |
//! | `htc-user-log` | [`user_log`], [`queue`] | job events; stored ads |
//! | `htc-hook` | [`hook`], [`transfer`], [`user_policy`], [`journal`] | the hook protocol, file transfer, the policy of jobs, records of what is under way |
//! | `htc-slot` `htc-starter` `htc-router` | [`slot`], [`starter`], [`shadow`], [`router`] | the machines: pure, one step at a time |
//! | `htc-runner` | [`runner`] | carries out what the machines ask for |
//! | `htc-lint` | [`lint`] | what is wrong and told by nobody else |
//! | `htc-why` | [`why`] | conditions made true and not true, comparisons |
//! | `htc-simulate` | [`simulate`], [`picture`] | machines played with a manual clock |
//! | `htc-hook-testing` | [`hook_testing`] | hooks called by themselves |
//! | this one | `cli` | the only place that knows clap, anyhow, tables, stdout and exit codes |
//!
//! Invariants, each held by a test or by Cargo: no I/O and no clock below `htc-runner` except in `htc-os` (everything outside
//! comes through [`world::World`]); evaluation is total; parsing reports every error with its span and never aborts; a machine is
//! `step(now, event) -> actions`; an attribute nobody knows survives every stage with its spelling; bytes are kept.

pub use htc_base::{job, process, quirks, text, time, world};
pub use htc_classad as classad;
pub use htc_config as config;
pub use htc_config::supported;
pub use htc_hook as hook;
pub use htc_hook::{journal, transfer, user_policy};
pub use htc_hook_testing as hook_testing;
pub use htc_lint as lint;
pub use htc_os as os;
pub use htc_router as router;
pub use htc_runner as runner;
pub use htc_simulate as simulate;
pub use htc_simulate::picture;
pub use htc_slot as slot;
pub use htc_starter as starter;
pub use htc_starter::shadow;
pub use htc_transform as transform;
pub use htc_user_log as user_log;
pub use htc_user_log::queue;
pub use htc_why as why;

#[cfg(feature = "cli")]
pub mod cli;
