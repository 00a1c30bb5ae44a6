//! `htc-router-status`: routed jobs in the queue and in history.

use clap::{FromArgMatches, Parser};

use super::common::{Compat, Manual, Program, Session, Status, command};
use super::compat::condor_router_history;

/// The program.
pub const PROGRAM: Program = Program {
    name: "htc-router-status",
    command: || command::<Arguments>("htc-router-status", &MANUAL),
    manual: &MANUAL,
    run: |matches, session| run(&Arguments::from_arg_matches(matches)?, session),
    compat: &[Compat { tool: "condor_router_history", run: condor_router_history::run }],
};

const MANUAL: Manual = Manual {
    about: "show routed jobs in the queue and in history",
    description: &[],
    examples: &[],
    environment: &[],
    files: &[],
    differences: &[],
};

/// The command line.
#[derive(Debug, Parser)]
struct Arguments {}

fn run(_: &Arguments, _: &Session) -> anyhow::Result<Status> {
    Ok(Status::Done)
}
