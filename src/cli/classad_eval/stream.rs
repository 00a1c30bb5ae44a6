//! Streams: filters, sorts, projects and prints the ads of files.

use std::io::Read;
use std::path::Path;

use anyhow::Context as _;
use clap::ArgMatches;

use super::ads::{PortionDiagnostics, ReportingAdStream, WrongKind};
use super::options::ClassadEvalCli;
use super::results::{PortionOutput, StreamResults};
use super::split::AdSplitter;
use super::stream_diagnostics::StreamDiagnostics;
use super::stream_plan::StreamPlan;
use super::{expr_reader, name_coverage, output};
use crate::classad::stream::AdForm;
use crate::cli::common::{
    JsonLineWriter, PipedStdout, ProgramContext, Status, exit_when_reader_is_gone, is_not_found, list_inputs,
    open_input, open_stdio_pipe,
};
use crate::os::{StopFlag, process_in_parallel, thread_count};

/// Reads the stream and prints the results.
///
/// # Errors
/// Returns an error if an expression is invalid, an input cannot be read or standard output cannot be
/// written.
pub(super) fn run(
    cli: &ClassadEvalCli,
    matches: &ArgMatches,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    if !cli.question.exit_status {
        exit_when_reader_is_gone();
    }
    let dialect = expr_reader::expression_dialect(cli);
    let format = output::read_print_format(cli)?;
    let mut work = StreamPlan::new(cli, format.as_ref(), dialect, session)?;
    let columns = output::parse_columns(cli, format, matches, session)?;
    work.looked_up_names =
        name_coverage::looked_up_names(&work, &columns.expressions().cloned().collect::<Vec<_>>());
    work.column_names = columns.expressions().filter_map(crate::classad::Expr::as_attribute).collect();
    let (input, out) = open_stdio_pipe();
    let stop_flag = input.stop_flag();
    let mut input = Some(input);
    let mut columns = columns;
    if cli.rows.form().is_some() {
        columns.remove_layout();
    }
    let mut results = StreamResults::new(&work, columns, JsonLineWriter::new(out, prints_json_values(&work)));
    if let (Some(by), Some(directory)) = (&work.split_by, cli.stream.split_by.get(1)) {
        results.splitter = Some(AdSplitter::new(by.clone(), Path::new(directory))?);
    }
    results.print_header()?;
    let mut diagnostics = StreamDiagnostics::default();
    let threads = thread_count(cli.stream.threads);
    let paths = cli.input.paths();
    for path in list_inputs(&paths, session)? {
        let stdin = input.take().unwrap_or_else(|| open_stdio_pipe().0.with_stop_flag(&stop_flag));
        let (input_reader, name) = match open_input(&path, stdin, session) {
            // In a queue directory that is in use, a job's file may have been removed since the files were listed.
            Err(error) if !paths.contains(&path) && is_not_found(&error) => continue,
            opened => opened?,
        };
        // `ReportingAdStream` has its own buffer.
        let mut ads = ReportingAdStream::new(input_reader.into_inner(), name, cli, dialect, session);
        if threads > 1 && results.can_run_in_parallel() && ads.detect_form()? == AdForm::Long {
            process_stream_in_parallel(ads, threads, &stop_flag, &mut results, &mut diagnostics)?;
        } else {
            results.process_stream(&mut ads, &mut diagnostics)?;
        }
    }
    let status = results.finish(session)?;
    results.out.end()?;
    diagnostics.report(&work, session);
    Ok(status)
}

/// Returns true if the output is one JSON array of values. An array of ads is created by the writer of ads instead.
fn prints_json_values(work: &StreamPlan<'_>) -> bool {
    let cli = work.cli;
    cli.output.json && !cli.stream.count && (!work.operands.is_empty() || cli.question.explain)
}

/// Result of one thread for a portion of the stream. Line and ad numbers are relative to the start of the portion.
struct PortionResult {
    output: PortionOutput,
    warnings: StreamDiagnostics,
    diagnostics: PortionDiagnostics,
    failure: Option<anyhow::Error>,
}

/// Processes a stream of long ads with several threads.
fn process_stream_in_parallel<R: Read + Send>(
    ads: ReportingAdStream<'_, R>,
    threads: usize,
    stop_flag: &StopFlag,
    results: &mut StreamResults<'_, JsonLineWriter<PipedStdout>>,
    warnings: &mut StreamDiagnostics,
) -> anyhow::Result<()> {
    let (readers, batcher, mut errors) = ads.split_for_threads();
    let mut failure = None;
    let (mut lines, mut ads_read) = (0, 0);
    let (work, mask) = (results.work, results.mask.clone());
    let worker = || {
        let mut results = StreamResults::new(work, mask.clone(), Vec::new());
        let process_portion = move |ads: &mut ReportingAdStream<'_, _>| {
            let mut warnings = StreamDiagnostics::default();
            let failure = results.process_stream(ads, &mut warnings).err();
            let diagnostics = ads.take_portion_diagnostics();
            PortionResult { output: results.take_portion(), warnings, diagnostics, failure }
        };
        (readers.new_reader(), process_portion)
    };
    let mut collect = |mut portion: PortionResult| -> anyhow::Result<()> {
        let diagnostics = &mut portion.diagnostics;
        diagnostics.errors.iter_mut().for_each(|error| error.line += lines);
        // The kind of the input is determined by its first ad and the errors before that ad.
        if let (0, Some(WrongKind { errors: count, problem })) = (ads_read, diagnostics.wrong_kind.take()) {
            errors.report(&diagnostics.errors[..count])?;
            return Err(problem.into());
        }
        results.add_portion(&portion.output)?;
        warnings.merge_portion(portion.warnings, lines);
        errors.report(&diagnostics.errors)?;
        errors.add_count(diagnostics.more_errors);
        (lines, ads_read) = (lines + diagnostics.lines, ads_read + diagnostics.read);
        portion.failure.map_or(Ok(()), Err)
    };
    let result = process_in_parallel(
        threads,
        |ads| batcher.next_batch(&mut ads.reader),
        worker,
        |portion| {
            failure = collect(portion).err();
            failure.is_none()
        },
        stop_flag,
    );
    if let Some(failure) = failure {
        return Err(failure);
    }
    result.with_context(|| errors.read_problem())?;
    errors.end(ads_read)
}
