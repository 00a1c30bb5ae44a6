//! `htc-config-dump`: prints, explains and checks a configuration; imitates the tool when called as
//! `condor_config_val`.

mod compare;
mod condor_config_val;
mod config_query;
mod config_request;
mod hook_table;
mod json;
pub(in crate::cli) mod lint;
mod listing;
mod loading;
mod native;
mod options;
mod use_template;
mod why;

use crate::cli::common::{CompatTool, Example, Manual, Program, program_command};

const NAME: &str = "htc-config-dump";

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: || {
        let rare = ["long", "jsonl", "quiet", "color", "redact", "no_env", "param"];
        let command = program_command::<options::ConfigDumpCli>(NAME, &MANUAL);
        rare.into_iter().fold(command, |command, name| command.mut_arg(name, |arg| arg.hide_short_help(true)))
    },
    manual: &MANUAL,
    run: native::run,
    compat: &[CompatTool { tool: "condor_config_val", run: condor_config_val::run }],
};

const MANUAL: Manual = Manual {
    about: "show, explain and check an HTCondor configuration",
    description: &[
        "Reads a configuration exactly as HTCondor's daemons do: root file, LOCAL_CONFIG_DIR, LOCAL_CONFIG_FILE, \
         includes, conditions, templates, the environment, detected values and compiled-in defaults. Without names it \
         prints what the sources set, as statements that read back to the same; with names their values.",
        "Called by the name condor_config_val it is that tool: the same options, output and exit statuses, for \
         everything that needs no daemon. Hook scripts that call it by that name work unchanged.",
        "Commands that a configuration names (include command, 'prog |') are run only with --exec; called as \
         condor_config_val they are, as that tool does. They are killed after two minutes or 64 MiB of output.",
        "The verb compare reads two configurations as each daemon would and tells the effective values that differ, for which daemons, \
         and the file, line or template that each comes from; exit status 1 if there are any.",
        "The verb lint finds mistakes that HTCondor passes over in silence: parameters nobody reads, hooks that are \
         refused, values that are no expression, references that can never expand. It reads all that the configuration \
         names; commands only with --exec. What it did not read it names, and ends with 4 if it found nothing else. With --here it says instead what \
         is set that the programs of this package do not do, with what a pool would do, and what is for other daemons; with \
         --ads the same of a job.",
    ],
    examples: &[
        Example {
            what: "Print the value of START as the startd sees it",
            line: "htc-config-dump --config-file condor_config --subsystem STARTD START",
            status: 0,
        },
        Example {
            what: "Tell what a change of the configuration does to which daemons",
            line: "htc-config-dump compare condor_config condor_config.new",
            status: 1,
        },
        Example { what: "Check a configuration", line: "htc-config-dump lint condor_config", status: 0 },
    ],
    environment: &[],
    files: &[(
        "/etc/condor/condor_config, /usr/local/etc/condor_config, ~condor/condor_config",
        "Looked for in this order when neither --config-file nor CONDOR_CONFIG is given.",
    )],
    differences: &[
        "Values that refer to themselves hang or crash condor_config_val; here they are an error that names the chain, \
         under both names. Under both names the texts on standard error about wrong command lines are our own.",
        "-info tells type, range, default, readers and whether a restart is needed as condor_config_val does, but does \
         not repeat that tool's own descriptions: a few lines '# description:' are in our words, the others and all \
         '# use for :' are left out. --why describes the parameters of hooks, slots, cron jobs and the router.",
        "Daemons are never asked. The options that would are refused with condor_config_val's own status.",
        "The compiled-in parameters are those of 25.14.0, as CONDOR_VERSION says. 25.14.1 has 18 more (METRICD_*, PROMETHEUS_*, \
         MAX_METRICD_LOG, GANGLIA_RESET_METRICS_FILE, GANGLIA_WANT_RESET_METRICS, SUBMIT_PREVENT_MULTI_QUEUE, ANNEX_USE_OLD_CREATE), \
         which are only there here once a file sets them, and other defaults of ADSTASH_SE_INDEX_NAME and TRANSFER_JOB_ATTRS.",
        crate::cli::common::CLASSAD_PARAMETERS_NOTE,
    ],
};
