//! Explanations why jobs do not run, and comparisons of rule sets.
//!
//! - [`matching`] explains which slots accept which jobs, which condition refuses the others, and what to change.
//! - [`coverage`] searches for ads that make each part of each condition true and not true.
//! - [`transform_comparison`] and [`router_comparison`] decide if two transforms or two routers do the same.
//!
//! # Matching
//!
//! The engine compares jobs with slots. A [`matching::SlotSet`] supplies the slots: the ads of a pool
//! ([`matching::AdPool`]), the slots of a configuration, or anything else that accepts or refuses jobs.
//!
//! 1. Jobs that are equivalent for every slot form one [`matching::JobGroup`], and slots that are equivalent for every
//!    job form one [`matching::SlotGroup`]. Two jobs are in the same group if they have the same expressions for all
//!    attributes that the conditions of slots and their own Requirements read, directly or through other attributes.
//! 2. Requirements of both sides are split into clauses at `&&`; names of the same ad, such as START and
//!    WithinResourceLimits, are replaced by their definitions. A clause is evaluated once for each combination of the
//!    values that it reads.
//! 3. For each group of jobs, a [`matching::Cause`] counts the slots that a clause refuses, and those that it *alone*
//!    refuses. It has the values of these slots, the attributes that are missing, and the place where a configuration
//!    sets the clause.
//! 4. A [`matching::Suggestion`] is a small change to the job that makes more slots accept it. It is found at the
//!    boundary of a comparison and is verified by evaluating the changed job against every group of slots.
//! 5. The other direction, [`matching::SlotView`], counts for a group of slots the jobs that it accepts and the clauses
//!    that refuse the others.
//!
//! ```
//! use htc_classad::{ClassAd, Dialect};
//! use htc_why::matching::{AdPool, Analysis, JobGrouper};
//! let ad = |text: &str| ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).unwrap();
//! let slot = "[ Memory = 2000; Requirements = TARGET.RequestMemory <= MY.Memory ]";
//! let world = htc_os::RealWorld::new();
//! let pool = AdPool::new(vec![("slot1".into(), ad(slot)), ("slot2".into(), ad(slot))], &world);
//! let mut jobs = JobGrouper::new(&pool);
//! jobs.add("1.0".into(), ad("[ RequestMemory = 32000 ]"));
//! jobs.add("1.1".into(), ad("[ RequestMemory = 32000 ]"));
//! let analysis = Analysis::new(&pool, jobs);
//! let kind = &analysis.job_groups()[0];
//! assert_eq!((kind.count, kind.accepting_slots), (2, 0));
//! assert_eq!(
//!     analysis.causes(0)[0].sentence,
//!     "TARGET.RequestMemory <= MY.Memory is not true: the slots have 2000 MiB, the job asks for 32000 MiB"
//! );
//! let suggestions = analysis.suggestions(0, 3);
//! assert_eq!(suggestions[0].to_string(), "RequestMemory 2000 instead of 32000: 2 more slots");
//! ```

pub mod coverage;
pub mod matching;
pub mod router_comparison;
pub mod transform_comparison;
