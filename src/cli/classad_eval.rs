//! `htc-classad-eval`: ClassAd expressions and streams of ads from a shell.

mod ads;
mod ask;
mod count_by;
mod explanation;
mod manual;
mod odd;
mod operands;
mod options;
mod output;
mod pairs;
mod results;
mod stream;
mod tool;
mod unknown;
mod work;

use clap::{ArgMatches, FromArgMatches};

use self::options::Cli;
use super::common::{Compat, Problem, Program, Session, Status, command};

const NAME: &str = "htc-classad-eval";

/// The program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: || {
        let rare = ["color", "now", "seed", "strict_input", "attributes"];
        let command = command::<Cli>(NAME, &manual::MANUAL);
        let command = command.mut_arg("ads", |arg| arg.help_heading("Stream"));
        rare.iter().fold(command, |command, id| command.mut_arg(id, |arg| arg.hide_short_help(true)))
    },
    manual: &manual::MANUAL,
    run,
    compat: &[
        Compat { tool: "classad_eval", run: tool::run },
        Compat { tool: "condor_q", run: super::compat::condor_q::run },
    ],
};

fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let cli = Cli::from_arg_matches(matches)?;
    if cli.stream.r#match.is_some() {
        return pairs::run(&cli, matches, session);
    }
    if cli.is_stream(matches) {
        return stream::run(&cli, matches, session);
    }
    if cli.operands.is_empty() && cli.context.my_file.is_empty() {
        return Err(Problem::usage("nothing to do")
            .hint("give an expression such as '1 + 1', or a file of ads with --ads FILE")
            .hint(format!("try '{NAME} --help'"))
            .into());
    }
    operands::run(&cli, matches, session)
}
