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

/// True if tests that choose some of many combinations of inputs try all of them: `.ci/full` sets `HTC_ALL_COMBINATIONS`.
pub(crate) fn tests_all_combinations() -> bool {
    std::env::var_os("HTC_ALL_COMBINATIONS").is_some()
}
