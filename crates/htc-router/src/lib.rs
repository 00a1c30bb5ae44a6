//! The job router as a pure machine: routes, choice, limits, the life of a routed job.
//!
//! | file | subject |
//! |---|---|
//! | `knobs` | the router's own parameters |
//! | `note` | what is noticed while routes are read |
//! | `route` | one route and the macros that steer the router |
//! | `table` | all routes and transforms, their order, what was wrong with others |
//! | `limits` | how many jobs a route may have; throttles |
//! | `choose` | candidates and the choice of a route |
//! | `pass` | one pass over jobs: routes, states and limits together |
//! | `explain` | why a job gets its route or none |
//! | `translate` | making the routed ad |
//! | `compare` | whether two routers do the same |
//! | `conversion` | routes of the old syntax written anew |
//! | `deprecated` | routes of the old syntax, converted |
//! | `mirror` | what a source takes over from its copy |
//! | `machine` | the life of routed jobs: events in, actions out |
//! | `policy` | periodic expressions of managed sources |
//! | `routed_job` | one job under management |
//! | `hook_decision` | what may be done with the answer of a hook |
//! | `hook_verdict` | what the answer of a hook means |
//! | `pairs` | sources and copies of a queue brought together, and what is wrong with them |
//! | `whole_table` | the table with routes of the old syntax, and what is to be told of it |
//! | `after_failure` | what follows where a hook has failed |
//! | `token` | IDTOKENs that are made for copies |

mod after_failure;
pub mod choose;
pub mod deprecated;
pub mod explain;
mod hook_decision;
mod hook_verdict;
mod knobs;
pub mod limits;
pub mod machine;
pub mod mirror;
pub mod note;
pub mod pairs;
mod pass;
mod queue_refusal;
pub mod route;
pub mod routed_job;
pub mod table;
pub mod token_order;
pub mod translate;
mod whole_table;

pub use after_failure::{AfterFailure, after_failure, skips_refused};
pub use choose::{Choice, Chooser, Looked, Rounds};
pub use hook_decision::HookDecision;
pub use hook_verdict::{HookAnswer, HookVerdict, hook_verdict};
pub use knobs::{Complaint, DEPRECATED, Knobs, When};
pub use limits::{Full, RouteState};
pub use machine::{Action, Call, CopyError, Event, HookResult, Queue, Router, Surroundings, YieldError};
pub use note::{Note, RouteError, Subject};
pub use pass::{Pass, forget_routing};
pub use route::{Reading, Route};
pub use routed_job::RoutedJob;
pub use table::RouteTable;
pub use translate::{Original, TranslateError, Translator};
