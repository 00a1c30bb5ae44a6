//! `htc-classad-eval`: evaluates ClassAd expressions and processes streams of ads.

mod ads;
mod classad_eval_script;
mod explanation;
mod expr_reader;
mod manual;
mod match_explanation;
mod match_pairs;
mod name_coverage;
mod operands;
mod option_effects;
mod options;
mod output;
mod results;
mod split;
mod stream;
mod stream_diagnostics;
mod stream_plan;

use clap::{ArgMatches, FromArgMatches};

use self::options::ClassadEvalCli;
use super::common::{CompatTool, OptionGroup, Problem, Program, ProgramContext, Status, program_command};

const NAME: &str = "htc-classad-eval";

/// Definition of the program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: || {
        let command = program_command::<ClassadEvalCli>(NAME, &manual::MANUAL)
            .mut_arg("ads", |arg| arg.help_heading(OptionGroup::Ads))
            .mut_arg("json", |arg| arg.hide_short_help(false));
        ["attributes", "limit"]
            .iter()
            .fold(command, |command, id| command.mut_arg(id, |arg| arg.hide_short_help(true)))
    },
    manual: &manual::MANUAL,
    unused_options: &[],
    run,
    compat: &[
        CompatTool { tool: "classad_eval", run: classad_eval_script::run },
        CompatTool { tool: "condor_q", run: super::compat::condor_q::run },
    ],
};

fn run(matches: &ArgMatches, session: &ProgramContext) -> anyhow::Result<Status> {
    let cli = ClassadEvalCli::from_arg_matches(matches)?;
    option_effects::refuse_ineffective_options(&cli, matches)?;
    cli.limit.start(session);
    let session = &session.with_input(cli.input.from, cli.input.strict_input, cli.quirks.quirks);
    if cli.stream.r#match.is_some() {
        return match_pairs::run(&cli, matches, session);
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
    if let Some(option) = cli.rows.given_option() {
        return Err(Problem::usage(format!(
            "{option} works only for rows, which are printed for a stream of ads"
        ))
        .hint("use --ads FILE and columns: -af Owner JobStatus")
        .into());
    }
    operands::run(&cli, matches, session)
}
