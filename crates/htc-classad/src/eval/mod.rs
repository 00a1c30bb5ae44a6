//! What expressions mean: evaluation, the functions, matching, and what can be told of an expression in its ads.

pub(crate) mod arena;
pub(crate) mod binding;
pub(crate) mod computed;
pub(crate) mod context;
pub(crate) mod evaluator;
pub mod explain;
pub mod flatten;
pub(crate) mod functions;
mod matching;
pub(crate) mod observer;
pub(crate) mod operators;
pub mod references;
mod refusal;
pub(crate) mod scope;
mod screen;
pub(crate) mod truth;
#[cfg(feature = "serde")]
mod typed;
pub(crate) mod walk;

pub use context::Context;
pub use matching::MatchAd;
pub use observer::{Observer, Part, Place};
pub use screen::{Guards, Loaded, Role, Screen};
pub use truth::Truth;
#[cfg(feature = "serde")]
pub use typed::{FieldError, from_ad, to_ad};
