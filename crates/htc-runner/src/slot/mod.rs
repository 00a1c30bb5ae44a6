//! Carries out what the execution point's machine asks for: hooks, starters, signals, clocks.
//!
//! [`run`] is the live runner: one thread, one reactor. The machine decides, this room only does; what goes wrong in
//! doing becomes an event for the machine.

mod account;
mod asked;
mod at_rest;
mod benchmarks;
mod client;
mod cron;
mod execute;
mod idle;
mod image_cache;
mod live;
mod measure;
mod notices;
mod noting;
mod odd_settings;
mod offers;
mod options;
mod orders;
mod private;
mod relay;
mod requests;
mod run;
mod run_journal;
mod running_hook;
mod running_hooks;
mod sleep;
mod sleeper;
mod starter_calls;
mod starter_config;
mod starter_program;
mod starters;
mod state_directory;
mod usage;
mod verdicts;

pub use account::{HookAccount, hook_account};
pub use at_rest::{at_rest, surroundings_of};
pub use client::client_of_backfill;
pub use execute::{check_directories, check_room, clean_execute};
pub use idle::InputDevices;
pub use live::Outcome;
pub use measure::Measure;
pub use notices::{event as event_of_notice, slot_name};
pub use odd_settings::{empty_macro, lease, odd_settings};
pub use offers::{AskedSlots, Considered, Detail, KnownNames, OfferChange, changes};
pub use options::{Check, Options, Reload};
pub use private::{Private, remove_abandoned};
pub use requests::{Answer, DrainNow, Request, SlotStatus, ask};
pub use run::{RunError, run};
pub use run_journal::{Owed, Recovered, RunJournal, told as journal_error};
pub use sleeper::Sleeper;
pub use starter_config::StarterConfig;
pub use starter_program::{NoStarter, StarterProgram};
pub use state_directory::{default_socket, make_state_directory, state_directory};
