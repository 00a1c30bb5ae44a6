//! Hooks of an HTC execution point and of a job router, run, tested and explained without any daemon.
//!
//! This is the library behind the seven `htc-*` programs. It reads the same configuration, the same ads and
//! the same unmodified hook scripts as an HTCondor pool (reference: version 25.14) and does with them what
//! the daemons do. This page is a summary of `ARCHITECTURE.md`. Everything except the
//! command lines is in separate crates (`crates/`), which this crate re-exports. A crate depends only on
//! crates above it in the table.
//!
//! | crate | here | content |
//! |---|---|---|
//! | `htc-classad` | [`classad`] | the ClassAd language |
//! | `htc-base` | [`text`], [`process`], [`world`], [`time`], [`quirks`], [`job`] | plain data, small text formats, HTCondor's terms |
//! | `htc-os` | [`os`] | access to the kernel, independent of slots and jobs |
//! | `htc-config` | [`config`], [`supported`] | the macro configuration; which of it is supported |
//! | `htc-transform` | [`transform`] | ad transforms |
//! | `htc-user-log` | [`user_log`], [`queue`] | job events; stored ads |
//! | `htc-hook` | [`hook`], [`transfer`], [`user_policy`], [`journal`] | the hook protocol, file transfer, job policies, records of actions in progress |
//! | `htc-slot` `htc-starter` `htc-router` | [`slot`], [`starter`], [`shadow`], [`router`] | state machines: pure, one step at a time |
//! | `htc-runner` | [`runner`] | execution of the state machines' actions |
//! | `htc-lint` | [`lint`] | mistakes that HTCondor does not report |
//! | `htc-lsp` | `lsp` | language server for editors, without input and output of its own |
//! | `htc-why` | [`why`] | conditions made true and false, comparisons |
//! | `htc-simulate` | [`simulate`], [`picture`] | simulation of the state machines with a manual clock |
//! | `htc-hook-testing` | [`hook_testing`] | calls of single hooks |
//! | this crate | `cli` | the only module that uses clap, anyhow, tables, standard output and exit statuses |
//!
//! Invariants, each enforced by a test or by Cargo: no I/O and no clock below `htc-runner` except in `htc-os`
//! (all outside state comes through [`world::World`]); evaluation is total; parsing reports every error with
//! its span and never aborts; a state machine is `step(now, event) -> actions`; an unknown attribute survives
//! every stage with its spelling; bytes are preserved.

pub use htc_base::{job, process, quirks, text, time, world};
pub use htc_classad as classad;
pub use htc_config as config;
pub use htc_config::supported;
pub use htc_hook as hook;
pub use htc_hook::{journal, transfer, user_policy};
pub use htc_hook_testing as hook_testing;
pub use htc_lint as lint;
#[cfg(feature = "cli")]
pub use htc_lsp as lsp;
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
