//! `htc-router-translate`: routes and transforms job ads. Each verb has its own module.

mod ad_pairs;
mod ad_pipeline;
mod compare;
mod compare_routers;
mod compare_search;
mod compared_file;
mod convert;
mod hook_stages;
mod iteration;
mod lint;
mod manual;
mod matching;
mod options;
mod route;
mod route_set;
mod router_setup;
mod rules;
mod run_directory;
mod simulate;
mod transform;
mod verb_manuals;

use clap::{FromArgMatches, Parser, Subcommand};

use crate::classad::stream::AdForm;
use crate::hook::HookType;
use crate::quirks::QuirkMode;

use super::common::{
    CompatTool, Problem, Program, ProgramContext, Status, TimeLimitOptions, UnusedOptions, has_timed_out,
    hide_unused_options, program_command,
};
use super::compat::{condor_job_router_info, condor_transform_ads};

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: "htc-router-translate",
    command: || {
        let command = program_command::<RouterTranslateCli>("htc-router-translate", &manual::MANUAL);
        hide_unused_options(command, UNUSED_OPTIONS)
    },
    manual: &manual::MANUAL,
    unused_options: UNUSED_OPTIONS,
    run: |matches, session| run(RouterTranslateCli::from_arg_matches(matches)?, session),
    compat: &[
        CompatTool { tool: "condor_transform_ads", run: condor_transform_ads::run },
        CompatTool { tool: "condor_job_router_info", run: condor_job_router_info::run },
    ],
};

/// Options that have no effect in some verbs.
const UNUSED_OPTIONS: &[UnusedOptions] =
    &[UnusedOptions { verbs: &["lint", "compare", "match", "simulate"], options: &["long"] }];

/// Command line.
#[derive(Debug, Parser)]
#[command(subcommand_value_name = "VERB")]
pub struct RouterTranslateCli {
    #[command(subcommand)]
    verb: RouterTranslateVerb,
    #[command(flatten)]
    limit: TimeLimitOptions,
}

#[derive(Debug, Subcommand)]
enum RouterTranslateVerb {
    /// Apply transforms to ads
    Transform(transform::TransformArguments),
    /// Find mistakes in transforms and routes
    Lint(lint::LintArguments),
    /// Compare two rule sets or routers on given and generated ads
    Compare(compare_search::CompareArguments),
    /// Show which route each job gets, and why others get none
    #[command(name = "match")]
    Match(matching::MatchArguments),
    /// Print the ads that the router would submit
    Route(route::RouteArguments),
    /// Call TRANSLATE_JOB for source jobs and print its output
    Translate(hook_stages::TranslateArguments),
    /// Call UPDATE_JOB_INFO for routed jobs and print the updated ads
    Update(hook_stages::HookCallOptions),
    /// Call JOB_FINALIZE for pairs of source and routed job
    ///
    /// The ads may be in any order and in several files. A routed job belongs to the source job that its RoutedFromJobId
    /// names, or whose RoutedToJobId names it. Lines of dashes between ads are ignored.
    Finalize(hook_stages::HookCallOptions),
    /// Call JOB_CLEANUP for routed jobs
    Cleanup(hook_stages::HookCallOptions),
    /// Copy attributes of routed jobs back to their source jobs
    ///
    /// Reads source jobs and routed jobs, in any order and in several files. A routed job belongs to the source job that its
    /// RoutedFromJobId names, or whose RoutedToJobId names it. Lines of dashes between ads are ignored.
    Finish(options::RouterVerbOptions),
    /// Route the jobs in a directory until stopped
    Run(run_directory::RunDirectoryArguments),
    /// Simulate routing over days, with limits and throttles
    Simulate(simulate::SimulateArguments),
    /// Convert routes of the old syntax to JOB_ROUTER_ROUTE_<name>
    Convert(convert::ConvertArguments),
}

impl RouterTranslateVerb {
    /// Returns the format of the ads that the verb reads, and the selection of quirks that apply to them.
    fn input_settings(&self) -> (Option<AdForm>, bool, QuirkMode) {
        match self {
            RouterTranslateVerb::Transform(arguments) => {
                (arguments.from, arguments.strict_input, arguments.quirks.quirks)
            }
            RouterTranslateVerb::Compare(arguments) => (arguments.from, false, QuirkMode::Manual),
            verb => verb.router_options().map_or((None, false, QuirkMode::Manual), |options| {
                let input = &options.inputs.input;
                (input.from, input.strict_input, options.quirks.quirks)
            }),
        }
    }

    /// Returns the options of a verb that passes ads through the router, or `None` for the other verbs.
    fn router_options(&self) -> Option<&options::RouterVerbOptions> {
        match self {
            RouterTranslateVerb::Match(arguments) => Some(&arguments.options),
            RouterTranslateVerb::Route(arguments) => Some(&arguments.options),
            RouterTranslateVerb::Translate(arguments) => Some(&arguments.call.options),
            RouterTranslateVerb::Update(arguments)
            | RouterTranslateVerb::Finalize(arguments)
            | RouterTranslateVerb::Cleanup(arguments) => Some(&arguments.options),
            RouterTranslateVerb::Finish(arguments) => Some(arguments),
            RouterTranslateVerb::Transform(_)
            | RouterTranslateVerb::Compare(_)
            | RouterTranslateVerb::Lint(_)
            | RouterTranslateVerb::Run(_)
            | RouterTranslateVerb::Simulate(_)
            | RouterTranslateVerb::Convert(_) => None,
        }
    }
}

fn run(arguments: RouterTranslateCli, session: &ProgramContext) -> anyhow::Result<Status> {
    if let Some(options) = arguments.verb.router_options() {
        options.refuse_stdin_twice()?;
    }
    let (form, is_strict, quirks) = arguments.verb.input_settings();
    let session = &session.with_input(form, is_strict, quirks);
    if !matches!(arguments.verb, RouterTranslateVerb::Run(_)) {
        arguments.limit.start(session);
        return run_verb(arguments.verb, session);
    }
    arguments.limit.start_gracefully(session);
    match run_verb(arguments.verb, session) {
        Ok(_) if has_timed_out() => {
            Err(Problem::new(Status::TimedOut, "the time limit (--timeout) expired").into())
        }
        result => result,
    }
}

fn run_verb(verb: RouterTranslateVerb, session: &ProgramContext) -> anyhow::Result<Status> {
    match verb {
        RouterTranslateVerb::Transform(arguments) => transform::run(&arguments, session),
        RouterTranslateVerb::Lint(arguments) => lint::run(&arguments, session),
        RouterTranslateVerb::Compare(arguments) => compare::run(&arguments, session),
        RouterTranslateVerb::Match(arguments) => matching::run(&arguments, session),
        RouterTranslateVerb::Route(arguments) => route::run(&arguments, session),
        RouterTranslateVerb::Translate(arguments) => hook_stages::translate(&arguments, session),
        RouterTranslateVerb::Update(arguments) => {
            hook_stages::run_hook_verb(HookType::RouterUpdateJobInfo, &arguments, session)
        }
        RouterTranslateVerb::Finalize(arguments) => {
            hook_stages::run_hook_verb(HookType::JobFinalize, &arguments, session)
        }
        RouterTranslateVerb::Cleanup(arguments) => {
            hook_stages::run_hook_verb(HookType::JobCleanup, &arguments, session)
        }
        RouterTranslateVerb::Finish(arguments) => hook_stages::finish(&arguments, session),
        RouterTranslateVerb::Run(arguments) => run_directory::run(&arguments, session),
        RouterTranslateVerb::Simulate(arguments) => simulate::run(&arguments, session),
        RouterTranslateVerb::Convert(arguments) => convert::run(&arguments, session),
    }
}
