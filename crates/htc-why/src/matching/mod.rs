//! Jobs against slots: which slots accept a job, which clause refuses it, and what to change.

mod analysis;
mod bit_set;
mod cause;
mod clause_table;
mod clauses;
mod evidence;
mod explanation;
mod grouping;
mod job_change;
mod name_closure;
mod number_comparison;
mod seen_values;
mod sentence;
mod slot_set;
mod slot_view;
mod suggestions;

pub use analysis::{Analysis, JobGroup, SlotGroup};
pub use cause::{Cause, MissingAttribute};
pub use clauses::ClauseSide;
pub use grouping::JobGrouper;
pub use job_change::{JobChange, Suggestion};
pub use slot_set::{AdPool, OtherRefusal, SlotSet, requires_devices};
pub use slot_view::{SlotCause, SlotView};
