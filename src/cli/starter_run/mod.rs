//! `htc-starter-run`, and `condor_starter` for those who call it by that name.

mod access_point;
mod compat;
mod job_ad;
mod manual;
mod options;
mod session;

use std::ffi::OsString;

use clap::{ArgMatches, FromArgMatches};

use self::options::{Cli, NAME, OPTIONS, is_given};
use super::common::{Compat, Program, Session, Status};

/// The program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: options::definition,
    manual: &manual::MANUAL,
    run,
    compat: &[Compat { tool: "condor_starter", run: compat::run }],
};

fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let (cli, ads_given) = match std::env::var_os(OPTIONS) {
        Some(_) => {
            let words: Vec<OsString> = std::env::args_os().skip(1).collect();
            let slot = Cli::parse(&[])?.0.job.slot_name;
            let (mut cli, ads_given) = Cli::parse(&words)?;
            // What the slot runner says names the slot in events; variables name it when its own words do (-a).
            let of_words = words.iter().any(|word| word.to_string_lossy().contains("slot-name"));
            if !of_words {
                cli.job.slot_name = None;
            }
            return session::Run { cli: &cli, ads_given, as_tool: false, slot }.run(session);
        }
        None => (Cli::from_arg_matches(matches)?, is_given(matches, "ads")),
    };
    if cli.job.carry {
        return access_point::helper();
    }
    if cli.job.classad {
        return session::capabilities(&cli, session);
    }
    if cli.job.clean {
        return session::clean(&cli, session);
    }
    session::Run { cli: &cli, ads_given, as_tool: false, slot: cli.job.slot_name.clone() }.run(session)
}
