//! Evaluation: the evaluator, functions, matching, explanations and references of expressions.
//!
//! ```
//! use htc_classad::{ClassAd, Context, Expr, System, explain};
//! let slot = ClassAd::from([("Cpus", 1)]);
//! let (context, start) = (Context::new(&System).my(&slot), Expr::parse("Cpus > 0 && Cpus >= 4").unwrap());
//! assert!(!context.holds(&start));
//! assert_eq!(explain::first_not_true(&context, &start).unwrap().to_string(), "`Cpus >= 4` is false: Cpus is 1");
//! ```

mod argument_checks;
pub(crate) mod binding;
pub(crate) mod computed_value;
pub(crate) mod context;
pub(crate) mod eval_arena;
pub(crate) mod evaluator;
pub mod explain;
pub mod flatten;
pub(crate) mod functions;
pub(crate) mod logic;
mod matching;
pub(crate) mod observer;
pub(crate) mod operators;
mod prefilter;
pub(crate) mod reference_walk;
pub mod references;
pub(crate) mod scope;
#[cfg(feature = "serde")]
mod serde_ads;

pub use argument_checks::argument_error;
pub use context::{AttributeResult, Context};
pub use logic::Truth;
pub use matching::MatchAd;
pub use observer::{ExprPart, NameLocation, Observer};
pub use prefilter::{AdRole, EqualityGuards, LoadedValues, Prefilter};
#[cfg(feature = "serde")]
pub use serde_ads::{FieldError, from_ad, to_ad};
