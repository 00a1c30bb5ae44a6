//! Tests of `htc-classad-eval`.

#[cfg(feature = "cli")]
pub(crate) mod reading;
#[cfg(feature = "cli")]
pub(crate) mod values;
