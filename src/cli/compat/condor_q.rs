//! Behaviour under the name `condor_q`: the tool's output formats for ads of a file, byte by byte. There is
//! no schedd to query (reference: condor_q.V6/queue.cpp). `condor_router_q` uses them for a queue log.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;

use super::condor_q_analysis::{Analysis, AnalysisSetup};
use super::condor_q_jobs::JobsById;
use super::condor_q_options::{CondorQOptions, ParsedOptions};
use super::condor_q_report::{JobCounts, ReportSource};
use super::condor_q_slots::{SlotPool, UserPriorities};
use super::condor_q_source::{AdSource, keeps_ad, open_ads};
use super::condor_q_stream::SortedJobs;
use super::condor_q_user_log::read_logged_jobs;
use crate::classad::format::list::{AttributeOrder, ListForm, ListWriter};
use crate::classad::format::long;
use crate::classad::stream::Projection;
use crate::classad::{AttrName, ClassAd, Context, Dialect, Expr};
use crate::cli::common::{ProgramContext, Status, exit_when_reader_is_gone, stdout, tool_user_maps};
use crate::config::{Config, LoadOptions, LookupContext};
use crate::os::RealWorld;
use crate::world::World;

/// Runs `condor_q` for a file of ads.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub fn run(words: &[OsString], session: &ProgramContext) -> anyhow::Result<Status> {
    let mut options = match CondorQOptions::from_words(words, session)? {
        ParsedOptions::Report(options) => options,
        ParsedOptions::Finished(status) => return Ok(status),
    };
    let is_log = options.file.is_none();
    let Some(file) = options.file.take().or_else(|| options.user_log.take()) else {
        session.write_stderr("Error: there is no queue here\nhint: name a file of ads with -jobads\n");
        return Ok(Status::Tool(1));
    };
    let world = RealWorld::new().with_shared_user_maps(tool_user_maps(None));
    let config = match options.needs_config().then(|| load_config(&world, session)) {
        None => None,
        Some(Ok(config)) => config,
        Some(Err(status)) => return Ok(status),
    };
    if let Some(status) = options.finish(config.as_ref(), &world, session)? {
        return Ok(status);
    }
    let constraint = options.constraint(session);
    exit_when_reader_is_gone();
    let analysis = match prepare_analysis(&options, config.as_ref(), &world, session) {
        Ok(analysis) => analysis,
        Err(status) => return Ok(status),
    };
    let mut out = BufWriter::new(stdout());
    if let (false, None, Some(form)) = (is_log, &analysis, options.streamed_form())
        && let Some(jobs) = SortedJobs::find(&file, &options, constraint.as_ref(), &world, session)
    {
        jobs.write(options.list_writer(form), &mut out)?;
        out.flush()?;
        return Ok(Status::Tool(0));
    }
    let mut jobs = JobsById::new(options.modes.id_attribute);
    let mut add = |ad: ClassAd| {
        if !jobs.add(ad, &world) {
            session.write_stderr("Error: Two results with the same ID.\n");
        }
    };
    if is_log {
        let Ok(logged) = read_logged_jobs(&file, &options.ids, &world) else {
            session.write_stderr(&format!("\nCan't open user log: {}\n", file.to_string_lossy()));
            return Ok(Status::Tool(1));
        };
        logged.into_iter().filter(|ad| keeps_ad(constraint.as_ref(), ad, &world)).for_each(&mut add);
    } else {
        let Some(read) = open_ads(&file, session) else { return Ok(Status::Tool(1)) };
        let projection = options.projection(constraint.as_ref());
        AdSource::of_jobs(read, options.form, projection).for_each(constraint.as_ref(), &world, add);
    }
    let source = if is_log { "Userlog" } else { "Jobads" };
    let label = format!("{source}: {}", file.to_string_lossy());
    if let Some((setup, slots)) = analysis {
        let mut analysis = Analysis::new(setup, std::mem::take(&mut jobs.by_id).into_iter(), slots);
        if options.analysis.is_wanted {
            analysis.print(&label, &mut out)?;
            out.flush()?;
            return Ok(Status::Tool(0));
        }
        jobs.by_id = analysis.into_jobs_without_match();
    }
    let status = options.print_jobs(&jobs, &label, &world, &mut out, session)?;
    out.flush()?;
    Ok(status)
}

/// Reads slots and priorities for an analysis, or returns `None` if no analysis is requested.
fn prepare_analysis<'a>(
    options: &CondorQOptions,
    config: Option<&Config>,
    world: &'a RealWorld,
    session: &ProgramContext,
) -> Result<Option<(AnalysisSetup<'a>, SlotPool)>, Status> {
    let analysis = &options.analysis;
    if !(analysis.is_wanted || analysis.unmatchable) {
        return Ok(None);
    }
    let slots = SlotPool::read(analysis, world, session).ok_or(Status::Tool(1))?;
    let priorities = match &analysis.priority_file {
        _ if !analysis.priorities => UserPriorities::default(),
        Some(file) => match std::fs::read(file) {
            Ok(text) => UserPriorities::parse(&text),
            Err(_) => {
                let file = file.to_string_lossy();
                session.write_stderr(&format!("Can't open file of user priorities: {file}\n"));
                return Err(Status::Tool(1));
            }
        },
        None => {
            session.write_stderr(
                "Error: there is no negotiator to ask for priorities here\nhint: name a file of them with -userprios\n",
            );
            return Err(Status::Tool(1));
        }
    };
    let text = |name: &str| config.and_then(|config| config.view(world).text(name));
    let preemption = text("PREEMPTION_REQUIREMENTS")
        .and_then(|text| Expr::parse_with(&text, Dialect::old_syntax()).ok())
        .unwrap_or_else(|| Expr::literal(false));
    let domain = text("UID_DOMAIN").unwrap_or_default();
    let setup = AnalysisSetup {
        options: analysis.clone(),
        verbose: options.verbose,
        preemption,
        domain,
        priorities,
        world,
    };
    Ok(Some((setup, slots)))
}

/// Loads the configuration, which may change the built-in reports; returns `None` if no configuration exists.
fn load_config(world: &RealWorld, session: &ProgramContext) -> Result<Option<Config>, Status> {
    let context = LookupContext { subsystem: "TOOL".into(), ..LookupContext::default() };
    let read = Config::load_partially(world, &context, &LoadOptions::default());
    match read.error {
        None => Ok(Some(read.config)),
        Some(error) if error.is_config_missing => Ok(None),
        Some(error) => {
            session.report(&anyhow::Error::new(error));
            Err(Status::Tool(1))
        }
    }
}

impl CondorQOptions {
    /// Returns the attributes of each ad that the report needs, or `None` if they are not known in advance. They are
    /// known if the report consists of the user's columns.
    fn projection(&self, constraint: Option<&Expr>) -> Option<Projection> {
        let needs_all = self.analysis.unmatchable || self.capture.is_some();
        if self.long.is_some() || !self.is_plain_columns() || needs_all {
            return None;
        }
        let mut projection = self.mask.projection(constraint.into_iter())?;
        ["ClusterId", "ProcId", "JobSetId"].into_iter().for_each(|name| projection.add(name.into()));
        Some(projection)
    }

    /// Prints the jobs of a queue for which the constraint is true, up to the limit, as ads or as a report.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub(super) fn print_queue<'a>(
        &mut self,
        ads: impl Iterator<Item = &'a ClassAd>,
        source: &ReportSource,
        world: &dyn World,
        out: &mut dyn Write,
        session: &ProgramContext,
    ) -> io::Result<Status> {
        let mut jobs = JobsById::new(self.modes.id_attribute);
        for ad in ads.take(self.limit.unwrap_or(usize::MAX)) {
            jobs.add(ad.clone(), world);
        }
        match self.long {
            Some(form) => self.print_long(form, &jobs, out).map(|()| Status::Tool(0)),
            None => self.print_report(jobs.by_id.values(), source, world, out, session),
        }
    }

    fn print_jobs(
        &mut self,
        jobs: &JobsById,
        label: &str,
        world: &dyn World,
        out: &mut dyn Write,
        session: &ProgramContext,
    ) -> io::Result<Status> {
        if self.is_global && jobs.by_id.is_empty() {
            self.long.map_or(Ok(()), |form| self.print_long(form, jobs, out))?;
            return Ok(Status::Tool(0));
        }
        if let Some(form) = self.long {
            match self.totals_only {
                true => self.print_long_totals(form, jobs, world, out)?,
                false => self.print_long(form, jobs, out)?,
            }
            return Ok(Status::Tool(0));
        }
        if let Some(file) = self.capture.take()
            && let Err(error) = capture_jobs(&file, jobs, out)
        {
            session.write_stderr(&format!("Error: {}: {error}\n", file.to_string_lossy()));
            return Ok(Status::Tool(1));
        }
        let source = ReportSource { label: label.to_owned(), all_users: None };
        self.print_report(jobs.by_id.values(), &source, world, out, session)
    }

    /// Prints the summary ad (`-totals -long`), and the jobs with `-verbose`.
    fn print_long_totals(
        &self,
        form: ListForm,
        jobs: &JobsById,
        world: &dyn World,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut counts = JobCounts::default();
        jobs.by_id.values().for_each(|ad| counts.add(ad, &Context::new(world).my(ad)));
        let order = if self.unsorted { AttributeOrder::Internal } else { AttributeOrder::Sorted };
        let mut writer = ListWriter::new(form, order);
        if self.verbose {
            for ad in jobs.by_id.values() {
                writer.write(&self.projected(ad), out)?;
            }
        }
        writer.write(&counts.summary_ad(None), out)?;
        writer.finish(out)
    }

    /// Returns a copy of an ad with the attributes that `-long` prints.
    fn projected(&self, ad: &ClassAd) -> ClassAd {
        let mut shown = ClassAd::new();
        for (name, expr) in ad {
            if self.prints_all() || self.attributes.contains(&AttrName::from(name)) {
                shown.insert(name, expr.clone());
            }
        }
        shown
    }

    /// True if `-long` prints all attributes, as it always does for rows that stand for several jobs.
    fn prints_all(&self) -> bool {
        self.attributes.is_empty() || self.modes.id_attribute.is_some()
    }

    /// Returns the form of ads that may be printed while they are read, or `None`.
    fn streamed_form(&self) -> Option<ListForm> {
        let needs_all = self.totals_only || self.modes.id_attribute.is_some() || self.capture.is_some();
        self.long.filter(|form| !needs_all && !self.is_unsorted_projection(*form))
    }

    fn is_unsorted_projection(&self, form: ListForm) -> bool {
        self.unsorted && form == ListForm::Long && !self.prints_all()
    }

    /// Returns the writer of ads.
    fn list_writer(&self, form: ListForm) -> ListWriter {
        let order = if self.unsorted { AttributeOrder::Internal } else { AttributeOrder::Sorted };
        let writer = ListWriter::new(form, order);
        match self.prints_all() {
            true => writer,
            false => writer.only(self.attributes.iter().cloned()),
        }
    }

    fn print_long(&self, form: ListForm, jobs: &JobsById, out: &mut dyn Write) -> io::Result<()> {
        if self.is_unsorted_projection(form) {
            return self.print_unsorted(jobs, out);
        }
        let mut writer = self.list_writer(form);
        for ad in jobs.by_id.values() {
            writer.write(ad, out)?;
        }
        writer.finish(out)
    }

    /// Prints projections that are not sorted: they keep the order of the ads and include private attributes.
    fn print_unsorted(&self, jobs: &JobsById, out: &mut dyn Write) -> io::Result<()> {
        let options = long::PrintOptions {
            order: long::PrintOrder::Ad,
            private: true,
            only: Some(self.attributes.clone()),
            ..long::PrintOptions::default()
        };
        for ad in jobs.by_id.values() {
            let text = long::print_with(ad, &options);
            if !text.is_empty() {
                out.write_all(&text)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }
}

/// Writes the jobs of a table as they were read (`-capture-raw-results`): to a file (at its end if the name
/// begins with `+`), or to standard output or standard error for `-` and `-2`.
fn capture_jobs(file: &OsStr, jobs: &JobsById, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::from("# condor_q v25.14.0 raw query results\n");
    for ad in jobs.by_id.values() {
        for (name, expr) in ad {
            text.extend_from_slice(name);
            text.push(b'=');
            text.extend_from_slice(&expr.unparse_old());
            text.push(b'\n');
        }
        text.push(b'\n');
    }
    match file.as_bytes() {
        b"-" => out.write_all(&text),
        b"-2" => io::stderr().write_all(&text),
        [b'+', name @ ..] => {
            let mut file = File::options().append(true).create(true).open(OsStr::from_bytes(name))?;
            file.write_all(&text)
        }
        name => std::fs::write(OsStr::from_bytes(name), &text),
    }
}
