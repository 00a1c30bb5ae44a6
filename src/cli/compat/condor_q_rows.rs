//! Rows of a report of `condor_q`, one per job, which can be joined to batches, DAGs and hold codes (reference:
//! condor_q.V6/queue.cpp, `linkup_nodes_by_id`, `reduce_results`, `reduce_holds`).

use std::collections::{BTreeMap, HashMap};

use bstr::BString;

use super::condor_q_batches::{BatchCounts, BatchWidths, number_width};
use crate::classad::{ClassAd, Context, Dialect, Expr, Value};
use crate::cli::common::{ColumnFunction, GroupKey, PrintMask, RenderedRow};
use crate::job::Universe;
use crate::text::number::integer_prefix;

/// Returns cluster and process in one integer of 64 bits, as the reference stores them.
pub(super) fn packed_id(cluster: i32, process: i32) -> i64 {
    i64::from(cluster) << 32 | i64::from(process as u32)
}

fn cluster_of(id: i64) -> i32 {
    (id >> 32) as i32
}

fn process_of(id: i64) -> i32 {
    id as i32
}

/// Modes of the report, which determine how rows are joined.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowModes {
    /// True to print one line per batch.
    pub(super) batches: bool,
    /// True to show the jobs of a DAG under their DAGMan job.
    pub(super) dags: bool,
    /// Attribute with the id of an autocluster or group, if that is used in place of the job id; otherwise `None`.
    pub(super) id_attribute: Option<&'static str>,
    /// True if not all jobs of a cluster are in the report, so that the number of finished jobs is unknown.
    pub(super) is_partial: bool,
    /// True to count roots of DAGs with the same batch name as one batch (`-batch:2`).
    pub(super) folds_dags: bool,
    /// True to guess totals from the highest process (`-batch:16`).
    pub(super) guesses_totals: bool,
    /// True if the column of held jobs is always shown (`-global`).
    pub(super) shows_held: bool,
    /// Character that replaces zeros (`-batch:z`).
    pub(super) zero_character: Option<u8>,
}

/// Row of a job.
struct JobRow {
    row: RenderedRow,
    id: i64,
    dag: Option<i64>,
    batch: Option<usize>,
    generation: usize,
    is_cooked: bool,
    is_skipped: bool,
    is_folded: bool,
    is_printed: bool,
    is_scheduler: bool,
    is_node: bool,
    next_process: Option<usize>,
    first_child: Option<usize>,
    next_sibling: Option<usize>,
    last_sibling: Option<usize>,
}

/// Rows of a report.
#[derive(Default)]
pub(super) struct JobRows {
    modes: RowModes,
    rows: Vec<JobRow>,
    /// Rows by id. For a row whose ad has no id, the key contains the number of the row.
    by_id: BTreeMap<(i64, usize), usize>,
    sort_keys: BTreeMap<Vec<u8>, usize>,
    group_by: Vec<Expr>,
    batch_names: HashMap<BString, usize>,
    next_processes: HashMap<i32, i32>,
    last_id: i64,
    longest_owner: usize,
    most_memory: f64,
}

/// Job that belongs to two batches, such as one whose DAGMan job was submitted after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedJob {
    /// ClusterId of the job.
    pub(super) cluster: i32,
    /// ProcId of the job.
    pub(super) process: i32,
}

/// Settings of the name column for [`JobRows::link`].
#[derive(Clone, Copy, Debug)]
pub(super) struct NameColumn {
    /// True for built-in reports that begin with ids or have an owner.
    pub(super) is_standard: bool,
    /// True if lines are not cut.
    pub(super) is_wide: bool,
    /// Maximum width of the column if lines are cut.
    pub(super) most: usize,
    /// Current width.
    pub(super) width: usize,
}

/// Column of the owner in all built-in reports with ids.
const NAME_COLUMN: usize = 2;

impl JobRows {
    /// Creates an empty report.
    pub(super) fn new(modes: RowModes, group_by: &[GroupKey]) -> Self {
        let parse = |key: &GroupKey| Expr::parse_with(&key.0, Dialect::old_syntax()).ok();
        JobRows { modes, group_by: group_by.iter().filter_map(parse).collect(), ..JobRows::default() }
    }

    /// Returns true if there is no row.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a job. Returns false if there is already a job with the same id.
    pub(super) fn add(&mut self, ad: &ClassAd, context: &Context<'_>, mask: &mut PrintMask) -> bool {
        let (id, is_known) = self.find_id(ad, context);
        self.last_id = id;
        let number = self.rows.len();
        let key = (id, if is_known { 0 } else { number + 1 });
        if self.by_id.contains_key(&key) {
            return false;
        }
        let set_ad = set_ids(ad, context);
        let row = match &set_ad {
            Some(ad) => mask.render(ad, &Context::new(context.world()).my(ad)),
            None => mask.render(ad, context),
        };
        self.measure(ad, context, mask);
        let mut job = JobRow {
            row,
            id,
            dag: None,
            batch: None,
            generation: 0,
            is_cooked: false,
            is_skipped: false,
            is_folded: false,
            is_printed: false,
            is_scheduler: false,
            is_node: false,
            next_process: None,
            first_child: None,
            next_sibling: None,
            last_sibling: None,
        };
        if (self.modes.dags || self.modes.batches) && self.modes.id_attribute.is_none() {
            self.find_parents(&mut job, ad, context);
        }
        self.by_id.insert(key, number);
        self.add_sort_key(number, id, context);
        self.rows.push(job);
        true
    }

    /// Returns the id of an ad, and true if the ad itself has one: if it has none, the reference uses the id
    /// of the previous ad.
    fn find_id(&self, ad: &ClassAd, context: &Context<'_>) -> (i64, bool) {
        if let Some(attribute) = self.modes.id_attribute {
            let id = context.int(attribute);
            return (id.unwrap_or(self.last_id), true);
        }
        let cluster = context.int("ClusterId");
        let mut process = context.int("ProcId").map_or(-1, |process| process as i32);
        match (cluster, context.int("JobSetId")) {
            (Some(cluster), _) => (packed_id(cluster as i32, process), true),
            (None, Some(set)) => {
                if !ad.contains("ProcId") {
                    process = set as i32;
                }
                (packed_id(0, process), true)
            }
            (None, None) => (packed_id(cluster_of(self.last_id), process), false),
        }
    }

    /// Keeps the largest values of owners and memory, for the widths of their columns.
    fn measure(&mut self, ad: &ClassAd, context: &Context<'_>, mask: &mut PrintMask) {
        let settings = mask.functions;
        for column in mask.columns_mut() {
            let owner = || context.string("Owner").map_or(0, |owner| owner.len());
            match column.function() {
                Some(ColumnFunction::Owner) => self.longest_owner = self.longest_owner.max(owner()),
                Some(ColumnFunction::DagOwner) => {
                    let node = (settings.shows_nodes && ad.contains("DAGManJobId"))
                        .then(|| context.string("DAGNodeName"))
                        .flatten();
                    let length = node.map_or_else(owner, |node| node.len() + 3);
                    self.longest_owner = self.longest_owner.max(length);
                }
                Some(ColumnFunction::MemoryUsage) => {
                    let memory = crate::cli::common::memory(context).unwrap_or(0.0);
                    self.most_memory = self.most_memory.max(memory);
                }
                _ => {}
            }
        }
    }

    fn find_parents(&mut self, job: &mut JobRow, ad: &ClassAd, context: &Context<'_>) {
        if let Some(dag) = dag_cluster(context).filter(|dag| *dag > 0) {
            job.dag = Some(packed_id(dag, 0));
            job.is_node = true;
        } else if self.modes.batches {
            job.batch = self.find_batch(ad, context);
            if let Some(next) = context.int("JobMaterializeNextProcId").filter(|next| *next >= 0) {
                self.next_processes.insert(cluster_of(job.id), next as i32);
            }
        }
        job.is_scheduler = context.int("JobUniverse") == Some(Universe::Scheduler.number());
    }

    /// Returns the number of the job's batch; batches have one owner (`resolve_job_batch_uid`).
    fn find_batch(&mut self, ad: &ClassAd, context: &Context<'_>) -> Option<usize> {
        let node = || {
            let name = ad.contains("DAGManJobId").then(|| context.string("DAGNodeName")).flatten()?;
            Some(BString::from([b"NODE: ", name.as_slice()].concat()))
        };
        let mut name = context.string("JobBatchName").or_else(node)?;
        if let Some(owner) = context.string("Owner") {
            name.push(b'\n');
            name.extend_from_slice(&owner);
        }
        let next = self.batch_names.len();
        Some(*self.batch_names.entry(name).or_insert(next))
    }

    fn add_sort_key(&mut self, number: usize, id: i64, context: &Context<'_>) {
        if self.group_by.is_empty() {
            return;
        }
        let mut key = Vec::new();
        for expr in &self.group_by {
            if let Some(value) = context.try_eval(expr) {
                key.extend_from_slice(&value.unparse_old());
                key.push(b'\n');
            }
        }
        key.extend_from_slice(format!("{id:016X}").as_bytes());
        self.sort_keys.insert(key, number);
    }

    /// Links processes, children and batches, and widens the columns of ids and names.
    pub(super) fn link(&mut self, mask: &mut PrintMask, name: &mut NameColumn) {
        let order: Vec<usize> = self.by_id.values().copied().collect();
        let Some(first) = order.first().copied() else { return };
        let mut first_of_batch: HashMap<usize, usize> = HashMap::new();
        first_of_batch.extend(self.rows[first].batch.map(|batch| (batch, first)));
        let (mut cluster, mut process) = (cluster_of(self.rows[first].id), process_of(self.rows[first].id));
        let mut longest = self.longest_owner;
        for pair in order.windows(2) {
            let (before, row) = (pair[0], pair[1]);
            let is_first = cluster_of(self.rows[before].id) != cluster_of(self.rows[row].id);
            if !is_first {
                self.rows[before].next_process = Some(row);
            }
            cluster = cluster.max(cluster_of(self.rows[row].id));
            process = process.max(process_of(self.rows[row].id));
            if let Some(dag) = self.rows[row].dag {
                self.link_to_dag(row, dag, is_first);
                if self.modes.dags && self.rows[row].generation > 1 {
                    let text = self.rows[row].row.value(NAME_COLUMN).and_then(Value::as_str);
                    let length = text.map(|text| text.len() + 2 + self.rows[row].generation);
                    longest = longest.max(length.unwrap_or(0));
                }
            } else if let (Some(batch), true) = (self.rows[row].batch, is_first) {
                let oldest = *first_of_batch.entry(batch).or_insert(row);
                let links = self.modes.folds_dags || !self.rows[row].is_scheduler;
                if links && oldest != row {
                    self.append_sibling(oldest, row);
                }
            }
        }
        if name.is_standard && (cluster >= 9999 || process >= 999 || longest > 14) {
            self.widen(mask, name, cluster, process, longest);
        }
    }

    fn link_to_dag(&mut self, row: usize, dag: i64, is_first: bool) {
        let Some(parent) = self.by_id.get(&(dag, 0)).copied() else { return };
        self.rows[row].generation = self.rows[parent].generation + 1;
        match self.rows[parent].first_child {
            None => self.rows[parent].first_child = Some(row),
            Some(child) if is_first => self.append_sibling(child, row),
            Some(_) => {}
        }
    }

    fn append_sibling(&mut self, list: usize, row: usize) {
        match self.rows[list].last_sibling {
            Some(last) => self.rows[last].next_sibling = Some(row),
            None => self.rows[list].next_sibling = Some(row),
        }
        self.rows[list].last_sibling = Some(row);
    }

    /// Widens columns for large ids and long names (`fixup_std_column_widths`).
    fn widen(&self, mask: &mut PrintMask, name: &mut NameColumn, cluster: i32, process: i32, longest: usize) {
        let digits = |number: i32| number.to_string().len();
        let (cluster, process) = (digits(cluster), digits(process));
        let wanted = if !name.is_wide && longest > 14 { longest.min(name.most) } else { 0 };
        name.width = wanted;
        for (number, column) in mask.columns_mut().iter_mut().enumerate() {
            let mut widen = |at: usize, least: u8, size: usize| {
                column.format_mut().is_some_and(|format| format.widen(at, least, b'0' + size as u8))
            };
            match number {
                0 if (5..=9).contains(&cluster) && widen(1, b'4', cluster) => column.width = cluster + 1,
                1 if (4..=9).contains(&process) && widen(2, b'3', process) => column.width = process,
                NAME_COLUMN => {
                    column.width = column.width.max(wanted);
                    name.width = column.width;
                }
                3.. if column.function() == Some(ColumnFunction::MemoryUsage) => {
                    column.width = column.width.max(format!("{:.1}", self.most_memory).len());
                }
                _ => {}
            }
        }
    }

    /// Puts marks before the names of nodes (`format_name_column_for_dag_nodes`).
    pub(super) fn mark_nodes(&mut self, width: usize) {
        for job in self.rows.iter_mut().filter(|job| job.is_node) {
            let Some(name) = job.row.value(NAME_COLUMN).and_then(Value::as_str) else { continue };
            let mut text = [&b" ".repeat(job.generation)[..], b"|-"].concat();
            text.extend_from_slice(&name[..name.len().min(width.saturating_sub(text.len()))]);
            job.row.set_value(NAME_COLUMN, Value::Str(text.into()), true);
        }
    }

    /// Keeps the first row of each hold code and subcode, with the number of jobs (`reduce_holds`).
    pub(super) fn join_hold_codes(&mut self) {
        const COUNT: usize = 3;
        let mut last = None;
        let mut first = None;
        let order: Vec<usize> = self.sort_keys.values().copied().collect();
        for row in order {
            let number = |column: usize| self.rows[row].row.value(column).and_then(Value::as_int);
            let Some(code) = number(1) else { continue };
            let codes = (code as i32, number(2).unwrap_or(0) as i32);
            match first {
                Some(first) if last == Some(codes) => {
                    self.rows[row].is_skipped = true;
                    let job: &mut JobRow = &mut self.rows[first];
                    let count = job.row.value(COUNT).and_then(Value::as_int).unwrap_or(0);
                    job.row.set_value(COUNT, Value::Int(count + 1), true);
                }
                _ => {
                    (last, first) = (Some(codes), Some(row));
                    let is_valid = self.rows[row].row.value(COUNT).is_some();
                    self.rows[row].row.set_value(COUNT, Value::Int(1), is_valid);
                }
            }
        }
    }

    /// Adds up batches and DAGs: their first rows get the counts (`reduce_results`).
    ///
    /// # Errors
    /// Returns an error if a job belongs to two batches. The reference aborts in this case.
    pub(super) fn join_batches(
        &mut self,
        mask: &mut PrintMask,
        columns: Option<i64>,
    ) -> Result<(), SharedJob> {
        let mut widths = BatchWidths::default();
        let order: Vec<usize> = self.by_id.values().copied().collect();
        for row in order {
            if !(self.rows[row].is_folded || self.rows[row].is_skipped) {
                let counts = self.add_up_children(row)?;
                self.write_counts(row, &counts, &mut widths);
            }
        }
        if let Some(columns) = columns {
            widths.fit_to(columns);
        }
        widths.apply(mask, self.modes.zero_character);
        Ok(())
    }

    /// Adds up a row, its siblings and all their children (`reduce_children`).
    fn add_up_children(&mut self, row: usize) -> Result<BatchCounts, SharedJob> {
        let mut counts = BatchCounts { first_process: i32::MAX, ..BatchCounts::default() };
        let mut todo = vec![row];
        while let Some(row) = todo.pop() {
            if self.rows[row].is_folded {
                let id = self.rows[row].id;
                return Err(SharedJob { cluster: cluster_of(id), process: process_of(id) });
            }
            let processes = self.add_up_cluster(row, &mut counts);
            if !self.rows[row].is_scheduler {
                let cluster = cluster_of(self.rows[row].id);
                let first = packed_id(cluster, processes.0);
                counts.first = if counts.first == 0 { first } else { counts.first.min(first) };
                counts.last = counts.last.max(packed_id(cluster, processes.1));
            }
            let job = &mut self.rows[row];
            job.is_folded = true;
            todo.extend(job.next_sibling);
            todo.extend(job.first_child);
        }
        Ok(counts)
    }

    /// Adds up all processes of a cluster; returns the first and last (`reduce_procs`).
    fn add_up_cluster(&mut self, row: usize, counts: &mut BatchCounts) -> (i32, i32) {
        let number = |job: &JobRow, column: usize| {
            job.row.value(column).and_then(Value::as_int).map(|number| number as i32)
        };
        let job = &mut self.rows[row];
        let process = process_of(job.id);
        if process >= 0 {
            (counts.first_process, counts.last_process) = (process, process);
        }
        let (mut submitted, mut present) = (0, 0);
        if number(job, 4) == Some(Universe::Scheduler.number() as i32) {
            job.is_scheduler = true;
            counts.total = counts.total.wrapping_add(number(job, 7).unwrap_or(0));
            counts.done = counts.done.wrapping_add(number(job, 6).unwrap_or(0));
        } else {
            if let Some(total) = number(job, 7) {
                (submitted, present) = (total, 1);
            }
            if process >= 0 {
                counts.jobs += 1;
                counts.add_state(number(job, 3));
            }
        }
        let (is_dag, cluster, mut next) =
            (job.is_scheduler || job.is_node, cluster_of(job.id), job.next_process);
        while let Some(row) = next {
            let job = &mut self.rows[row];
            if !(job.is_folded || job.is_skipped) {
                let process = process_of(job.id);
                if process >= 0 {
                    counts.jobs += 1;
                    counts.add_state(number(job, 3));
                    counts.first_process = counts.first_process.min(process);
                    counts.last_process = counts.first_process.max(process);
                }
                job.is_folded = true;
            }
            present += 1;
            next = job.next_process;
        }
        if !is_dag {
            let guess = if self.modes.guesses_totals { counts.last_process + 1 } else { 0 };
            match if submitted != 0 { submitted } else { guess } {
                0 => counts.has_unknown_total = true,
                total => {
                    let next = self.next_processes.get(&cluster);
                    let done = next.map_or(total - present, |next| next - counts.jobs);
                    counts.total = counts.total.wrapping_add(total);
                    if !self.modes.is_partial {
                        counts.done = counts.done.wrapping_add(done);
                    }
                }
            }
        }
        (counts.first_process, counts.last_process)
    }

    fn write_counts(&mut self, row: usize, counts: &BatchCounts, widths: &mut BatchWidths) {
        let [done, total] =
            [counts.done, counts.total].map(|count| if counts.has_unknown_total { 0 } else { count });
        let states = counts.states;
        let numbers = [done, states[2] + states[6], states[1] + states[7], states[5], total];
        widths.has_held |= states[5] > 0 || self.modes.shows_held;
        let job = &mut self.rows[row];
        job.is_cooked = true;
        for (at, number) in numbers.into_iter().enumerate() {
            job.row.set_value(3 + at, Value::Int(i64::from(number)), number > 0);
            widths.counts[at] = widths.counts[at].max(number_width(number));
        }
        let length = |job: &JobRow, column: usize| {
            job.row.value(column).and_then(Value::as_str).map(|text| text.len())
        };
        widths.owner = widths.owner.max(length(job, 0).unwrap_or(0) as i64);
        if length(job, 1).is_none() && !job.is_scheduler {
            let name = format!("ID: {}", cluster_of(job.id));
            job.row.set_value(1, Value::from(name), true);
        }
        widths.batch = widths.batch.max(length(job, 1).unwrap_or(0) as i64);
        let (first, last) = (counts.first, counts.last);
        let (cluster, process) = (cluster_of(first), process_of(first));
        let ids = match (first == last, cluster == cluster_of(last)) {
            (true, _) => format!("{cluster}.{process}"),
            (_, true) => format!("{cluster}.{process}-{}", process_of(last)),
            _ => format!("{cluster}.{process} ... {}.{}", cluster_of(last), process_of(last)),
        };
        widths.ids = widths.ids.max(ids.len() as i64);
        job.row.set_value(8, Value::from(ids), true);
    }

    /// Calls a function with each row that is printed, in the order of the report (`print_results`).
    pub(super) fn for_each<E>(
        &mut self,
        mut print: impl FnMut(&RenderedRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let sorted = !self.sort_keys.is_empty() && !self.modes.batches;
        let order: Vec<usize> = match sorted {
            true => self.sort_keys.values().copied().collect(),
            false => self.by_id.values().copied().collect(),
        };
        for row in order {
            let job = &self.rows[row];
            let is_left_out = match (self.modes.batches, self.modes.dags) {
                (true, _) => !job.is_cooked,
                (false, dags) => (dags && job.is_printed) || (sorted && job.is_skipped),
            };
            if is_left_out {
                continue;
            }
            print(&self.rows[row].row)?;
            self.rows[row].is_printed = true;
            if self.modes.dags && !self.modes.batches {
                let mut todo: Vec<usize> = self.rows[row].first_child.into_iter().collect();
                while let Some(child) = todo.pop() {
                    if std::mem::replace(&mut self.rows[child].is_printed, true) {
                        continue;
                    }
                    print(&self.rows[child].row)?;
                    todo.extend(self.rows[child].next_sibling);
                    todo.extend(self.rows[child].first_child);
                }
            }
        }
        Ok(())
    }
}

/// Returns the cluster of the DAGMan job that submitted a job; old jobs have it as a string (`lookup_dagman_job_id`).
fn dag_cluster(context: &Context<'_>) -> Option<i32> {
    match context.eval_attr("DAGManJobId") {
        Value::Int(cluster) => Some(cluster as i32),
        Value::Str(text) => {
            let (cluster, used) = integer_prefix(&text)?;
            let ends = matches!(text.get(used), None | Some(b'.'));
            (cluster > 0 && ends).then_some(cluster as i32)
        }
        _ => None,
    }
}

/// Returns the ad of a job set with the ids that the reference gives it, or `None` for other ads.
fn set_ids(ad: &ClassAd, context: &Context<'_>) -> Option<ClassAd> {
    let set = context.int("JobSetId").filter(|_| context.int("ClusterId").is_none())?;
    let mut ad = ad.clone();
    ad.set("ClusterId", 0i64);
    ad.set("ProcId", set);
    Some(ad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_packed_and_unpacked() {
        for (cluster, process) in [(1, 0), (7, -1), (0, 5), (i32::MAX, 3)] {
            let id = packed_id(cluster, process);
            assert_eq!((cluster_of(id), process_of(id)), (cluster, process));
        }
        assert_eq!(number_width(9), 1);
        assert_eq!(number_width(10), 2);
    }
}
