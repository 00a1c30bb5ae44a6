//! Hints for condor tools that these programs do not imitate: the command to use instead.

use crate::cli::common::Problem;

/// Condor tools, each with hints that name the commands to use instead.
const TOOL_HINTS: &[(&str, &[&str])] = &[
    (
        "condor_status",
        &[
            "'htc-slot-run ads' and 'htc-slot-run status' show the slots of this machine",
            "for ads in a file: htc-classad-eval --ads FILE -af:h Name State Activity Cpus Memory",
        ],
    ),
    (
        "condor_history",
        &[
            "htc-classad-eval --ads HISTORY -af:jh Owner JobStatus ExitCode reads history files, including compressed ones",
            "for routed jobs: htc-router-status history HISTORY",
        ],
    ),
    (
        "condor_q",
        &["make a link of this name to htc-classad-eval: condor_q -jobads FILE -af ClusterId ProcId Owner"],
    ),
    ("classad_eval", &["make a link of this name to htc-classad-eval"]),
    ("condor_config_val", &["make a link of this name to htc-config-dump"]),
    ("condor_transform_ads", &["make a link of this name to htc-router-translate"]),
    ("condor_job_router_info", &["make a link of this name to htc-router-translate"]),
    ("condor_router_q", &["make a link of this name to htc-router-status"]),
    ("condor_router_history", &["make a link of this name to htc-router-status"]),
    ("condor_startd", &["htc-slot-run --config-file FILE runs slots"]),
    ("condor_starter", &["htc-starter-run --ads JOB runs one job"]),
    (
        "condor_submit",
        &["there is no queue to submit to: a fetch hook hands out jobs, htc-slot-run runs them"],
    ),
    ("condor_job_router", &["htc-router-translate run --queue DIR routes the jobs of a directory"]),
    ("condor_drain", &["htc-slot-run drain"]),
    ("condor_vacate", &["htc-slot-run vacate"]),
    ("condor_off", &["htc-slot-run off"]),
    ("condor_reconfig", &["htc-slot-run reconfig"]),
];

/// Returns the error for a program that is called by the name of a condor tool that it does not imitate, or `None` for
/// any other name.
pub fn unsupported_tool_problem(tool: &str, program: &str) -> Option<Problem> {
    let tool = tool.strip_suffix(".exe").unwrap_or(tool);
    let problem = || Problem::usage(format!("{program} does not do what {tool} does"));
    let found = TOOL_HINTS.iter().find(|(name, _)| *name == tool);
    match found {
        Some((_, hints)) => Some(hints.iter().fold(problem(), |problem, hint| problem.hint(*hint))),
        None => tool.starts_with("condor_").then(|| problem().hint(format!("call it {program}"))),
    }
}
