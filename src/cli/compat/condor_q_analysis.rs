//! `condor_q -better-analyze`: why jobs match no slot, and why slots match no job (reference: condor_q.V6/jobmatch.cpp
//! and `print_jobs_analysis` of queue.cpp).

mod tables;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use bstr::{BString, ByteVec};

use super::condor_q_analysis_options::{
    AnalysisOptions, DETAIL_ALWAYS, DETAIL_BETTER, DETAIL_EACH_CLAUSE, DETAIL_NO_ATTRIBUTES,
};
use super::condor_q_attribute_lines::{append_own_attributes, append_target_attributes};
use super::condor_q_clauses::{Clauses, InlineAttributes, MatchColumns, MatchTargets};
use super::condor_q_job_status::{append_universe_warning, calendar_text, job_status};
use super::condor_q_line_breaks::append_wrapped;
use super::condor_q_slots::{SlotPool, UserPriorities, drained_ad};
use crate::classad::{AttrName, ClassAd, Context, Dialect, Expr, MatchAd};
use crate::job::Universe;
use crate::world::World;

/// Width of lines; the reference asks the terminal only for tables.
const WIDTH: usize = 80;

/// Slots that are matched with one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MatchMode {
    /// All slots as they are.
    All,
    /// Static and partitionable slots; partitionable ones also as if they were drained.
    Partitionable,
}

/// Outcome of matching a slot with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MatchOutcome {
    JobRefuses,
    SlotRefuses,
    Offline,
    BetterPriority,
    KeepsItsJob,
    Willing,
    WillingIfDrained,
}

/// Counts of one job's matches.
#[derive(Clone, Debug, Default)]
struct MatchTotals {
    counts: BTreeMap<MatchOutcome, usize>,
    /// Slots by outcome, for `-verbose`.
    slots: BTreeMap<MatchOutcome, Vec<usize>>,
    slots_seen: usize,
    machines: usize,
    suitable: usize,
    both: usize,
    running: usize,
    yours: usize,
}

impl MatchTotals {
    fn add(&mut self, outcome: MatchOutcome, slot: usize) {
        *self.counts.entry(outcome).or_default() += 1;
        self.list(outcome, slot);
    }

    fn list(&mut self, outcome: MatchOutcome, slot: usize) {
        self.slots.entry(outcome).or_default().push(slot);
    }

    fn count(&self, outcome: MatchOutcome) -> usize {
        self.counts.get(&outcome).copied().unwrap_or(0)
    }
}

/// User of a job, and the index of the user's priority.
#[derive(Clone, Debug)]
struct JobUser {
    name: BString,
    priority: Option<usize>,
}

/// Key by which jobs are sorted: cluster and process.
pub(super) type JobKey = (i64, i32);

/// Indexes of jobs by autocluster; jobs without an autocluster have the key -1.
type JobClusters = BTreeMap<i32, Vec<usize>>;

/// Settings of an analysis.
pub(super) struct AnalysisSetup<'a> {
    /// Options of the command line.
    pub(super) options: AnalysisOptions,
    /// True if names of slots are printed.
    pub(super) verbose: bool,
    /// Value of PREEMPTION_REQUIREMENTS.
    pub(super) preemption: Expr,
    /// Value of UID_DOMAIN.
    pub(super) domain: BString,
    /// Priorities of users.
    pub(super) priorities: UserPriorities,
    /// World in which expressions are evaluated.
    pub(super) world: &'a dyn World,
}

/// Analysis of jobs and slots.
pub(super) struct Analysis<'a> {
    setup: AnalysisSetup<'a>,
    details: u32,
    keys: Vec<JobKey>,
    jobs: Vec<ClassAd>,
    slots: SlotPool,
    mode: MatchMode,
}

impl<'a> Analysis<'a> {
    /// Prepares the analysis of jobs, in the order of their ids.
    pub(super) fn new(
        setup: AnalysisSetup<'a>,
        jobs: impl Iterator<Item = (JobKey, ClassAd)>,
        mut slots: SlotPool,
    ) -> Self {
        let (keys, jobs) = jobs.unzip();
        if setup.options.priorities {
            slots.add_priorities(&setup.priorities, setup.world);
        }
        let mode = if slots.has_only_dynamic() { MatchMode::All } else { MatchMode::Partitionable };
        let details = setup.options.details;
        Analysis { setup, details, keys, jobs, slots, mode }
    }

    /// Returns the jobs that no slot matches (`-unmatchable` without an analysis).
    pub(super) fn into_jobs_without_match(mut self) -> BTreeMap<JobKey, ClassAd> {
        let kept: Vec<bool> = (0..self.jobs.len())
            .map(|job| self.match_job(job, MatchMode::Partitionable, false).1.both == 0)
            .collect();
        let jobs = self.keys.into_iter().zip(self.jobs).zip(kept);
        jobs.filter(|(_, kept)| *kept).map(|(job, _)| job).collect()
    }

    /// Prints the analysis.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub(super) fn print(&mut self, source: &str, out: &mut dyn Write) -> io::Result<()> {
        let (summary, reverse) = (self.setup.options.summary, self.setup.options.reverse);
        let clusters = self.job_clusters();
        if reverse && self.slots.all.len() == 1 && self.details == 0 {
            self.details = DETAIL_EACH_CLAUSE;
        } else if !reverse && self.details & DETAIL_BETTER != 0 {
            self.details |= DETAIL_EACH_CLAUSE | DETAIL_ALWAYS;
        }
        let mut text = format!("\n\n-- {source}\n").into_bytes();
        match () {
            () if reverse => self.append_slots(summary || self.details == 0, &clusters, &mut text),
            () if self.setup.options.unmatchable => self.append_unmatchable(&clusters, &mut text),
            () if summary => self.append_summary(&clusters, &mut text),
            () => {
                for job in 0..self.jobs.len() {
                    self.append_job(job, &mut text);
                    out.write_all(&text)?;
                    text.clear();
                }
            }
        }
        out.write_all(&text)
    }

    fn job_clusters(&self) -> JobClusters {
        let mut clusters = JobClusters::new();
        for (number, job) in self.jobs.iter().enumerate() {
            let cluster = self.context(job).int("AutoClusterId").map_or(-1, |cluster| cluster as i32);
            clusters.entry(cluster).or_default().push(number);
        }
        clusters
    }

    fn context<'c>(&'c self, ad: &'c ClassAd) -> Context<'c> {
        Context::new(self.setup.world).my(ad)
    }

    /// Appends the analysis of one job (`printJobRunAnalysis`).
    fn append_job(&mut self, job: usize, out: &mut Vec<u8>) {
        let always = self.details & DETAIL_ALWAYS != 0;
        let mode = if always { self.mode } else { MatchMode::Partitionable };
        let with_priority = self.setup.options.priorities;
        let (status, totals, is_needed) = self.match_job(job, mode, with_priority);
        if is_needed || always {
            let details = if always { self.details } else { self.details | DETAIL_EACH_CLAUSE };
            self.append_requirements(job, details, mode, out);
            out.push(b'\n');
        }
        if totals.slots_seen > 0 {
            self.append_totals(job, &totals, with_priority, out);
        }
        out.push(b'\n');
        self.append_status(job, &status, out);
    }

    /// Matches a job with all slots (`doJobRunAnalysis`). Returns the job's status, the counts, and true if some slot
    /// is not suitable.
    fn match_job(
        &mut self,
        job: usize,
        mode: MatchMode,
        with_priority: bool,
    ) -> (BString, MatchTotals, bool) {
        let mut totals = MatchTotals::default();
        let context = self.context(&self.jobs[job]);
        if context.string("Owner").is_none() {
            return ("Nothing here.".into(), totals, false);
        }
        let mut status = job_status(&context, self.setup.world);
        let universe = context.int("JobUniverse");
        if [Universe::Local, Universe::Scheduler].iter().any(|known| universe == Some(known.number())) {
            if !status.is_empty() {
                status.push_str("\n\n");
            }
            status.push_str(
                "WARNING: A schedd ClassAd is needed to do analysis for scheduler or Local universe jobs.\n",
            );
            return (status, totals, false);
        }
        let mut user = JobUser { name: context.string("User").unwrap_or_default(), priority: None };
        if with_priority {
            self.find_priority(job, &mut user);
        }
        for slot in self.slots.order() {
            self.match_slot(job, slot, mode, &user, &mut totals);
        }
        totals.machines = self.slots.machine_count();
        let is_needed = totals.count(MatchOutcome::JobRefuses) > 0;
        (status, totals, is_needed)
    }

    fn find_priority(&mut self, job: usize, user: &mut JobUser) {
        let is_nice = self.context(&self.jobs[job]).int("NiceUser").unwrap_or(0) != 0;
        let mut name = if is_nice { BString::from("nice-user.") } else { BString::default() };
        name.extend_from_slice(&user.name);
        if !user.name.contains(&b'@') {
            name.push(b'@');
            name.extend_from_slice(&self.setup.domain);
        }
        user.priority = self.setup.priorities.find(&name);
        if let Some(number) = user.priority {
            self.jobs[job].set("SubmittorPrio", f64::from(self.setup.priorities.0[number].1));
        }
    }

    fn match_slot(
        &mut self,
        job: usize,
        slot: usize,
        mode: MatchMode,
        user: &JobUser,
        totals: &mut MatchTotals,
    ) {
        let mut offer = Arc::clone(&self.slots.all[slot].ad);
        let is_partitionable = self.context(&offer).boolean("PartitionableSlot");
        let is_dynamic =
            is_partitionable.is_none() && self.context(&offer).boolean("DynamicSlot") == Some(true);
        if is_dynamic && mode == MatchMode::Partitionable {
            return;
        }
        let mut fits = true;
        if is_partitionable == Some(true) && mode == MatchMode::Partitionable {
            fits = self.is_within_limits(&offer, job) != Some(false);
            if !fits && let Some(mut drained) = drained_ad(&offer, self.setup.world) {
                drained.chain(Some(Arc::clone(&offer)));
                if self.is_within_limits(&drained, job) != Some(false) {
                    offer = Arc::new(drained);
                    self.slots.add_drained(slot, Arc::clone(&offer));
                }
            }
        }
        totals.slots_seen += 1;
        let world = self.setup.world;
        let request = &self.jobs[job];
        if !MatchAd::new(world, request, &offer).right_matches_left() {
            return totals.add(MatchOutcome::JobRefuses, slot);
        }
        totals.suitable += 1;
        if !MatchAd::new(world, &offer, request).right_matches_left() {
            return totals.add(MatchOutcome::SlotRefuses, slot);
        }
        totals.both += 1;
        let context = self.context(&offer);
        if context.boolean("Offline") == Some(true) {
            totals.add(MatchOutcome::Offline, slot);
        }
        let willing = if fits { MatchOutcome::Willing } else { MatchOutcome::WillingIfDrained };
        let Some(remote) = context.string("RemoteUser") else { return totals.add(willing, slot) };
        totals.running += 1;
        match (user.priority, user.name == remote) {
            (_, true) => totals.yours += 1,
            (None, false) => totals.list(MatchOutcome::BetterPriority, slot),
            (Some(_), false) => totals.add(self.preemption_outcome(&offer, request, willing), slot),
        }
    }

    /// Returns the value of WithinResourceLimits, or `None` if it is neither true nor false.
    fn is_within_limits(&self, slot: &ClassAd, job: usize) -> Option<bool> {
        let expr = slot.get("WithinResourceLimits")?;
        self.context(slot).target(&self.jobs[job]).eval(&expr).truth()
    }

    fn preemption_outcome(&self, slot: &ClassAd, job: &ClassAd, willing: MatchOutcome) -> MatchOutcome {
        let context = self.context(slot).target(job);
        let truth = |text: &str| {
            let expr = Expr::parse_with(text.as_bytes(), Dialect::old_syntax()).ok()?;
            context.eval(&expr).truth()
        };
        if truth("MY.RemoteUserPrio > TARGET.SubmittorPrio + 0.500000") != Some(true) {
            return MatchOutcome::BetterPriority;
        }
        let outranks = truth("MY.Rank >= MY.CurrentRank") == Some(true);
        match outranks && context.eval(&self.setup.preemption).truth() == Some(false) {
            true => MatchOutcome::KeepsItsJob,
            false => willing,
        }
    }

    fn ids(&self, job: usize) -> (i32, i32) {
        let context = self.context(&self.jobs[job]);
        let number = |name: &str| context.int(name).unwrap_or(0) as i32;
        (number("ClusterId"), number("ProcId"))
    }

    /// Appends the clauses of a job's Requirements (`doJobMatchAnalysisToBuffer`).
    fn append_requirements(&self, job: usize, details: u32, mode: MatchMode, out: &mut Vec<u8>) {
        let (ad, world) = (&self.jobs[job], self.setup.world);
        let count = self.slots.all.len();
        let skips_dynamic = count > 1 && mode == MatchMode::Partitionable;
        let (cluster, process) = self.ids(job);
        let id = format!("{cluster}.{process:03}");
        let mut inline = InlineAttributes::new();
        if let Some(expr) = ad.get("Requirements") {
            out.extend_from_slice(format!("The Requirements expression for job {id} is\n\n    ").as_bytes());
            let mut wrapped = Vec::new();
            append_wrapped(&expr, &mut wrapped, 4, WIDTH);
            out.extend_from_slice(&wrapped);
            out.extend_from_slice(b"\n\n");
        }
        if let Some(clauses) = Clauses::find(ad, "Requirements", &inline, details) {
            clauses.print_numbered(out);
            out.push(b'\n');
        }
        inline.insert(AttrName::from("Requirements"));
        let has_clauses = details & DETAIL_EACH_CLAUSE != 0;
        if has_clauses && details & DETAIL_NO_ATTRIBUTES == 0 {
            out.extend_from_slice(format!("Job {id} defines the following attributes:\n\n").as_bytes());
            let names = append_own_attributes(ad, "Requirements", &inline, true, world, out);
            if self.slots.single.is_some() || count == 1 {
                self.append_slot_attributes(ad, &names, skips_dynamic, out);
            }
            out.push(b'\n');
        }
        if has_clauses {
            out.extend_from_slice(
                format!("The Requirements expression for job {id} reduces to these conditions:\n\n")
                    .as_bytes(),
            );
            if let Some(clauses) = Clauses::find(ad, "Requirements", &inline, details) {
                let targets = self.slot_targets(skips_dynamic, details);
                out.extend(clauses.print_matches(&targets, world));
            }
        }
        append_universe_warning(&self.context(ad), out);
    }

    fn append_slot_attributes(
        &self,
        job: &ClassAd,
        names: &std::collections::BTreeSet<AttrName>,
        skips_dynamic: bool,
        out: &mut Vec<u8>,
    ) {
        let mut append = |slot: &ClassAd, what: &str| {
            let mut lines = Vec::new();
            if let Some(name) = append_target_attributes(names, job, slot, self.setup.world, &mut lines) {
                out.extend_from_slice(format!("\n{name} has the following attributes{what}:\n\n").as_bytes());
                out.extend(lines);
            }
        };
        for slot in self.slots.order() {
            let slot = &self.slots.all[slot];
            if skips_dynamic && slot.sub_id > 0 {
                continue;
            }
            append(&slot.ad, "");
            let drained = usize::try_from(-slot.sub_id).ok().filter(|index| *index > 0);
            if let Some(drained) = drained.and_then(|index| self.slots.all.get(index)) {
                append(&drained.ad, " when drained");
            }
        }
    }

    fn slot_targets(&self, skips_dynamic: bool, details: u32) -> MatchTargets<'_> {
        let has_drained = self.slots.drained > 0;
        let is_counted = |slot: &&super::condor_q_slots::SlotEntry| {
            !(skips_dynamic && slot.sub_id > 0) && (has_drained || slot.ad.parent().is_none())
        };
        MatchTargets {
            ads: self.slots.all.iter().filter(is_counted).map(|slot| &*slot.ad).collect(),
            columns: if has_drained { MatchColumns::Drained } else { MatchColumns::Plain("Slot") },
            details,
            width: WIDTH,
        }
    }

    /// Appends the counts of one job (`appendJobMatchTotalsToBuffer`).
    fn append_totals(&self, job: usize, totals: &MatchTotals, with_priority: bool, out: &mut Vec<u8>) {
        let (cluster, process) = self.ids(job);
        let context = self.context(&self.jobs[job]);
        let is_nice = with_priority && context.int("NiceUser").unwrap_or(0) != 0;
        if with_priority {
            let mut user = JobUser { name: context.string("User").unwrap_or_default(), priority: None };
            user.priority = self.setup.priorities.find(&user.name);
            if let Some((name, priority)) = user.priority.map(|number| &self.setup.priorities.0[number]) {
                out.extend_from_slice(
                    format!("Submittor {name} has a priority of {priority:.3}\n").as_bytes(),
                );
            }
        }
        let tag = if with_priority { "considering user priority" } else { "ignoring user priority" };
        out.extend_from_slice(
            format!(
                "\n{cluster:03}.{process:03}:  Run analysis summary {tag}.  Of {} slots on {} machines,\n",
                totals.slots_seen, totals.machines
            )
            .as_bytes(),
        );
        self.append_count_lines(totals, with_priority, is_nice, out);
        if is_nice {
            out.extend_from_slice(
                b"\n\t(*)  Since this is a \"nice-user\" job, it has a\n\
                  \t     very low priority and is unlikely to preempt other jobs.\n",
            );
        }
        if totals.suitable == 0 {
            out.extend_from_slice(b"\nWARNING:  Be advised:\n   No machines matched the job's constraints\n");
        } else if totals.both == 0 {
            out.extend_from_slice(
                b"\nWARNING:  Be advised:\n   Job did not match any machines' constraints\n   \
                  To see why, pick a machine that you think should match and add\n     \
                  -reverse -machine <name>\n   to your query.\n",
            );
        }
    }

    fn append_count_lines(
        &self,
        totals: &MatchTotals,
        with_priority: bool,
        is_nice: bool,
        out: &mut Vec<u8>,
    ) {
        let mut line = |count: usize, text: &str, outcome: Option<MatchOutcome>| {
            out.extend_from_slice(format!("  {count:5} slots {text}").as_bytes());
            if let Some(slots) = outcome.filter(|_| self.setup.verbose).and_then(|it| totals.slots.get(&it)) {
                self.append_names(slots, out);
            }
            out.push(b'\n');
        };
        let count = |outcome| totals.count(outcome);
        let refused = count(MatchOutcome::JobRefuses);
        line(refused, "are rejected by your job's requirements", Some(MatchOutcome::JobRefuses));
        let refusing = count(MatchOutcome::SlotRefuses);
        line(refusing, "reject your job because of their own requirements", Some(MatchOutcome::SlotRefuses));
        let offline = count(MatchOutcome::Offline);
        if with_priority {
            line(totals.yours, "match and are already running one of your jobs", None);
            let star = if is_nice { "(*)" } else { "" };
            let text = format!("match but are serving users with a better priority in the pool{star}");
            line(count(MatchOutcome::BetterPriority), &text, Some(MatchOutcome::BetterPriority));
            let text = "match but will not currently preempt their existing job";
            line(count(MatchOutcome::KeepsItsJob), text, Some(MatchOutcome::KeepsItsJob));
            line(offline, "match but are currently offline", None);
            if let Some(slots) = totals.slots.get(&MatchOutcome::Offline).filter(|_| self.setup.verbose) {
                self.append_names(slots, out);
            }
            // The reference writes two newlines here.
            out.push(b'\n');
        } else {
            if totals.yours > 0 {
                line(totals.yours, "match and are already running your jobs", None);
            }
            if totals.running > 0 {
                let others = totals.running - totals.yours;
                line(others, "match but are serving other users", Some(MatchOutcome::BetterPriority));
            }
            if offline > 0 {
                line(offline, "match but are currently offline", Some(MatchOutcome::Offline));
            }
        }
        let mut line = |count: usize, text: &str, outcome: MatchOutcome| {
            out.extend_from_slice(format!("  {count:5} slots {text}").as_bytes());
            if let Some(slots) = totals.slots.get(&outcome).filter(|_| self.setup.verbose) {
                self.append_names(slots, out);
            }
            out.push(b'\n');
        };
        line(count(MatchOutcome::Willing), "match and are willing to run your job", MatchOutcome::Willing);
        let drained = count(MatchOutcome::WillingIfDrained);
        if drained > 0 {
            line(drained, "would match if drained", MatchOutcome::WillingIfDrained);
        }
    }

    /// Appends at most ten names of slots.
    fn append_names(&self, slots: &[usize], out: &mut Vec<u8>) {
        out.push(b':');
        for (number, slot) in slots.iter().enumerate() {
            if number == 10 {
                out.extend_from_slice(b", ...");
                break;
            }
            out.extend_from_slice(if number > 0 { b", " } else { b" " });
            out.extend_from_slice(
                &self.context(&self.slots.all[*slot].ad).string("Name").unwrap_or_default(),
            );
        }
    }

    /// Appends the job's status and its last matches (`appendBasicJobRunAnalysisToBuffer`).
    fn append_status(&self, job: usize, status: &BString, out: &mut Vec<u8>) {
        let (cluster, process) = self.ids(job);
        if !status.is_empty() {
            out.extend_from_slice(format!("\n{cluster:03}.{process:03}:  ").as_bytes());
            out.extend_from_slice(status);
            out.extend_from_slice(b"\n\n");
        }
        let context = self.context(&self.jobs[job]);
        let time = |name: &str| context.int(name).unwrap_or(0);
        let (matched, rejected) = (time("LastMatchTime"), time("LastRejMatchTime"));
        let shown = |seconds: i64| calendar_text(seconds, self.setup.world);
        if matched != 0 {
            out.extend_from_slice(format!("Last successful match: {}\n", shown(matched)).as_bytes());
        } else if rejected != 0 {
            out.extend_from_slice(b"No successful match recorded.\n");
        }
        if rejected > matched {
            out.extend_from_slice(format!("Last failed match: {}", shown(rejected)).as_bytes());
            if let Some(negotiator) = context.string("LastRejMatchNegotiator").filter(|name| !name.is_empty())
            {
                out.extend_from_slice(format!(" from {negotiator}").as_bytes());
            }
            out.push(b'\n');
            if let Some(reason) = context.string("LastRejMatchReason") {
                out.extend_from_slice(b"Reason for last match failure: ");
                out.extend_from_slice(&reason);
                out.push(b'\n');
            }
        }
    }
}
