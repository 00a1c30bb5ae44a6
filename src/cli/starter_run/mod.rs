//! `htc-starter-run`, and `condor_starter` for those who call it by that name.

mod access_point;
mod capabilities;
mod clean;
mod compat;
mod configuration;
mod control;
mod events_of;
mod forms;
mod job_ad;
mod manual;
mod options;
mod run;
mod session;
mod spool;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use anyhow::Context;
use bstr::BString;
use clap::{ArgMatches, FromArgMatches};

use self::options::{As, Cli, NAME, OPTIONS, is_given, slot_of_runner};
use self::run::Run;
use super::common::{Compat, Problem, Program, Session, Status};
use crate::os;
use crate::starter;

/// The program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: options::definition,
    manual: &manual::MANUAL,
    run,
    compat: &[
        Compat { tool: "condor_starter", run: compat::run },
        Compat { tool: starter::INIT, run: namespace_init },
    ],
};

/// The first process of a job's PID namespace, under the name that 25.14 has for it.
fn namespace_init(words: &[OsString], _session: &Session) -> anyhow::Result<Status> {
    let words: Vec<BString> = words.iter().map(|word| BString::from(word.as_bytes())).collect();
    let status = os::namespace_init::run(&words).context("cannot wait for the job")?;
    Ok(Status::Tool(status))
}

fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let (cli, ads_given) = match std::env::var_os(OPTIONS) {
        Some(_) => {
            let words: Vec<OsString> = std::env::args_os().skip(1).collect();
            let slot = slot_of_runner()?;
            let (mut cli, ads_given) = Cli::parse(&words)?;
            // What the slot runner says names the slot in events; variables name it when its own words do (-a).
            let of_words = words.iter().any(|word| word.to_string_lossy().contains("slot-name"));
            if !of_words {
                cli.job.slot_name = None;
            }
            return Run { cli: &cli, ads_given, as_tool: false, slot }.run(session);
        }
        None => (Cli::from_arg_matches(matches)?, is_given(matches, "ads")),
    };
    if is_given(matches, "until") && cli.job.played_as == As::Fetched {
        return Err(Problem::usage(
            "--until needs --as shadow or --as local: a fetched job is not run again".to_owned(),
        )
        .into());
    }
    if cli.job.carry {
        return access_point::helper();
    }
    if cli.job.classad {
        return capabilities::capabilities(&cli, session);
    }
    if let Some(log) = &cli.job.events_of {
        return events_of::events_of(&cli, log, session);
    }
    if let Some(word) = &cli.job.ask {
        return control::ask(&cli, word);
    }
    if cli.job.clean {
        return clean::clean(&cli, session);
    }
    Run { cli: &cli, ads_given, as_tool: false, slot: cli.job.slot_name.clone() }.run(session)
}
