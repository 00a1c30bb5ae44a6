//! Directories, hooks, machines and waits that tests share.

pub(crate) mod children;
pub(crate) mod dice;
pub(crate) mod machine;
#[cfg(feature = "cli")]
pub(crate) mod manual_files;
pub(crate) mod place;
#[cfg(feature = "cli")]
pub(crate) mod point;
pub(crate) mod queue_of_files;
pub(crate) mod simulate_place;
#[cfg(feature = "cli")]
pub(crate) mod tool;
pub(crate) mod waiting;

/// Returns true if tests try all combinations of inputs instead of a selection: `.ci/full` sets `HTC_ALL_COMBINATIONS`.
pub(crate) fn tests_all_combinations() -> bool {
    std::env::var_os("HTC_ALL_COMBINATIONS").is_some()
}
