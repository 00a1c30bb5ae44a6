//! `htc-router-translate`: one file per verb.

mod ad_pipeline;
mod compare;
mod compare_routers;
mod compare_search;
mod compared_file;
mod convert;
mod hook_stages;
mod iteration;
mod lint;
mod matching;
mod options;
mod route;
mod router_setup;
mod rules;
mod run_directory;
mod simulate;
mod transform;

use clap::{FromArgMatches, Parser, Subcommand};

use crate::hook::HookType;

use super::common::{
    CompatTool, Example, Manual, Problem, Program, ProgramContext, Status, TimeLimitOptions, program_command,
    time_is_over,
};
use super::compat::{condor_job_router_info, condor_transform_ads};

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: "htc-router-translate",
    command: || program_command::<RouterTranslateCli>("htc-router-translate", &MANUAL),
    manual: &MANUAL,
    run: |matches, session| run(RouterTranslateCli::from_arg_matches(matches)?, session),
    compat: &[
        CompatTool { tool: "condor_transform_ads", run: condor_transform_ads::run },
        CompatTool { tool: "condor_job_router_info", run: condor_job_router_info::run },
    ],
};

const MANUAL: Manual = Manual {
    about: "route and transform job ads as the job router does, and say why",
    description: &[
        "Applies transforms to ads: those of rules files, of JOB_TRANSFORM_<name> and of JOB_ROUTER_ROUTE_<name>. \
         Ads in, ads out, one for one, in constant memory. A transform whose REQUIREMENTS are not true leaves the ad \
         as it is. --trace tells what each statement did, --diff what the ad gained and lost.",
        "match and route do what the job router would do with the same configuration: candidates, choice, limits, \
         translate hook, transforms; --explain tells for each job what each route said. run is the router itself over a \
         directory of job ads. Routes of the old syntax (JOB_ROUTER_ENTRIES) are read with a warning.",
        "run copies the files of sandboxed jobs (JobShouldBeSandboxed) into DIR/spool, as their owner where it may, and what \
         came of them back to the source's Iwd; with --submit that is left to the command. A shared proxy gets a copy for the \
         submission, which is removed after it. With a positive \
         JOB_ROUTER_IDTOKEN_REFRESH the tokens of JOB_ROUTER_CREATE_IDTOKEN_* are made as 25.14 makes them, at the start and every so \
         many seconds: signed with SEC_TOKEN_POOL_SIGNING_KEY_FILE or a key of SEC_PASSWORD_DIRECTORY, which nobody else may read. Where \
         none is made their files have to be there (condor_token_create makes them), else the jobs they are sent with are given \
         back.",
        "compare makes ads from the conditions of both sides: each part of each condition is true in one and not in another while the \
         rest lets it decide, with texts that patterns match, numbers and times at, below and above what they are compared with, and \
         what else is given or left to chance. It tells which routes each side loads. Exit status 0: no difference was found and every \
         condition was made true and false; 1: they differ, with the smallest ad that shows it; 4: none was found, but some condition \
         could not be reached, which is named.",
        "convert writes what routers load: where 25.14's own conversion would write a line that it refuses ('queue = x', texts of several \
         lines) EVALMACRO sets the macro. What is wrong with an old route is told with its place, and the next one is read. Where \
         JOB_ROUTER_ROUTE_NAMES stands beside JOB_ROUTER_ENTRIES, the routes that it names and nothing else defines are converted.",
        "With JOB_ROUTER_SCHEDD2_* copies belong into another queue: '--copies DIR2' is its directory, where they get cluster numbers \
         of their own and whose other jobs are left alone. Source and copy may then have the same number.",
        "transform, lint and compare run commands that rules name ('include command', TRANSFORM from 'prog |') only with --exec. \
         --out refuses to overwrite a file that is read (exit status 2), and the old content stays until the new one is \
         complete. The exit status is 1 when a statement of some ad could not do what was asked, for one with an \
         expression that cannot be read.",
        "Called as condor_job_router_info it prints what that tool prints. Called as condor_transform_ads it has that tool's options, output and exit statuses.",
    ],
    examples: &[
        Example {
            what: "apply a rules file to the ads of a file",
            line: "htc-router-translate transform --rules rules.xfm jobs.ads",
            status: 0,
        },
        Example {
            what: "what did each statement do?",
            line: "htc-router-translate transform --rules rules.xfm --trace jobs.ads",
            status: 0,
        },
        Example {
            what: "find mistakes in rules",
            line: "htc-router-translate lint --rules rules.xfm",
            status: 0,
        },
        Example {
            what: "which route does each job get, and why do others get none?",
            line: "htc-router-translate match --explain --config-file router.config router.ads",
            status: 1,
        },
        Example {
            what: "the ads that the router would submit",
            line: "htc-router-translate route --config-file router.config router.ads",
            status: 1,
        },
        Example {
            what: "routes of the old syntax in the new one",
            line: "htc-router-translate convert --config-file old-router.config",
            status: 0,
        },
        Example {
            what: "does a converted configuration route as the old one did?",
            line: "htc-router-translate compare old-router.config new-router.config --ads router.ads",
            status: 0,
        },
        Example {
            what: "do two rule sets do the same?",
            line: "htc-router-translate compare rules.xfm other.xfm --ads jobs.ads",
            status: 1,
        },
    ],
    environment: &[],
    files: &[
        ("DIR/CLUSTER.PROC.ad", "run: a job of the queue"),
        ("DIR/history", "run: jobs that have left it"),
        (
            "DIR/.submitting.CLUSTER.PROC",
            "run: a job that may have been submitted through --submit: the command timed out, was ended by a signal or \
             printed no id. The job stays claimed and is left alone: look for its copy, then remove the file.",
        ),
    ],
    differences: &[
        "A false expression after 'if' (if A == 1) fails the transform, as HTCondor 25.14 does, although the manual \
         promises the else branch; lint says so.",
        "25.14 turns the ',' or '=' in 'SET X, 1' or 'SET X= 1' into a NUL byte of the attribute's name and cuts its \
         output there. Here the character is dropped with a warning; --quirks reference keeps the NUL.",
        "25.14 takes a rules file for configuration when none of its commands is reached without an ad, drops it and \
         crashes when nothing else is left. The transform verb keeps it; condor_transform_ads says that no transform is \
         left and exits with 3.",
        "25.14 empties a file that is both -out and an input before it reads it: ads, rules, included rules, items. \
         condor_transform_ads refuses with 1, the transform verb with 2. An old -out file stays when no file of ads can be \
         opened.",
        "condor_transform_ads exits with 1 after success and with 0 when there was no ad, as 25.14 does; the transform \
         verb exits with 0 and with 1 after a failed transform or statement. After a failure 25.14 reads no further ad; the transform \
         verb goes on with the next one.",
        "What debug() would log is not printed: condor_job_router_info -diagnostic:match lacks the lines 'Classad debug: ...', \
         which tell how long each step took.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};

/// Command line.
#[derive(Debug, Parser)]
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
    /// Find mistakes in transforms
    Lint(lint::LintArguments),
    /// Compare two rule sets, or two routers, on given and made-up ads
    Compare(compare_search::CompareArguments),
    /// Tell which route each job gets, and why others do not
    #[command(name = "match")]
    Match(matching::MatchArguments),
    /// Write the ads that the router would submit
    Route(route::RouteArguments),
    /// Call TRANSLATE_JOB for source jobs and write its answers
    Translate(hook_stages::TranslateArguments),
    /// Call UPDATE_JOB_INFO for routed jobs and write them updated
    Update(hook_stages::HookCallOptions),
    /// Call JOB_FINALIZE for pairs of source and routed job and write them updated
    Finalize(hook_stages::HookCallOptions),
    /// Call JOB_CLEANUP for routed jobs
    Cleanup(hook_stages::HookCallOptions),
    /// Copy back what the router copies back, from pairs of source and routed job
    Finish(options::RouterVerbOptions),
    /// Route the jobs of a directory for as long as it lives
    Run(run_directory::RunDirectoryArguments),
    /// Play jobs over time through the routes' limits and throttles
    Simulate(simulate::SimulateArguments),
    /// Write routes of the old syntax as JOB_ROUTER_ROUTE_<name>
    Convert(convert::ConvertArguments),
}

fn run(arguments: RouterTranslateCli, session: &ProgramContext) -> anyhow::Result<Status> {
    if !matches!(arguments.verb, RouterTranslateVerb::Run(_)) {
        arguments.limit.start(session);
        return run_verb(arguments.verb, session);
    }
    arguments.limit.start_gracefully(session);
    match run_verb(arguments.verb, session) {
        Ok(_) if time_is_over() => {
            Err(Problem::new(Status::TimedOut, "the time given with --timeout is over").into())
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
