//! The job router as a pure machine: routes, choice, limits, the life of a routed job.
//!
//! | file | subject |
//! |---|---|
//! | `parameters` | the router's own parameters |
//! | `table_note` | what is noticed while routes are read |
//! | `route` | one route and the macros that steer the router |
//! | `route_table` | all routes and transforms, their order, what was wrong with others |
//! | `limits` | how many jobs a route may have; throttles |
//! | `route_choice` | candidates and the choice of a route |
//! | `routing_pass` | one pass over jobs: routes, states and limits together |
//! | `explain` | why a job gets its route or none |
//! | `translate` | making the routed ad |
//! | `compare` | whether two routers do the same |
//! | `conversion` | routes of the old syntax written anew |
//! | `old_routes` | routes of the old syntax, converted |
//! | `mirror` | what a source takes over from its copy |
//! | `lifecycle` | the life of routed jobs: events in, actions out |
//! | `policy` | periodic expressions of managed sources |
//! | `routed_job` | one job under management |
//! | `hook_decision` | what may be done with the answer of a hook |
//! | `hook_verdict` | what the answer of a hook means |
//! | `job_pairs` | sources and copies of a queue brought together, and what is wrong with them |
//! | `table_with_old_routes` | the table with routes of the old syntax, and what is to be told of it |
//! | `failure_consequence` | what follows where a hook has failed |
//! | `token` | IDTOKENs that are made for copies |

pub mod explain;
mod failure_consequence;
mod hook_decision;
mod hook_verdict;
pub mod job_pairs;
pub mod lifecycle;
pub mod limits;
pub mod mirror;
pub mod old_routes;
mod parameters;
mod queue_refusal;
pub mod route;
pub mod route_choice;
pub mod route_table;
pub mod routed_job;
mod routing_pass;
pub mod table_note;
mod table_with_old_routes;
pub mod token_spec;
pub mod translate;

pub use failure_consequence::{FailureConsequence, consequence_of_failure, decide_skipping_refused_hook};
pub use hook_decision::HookDecision;
pub use hook_verdict::{FinishedHookCall, HookVerdict, judge_hook_call};
pub use lifecycle::{
    CopyUpdateError, QueueView, Router, RouterAction, RouterContext, RouterEvent, RouterHookCall,
    RouterHookResult, YieldError,
};
pub use limits::{FullReason, RouteState};
pub use parameters::{DEPRECATED_PARAMETERS, ParameterProblem, ParameterReadTime, RouterParameters};
pub use route::{Route, RouteLoadContext};
pub use route_choice::{ChoiceEvent, RouteChoice, RouteChooser, RoutingState};
pub use route_table::RouteTable;
pub use routed_job::RoutedJob;
pub use routing_pass::{RoutingPass, forget_routing};
pub use table_note::{NoteSubject, RouteError, TableNote};
pub use translate::{SourceJob, TranslateError, Translator};
