//! Results of a stream of ads. They are printed immediately, or kept until they can be sorted.

use std::collections::HashSet;
use std::io::{IsTerminal, Read, Write};

use rustc_hash::FxBuildHasher;

use super::ads::ReportingAdStream;
use super::split::AdSplitter;
use super::stream_diagnostics::StreamDiagnostics;
use super::stream_plan::StreamPlan;
use super::{explanation, expr_reader, operands, output};
use crate::classad::format::list::{ListForm, ListWriter};
use crate::classad::stream::{AdForm, AdRecord, Projection};
use crate::classad::{AttrName, ClassAd, Context, Value};
use crate::cli::common::{
    CountForm, OutputFindings, PrintMask, Problem, ProgramContext, RenderedRow, Status, ValueCounts,
    compare_in_reverse, compare_sort_keys, sort_error_warning,
};
use crate::os::RealWorld;
use crate::text::plural::counted;

/// Result that is kept until its position in the output is known.
enum PendingResult {
    Ad(Box<ClassAd>),
    Row(RenderedRow),
    Text(Vec<u8>),
}

/// State of the output of a stream.
pub(super) struct StreamResults<'a, W> {
    pub(super) work: &'a StreamPlan<'a>,
    pub(super) mask: PrintMask,
    world: RealWorld,
    writer: Option<ListWriter>,
    pub(super) out: W,
    /// Attributes of each ad that are needed, or `None` if all are needed.
    projection: Option<Projection>,
    text: Vec<u8>,
    seen: HashSet<u128, FxBuildHasher>,
    waiting: Vec<(Vec<Value>, PendingResult)>,
    counts: ValueCounts,
    /// Writer of the files of `--split-by`, or `None`.
    pub(super) splitter: Option<AdSplitter>,
    /// Number of ads for which a sort key is an error.
    sort_errors: u64,
    count: u64,
    /// The last value, or `None` if nothing was evaluated.
    last: Option<Value>,
    /// Findings about the ads of the portions that were printed.
    found: OutputFindings,
}

/// Output of a thread for one portion of the ads. Portions are printed in their order.
pub(super) struct PortionOutput {
    text: Vec<u8>,
    count: u64,
    /// The last value, or `None` if nothing was evaluated.
    last: Option<Value>,
    found: OutputFindings,
}

impl StreamResults<'_, Vec<u8>> {
    /// Returns the output for the portion that has been processed, and resets it for the next one.
    pub(super) fn take_portion(&mut self) -> PortionOutput {
        let writer = self.writer.take();
        let found = writer.as_ref().map(OutputFindings::from_writer).unwrap_or_default();
        PortionOutput {
            text: std::mem::take(&mut self.out),
            count: std::mem::take(&mut self.count),
            last: self.last.take(),
            found,
        }
    }
}

impl<'a, W: Write> StreamResults<'a, W> {
    pub(super) fn new(work: &'a StreamPlan<'a>, mask: PrintMask, out: W) -> Self {
        let mut results = StreamResults {
            work,
            mask,
            world: work.world(),
            writer: None,
            out,
            projection: None,
            text: Vec::new(),
            seen: HashSet::default(),
            waiting: Vec::new(),
            counts: ValueCounts::default(),
            splitter: None,
            sort_errors: 0,
            count: 0,
            last: None,
            found: OutputFindings::default(),
        };
        results.projection = results.find_projection();
        results
    }

    /// Returns true if the output for an ad does not depend on other ads, so that several threads can be
    /// used.
    pub(super) fn can_run_in_parallel(&self) -> bool {
        let (cli, stream) = (self.work.cli, &self.work.cli.stream);
        let one_by_one = match self.work.form {
            None | Some(ListForm::Long | ListForm::JsonLines | ListForm::NewLines) => true,
            Some(ListForm::Json | ListForm::New | ListForm::Xml) => stream.count,
        };
        let has_order =
            !stream.sort.is_empty() || stream.limit.is_some() || stream.unique || self.work.is_counting();
        let has_order = has_order || self.work.split_by.is_some();
        // With a seed, random numbers form one sequence over all ads.
        let others = cli.question.explain || self.mask.needs_all_rows() || cli.clock.seed.is_some();
        one_by_one && !has_order && !others
    }

    /// Prints the output for a portion, and adds its counts.
    pub(super) fn add_portion(&mut self, portion: &PortionOutput) -> anyhow::Result<()> {
        self.out.write_all(&portion.text)?;
        self.found.add_part(portion.found.clone(), self.count);
        self.count += portion.count;
        if portion.last.is_some() {
            self.last.clone_from(&portion.last);
        }
        Ok(())
    }

    /// Processes all ads of a stream. Only ads for which the constraint is true are part of the output.
    pub(super) fn process_stream<R: Read>(
        &mut self,
        ads: &mut ReportingAdStream<'_, R>,
        diagnostics: &mut StreamDiagnostics,
    ) -> anyhow::Result<()> {
        let work = self.work;
        let (world, strict) = (work.world(), work.cli.context.strict);
        let has_ads = work.operands.is_empty() && !work.is_counting() && !work.cli.question.explain;
        if let (Some(form), None, true) = (work.form, &self.writer, has_ads) {
            self.writer = Some(output::list_writer(work.cli, form));
        }
        // If whole ads are printed, they are built only for ads for which the constraint is true.
        let wants_whole = self.prints_whole_ads();
        let mut record = AdRecord::default();
        while !self.is_limit_reached() {
            let has_ad = match &mut self.projection {
                Some(projection) => ads.next_projected(projection, &mut record)?,
                None => ads.next()?.map(|next| record = next).is_some(),
            };
            if !has_ad {
                break;
            }
            if self.projection.as_ref().is_some_and(Projection::needs_all_attributes) {
                self.projection = None;
            }
            let is_projected = self.projection.is_some() && ads.form() == AdForm::Long;
            diagnostics.name_coverage.record_ad(&work.looked_up_names, &record.ad, || {
                let whole_ad = if is_projected { ads.whole_ad() } else { record.ad.clone() };
                whole_ad.names().map(AttrName::from).collect()
            });
            if !work.assigned.is_empty() {
                record.ad.update(&work.assigned);
            }
            if self.writer.is_none() && work.only_form_of_input {
                self.writer = Some(output::list_writer(work.cli, output::list_form_of_input(ads.form())));
            }
            let mut context = Context::new(&world).my(&record.ad).strict(strict);
            if let Some(target) = &work.target {
                context = context.target(target);
            }
            let value = work.constraint.as_ref().map(|constraint| context.try_eval(constraint));
            if let Some(value) = &value {
                diagnostics.record_constraint_value(value.as_ref(), record.line);
            }
            if value.is_none_or(|value| value.and_then(|value| value.truth()) == Some(true)) {
                if wants_whole && self.projection.is_some() && ads.form() == AdForm::Long {
                    let ad = ads.whole_ad();
                    self.process_ad(&ad, &Context::new(&world).my(&ad).strict(strict))?;
                } else {
                    self.process_ad(&record.ad, &context)?;
                }
            }
            if self.projection.is_none() {
                ads.reuse(std::mem::take(&mut record.ad));
            }
        }
        Ok(())
    }

    /// Returns the attributes of each ad that are needed, or `None` if they are not known in advance.
    fn find_projection(&self) -> Option<Projection> {
        let work = self.work;
        if work.target.is_some() || !work.assigned.is_empty() || work.cli.question.explain {
            return None;
        }
        // Without a constraint, each ad is printed whole, so a projection saves nothing.
        if self.prints_whole_ads() && work.constraint.is_none() {
            return None;
        }
        let aggregates = work.aggregates.iter().map(|aggregate| &aggregate.expr);
        let exprs = work.constraint.iter().chain(&work.sort).chain(&work.count_by).chain(aggregates);
        let mut projection =
            self.mask.projection(exprs.chain(work.operands.iter().map(|operand| &operand.expr)))?;
        // The projection includes all looked-up names, also those of --attributes, so that names which no ad has can be reported.
        work.looked_up_names.iter().for_each(|name| projection.add(name.clone()));
        Some(projection)
    }

    /// Returns true if whole ads are printed.
    fn prints_whole_ads(&self) -> bool {
        let work = self.work;
        let counts = work.cli.stream.count && !work.cli.stream.unique;
        self.mask.is_empty() && work.operands.is_empty() && !work.is_counting() && !counts
    }

    /// Returns true if no further ad can change the result.
    fn is_limit_reached(&self) -> bool {
        let limit = self.work.cli.stream.limit;
        self.work.sort.is_empty()
            && !self.work.is_counting()
            && limit.is_some_and(|limit| self.count >= limit)
    }

    fn process_ad(&mut self, ad: &ClassAd, context: &Context<'_>) -> anyhow::Result<()> {
        let cli = self.work.cli;
        if self.work.is_counting() {
            self.counts.add_ad(&self.work.count_by, &self.work.aggregates, context);
            self.last = Some(Value::Bool(true));
            return Ok(());
        }
        if let Some(splitter) = &mut self.splitter {
            splitter.write(ad, context)?;
            self.count += 1;
            self.last = Some(Value::Bool(true));
            return Ok(());
        }
        self.text.clear();
        let item = if cli.question.explain {
            self.explain(context)?;
            PendingResult::Text(std::mem::take(&mut self.text))
        } else if !self.work.operands.is_empty() {
            for operand in &self.work.operands {
                let value = context.try_eval(&operand.expr);
                operands::print_value(value.as_ref(), cli, &mut self.text)?;
                self.last = Some(value.unwrap_or(Value::Error));
            }
            PendingResult::Text(std::mem::take(&mut self.text))
        } else if !self.prints_whole_ads() && self.mask.is_empty() {
            PendingResult::Text(Vec::new())
        } else if self.mask.is_empty() && self.work.sort.is_empty() && !cli.stream.unique {
            self.last = Some(Value::Bool(true));
            self.count += 1;
            if let Some(writer) = &mut self.writer {
                writer.write(ad, &mut self.out)?;
            }
            return Ok(());
        } else if self.mask.is_empty() {
            PendingResult::Ad(Box::new(ad.clone()))
        } else {
            let row = self.mask.render(ad, context);
            if let Some(column) = row.truncated_number() {
                return Err(Problem::usage(format!(
                    "the number {} does not fit into the 32 bits of the format '{}'",
                    column.1, column.0
                ))
                .hint("use %lld")
                .into());
            }
            PendingResult::Row(row)
        };
        if !cli.question.explain && self.work.operands.is_empty() {
            self.last = Some(Value::Bool(true));
        }
        if cli.stream.unique && !self.is_new(&item) {
            return Ok(());
        }
        if cli.stream.count && self.work.sort.is_empty() {
            self.count += 1;
            return Ok(());
        }
        if self.work.sort.is_empty() && !self.mask.needs_all_rows() {
            self.count += 1;
            return self.print(&item);
        }
        if self.work.sort.is_empty() {
            self.count += 1;
        }
        let keys: Vec<Value> = self.work.sort.iter().map(|key| context.eval(key)).collect();
        self.sort_errors += u64::from(keys.iter().any(|key| matches!(key, Value::Error)));
        self.waiting.push((keys, item));
        Ok(())
    }

    fn explain(&mut self, context: &Context<'_>) -> anyhow::Result<()> {
        let cli = self.work.cli;
        let constraint = self.work.constraint.iter().map(|expr| (None, expr));
        let operands = self.work.operands.iter().map(|operand| (Some(&operand.text), &operand.expr));
        let all: Vec<_> = operands.collect();
        let all = if all.is_empty() { constraint.collect() } else { all };
        if all.is_empty() {
            return Err(Problem::usage("there is nothing to explain")
                .hint("give an expression, or --match FILE for the Requirements of pairs")
                .into());
        }
        for (_, expr) in all {
            let mut text = std::mem::take(&mut self.text);
            let value = explanation::print_explanation(context, expr, cli, &mut text)?;
            self.last = Some(value.unwrap_or(Value::Error));
            self.text = text;
        }
        Ok(())
    }

    /// Returns true if no equal result has been printed. Results are compared by a 128-bit hash of their output.
    fn is_new(&mut self, item: &PendingResult) -> bool {
        let mut text = Vec::new();
        match item {
            PendingResult::Text(item) => text.extend_from_slice(item),
            PendingResult::Row(row) => self.mask.display(row, &self.world, &mut text),
            PendingResult::Ad(ad) => {
                let names = output::projected_attributes(self.work.cli);
                let options = crate::classad::format::long::PrintOptions {
                    only: (!names.is_empty()).then_some(names),
                    ..Default::default()
                };
                crate::classad::format::long::push(ad, &options, &mut text);
            }
        }
        self.seen.insert(hash_128(&text))
    }

    /// Appends a row in the requested form.
    fn push_row(&mut self, row: &RenderedRow, text: &mut Vec<u8>) {
        let rows = self.work.cli.rows;
        if let Some(form) = rows.form() {
            form.push_row(self.mask.cell_texts(row, &self.world), text);
            return;
        }
        self.mask.display(row, &self.world, text);
        if rows.null {
            text.pop_if(|last| *last == b'\n');
            text.push(0);
        }
    }

    /// Prints the header of separated rows.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(super) fn print_header(&mut self) -> anyhow::Result<()> {
        let Some(form) =
            self.work.cli.rows.form().filter(|_| !self.work.is_counting() && !self.work.cli.stream.count)
        else {
            return Ok(());
        };
        let mut text = Vec::new();
        form.push_row(self.mask.column_names(), &mut text);
        Ok(self.out.write_all(&text)?)
    }

    fn print(&mut self, item: &PendingResult) -> anyhow::Result<()> {
        match item {
            PendingResult::Text(text) => self.out.write_all(text)?,
            PendingResult::Row(row) => {
                let mut text = std::mem::take(&mut self.text);
                text.clear();
                self.push_row(row, &mut text);
                self.out.write_all(&text)?;
                self.text = text;
            }
            PendingResult::Ad(ad) => {
                if let Some(writer) = &mut self.writer {
                    writer.write(ad, &mut self.out)?;
                }
            }
        }
        Ok(())
    }

    fn warn_of_sort_errors(&self, session: &ProgramContext) {
        if self.sort_errors > 0 && !self.work.cli.output.quiet {
            session.warn(&sort_error_warning(self.sort_errors, "ad", &self.work.sort));
        }
    }

    /// Prints the results that were kept, then the end of the output.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(super) fn finish(&mut self, session: &ProgramContext) -> anyhow::Result<Status> {
        let cli = self.work.cli;
        let mut waiting = std::mem::take(&mut self.waiting);
        if !self.work.sort.is_empty() {
            let compare = if cli.stream.reverse { compare_in_reverse } else { compare_sort_keys };
            waiting.sort_by(|a, b| compare(&a.0, &b.0));
            self.warn_of_sort_errors(session);
            let limit = cli.stream.limit.and_then(|limit| usize::try_from(limit).ok());
            waiting.truncate(limit.unwrap_or(usize::MAX));
            self.count = waiting.len() as u64;
        }
        if self.work.is_counting() {
            let limit = cli.stream.limit.and_then(|limit| usize::try_from(limit).ok());
            let form = CountForm {
                rows: cli.rows,
                undefined: cli.columns.undefined.as_deref(),
                has_heading: !cli.output.quiet && std::io::stdout().is_terminal(),
                limit: limit.unwrap_or(usize::MAX),
                list: output::output_form(cli).map(|form| output::list_writer(cli, form)),
            };
            let warning_text = self.counts.left_out_warning(&self.work.aggregates);
            if let (Some(warning), false) = (warning_text, cli.output.quiet) {
                session.warn(&warning);
            }
            self.count = std::mem::take(&mut self.counts).print(
                form,
                &self.work.count_by,
                &self.work.aggregates,
                &mut self.out,
            )?;
        } else if let Some(splitter) = &mut self.splitter {
            let files = splitter.finish()?;
            if !cli.output.quiet {
                session.write_line(&format!("{} in {}", counted(self.count, "ad"), counted(files, "file")));
            }
        } else if cli.stream.count {
            writeln!(self.out, "{}", self.count)?;
        } else {
            if self.mask.has_headings() {
                let mut text = Vec::new();
                self.mask.display_headings(&mut text);
                self.out.write_all(&text)?;
            }
            for (_, item) in &waiting {
                self.print(item)?;
            }
            if let Some(writer) = &mut self.writer {
                writer.finish(&mut self.out)?;
            }
        }
        self.out.flush()?;
        let mut found = self.found.clone();
        if let Some(writer) = &self.writer {
            found.add_part(OutputFindings::from_writer(writer), 0);
        }
        if !cli.output.quiet {
            found.warn(session);
        }
        Ok(match (cli.question.exit_status, &self.last) {
            (false, _) => Status::Done,
            (true, None) => Status::No,
            (true, Some(value)) => expr_reader::exit_status_of(value, session),
        })
    }
}

fn hash_128(text: &[u8]) -> u128 {
    use std::hash::Hasher;
    let mut first_hash = rustc_hash::FxHasher::default();
    first_hash.write(text);
    // FNV-1a is used as a second hash function: a collision of both at once is practically impossible.
    let mut second_hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in text {
        second_hash = (second_hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    u128::from(first_hash.finish()) << 64 | u128::from(second_hash)
}
