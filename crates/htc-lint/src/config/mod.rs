//! Finding what is wrong in a configuration and what the daemons pass over in silence.
//!
//! Every rule must be right nearly always: a warning that people learn to skip is worse than none. What only may be
//! wrong (a name that some script may read) is left alone or told with its reason.

mod brackets;
mod families;
mod known;
mod lists;
mod names;
mod parameters;
mod referenced;
mod references;
mod removed;
mod rules;
mod scripts;
mod standing;
mod subject;
pub mod usage;
mod values;

pub use brackets::{Unbalanced, unbalanced};
pub use htc_config::finding::{Finding, sort};
pub use htc_config::spot::Spot;
pub use known::Known;
pub use parameters::DAEMONS;
pub use rules::lint;
pub use standing::{Standing, Unread};
pub use subject::Subject;
