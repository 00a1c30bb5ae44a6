//! `htc-config-dump`: prints, explains and checks a configuration. Imitates `condor_config_val` when called by that name.

mod compare;
mod condor_config_val;
mod config_query;
mod config_request;
mod hook_table;
mod json;
pub(in crate::cli) mod lint;
mod listing;
mod loading;
mod lsp;
mod native;
mod options;
mod use_template;
mod why;

use crate::cli::common::{
    CompatTool, Example, Manual, Program, UnusedOptions, VerbManual, hide_unused_options, program_command,
};

const NAME: &str = "htc-config-dump";

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: || {
        let command = program_command::<options::ConfigDumpCli>(NAME, &MANUAL);
        let command = ["redact", "local_name"]
            .into_iter()
            .fold(command, |command, name| command.mut_arg(name, |arg| arg.hide_short_help(true)));
        let verbose = command.get_arguments().find(|arg| arg.get_id() == "verbose").cloned();
        let command = command.mut_subcommands(|verb| match (verb.get_name(), &verbose) {
            ("use", Some(verbose)) => {
                let help = "Print the 'use' statements as well (with --expanded)";
                verb.arg(verbose.clone().global(false).help(help).hide_short_help(true))
            }
            _ => verb,
        });
        hide_unused_options(command, UNUSED_OPTIONS)
    },
    manual: &MANUAL,
    unused_options: UNUSED_OPTIONS,
    run: native::run,
    compat: &[CompatTool { tool: "condor_config_val", run: condor_config_val::run }],
};

/// Options that have no effect in some verbs.
const UNUSED_OPTIONS: &[UnusedOptions] = &[
    UnusedOptions { verbs: &["lint"], options: &["verbose", "expanded", "long"] },
    UnusedOptions { verbs: &["compare"], options: &["verbose", "expanded", "long", "config-file"] },
    UnusedOptions {
        verbs: &["use"],
        options: &[
            "subsystem",
            "local-name",
            "config-file",
            "param",
            "no-env",
            "exec",
            "redact",
            "long",
            "json",
            "jsonl",
        ],
    },
    UnusedOptions { verbs: &["lsp"], options: &["verbose", "expanded", "long", "json", "jsonl"] },
];

const MANUAL: Manual = Manual {
    about: "show, explain and check an HTCondor configuration",
    description: &[
        "Reads a configuration exactly as HTCondor's daemons do: root file, LOCAL_CONFIG_DIR, LOCAL_CONFIG_FILE, \
         includes, conditions, templates, the environment, detected values and compiled-in defaults. Without names it \
         prints the parameters that are set, as statements that read back to the same values. With names it prints their values.",
        "Called as condor_config_val it acts as that tool, with the same options, output and exit statuses, for \
         everything that needs no daemon. Hook scripts that call condor_config_val work unchanged.",
        "Commands in a configuration (include command, 'prog |') are run only with --exec. Under the name \
         condor_config_val they are run, as that tool does. They are killed after two minutes or 64 MiB of output.",
        "compare reads two configurations as each daemon would and prints the effective values that differ, the daemons that use them, \
         and the file, line or template of each value. The exit status is 1 if there are differences.",
        "lint finds mistakes that HTCondor does not report: parameters that nothing reads, hooks that would be \
         refused, values that are not valid expressions, and references that can never be expanded. It reads all files that the configuration \
         names, and runs commands only with --exec. It lists what it could not read, and exits with 4 if it found nothing else. --here lists \
         the settings that the programs of this package ignore, with their effect in a pool, and the settings of other daemons. --ads \
         does the same for a job.",
        "lsp checks configurations, routes and transforms for an editor while they are typed, shows values with their origin, completes names \
         and finds definitions. The editor starts it and exchanges messages with it on standard input and output (Language Server Protocol). \
         It may send settings as initializationOptions: configFile, param, noEnv, subsystem, localName, exec, for, select, ignore, usedBy and redact.",
    ],
    statuses: "0 done, 1 false or different, 2 wrong options, 3 bad configuration, 4 undefined",
    examples: &[
        Example::new(
            "Print the value of START as the startd sees it",
            "htc-config-dump --config-file condor_config --subsystem STARTD START",
        ),
        Example::new("Find mistakes in a configuration", "htc-config-dump lint condor_config"),
        Example::new(
            "Show which values a change affects, and for which daemons",
            "htc-config-dump compare condor_config condor_config.new",
        )
        .ends_with(1),
    ],
    verbs: &[
        VerbManual {
            verb: "lint",
            statuses: "0 no findings, 1 findings, 2 wrong options, 3 bad configuration, 4 not all read",
            examples: &[
                Example::new("Check a configuration", "htc-config-dump lint condor_config"),
                Example::new("Print the corrections as a diff", "htc-config-dump lint --diff condor_config"),
            ],
        },
        VerbManual {
            verb: "compare",
            statuses: "0 no difference, 1 values differ, 2 wrong options, 3 bad configuration",
            examples: &[
                Example::new(
                    "Show the effect of a change",
                    "htc-config-dump compare condor_config condor_config.new",
                )
                .ends_with(1),
                Example::new(
                    "Print the differences as JSON",
                    "htc-config-dump compare --json condor_config condor_config.new",
                )
                .ends_with(1),
            ],
        },
        VerbManual {
            verb: "use",
            statuses: "0 done, 1 no such template, 2 wrong options",
            examples: &[
                Example::new("List the templates of a category", "htc-config-dump use POLICY"),
                Example::new("Print the statements of a template", "htc-config-dump use POLICY:Desktop"),
            ],
        },
        VerbManual {
            verb: "lsp",
            statuses: "0 ended by the editor, 1 connection closed, 2 wrong options, 3 invalid message",
            examples: &[
                Example::new("Check for an older version of HTCondor", "htc-config-dump lsp --for 24.0")
                    .ends_with(1),
                Example::new(
                    "Show values as a startd has them",
                    "htc-config-dump lsp --config-file condor_config --subsystem STARTD",
                )
                .ends_with(1),
            ],
        },
    ],
    environment: &[],
    files: &[(
        "/etc/condor/condor_config, /usr/local/etc/condor_config, ~condor/condor_config",
        "Searched in this order if neither --config-file nor CONDOR_CONFIG is given",
    )],
    differences: &[
        "Values that refer to themselves make condor_config_val hang or crash. Here they are an error that names the chain of references, \
         under both names. Messages about wrong command lines differ from those of condor_config_val.",
        "-info prints type, range, default, readers and whether a restart is needed, as condor_config_val does, but \
         not the descriptions of that tool. A few lines '# description:' are our own; the others and all \
         '# use for :' are missing. --why describes the parameters of hooks, slots, cron jobs and the router.",
        "No daemon is contacted. Options that would contact one are refused with the exit status of condor_config_val.",
        "The compiled-in parameters are those of 25.14.0, as CONDOR_VERSION says. 25.14.1 has 18 more (METRICD_*, PROMETHEUS_*, \
         MAX_METRICD_LOG, GANGLIA_RESET_METRICS_FILE, GANGLIA_WANT_RESET_METRICS, SUBMIT_PREVENT_MULTI_QUEUE, ANNEX_USE_OLD_CREATE), \
         which exist here only if a file sets them, and other defaults of ADSTASH_SE_INDEX_NAME and TRANSFER_JOB_ATTRS.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};
