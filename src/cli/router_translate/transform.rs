//! `htc-router-translate transform`: reads ads and writes the transformed ads.

mod options;
mod parallel;
mod run;
mod transform_output;
mod transform_reporter;

use std::ffi::OsStr;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;

pub(super) use self::options::TransformArguments;
use self::run::AdTransformer;
use self::transform_output::TransformOutput;
use self::transform_reporter::{MAX_REPORTED_AD_ERRORS, TransformReporter};
use super::iteration;
use super::rules::{self, LoadedRules};
use crate::classad::Dialect;
use crate::classad::stream::AdForm;
use crate::cli::common::{
    OpenInput, OutputFindings, OutputTarget, Problem, ProgramContext, Status, exit_when_reader_is_gone,
    list_inputs, open_stdio_pipe, stdin_twice_problem,
};
use crate::cli::transform_report as report;
use crate::config::lint_rule::LintSeverity;
use crate::lint::transforms as lint;
use crate::os::{RealWorld, thread_count};
use crate::text::plural::counted;
use crate::transform::{IterationPlan, Transform, TransformSession};

/// Number of ads that a transform makes from one ad, at which a warning is printed because this is probably a mistake.
const SUSPICIOUS_TURN_COUNT: u64 = 1_000_000;

/// Runs the verb `transform`. The exit status is 0 if all transforms of all ads succeeded, otherwise 1.
pub(super) fn run(arguments: &TransformArguments, program: &ProgramContext) -> anyhow::Result<Status> {
    arguments.refuse_overwriting_inputs()?;
    let world = arguments.clock.world();
    let config = rules::load_config(&arguments.config, &arguments.rules, &world, program)?;
    let world = arguments.make_world(config.as_ref(), program);
    let view = config.as_ref().map(|config| config.view(&world));
    let mut loaded = rules::load(&arguments.rules, arguments.quirks.quirks, view.as_ref(), &world, program)?;
    refuse_bad_statements(&loaded, &world, program)?;
    let mut transforms: Vec<Transform> =
        loaded.transforms.drain(..).map(|(transform, _)| transform).collect();
    let reads_stdin = arguments.input_files().contains(&Path::new("-"));
    if reads_stdin && loaded.stdin.as_ref().is_some_and(|rest| rest.trim_ascii().is_empty()) {
        return Err(stdin_twice_problem("--rules", "--ads").into());
    }
    if reads_stdin && arguments.config.config_file.as_deref() == Some(Path::new("-")) {
        return Err(stdin_twice_problem("--config-file", "--ads").into());
    }
    let mut session = arguments.new_session(&world, view.as_ref());
    let mut observer = TransformReporter::new(arguments, program);
    let plan = iteration::plan_iteration(&mut session, &transforms, loaded.stdin.as_mut(), &mut observer)?;
    if let Some(turns) =
        plan.as_ref().map(IterationPlan::runs_per_ad).filter(|turns| *turns >= SUSPICIOUS_TURN_COUNT)
    {
        program.warn(&format!("TRANSFORM makes {} from each ad", counted(turns, "ad")));
    }
    if let Some(items) = plan.as_ref().and_then(IterationPlan::item_file) {
        arguments.refuse_overwriting(Path::new(OsStr::from_bytes(items)))?;
    }
    for included in transforms.iter().flat_map(Transform::included_files) {
        arguments.refuse_overwriting(Path::new(OsStr::from_bytes(&included)))?;
    }
    let written = || match &arguments.out {
        Some(path) => Problem::new(Status::Failed, format!("cannot write '{}'", path.display())),
        None => Problem::new(Status::Failed, "cannot write the output"),
    };
    exit_when_reader_is_gone();
    let out = OutputTarget::open(arguments.out.as_deref()).with_context(written)?;
    let mut run = AdTransformer {
        program,
        arguments,
        config: config.as_ref(),
        maps: world.shared_user_maps(),
        transforms: &mut transforms,
        plan,
        selection: arguments.selection.parse()?,
        waiting: Vec::new(),
        writer: TransformOutput::new(arguments),
        out: BufWriter::with_capacity(256 * 1024, out),
        observer,
        number: 0,
        failed: 0,
        undecided: 0,
        malformed: 0,
        wrong_kind: None,
        found: OutputFindings::default(),
        written: 0,
    };
    for path in list_inputs(&arguments.input_files(), program)? {
        if run.selection.is_finished() {
            break;
        }
        transform_input(&mut run, &path, &mut session, &mut loaded.stdin)?;
    }
    run.transform_sorted(&mut session)?;
    run.writer.finish(&mut run.out).with_context(written)?;
    let before = run.written;
    run.found.add_part(run.writer.findings(), before);
    // Only this replaces the old content of the output file.
    let out = run.out.into_inner().map_err(io::IntoInnerError::into_error).with_context(written)?;
    out.commit().with_context(written)?;
    if !arguments.output.quiet {
        run.found.warn(program);
    }
    // The ads are printed without the changes of the transform, so --quiet does not suppress the warning.
    if run.undecided > 0 {
        let ads = counted(run.undecided, "ad");
        program.warn(&format!("REQUIREMENTS are an error for {ads}, to which the transform is not applied; --trace shows the reason"));
    }
    if run.failed > 0 && !arguments.output.quiet {
        program.warn(&format!("{} could not be transformed", counted(run.failed, "ad")));
    }
    if run.malformed > MAX_REPORTED_AD_ERRORS && !arguments.output.quiet {
        program.warn(&format!("{} in the ads in total", counted(run.malformed, "error")));
    }
    let broken = run.observer.broken;
    if broken > 0 && !arguments.output.quiet {
        program.warn(&format!("{} kept statements from taking effect", counted(broken, "problem")));
    }
    Ok(if run.failed + run.malformed + broken > 0 { Status::No } else { Status::Done })
}

/// Reports all statements that fail for every ad. If one of them is not within an `if`, the program ends before it
/// reads any ad. Statements without effect are then also reported, so that one run shows all mistakes.
fn refuse_bad_statements(
    loaded: &LoadedRules,
    world: &RealWorld,
    program: &ProgramContext,
) -> anyhow::Result<()> {
    let mut fatal = 0;
    let mut findings = Vec::new();
    for (transform, runner) in &loaded.transforms {
        let found = lint::find_ineffective_statements(transform, *runner, world);
        fatal += found.iter().filter(|finding| finding.is_fatal()).count();
        findings.extend(found);
    }
    let mut reported =
        findings.iter().filter(|finding| fatal > 0 || finding.rule.severity() == LintSeverity::Error);
    for finding in reported.by_ref().take(MAX_REPORTED_STATEMENTS) {
        program.report(&report::problem_from_finding(finding, Status::Unreadable));
    }
    // A file that is not a rules file has an error in every line, so the number of messages is limited.
    let rest = reported.count();
    if rest > 0 {
        program.warn(&format!("{} with mistakes; lint lists all", counted(rest, "more statement")));
    }
    if fatal > 0 {
        let message = format!("{} would fail for every ad, so nothing was done", counted(fatal, "statement"));
        return Err(Problem::unreadable(message).into());
    }
    Ok(())
}

/// Maximum number of invalid statements that are reported before any ad is read.
const MAX_REPORTED_STATEMENTS: usize = 100;

/// Transforms the ads of a file, with several threads if this does not change the output. `rest` is the rest of standard input
/// after the rules.
fn transform_input<W: Write + Send>(
    run: &mut AdTransformer<'_, W>,
    path: &Path,
    session: &mut TransformSession<'_>,
    rest: &mut Option<Vec<u8>>,
) -> anyhow::Result<()> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "<stdin>".to_owned() } else { path.display().to_string() };
    let problem = || Problem::cannot_read(&name);
    let stdin = open_stdio_pipe().0;
    let stop_flag = stdin.stop_flag();
    let input_reader: Box<dyn Read + Send> = match is_stdin.then(|| rest.take()) {
        Some(Some(rest)) => Box::new(io::Cursor::new(rest)),
        _ => OpenInput::open(path, stdin)?.into_ads(run.program)?,
    };
    // `AdReader` has its own buffer.
    let mut reader = run
        .program
        .with_dialect(Dialect::of_world(session.world))
        .ad_reader(input_reader)
        .exact(run.arguments.strict_input);
    let threads = thread_count(run.arguments.threads);
    run.observer.input = name.clone();
    if threads > 1 && run.can_run_in_parallel() && reader.detect().with_context(problem)? == AdForm::Long {
        return run.transform_in_parallel(reader, threads, &stop_flag);
    }
    run.transform_all(&mut reader, session)
}
