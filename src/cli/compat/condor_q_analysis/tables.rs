//! Tables of the analysis: one line per job or per slot, and jobs that match no slot (reference: queue.cpp).

use std::sync::Arc;

use bstr::ByteSlice;

use super::{Analysis, JobClusters, MatchMode, MatchOutcome, WIDTH};
use crate::classad::{AttrName, ClassAd, MatchAd};
use crate::cli::compat::condor_q_analysis_options::{DETAIL_APPEND, DETAIL_INLINE, DETAIL_NO_ATTRIBUTES};
use crate::cli::compat::condor_q_attribute_lines::{append_own_attributes, append_target_attributes};
use crate::cli::compat::condor_q_clauses::{Clauses, InlineAttributes, MatchColumns, MatchTargets};
use crate::cli::compat::condor_q_line_breaks::append_wrapped;
use crate::cli::compat::condor_q_slots::drained_ad;

const SUMMARY_HEADINGS: &str = concat!(
    "               Autocluster    Matches     Machine     Running     Serving            \n",
    " JobId        Members/Idle Requirements Rejects Job  Users Job  Other User Available Owner\n",
    "------------- ------------ ------------ ----------- ----------- ---------- --------- -----\n",
);

impl Analysis<'_> {
    /// Appends one line per job (`-better-analyze:summary`).
    pub(super) fn append_summary(&mut self, clusters: &JobClusters, out: &mut Vec<u8>) {
        if let Some(name) = &self.slots.single {
            out.extend_from_slice(format!("{name}: ").as_bytes());
        }
        let count = self.slots.all.len();
        out.extend_from_slice(format!("Analyzing matches for {count} slots\n{SUMMARY_HEADINGS}").as_bytes());
        for (cluster, members) in clusters {
            let (evaluated, counted) = if *cluster == -1 { (members.len(), 1) } else { (1, members.len()) };
            for at in 0..evaluated {
                let (mut idle, mut running) = (0, 0);
                for job in &members[..counted] {
                    match self.context(&self.jobs[*job]).int("JobStatus") {
                        Some(1) => idle += 1,
                        Some(2 | 6 | 7) => running += 1,
                        _ => {}
                    }
                }
                let name = match (*cluster, self.setup.verbose) {
                    (..0, _) => String::new(),
                    (_, true) => format!("{cluster}:{counted}/{idle}"),
                    (_, false) => format!("{counted}/{idle}"),
                };
                self.append_summary_line(members[at], &name, running, out);
            }
        }
    }

    fn append_summary_line(&mut self, job: usize, cluster: &str, running: usize, out: &mut Vec<u8>) {
        let (.., totals, _) = self.match_job(job, MatchMode::All, true);
        let (id, process) = self.ids(job);
        let owner = self.context(&self.jobs[job]).string("Owner").unwrap_or_default();
        let yours = match running {
            0 => totals.yours.to_string(),
            _ => format!("{running}/{}", totals.yours),
        };
        let line = format!(
            "{:<13} {cluster:<12} {:12} {:11} {yours:>11} {:10} {:9} {owner}\n",
            format!("{id}.{process}"),
            totals.slots_seen - totals.count(MatchOutcome::JobRefuses),
            totals.count(MatchOutcome::SlotRefuses),
            totals.running - totals.yours,
            totals.count(MatchOutcome::Willing),
        );
        out.extend_from_slice(line.as_bytes());
    }

    /// Appends the jobs that match no slot (`-better-analyze -unmatchable`).
    pub(super) fn append_unmatchable(&mut self, clusters: &JobClusters, out: &mut Vec<u8>) {
        for (cluster, members) in clusters {
            let (evaluated, counted) = if *cluster == -1 { (members.len(), 1) } else { (1, members.len()) };
            for at in 0..evaluated {
                let (.., totals, _) = self.match_job(members[at], MatchMode::Partitionable, false);
                if totals.both > 0 {
                    continue;
                }
                let what = if totals.suitable > 0 { "All slots reject" } else { "No slots match" };
                out.extend_from_slice(format!("{what} autocluster {cluster}, jobs :").as_bytes());
                // Each job without an autocluster has a line of its own, but the reference always prints the first of
                // these jobs in it.
                for job in if *cluster == -1 { &members[..1] } else { &members[..counted] } {
                    let (id, process) = self.ids(*job);
                    out.extend_from_slice(format!(" {id}.{process}").as_bytes());
                }
                out.push(b'\n');
            }
        }
    }

    /// Appends the analysis of slots against jobs (`-better-analyze:reverse`).
    pub(super) fn append_slots(&self, is_table: bool, clusters: &JobClusters, out: &mut Vec<u8>) {
        if self.slots.all.is_empty() {
            return;
        }
        let width = self.slots.name_width();
        if is_table {
            match self.jobs.len() {
                0 => {}
                1 => {
                    let (cluster, process) = self.ids(0);
                    out.extend_from_slice(
                        format!("{cluster}.{process}: Analyzing matches for 1 job\n").as_bytes(),
                    );
                }
                count if self.setup.verbose => {
                    let alone = clusters.get(&-1).map_or(0, Vec::len);
                    let groups = clusters.keys().filter(|cluster| **cluster != -1).count() + alone;
                    out.extend_from_slice(
                        format!("Analyzing {count} jobs in {groups} autoclusters\n").as_bytes(),
                    );
                }
                count => {
                    out.extend_from_slice(format!("Analyzing matches for {count} jobs\n").as_bytes());
                }
            }
            let dashes = "-".repeat(24);
            for [name, kind, slot, job, both] in [
                ["", "Slot", "Slot's Req ", "  Job's Req ", "Both   "],
                ["Name", "Type", "Matches Job", "Matches Slot", "Match %"],
                [&dashes, "----", "------------", "------------", "----------"],
            ] {
                let line =
                    format!("{name:<width$.width$} {kind:>4} {slot:>12.12} {job:>12.12} {both:>10.10}\n");
                out.extend_from_slice(line.as_bytes());
            }
        }
        for slot in &self.slots.all {
            self.append_slot(&slot.ad, is_table, clusters, out);
        }
    }

    /// Appends one slot (`doSlotRunAnalysisToBuffer`).
    fn append_slot(&self, slot: &ClassAd, is_table: bool, clusters: &JobClusters, out: &mut Vec<u8>) {
        let context = self.context(slot);
        let name = context.string("Name").unwrap_or_default();
        if context.boolean("Offline") == Some(true) {
            out.extend_from_slice(format!("{:<24.24}  is offline\n", name.to_str_lossy()).as_bytes());
            return;
        }
        let kind = match () {
            () if context.boolean("DynamicSlot") == Some(true) => "Dyn",
            () if context.boolean("PartitionableSlot") == Some(true) => "Part",
            () => "Stat",
        };
        let (counts, drained) = self.count_jobs(slot, kind == "Part", clusters);
        if is_table {
            let width = self.slots.name_width();
            let line = format!(
                "{:<width$.width$} {kind:<4} {:12} {:12} {:10.2}\n",
                name.to_str_lossy(),
                counts.slot_accepts,
                counts.job_accepts,
                counts.percentage()
            );
            out.extend_from_slice(line.as_bytes());
            return;
        }
        let line = format!(
            "\n-- Slot: {name} : Analyzing matches for {} Jobs in {} autoclusters\n",
            counts.jobs,
            counts.unique.len()
        );
        out.extend_from_slice(line.as_bytes());
        self.append_slot_requirements(slot, &counts, drained.as_ref().map(|(ad, _)| ad), out);
        let line = format!(
            "\n{name}: Run analysis summary of {} jobs.\n{:5} ({:.2} %) match both slot and job requirements.\n\
             {:5} match the requirements of this slot.\n{:5} have job requirements that match this slot.\n",
            counts.jobs,
            counts.both,
            counts.percentage(),
            counts.slot_accepts,
            counts.job_accepts
        );
        out.extend_from_slice(line.as_bytes());
        if let Some((_, counts)) = drained {
            let line = format!(
                "{:5} would match both slot and job requirments if the slot was drained.\n\
                 {:5} would match the requirements of this slot when drained.\n\
                 {:5} would have job requirements that match this slot when drained\n",
                counts.both, counts.slot_accepts, counts.job_accepts
            );
            out.extend_from_slice(line.as_bytes());
        }
    }

    fn count_jobs(
        &self,
        slot: &ClassAd,
        is_partitionable: bool,
        clusters: &JobClusters,
    ) -> (SlotCounts, Option<(ClassAd, SlotCounts)>) {
        let world = self.setup.world;
        let mut counts = SlotCounts::default();
        let mut drained: Option<(ClassAd, SlotCounts)> = None;
        for (cluster, members) in clusters {
            let (evaluated, weight) = if *cluster == -1 { (members.len(), 1) } else { (1, members.len()) };
            counts.jobs += members.len();
            for job in &members[..evaluated] {
                counts.unique.push(*job);
                let ad = &self.jobs[*job];
                let accepts = MatchAd::new(world, slot, ad).right_matches_left();
                if !accepts
                    && is_partitionable
                    && drained.is_none()
                    && self.is_within_limits(slot, *job) == Some(false)
                {
                    drained = drained_ad(slot, world).map(|mut ad| {
                        ad.chain(Some(Arc::new(slot.clone())));
                        (ad, SlotCounts::default())
                    });
                }
                counts.add(accepts, MatchAd::new(world, ad, slot).right_matches_left(), weight);
                if let Some((drained, counts)) = &mut drained {
                    let accepts = MatchAd::new(world, drained, ad).right_matches_left();
                    counts.add(accepts, MatchAd::new(world, ad, drained).right_matches_left(), weight);
                }
            }
        }
        (counts, drained)
    }

    fn append_slot_requirements(
        &self,
        slot: &ClassAd,
        counts: &SlotCounts,
        drained: Option<&ClassAd>,
        out: &mut Vec<u8>,
    ) {
        let world = self.setup.world;
        let mut inline = InlineAttributes::new();
        if let Some(requirements) = slot.get("Requirements") {
            let mut wrapped = Vec::new();
            append_wrapped(&requirements, &mut wrapped, 4, WIDTH);
            inline.insert(AttrName::from("Requirements"));
            for (name, title) in [("Start", "START"), ("WithinResourceLimits", "WithinResourceLimits")] {
                if let Some(expr) = slot.get(name) {
                    wrapped.extend_from_slice(format!("\n\n  {title} is\n    ").as_bytes());
                    append_wrapped(&expr, &mut wrapped, 4, WIDTH);
                    inline.insert(AttrName::from(name));
                }
            }
            out.extend_from_slice(b"\nThe Requirements expression for this slot is\n\n    ");
            out.extend(wrapped);
            out.extend_from_slice(b"\n\n");
            if let Some(clauses) = Clauses::find(slot, "Requirements", &inline, self.details) {
                clauses.print_numbered(out);
            }
            out.push(b'\n');
            if self.details & DETAIL_NO_ATTRIBUTES == 0 {
                self.append_attributes_of_slot(slot, counts, &inline, drained, out);
            }
        }
        if self.details & DETAIL_APPEND != 0
            && let Some(clauses) = Clauses::find(slot, "Requirements", &inline, self.details)
        {
            clauses.print_numbered(out);
        }
        if self.details & DETAIL_INLINE == 0 {
            inline = ["Start", "WithinResourceLimits"].map(AttrName::from).into_iter().collect();
        }
        if let Some(clauses) = Clauses::find(slot, "Requirements", &inline, self.details) {
            let targets = MatchTargets {
                ads: counts.unique.iter().map(|job| &self.jobs[*job]).collect(),
                columns: MatchColumns::Plain("Cluster"),
                details: self.details,
                width: WIDTH,
            };
            out.extend(clauses.print_matches(&targets, world));
        }
    }

    fn append_attributes_of_slot(
        &self,
        slot: &ClassAd,
        counts: &SlotCounts,
        inline: &InlineAttributes,
        drained: Option<&ClassAd>,
        out: &mut Vec<u8>,
    ) {
        let world = self.setup.world;
        out.extend_from_slice(b"This slot defines the following attributes:\n\n");
        let names = append_own_attributes(slot, "Requirements", inline, true, world, out);
        if let Some(drained) = drained {
            out.extend_from_slice(b"When drained, this slot has the following attributes:\n\n");
            append_own_attributes(drained, "Requirements", inline, false, world, out);
        }
        if let [job] = counts.unique[..] {
            let mut lines = Vec::new();
            if let Some(name) = append_target_attributes(&names, slot, &self.jobs[job], world, &mut lines) {
                out.extend_from_slice(format!("\n{name} has the following attributes:\n\n").as_bytes());
                out.extend(lines);
            }
        }
        out.extend_from_slice(
            b"\nThe Requirements expression for this slot reduces to these conditions:\n\n",
        );
    }
}

/// Counts of one slot's matches.
#[derive(Default)]
struct SlotCounts {
    jobs: usize,
    /// One job of each autocluster.
    unique: Vec<usize>,
    slot_accepts: usize,
    job_accepts: usize,
    both: usize,
}

impl SlotCounts {
    fn add(&mut self, slot_accepts: bool, job_accepts: bool, weight: usize) {
        self.slot_accepts += if slot_accepts { weight } else { 0 };
        self.job_accepts += if job_accepts { weight } else { 0 };
        self.both += if slot_accepts && job_accepts { weight } else { 0 };
    }

    fn percentage(&self) -> f64 {
        if self.jobs == 0 { 0.0 } else { 100.0 * self.both as f64 / self.jobs as f64 }
    }
}
