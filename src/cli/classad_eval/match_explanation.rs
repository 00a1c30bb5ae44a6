//! `--match --explain` for many pairs, with the same output as `htc-slot-run explain`: screen, rows and web page.

use std::io::BufReader;
use std::path::PathBuf;

use anyhow::Context as _;

use super::ads::{ReportingAdStream, StreamErrorReporter};
use super::expr_reader;
use super::options::{ClassadEvalCli, StreamOptions};
use crate::classad::stream::AdForm;
use crate::classad::{ClassAd, Context, Dialect};
use crate::cli::common::{
    InputReader, PipedStdin, ProgramContext, Status, is_not_found, list_inputs, open_input, open_stdio_pipe,
};
use crate::cli::explain::{BatchDiagnostics, ExplanationReport, LongJobStream, MAX_GROUPS};
use crate::os::RealWorld;
use crate::why::matching::{AdPool, Analysis, JobGrouper, SideNames};

/// Maximum number of pairs that are explained one by one.
const MAX_PAIRS: usize = 10;

/// Ads of `--ads`, read one by one.
pub(super) struct LeftAds<'a> {
    given: &'a [PathBuf],
    paths: std::vec::IntoIter<PathBuf>,
    input: Option<PipedStdin>,
    current: Option<ReportingAdStream<'a, BufReader<InputReader>>>,
    cli: &'a ClassadEvalCli,
    /// Input in the long form that several threads read, the reporter of its errors, and the number of ads read; or `None`.
    long_input: Option<(LongJobStream<BufReader<InputReader>>, StreamErrorReporter<'a>, u64)>,
    dialect: Dialect,
    session: &'a ProgramContext,
    is_finished: bool,
}

impl<'a> LeftAds<'a> {
    /// Creates the reader of the inputs that the command line names.
    ///
    /// # Errors
    /// Fails if a directory cannot be listed.
    pub(super) fn new(
        given: &'a [PathBuf],
        input: Option<PipedStdin>,
        cli: &'a ClassadEvalCli,
        session: &'a ProgramContext,
    ) -> anyhow::Result<Self> {
        let paths = list_inputs(given, session)?.into_iter();
        let dialect = expr_reader::expression_dialect(cli);
        Ok(LeftAds {
            given,
            paths,
            input,
            current: None,
            long_input: None,
            cli,
            dialect,
            session,
            is_finished: false,
        })
    }

    /// Returns the next ad, or `None` at the end.
    ///
    /// # Errors
    /// Fails if an input cannot be read.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<ClassAd>> {
        loop {
            if let Some(record) = self.current.as_mut().map(ReportingAdStream::next).transpose()?.flatten() {
                return Ok(Some(record.ad));
            }
            let Some(path) = self.paths.next() else {
                self.is_finished = true;
                return Ok(None);
            };
            let input = self.input.take().unwrap_or_else(|| open_stdio_pipe().0);
            let (read, name) = match open_input(&path, input, self.session) {
                // In a queue directory that is in use, a job's file may have been removed since the files were listed.
                Err(error) if !self.given.contains(&path) && is_not_found(&error) => continue,
                opened => opened?,
            };
            self.current = Some(ReportingAdStream::new(read, name, self.cli, self.dialect, self.session));
        }
    }

    /// Adds ads to a grouping: all ads if `wants_all` is true, otherwise ads until there are `MAX_GROUPS` groups. Ads
    /// in the long form are read by several threads. Returns true if there may be more ads.
    ///
    /// # Errors
    /// Fails if an input cannot be read.
    pub(super) fn group(
        &mut self,
        grouper: &mut JobGrouper<'_>,
        name: &dyn Fn(&ClassAd, u64) -> String,
        wants_all: bool,
    ) -> anyhow::Result<bool> {
        while wants_all || grouper.group_count() < MAX_GROUPS {
            if self.long_input.is_some() {
                self.group_long_input(grouper, name, wants_all)?;
                continue;
            }
            let is_long = |stream: &mut ReportingAdStream<'a, _>| stream.detect_form();
            if self.current.as_mut().map(is_long).transpose()? == Some(AdForm::Long) {
                let parts = self.current.take().map(ReportingAdStream::into_parts);
                self.long_input =
                    parts.map(|(reader, errors, read)| (LongJobStream::new(reader), errors, read));
                continue;
            }
            match self.next()? {
                Some(ad) => grouper.add(name(&ad, grouper.job_count() + 1), ad),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Adds ads of the current input, which is in the long form, to a grouping.
    fn group_long_input(
        &mut self,
        grouper: &mut JobGrouper<'_>,
        name: &dyn Fn(&ClassAd, u64) -> String,
        wants_all: bool,
    ) -> anyhow::Result<()> {
        let Some((stream, errors, read)) = &mut self.long_input else { return Ok(()) };
        let mut failure = None;
        let mut report = |batch: &BatchDiagnostics| {
            *read += batch.jobs;
            errors.add_count(batch.more_errors);
            failure = errors.report(&batch.errors).err();
            failure.is_none()
        };
        let grouped = match wants_all {
            true => stream.group_all(grouper, name, &mut report).map(|()| false),
            false => stream.group_until_full(grouper, name, &mut report),
        };
        if let Some(failure) = failure {
            return Err(failure);
        }
        if !grouped.with_context(|| errors.read_problem())? {
            errors.end(*read)?;
            self.long_input = None;
        }
        Ok(())
    }

    /// Returns the next ads: all if there are at most `most` of them, otherwise `most` + 1 ads.
    ///
    /// # Errors
    /// Fails if an input cannot be read.
    pub(super) fn take(&mut self, most: usize) -> anyhow::Result<Vec<ClassAd>> {
        let mut ads = Vec::new();
        while ads.len() <= most {
            match self.next()? {
                Some(ad) => ads.push(ad),
                None => break,
            }
        }
        Ok(ads)
    }

    /// True if there are no more ads.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }
}

impl StreamOptions {
    /// True if a summary may be printed in place of the pairs, because no option selects or orders single pairs.
    pub(super) fn can_be_summarised(&self, cli: &ClassadEvalCli, has_constraint: bool) -> bool {
        let selects = has_constraint || self.rank || self.limit.is_some() || cli.context.strict;
        cli.question.explain && !cli.question.exit_status && !selects
    }

    /// Returns the maximum number of ads of `--ads` for which each pair with the `others` ads is printed.
    pub(super) fn ads_for_pairs(&self, cli: &ClassadEvalCli, others: usize) -> usize {
        match (self.wants_summary(), cli.output.wants_json() || cli.rows.report_form().is_some()) {
            (true, _) => 0,
            (false, true) => usize::MAX,
            (false, false) => MAX_PAIRS / others.max(1),
        }
    }

    fn wants_summary(&self) -> bool {
        self.summary || self.html.is_some()
    }
}

/// Explains any number of pairs. The exit status is 0 if each ad of `--ads` matches one of `others`.
pub(super) fn explain_pairs(
    cli: &ClassadEvalCli,
    first: Vec<ClassAd>,
    lefts: &mut LeftAds<'_>,
    others: Vec<(ClassAd, String)>,
    world: &RealWorld,
) -> anyhow::Result<Status> {
    let names = side_names(others.first().map(|(ad, _)| ad), world);
    let others = others.into_iter().map(|(ad, name)| (name, ad)).collect();
    let pool = AdPool::new(others, world).symmetric().with_side_names(names);
    let mut grouper = JobGrouper::new(&pool);
    let name = |ad: &ClassAd, number: u64| short_name(ad, number, world);
    first.into_iter().for_each(|ad| grouper.add(name(&ad, grouper.job_count() + 1), ad));
    lefts.group(&mut grouper, &name, true)?;
    let analysis = Analysis::new(&pool, grouper);
    let html = cli.stream.html.as_deref();
    ExplanationReport { output: &cli.output, rows: cli.rows, by_slot: false, html, any: false }
        .print(&analysis)
}

/// Returns the nouns for the ads of `--ads` and for the other ads, depending on the MyType of the other ads.
fn side_names(other: Option<&ClassAd>, world: &RealWorld) -> SideNames {
    let kind = other.and_then(|ad| Context::new(world).my(ad).string("MyType"));
    match kind.is_some_and(|kind| kind.eq_ignore_ascii_case(b"Job")) {
        true => SideNames { job: "slot", slot: "job" },
        false => SideNames::SLOTS,
    }
}

fn short_name(ad: &ClassAd, number: u64, world: &RealWorld) -> String {
    let context = Context::new(world).my(ad);
    match (context.int("ClusterId"), context.int("ProcId"), context.string("Name")) {
        (Some(cluster), Some(process), _) => format!("{cluster}.{process}"),
        (.., Some(name)) => name.to_string(),
        _ => format!("ad {number} of the list"),
    }
}
