//! Tests of `htc-router-translate` and `htc-router-status`.

#[cfg(feature = "cli")]
pub(crate) mod compare;
#[cfg(feature = "cli")]
pub(crate) mod compare_random;
pub(crate) mod live;
pub(crate) mod live_spool;
pub(crate) mod machine;
pub(crate) mod routes;
pub(crate) mod simulate;
pub(crate) mod stages;
pub(crate) mod tokens;
pub(crate) mod transform_compare;
#[cfg(feature = "cli")]
pub(crate) mod transform_lint;
#[cfg(feature = "cli")]
pub(crate) mod transform_verb;
