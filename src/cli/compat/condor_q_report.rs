//! Reports of `condor_q`: the line with the source, headings, rows and summary (reference: condor_q.V6/queue.cpp,
//! `show_file_queue`, `print_full_header`, `print_full_footer`).

use std::io::{self, Write};

use super::condor_q_formats::{ReportKind, summary_format};
use super::condor_q_options::CondorQOptions;
use super::condor_q_rows::{JobRows, NameColumn, SharedJob};
use crate::classad::{ClassAd, Context};
use crate::cli::common::{PrintFormat, PrintMask, ProgramContext, Status};
use crate::job::Universe;
use crate::text::calendar::CivilTime;
use crate::world::World;

/// Numbers of jobs by state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JobCounts {
    /// Idle, running, removed, completed, held, suspended.
    jobs: [i64; 6],
    /// Jobs of the scheduler universe: idle, running, removed, completed, held.
    scheduler_jobs: [i64; 5],
}

impl JobCounts {
    /// Counts a job (`count_job`); ads of clusters have no process.
    pub(super) fn add(&mut self, ad: &ClassAd, context: &Context<'_>) {
        if !ad.contains("ProcId") {
            return;
        }
        let is_scheduler = context.int("JobUniverse") == Some(Universe::Scheduler.number());
        let at = match context.int("JobStatus").unwrap_or(0) {
            status @ 1..=5 => (status - 1) as usize,
            6 => 1,
            7 => 5,
            _ => return,
        };
        match self.scheduler_jobs.get_mut(at) {
            Some(count) if is_scheduler => *count += 1,
            _ if is_scheduler => {}
            _ => self.jobs[at] += 1,
        }
    }

    /// Adds the counts to a summary ad; names begin with `prefix` (`LiveJobCounters::publish`).
    fn publish(&self, prefix: &str, ad: &mut ClassAd) {
        let mut set = |name: &str, count: i64| ad.set(format!("{prefix}{name}"), count);
        let [idle, running, removed, completed, held, suspended] = self.jobs;
        set("Jobs", self.jobs.iter().sum());
        set("Idle", idle);
        set("Running", running);
        set("Removed", removed);
        set("Completed", completed);
        set("Held", held);
        set("Suspended", suspended);
        let [idle, running, removed, completed, held] = self.scheduler_jobs;
        set("SchedulerJobs", self.scheduler_jobs.iter().sum());
        set("SchedulerIdle", idle);
        set("SchedulerRunning", running);
        set("SchedulerRemoved", removed);
        set("SchedulerCompleted", completed);
        set("SchedulerHeld", held);
    }

    /// Returns the summary ad. `all` has the numbers of all users' jobs, or is `None` if they are unknown because no
    /// queue is read.
    pub(super) fn summary_ad(&self, all: Option<&JobCounts>) -> ClassAd {
        let mut ad = ClassAd::new();
        ad.set("MyType", "Summary");
        self.publish("", &mut ad);
        if let Some(all) = all {
            all.publish("Allusers", &mut ad);
        }
        ad
    }
}

/// Source of a report's jobs.
#[derive(Clone, Debug)]
pub(super) struct ReportSource {
    /// Text of the first line.
    pub(super) label: String,
    /// Counts of all users' jobs, for a queue.
    pub(super) all_users: Option<JobCounts>,
}

impl CondorQOptions {
    /// Prints a report of jobs, which come in the order of their ids.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub(super) fn print_report<'a>(
        &mut self,
        jobs: impl Iterator<Item = &'a ClassAd>,
        source: &ReportSource,
        world: &dyn World,
        out: &mut dyn Write,
        session: &ProgramContext,
    ) -> io::Result<Status> {
        let mut counts = JobCounts::default();
        let mut queue_time = None;
        let mut rows = JobRows::new(self.modes, &self.group_by);
        for ad in jobs {
            let context = Context::new(world).my(ad);
            counts.add(ad, &context);
            queue_time = queue_time.or_else(|| context.int("ServerTime").filter(|time| *time != 0));
            if self.mask.column_count() > 0 && !rows.add(ad, &context, &mut self.mask) {
                session.write_stderr("Error: Two results with the same ID.\n");
            }
        }
        if let Err(SharedJob { cluster, process }) = self.join(&mut rows) {
            session.write_stderr(&format!(
                "ERROR: job {cluster}.{process} belongs to two batches\nhint: list the jobs one by one with -nobatch\n"
            ));
            return Ok(Status::Tool(4));
        }
        let mut text = Vec::new();
        if self.head_foot.title {
            let now = queue_time.unwrap_or_else(|| world.now().epoch());
            text.extend_from_slice(
                format!("\n\n-- {} @ {}\n", source.label, date_and_time(now, world)).as_bytes(),
            );
        }
        if self.head_foot.header && self.mask.has_headings() {
            self.mask.display_headings(&mut text);
        }
        self.print_rows(&mut rows, world, text, out)?;
        self.print_summary(&counts, source, world, out)?;
        Ok(Status::Tool(0))
    }

    fn join(&mut self, rows: &mut JobRows) -> Result<(), SharedJob> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut name = NameColumn {
            is_standard: self.is_standard,
            is_wide: self.is_wide,
            most: self.most_name_width,
            width: self.name_width,
        };
        rows.link(&mut self.mask, &mut name);
        if self.held == Some(true) {
            rows.join_hold_codes();
        } else if self.modes.batches {
            let columns = (!self.is_wide).then(|| self.display_width());
            rows.join_batches(&mut self.mask, columns)?;
        } else if self.modes.dags {
            rows.mark_nodes(name.width);
        }
        Ok(())
    }

    fn print_rows(
        &mut self,
        rows: &mut JobRows,
        world: &dyn World,
        mut text: Vec<u8>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (mask, is_wide) = (&mut self.mask, self.is_wide);
        rows.for_each(|row| {
            let start = text.len();
            mask.display(row, world, &mut text);
            if is_wide && text[start..].ends_with(b"\n") {
                let kept = text[start..].trim_ascii_end().len();
                text.truncate(start + kept);
                text.push(b'\n');
            }
            if text.len() > 1 << 16 {
                out.write_all(&text)?;
                text.clear();
            }
            Ok::<(), io::Error>(())
        })?;
        out.write_all(&text)
    }

    fn print_summary(
        &mut self,
        counts: &JobCounts,
        source: &ReportSource,
        world: &dyn World,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if !self.head_foot.summary {
            return Ok(());
        }
        let ad = counts.summary_ad(source.all_users.as_ref());
        let mut text = Vec::new();
        if !self.totals_only || self.has_old_summary {
            text.push(b'\n');
        }
        if self.has_standard_summary {
            let lines = summary_format(self.has_old_summary).lines().map(|line| line.as_bytes().to_vec());
            if let Some(format) = PrintFormat::parse(lines, PrintMask::default()) {
                self.summary = format.mask;
                self.summary.clear_headings();
            }
        }
        if self.summary.has_headings() {
            // The reference prints the headings before the blank line, because that line is still in its buffer.
            let mut headings = Vec::new();
            self.summary.display_headings(&mut headings);
            out.write_all(&headings)?;
        }
        let row = self.summary.render(&ad, &Context::new(world).my(&ad));
        self.summary.display(&row, world, &mut text);
        text.push(b'\n');
        out.write_all(&text)
    }

    /// Returns true if the report consists of the user's own columns, and no other attributes are needed.
    pub(super) fn is_plain_columns(&self) -> bool {
        self.report == ReportKind::Custom
            && !(self.modes.batches || self.modes.dags || self.head_foot.summary || self.head_foot.title)
            && self.modes.id_attribute.is_none()
            && self.group_by.is_empty()
            && self.held != Some(true)
    }
}

/// Returns a date and time as `strftime` prints `%m/%d/%y %H:%M:%S`.
fn date_and_time(seconds: i64, world: &dyn World) -> String {
    let CivilTime { year, month, day, hour, minute, second, .. } =
        CivilTime::from_seconds(seconds, i64::from(world.zone(seconds).offset));
    format!("{month:02}/{day:02}/{:02} {hour:02}:{minute:02}:{second:02}", year.rem_euclid(100))
}
