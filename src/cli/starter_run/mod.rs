//! `htc-starter-run`, which behaves like the starter of the reference if it is called as `condor_starter`.

mod access_point;
mod ad_list;
mod capabilities;
mod clean;
mod condor_starter;
mod configuration;
mod control_client;
mod job_ad;
mod job_session;
mod log_events;
mod manual;
mod option_effects;
mod options;
mod spool;
mod starter_invocation;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use anyhow::Context;
use bstr::BString;
use clap::{ArgMatches, FromArgMatches};

use self::options::{
    NAME, STARTER_OPTIONS_VARIABLE, StarterRole, StarterRunCli, slot_of_slot_runner, was_given,
};
use self::starter_invocation::StarterInvocation;
use super::common::{CompatTool, Problem, Program, ProgramContext, Status, exit_at_deadline};
use crate::os::{self, clock};
use crate::starter;

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: options::make_command,
    manual: &manual::MANUAL,
    unused_options: &[],
    run,
    compat: &[
        CompatTool { tool: "condor_starter", run: condor_starter::run_as_condor_starter },
        CompatTool { tool: starter::INIT_PROGRAM, run: namespace_init },
    ],
};

/// Runs as the first process of a job's PID namespace, under the name that 25.14 uses for this process.
fn namespace_init(words: &[OsString], _session: &ProgramContext) -> anyhow::Result<Status> {
    let words: Vec<BString> = words.iter().map(|word| BString::from(word.as_bytes())).collect();
    let status = os::namespace_init::run_as_init(&words).context("cannot wait for the job")?;
    Ok(Status::Tool(status))
}

fn run(matches: &ArgMatches, session: &ProgramContext) -> anyhow::Result<Status> {
    let (cli, ads_given) = match std::env::var_os(STARTER_OPTIONS_VARIABLE) {
        Some(_) => {
            let words: Vec<OsString> = std::env::args_os().skip(1).collect();
            let slot = slot_of_slot_runner()?;
            let (mut cli, ads_given) = StarterRunCli::parse(&words)?;
            // htc-slot-run passes the slot name for events. It is used in the environment only if the command line also has it
            // (-a).
            let has_slot_name = words.iter().any(|word| word.to_string_lossy().contains("slot-name"));
            if !has_slot_name {
                cli.job.slot_name = None;
            }
            return StarterInvocation { cli: &cli, ads_given, as_tool: false, slot }.run(session);
        }
        None => (StarterRunCli::from_arg_matches(matches)?, was_given(matches, "ads")),
    };
    let session = &session.with_input(cli.input.from, cli.input.strict_input, cli.quirks.quirks);
    option_effects::refuse_ineffective_options(matches)?;
    if was_given(matches, "until") && cli.job.played_as == StarterRole::Fetched {
        return Err(Problem::usage(
            "--until needs --as shadow or --as local: a fetched job is not run again".to_owned(),
        )
        .into());
    }
    if cli.job.carry {
        return access_point::run_transfer_helper();
    }
    let runs_no_job = cli.job.classad
        || cli.job.clean
        || cli.job.dry_run
        || cli.job.events_of.is_some()
        || cli.job.ask.is_some();
    if let Some(limit) = cli.events.timeout.filter(|_| runs_no_job) {
        let end = clock::monotonic_now().plus(limit);
        exit_at_deadline(Some(end), session, "the time limit (--timeout) expired");
    }
    if cli.job.classad {
        return capabilities::print_capabilities(&cli, session);
    }
    if let Some(log) = &cli.job.events_of {
        return log_events::print_log_events(&cli, log, session);
    }
    if let Some(word) = &cli.job.ask {
        return control_client::query_starter(&cli, word);
    }
    if cli.job.clean {
        return clean::clean(&cli, session);
    }
    StarterInvocation { cli: &cli, ads_given, as_tool: false, slot: cli.job.slot_name.clone() }.run(session)
}
