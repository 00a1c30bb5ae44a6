//! Jobs against slots: which slots accept a job, which clause refuses it, and what to change.

mod analysis;
mod bit_set;
mod cause;
mod clause_table;
mod clauses;
mod comparison_boundary;
mod counted_group;
mod devices;
mod evidence;
mod explanation;
mod grouping;
mod job_change;
mod key_names;
mod machine_slots;
mod name_closure;
mod number_comparison;
mod parallel_grouping;
mod seen_values;
mod sentence;
mod side_names;
mod slot_set;
mod slot_view;
mod suggestions;

pub use analysis::{Analysis, JobGroup, SlotGroup};
pub use cause::{Cause, MissingAttribute};
pub use clauses::{ClauseSide, JobCondition};
pub use counted_group::JobPlace;
pub use explanation::{JobGroupExplanation, SlotGroupExplanation, SuggestedChange};
pub use grouping::JobGrouper;
pub use job_change::{JobChange, Suggestion};
pub use machine_slots::MachineSlots;
pub use parallel_grouping::{JobCounter, SharedGrouper};
pub use side_names::SideNames;
pub use slot_set::{AdPool, OtherRefusal, SlotSet, requires_devices};
pub use slot_view::{SlotCause, SlotView};
