//! Input and output of ads for the verbs of the router.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::ad_pairs::PairFinder;
use crate::classad::format::list::{AttributeOrder, ListForm, ListWriter};
use crate::classad::format::long;
use crate::classad::{ClassAd, Dialect};
use crate::cli::common::{
    AdErrorReporter, AdSelection, AdSelectionOptions, InputOptions, OutputFindings, OutputOptions,
    PipedStdin, PipedStdout, Problem, ProgramContext, is_not_found, list_inputs, malformed_ad_problem,
    open_input, open_stdio_pipe,
};
use crate::text::plural::counted;
use crate::world::World;

/// Options for the files of ads.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct InputFiles {
    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub selection: AdSelectionOptions,
    /// Ad files, read after those of --ads
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl InputFiles {
    /// Returns the files of `--ads` and those named without an option, or standard input if there are none.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.input.paths_with(&self.files)
    }
}

/// Reads all ads of all inputs, with the dialect of `world`, and returns the number of malformed parts. The output that
/// is paired with `stdin` is flushed before a read that would block.
pub(super) fn for_each_ad(
    inputs: &InputFiles,
    world: &dyn World,
    program: &ProgramContext,
    stdin: Option<PipedStdin>,
    mut take: impl FnMut(ClassAd) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let mut selection = inputs.selection.parse()?;
    if selection.is_sorted() {
        let mut ads = Vec::new();
        let malformed = for_each_ad_with(inputs, world, program, stdin, |file| file, &mut |ad| {
            if selection.holds(&ad, world) {
                ads.push(ad);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        selection.sort_and_limit(&mut ads, |ad| ad, world, program);
        ads.into_iter().try_for_each(take)?;
        return Ok(malformed);
    }
    for_each_ad_with(inputs, world, program, stdin, |file| file, &mut |ad| {
        if selection.selects(&ad, world) {
            take(ad)?;
        }
        Ok(control_flow(&selection))
    })
}

/// Returns `Break` if the selection needs no further ads.
fn control_flow(selection: &AdSelection) -> ControlFlow<()> {
    if selection.is_finished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Processes the ads of all inputs. `prepare` wraps the reader of each input.
fn for_each_ad_with<R: Read>(
    inputs: &InputFiles,
    world: &dyn World,
    program: &ProgramContext,
    mut stdin: Option<PipedStdin>,
    prepare: impl Fn(BufReader<Box<dyn Read + Send>>) -> R,
    take: &mut dyn FnMut(ClassAd) -> anyhow::Result<ControlFlow<()>>,
) -> anyhow::Result<u64> {
    let mut bad = 0;
    for path in list_inputs(&inputs.paths(), program)? {
        let opened = open_input(&path, stdin.take().unwrap_or_else(|| open_stdio_pipe().0), program);
        let (file, name) = match opened {
            // In a queue directory that is in use, a job's file may have been removed since the files were listed.
            Err(error) if !inputs.paths().contains(&path) && is_not_found(&error) => continue,
            opened => opened?,
        };
        let mut reader = program
            .with_dialect(Dialect::of_world(world))
            .ad_reader(prepare(file))
            .exact(inputs.input.strict_input);
        let problem = || Problem::cannot_read(&name);
        let mut errors = AdErrorReporter::new(name.clone(), program);
        while let Some(record) = reader.next_record().with_context(problem)? {
            if let (true, Some(error)) = (inputs.input.strict_input, record.errors.first()) {
                return Err(malformed_ad_problem(error, &name).into());
            }
            errors.report(&record)?;
            if !record.ad.is_empty() && take(record.ad)?.is_break() {
                return Ok(bad + errors.end());
            }
        }
        bad += errors.end();
    }
    Ok(bad)
}

/// Writer of ads to standard output.
pub(super) struct AdPrinter {
    out: BufWriter<PipedStdout>,
    list: ListWriter,
}

impl AdPrinter {
    /// Creates a writer in the format that the options select. Attributes of long ads are sorted by bytes, as routers print them.
    pub(super) fn new(options: &OutputOptions, out: PipedStdout) -> Self {
        // The order `Internal` sorts long ads by bytes.
        let (form, order) = match options {
            OutputOptions { json: true, .. } => (ListForm::Json, AttributeOrder::Sorted),
            OutputOptions { jsonl: true, .. } => (ListForm::JsonLines, AttributeOrder::Sorted),
            _ => (ListForm::Long, AttributeOrder::Internal),
        };
        AdPrinter {
            out: BufWriter::with_capacity(64 << 10, out),
            list: ListWriter::new(form, order).brackets_when_empty(true).detect_misread(!options.quiet),
        }
    }

    pub(super) fn write(&mut self, ad: &ClassAd) -> io::Result<()> {
        self.list.write(ad, &mut self.out).map(drop)
    }

    /// Writes a source job and its routed copy: in the long form with a line of dashes between them, otherwise as two ads.
    pub(super) fn write_pair(&mut self, source: &ClassAd, routed: &ClassAd) -> io::Result<()> {
        if self.list.form() != ListForm::Long {
            self.write(source)?;
            return self.write(routed);
        }
        self.out.write_all(&long::print(source))?;
        self.out.write_all(b"------\n")?;
        self.write(routed)
    }

    /// Ends the output. Unless `--quiet` is given, warns about ads that would be read back with other values.
    pub(super) fn finish(mut self, options: &OutputOptions, program: &ProgramContext) -> io::Result<()> {
        self.list.finish(&mut self.out)?;
        self.out.flush()?;
        if !options.quiet {
            OutputFindings::from_writer(&self.list).warn(program);
        }
        Ok(())
    }
}

/// Processes pairs of source job and routed job, in the order in which their second ads are read. Ads without a
/// counterpart are reported and counted as malformed.
pub(super) fn for_each_pair(
    inputs: &InputFiles,
    world: &dyn World,
    program: &ProgramContext,
    mut take: impl FnMut(ClassAd, ClassAd) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let prepare = |file| DashLineFilter { inner: file, line_start: true };
    let mut selection = inputs.selection.parse()?;
    let mut sorted = Vec::new();
    let mut pairs = PairFinder::default();
    let mut is_finished = false;
    let mut malformed = for_each_ad_with(inputs, world, program, None, prepare, &mut |ad| {
        let Some((source, routed)) = pairs.add(ad, world) else { return Ok(ControlFlow::Continue(())) };
        if selection.is_sorted() {
            if selection.holds(&source, world) {
                sorted.push((source, routed));
            }
            return Ok(ControlFlow::Continue(()));
        }
        if selection.selects(&source, world) {
            take(source, routed)?;
        }
        is_finished = selection.is_finished();
        Ok(control_flow(&selection))
    })?;
    selection.sort_and_limit(&mut sorted, |(first, _)| first, world, program);
    sorted.into_iter().try_for_each(|(first, second)| take(first, second))?;
    // After the last selected pair, the rest of the input is not read.
    if !is_finished {
        malformed += report_unpaired(&pairs.describe_unpaired(), program);
    }
    Ok(malformed)
}

/// Reports ads without a counterpart, and returns their number.
fn report_unpaired(descriptions: &[String], program: &ProgramContext) -> u64 {
    const MAX_REPORTED: usize = 10;
    const HINT: &str = "RoutedFromJobId of the routed job, or RoutedToJobId of the source job, must be the id of the other job";
    for (at, description) in descriptions.iter().take(MAX_REPORTED).enumerate() {
        let problem = Problem::unreadable(description.as_str());
        program.report(&problem.maybe_hint((at == 0).then_some(HINT)).into());
    }
    if let Some(more) = descriptions.len().checked_sub(MAX_REPORTED).filter(|more| *more > 0) {
        program.warn(&format!("{} without a counterpart", counted(more, "more ad")));
    }
    descriptions.len() as u64
}

/// Filter that replaces a line of dashes between two ads by empty lines, which end an ad in every format.
struct DashLineFilter<R> {
    inner: R,
    line_start: bool,
}

impl<R: io::BufRead> io::Read for DashLineFilter<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.inner.fill_buf()?;
        let length = available.len().min(into.len());
        into[..length].copy_from_slice(&available[..length]);
        self.inner.consume(length);
        // No attribute begins with a dash, so each dash at the start of a line is replaced by a newline.
        let mut dashing = false;
        for byte in &mut into[..length] {
            dashing = (dashing || self.line_start) && *byte == b'-';
            if dashing {
                *byte = b'\n';
                self.line_start = true;
            } else {
                self.line_start = *byte == b'\n';
            }
        }
        Ok(length)
    }
}
