//! List of `condor_q` with one line per batch, and the totals (reference: condor_q.V6/queue.cpp,
//! `reduce_results`).

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};

use crate::classad::{ClassAd, Context};
use crate::config::Config;
use crate::job::{JobId, Universe};
use crate::text::calendar::CivilTime;
use crate::world::World;

/// Formats a date and time of day without a year, as the tables show them.
pub(super) fn format_date(seconds: i64, world: &dyn World) -> String {
    let CivilTime { month, day, hour, minute, .. } =
        CivilTime::from_seconds(seconds, i64::from(world.zone(seconds).offset));
    format!("{month:2}/{day:<2} {hour:02}:{minute:02}")
}

/// Jobs to list, and their source.
pub(super) struct JobListing<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Selected jobs.
    pub selected_jobs: &'a [&'a (JobId, ClassAd)],
    /// All jobs of the queue.
    pub all_jobs: &'a [(JobId, ClassAd)],
    /// World that provides clock and time zone.
    pub world: &'a dyn World,
    /// Number of columns to which lines are cut, or `None`.
    pub columns: Option<i64>,
}

impl JobListing<'_> {
    /// Adds the line above a table: the name of the queue and the time.
    pub(super) fn heading(&self, out: &mut Vec<u8>) {
        let view = self.config.view(self.world);
        let name = view.text("SCHEDD_NAME").or_else(|| view.text("FULL_HOSTNAME")).unwrap_or_default();
        let now = format_date(self.world.now().epoch(), self.world);
        out.extend_from_slice(format!("\n\n-- Schedd: {name} : <job_queue.log> @ {now}\n").as_bytes());
    }

    /// Adds one line per cluster or batch, as `condor_q` without options does. Jobs of the scheduler universe
    /// represent DAGs.
    pub(super) fn write_batches(&self, out: &mut Vec<u8>) {
        self.heading(out);
        let mut jobs: Vec<&(JobId, ClassAd)> = self.selected_jobs.to_vec();
        jobs.sort_by_key(|(id, _)| *id);
        let mut rows: Vec<BatchRow> = Vec::new();
        let mut at: BTreeMap<(BString, i32), usize> = BTreeMap::new();
        for (id, ad) in jobs {
            let job = BatchJob::new(*id, ad, self.world);
            // A batch belongs to one owner; a cluster without a batch name is a batch of its own.
            let key = match &job.batch {
                Some(name) if !job.is_dag => ([name.as_slice(), b"\n", &job.owner].concat().into(), 0),
                _ => (BString::default(), id.cluster),
            };
            let row = *at.entry(key).or_insert_with(|| {
                rows.push(BatchRow::for_job(&job));
                rows.len() - 1
            });
            rows[row].add_job(&job);
        }
        let longest = |text: fn(&BatchRow) -> usize| rows.iter().map(text).max().unwrap_or(0);
        let widths = ColumnWidths::new(
            longest(|row| row.owner.len()),
            longest(|row| row.batch.len()),
            longest(|row| row.ids().len()),
            rows.is_empty(),
            self.columns,
        );
        let held = rows.is_empty() || rows.iter().any(|row| row.held > 0);
        let hold = if held { "   HOLD" } else { "" };
        let heading = format!(
            "{:<owner$} {:<batch$}    SUBMITTED   DONE   RUN    IDLE{hold}  TOTAL JOB_IDS",
            "OWNER",
            "BATCH_NAME",
            owner = widths.owner,
            batch = widths.batch
        );
        out.extend_from_slice(fit_to_width(heading.as_bytes(), self.columns));
        out.push(b'\n');
        for row in &rows {
            let submitted = row.submitted.map(|at| format_date(at, self.world)).unwrap_or_default();
            let line = row.render(&widths, &submitted, held);
            out.extend_from_slice(fit_to_width(line.as_bytes(), self.columns));
            out.push(b'\n');
        }
        self.write_totals(out);
    }

    /// Adds only the totals, as `condor_q -totals` does.
    pub(super) fn write_only_totals(&self, out: &mut Vec<u8>) {
        self.heading(out);
        self.write_totals(out);
    }

    /// Adds the two lines of totals. DAGs are not counted.
    pub(super) fn write_totals(&self, out: &mut Vec<u8>) {
        let totals = |what: &str, jobs: &mut dyn Iterator<Item = &(JobId, ClassAd)>| {
            let mut counts = [0u64; 8];
            for (_, ad) in jobs {
                let context = Context::new(self.world).my(ad);
                if context.int("JobUniverse") == Some(Universe::Scheduler.number()) {
                    continue;
                }
                counts[0] += 1;
                let status = context.int("JobStatus").and_then(|status| usize::try_from(status).ok());
                if let Some(count) = status.filter(|&at| at > 0).and_then(|at| counts.get_mut(at)) {
                    *count += 1;
                }
            }
            let [all, idle, running, removed, completed, held, output, suspended] = counts;
            let running = running + output;
            format!(
                "Total for {what}: {all} jobs; {completed} completed, {removed} removed, {idle} idle, {running} \
                 running, {held} held, {suspended} suspended"
            )
        };
        let query = totals("query", &mut self.selected_jobs.iter().copied());
        let users = totals("all users", &mut self.all_jobs.iter());
        out.extend_from_slice(format!("\n{query} \n{users}\n\n").as_bytes());
    }
}

/// Properties of a job that its row needs.
struct BatchJob {
    id: JobId,
    owner: BString,
    batch: Option<BString>,
    submitted: Option<i64>,
    status: i64,
    submitted_procs: Option<i64>,
    is_dag: bool,
    /// True for a job of a DAG, for which the number of submitted jobs is not counted.
    is_node: bool,
}

impl BatchJob {
    fn new(id: JobId, ad: &ClassAd, world: &dyn World) -> Self {
        let context = Context::new(world).my(ad);
        let is_dag = context.int("JobUniverse") == Some(Universe::Scheduler.number());
        let batch = context.string("JobBatchName").or_else(|| match is_dag {
            true => Some(format!("DAG: {}", id.cluster).into()),
            false if ad.contains("DAGManJobId") => {
                context.string("DAGNodeName").map(|node| BString::from([b"NODE: ", node.as_slice()].concat()))
            }
            false => None,
        });
        BatchJob {
            id,
            owner: context.string("Owner").unwrap_or_else(|| "??".into()),
            batch,
            submitted: context.int("QDate"),
            status: context.int("JobStatus").unwrap_or(0),
            submitted_procs: context.int("DAG_NodesTotal").or_else(|| context.int("TotalSubmitProcs")),
            is_dag,
            is_node: dag(&context).is_some_and(|dag| dag > 0),
        }
    }
}

/// Returns the DAG of a job; old jobs have it as a string (`lookup_dagman_job_id`).
fn dag(context: &Context<'_>) -> Option<i64> {
    let text = || crate::text::number::integer_prefix(&context.string("DAGManJobId")?).map(|(dag, _)| dag);
    context.int("DAGManJobId").or_else(text)
}

/// Row of a batch.
#[derive(Default)]
struct BatchRow {
    owner: BString,
    batch: BString,
    submitted: Option<i64>,
    done: i64,
    running: i64,
    idle: i64,
    held: i64,
    total: i64,
    first: Option<JobId>,
    last: Option<JobId>,
    cluster: Option<i32>,
}

impl BatchRow {
    fn for_job(job: &BatchJob) -> Self {
        BatchRow {
            owner: job.owner.clone(),
            batch: job.batch.clone().unwrap_or_else(|| format!("ID: {}", job.id.cluster).into()),
            submitted: job.submitted,
            ..BatchRow::default()
        }
    }

    /// Counts a job. With a constraint the number of completed jobs is unknown, so none is counted as done.
    fn add_job(&mut self, job: &BatchJob) {
        let is_new = self.cluster.replace(job.id.cluster) != Some(job.id.cluster);
        if is_new && (job.is_dag || !job.is_node) {
            self.total += job.submitted_procs.unwrap_or(0);
        }
        if job.is_dag {
            return;
        }
        match job.status {
            1 | 7 => self.idle += 1,
            2 | 6 => self.running += 1,
            5 => self.held += 1,
            _ => {}
        }
        self.first = Some(self.first.map_or(job.id, |first| first.min(job.id)));
        self.last = Some(self.last.map_or(job.id, |last| last.max(job.id)));
    }

    /// Formats the row; `held` is true if the list has a column of held jobs.
    fn render(&self, widths: &ColumnWidths, submitted: &str, held: bool) -> String {
        let cell = |text: &BString, width: usize| {
            let text = text.to_str_lossy();
            let cut: String = text.chars().take(width).collect();
            format!("{cut:<width$}")
        };
        let (owner, batch) = (cell(&self.owner, widths.owner), cell(&self.batch, widths.batch));
        let mut line = format!("{owner} {batch} {submitted:>12}");
        let mut counts = vec![self.done, self.running, self.idle];
        counts.extend(held.then_some(self.held));
        counts.push(self.total);
        for count in counts {
            line.push_str(&if count > 0 { format!(" {count:6}") } else { "      _".to_owned() });
        }
        format!("{line} {}", self.ids())
    }

    /// Returns the job IDs; those of a DAG are unknown.
    fn ids(&self) -> String {
        match (self.first, self.last) {
            (Some(first), Some(last)) if first == last => first.to_string(),
            (Some(first), Some(last)) if first.cluster == last.cluster => format!("{first}-{}", last.proc),
            (Some(first), Some(last)) => format!("{first} ... {last}"),
            _ => "0.0".to_owned(),
        }
    }
}

/// Widths of the columns that depend on their content (`fnFixupWidthsForProgressFormat`).
struct ColumnWidths {
    owner: usize,
    batch: usize,
}

impl ColumnWidths {
    fn new(
        longest_owner: usize,
        longest_batch: usize,
        ids: usize,
        empty: bool,
        columns: Option<i64>,
    ) -> Self {
        if empty {
            return ColumnWidths { owner: 5, batch: 12 };
        }
        let [longest, mut batch, mut ids] = [longest_owner, longest_batch, ids].map(|width| width as i64);
        let mut owner = longest;
        // 50 columns are for the counts; 8, 10 and 9 are the minimum widths of names and IDs.
        let room = columns.map(|columns| columns - 50).filter(|room| owner + batch + ids > *room);
        if let Some(room) = room {
            let spare = (room - 27) / 3;
            let (mut more_batch, mut more_owner) = (spare, spare);
            if spare < ids && spare < 10 && owner + batch > more_batch + more_owner + 18 + 7 {
                ids /= 2;
            }
            if spare + 9 > ids {
                let rest = spare + 9 - ids;
                more_owner += rest / 2;
                more_batch += rest - rest / 2;
            }
            if more_batch + 10 > batch {
                more_owner = (8 + more_owner + more_batch + 10 - batch).min(owner) - 8;
            }
            if more_owner + 8 > owner {
                more_batch = (10 + more_batch + more_owner + 8 - owner).min(batch) - 10;
            }
            batch = batch.min(more_batch + 10);
            owner = owner.min(more_owner + 8);
        }
        // The column is as wide as its heading and content; if it is reduced, it is at least 8 wide.
        let owner = if owner < longest.max(5) { owner.max(8) } else { owner };
        ColumnWidths { owner: owner as usize, batch: batch.max(10) as usize }
    }
}

/// Cuts a line before the last column (`SetOverallWidth`).
pub(super) fn fit_to_width(line: &[u8], columns: Option<i64>) -> &[u8] {
    let most = columns.and_then(|columns| usize::try_from(columns - 1).ok()).filter(|most| *most > 0);
    &line[..line.len().min(most.unwrap_or(line.len()))]
}
