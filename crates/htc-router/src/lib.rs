//! Job router as a pure state machine: routes, route choice, limits, and the life cycle of a routed job. Names in the
//! code also call the routed job the copy of its source job.
//!
//! | module | subject |
//! |---|---|
//! | `parameters` | the router's own parameters |
//! | `table_note` | messages about a route table while it is read |
//! | `route` | one route and the macros that control the router |
//! | `route_table` | all routes and transforms, their order, and the refused routes |
//! | `limits` | maximum jobs of a route; throttles |
//! | `route_choice` | candidates and the choice of a route |
//! | `routing_pass` | one pass over jobs: routes, their states and limits |
//! | `explain` | why a job gets its route, or none |
//! | `translate` | creation of the routed ad |
//! | `old_routes` | routes in the old syntax, converted |
//! | `mirror` | attributes that a source job takes over from its routed job |
//! | `lifecycle` | the life cycle of routed jobs: events in, actions out |
//! | `routed_job` | one job under management |
//! | `hook_decision` | decisions that the output of a hook can lead to |
//! | `hook_verdict` | judgement of the output of a hook |
//! | `queue_refusal` | attributes that the schedd does not let a hook change |
//! | `job_pairs` | pairs of source job and routed job in a queue, and inconsistencies between them |
//! | `table_with_old_routes` | the route table including routes in the old syntax, with its messages |
//! | `failure_consequence` | consequences of a failed hook |
//! | `token_spec` | IDTOKENs created for routed jobs |

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
pub use table_note::{InvalidMacro, MacroProblem, NoteSubject, RouteError, TableNote};
pub use translate::{SourceJob, TranslateError, Translator};
