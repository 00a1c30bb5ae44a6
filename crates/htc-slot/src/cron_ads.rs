//! Ads published by cron jobs, and how they are merged into the slot ads.
//!
//! Reference: `startd_cron_job.cpp` (Publish), `startd_named_classad.cpp` (Aggregate, AggregateFrom, reset_monitor,
//! unset_monitor), `startd_named_classad_list.cpp` (Publish), `Resource.cpp` (process_update_ad).

use bstr::{BString, ByteSlice};

use super::cron_merge::{decide_merge, merge_cron_ad};
use htc_base::quirks::QuirkMode;
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::format::long;
use htc_classad::{ClassAd, Context, Expr, Value};
use htc_hook::cron_job::{AutoPublish, CronJob, Metric};
use htc_hook::cron_output::OutputBlock;
use htc_hook::hook_output::BadOutputLine;

const RESET_START_OF_JOB: &str = "ResetStartOfJob";

/// One ad of a cron job. A job has an ad under its own name from the start, and gets another ad for each tag that it prints.
#[derive(Clone, Debug)]
struct NamedAd {
    name: BString,
    job: BString,
    ad: Option<ClassAd>,
}

/// Settings of a cron job that apply to its ads.
#[derive(Clone, Debug)]
struct CronAdOwner {
    name: BString,
    slots: Vec<i64>,
    metrics: Vec<Metric>,
}

/// Result of publishing one block of output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CronPublication {
    /// Name of the ad: `<JOB>` or `<JOB>.<tag>`.
    pub name: BString,
    /// Number of attributes in the ad, or `None` if no line was valid, so that nothing was published.
    pub attributes: Option<usize>,
    /// Lines that are not valid attributes; the other lines are used.
    pub bad_lines: Vec<BadOutputLine>,
    /// True if the collector is updated at once. Policy sees the values at once in any case.
    pub updates_collector: bool,
    /// Value of `update` after the dash that ends the block, or `None` if it is not given.
    pub update_request: Option<bool>,
    /// Words after the dash that have no meaning and are ignored.
    pub ignored: Vec<BString>,
}

/// Decision about merging one ad into one slot ad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronMerge<'a> {
    /// Name of the ad.
    pub name: &'a BString,
    /// True if the ad is merged into the slot ad.
    pub is_merged: bool,
    /// The rule that decided: SLOTS, an attribute that selects slots, or the absence of both.
    pub rule: &'static str,
}

/// Ads of all cron jobs of a startd.
#[derive(Clone, Debug)]
pub struct CronAds {
    owners: Vec<CronAdOwner>,
    ads: Vec<NamedAd>,
    quirks: QuirkMode,
}

impl CronAds {
    /// True if no job has published anything.
    pub(super) fn is_empty(&self) -> bool {
        self.ads.is_empty()
    }

    /// Returns the attributes published for any slot, merged into one ad.
    pub fn merged_ad(&self) -> ClassAd {
        let mut all = ClassAd::new();
        for (_, ad, owner) in self.published_ads() {
            match owner.metrics.is_empty() {
                true => merge_cron_ad(ad, &mut all),
                false => aggregate_metrics(&mut all, ad, &owner.metrics),
            }
        }
        all
    }

    /// Creates an empty set.
    pub fn new(quirks: QuirkMode) -> Self {
        CronAds { owners: Vec::new(), ads: Vec::new(), quirks }
    }

    /// Applies a new configuration of the jobs. New jobs get an empty ad, in configured order; for other jobs, SLOTS and METRICS
    /// are updated.
    pub fn configure<'a>(&mut self, jobs: impl IntoIterator<Item = &'a CronJob>) {
        for job in jobs {
            let owner = CronAdOwner {
                name: job.name.clone(),
                slots: job.slots.clone(),
                metrics: job.metrics.clone(),
            };
            match self.owners.iter_mut().find(|known| known.name == owner.name) {
                Some(known) => *known = owner,
                None => {
                    self.ads.push(NamedAd { name: owner.name.clone(), job: owner.name.clone(), ad: None });
                    self.owners.push(owner);
                }
            }
        }
    }

    /// Removes a job and its ads.
    pub fn drop_job(&mut self, name: &[u8]) {
        self.ads.retain(|named| named.job != name);
        self.owners.retain(|owner| owner.name != name);
    }

    /// Publishes a block of a job's output.
    pub fn publish(
        &mut self,
        job: &CronJob,
        block: &OutputBlock,
        auto_publish: AutoPublish,
        now: ClockReading,
        world: &dyn World,
    ) -> CronPublication {
        let (ad, bad) = block.to_ad(&job.prefix, now);
        let Some(ad) = ad else {
            return CronPublication { name: job.name.clone(), bad_lines: bad, ..CronPublication::default() };
        };
        let address = block.publish_target(&ad, world);
        let name = match &address.tag {
            Some(tag) => BString::from(format!("{}.{tag}", job.name)),
            None => job.name.clone(),
        };
        let attributes = Some(ad.len());
        let at = match self.ads.iter().position(|named| named.name == name) {
            Some(at) => at,
            None => {
                self.ads.push(NamedAd { name: name.clone(), job: job.name.clone(), ad: None });
                self.ads.len() - 1
            }
        };
        let old = self.ads[at].ad.as_ref();
        let update = match (address.update, auto_publish) {
            (Some(requested), _) => requested,
            (None, AutoPublish::Never) => false,
            (None, AutoPublish::Always) => true,
            (None, AutoPublish::IfChanged) => {
                let mut stamp = job.prefix.clone();
                stamp.extend_from_slice(b"LastUpdate");
                old.is_none_or(|old| is_changed(old, &ad, &stamp))
            }
        };
        let metrics = &job.metrics;
        self.ads[at].ad = Some(match (metrics.is_empty(), self.ads[at].ad.take()) {
            (false, Some(mut before)) => {
                add_sample(&mut before, &ad, metrics);
                before
            }
            // The first sample of a monitor is stored unchanged.
            _ => ad,
        });
        CronPublication {
            name,
            attributes,
            bad_lines: bad,
            updates_collector: update,
            update_request: address.update,
            ignored: address.ignored,
        }
    }

    /// Returns the average of these benchmark results and of the `earlier` ones, which have three times the weight, as
    /// in early versions of HTCondor.
    pub(super) fn averaged_with(mut self, earlier: &CronAds) -> Self {
        for named in &mut self.ads {
            let known = earlier.ads.iter().find(|known| known.name == named.name);
            if let (Some(ad), Some(before)) = (&mut named.ad, known.and_then(|known| known.ad.as_ref())) {
                average_numbers(ad, before);
            }
        }
        self
    }

    /// Publishes a block of a schedd job: the words after the dash are ignored, and each block replaces the previous one.
    pub fn publish_untagged(
        &mut self,
        job: &CronJob,
        block: &OutputBlock,
        now: ClockReading,
    ) -> CronPublication {
        let (ad, bad) = block.to_ad(&job.prefix, now);
        let attributes = ad.as_ref().map(ClassAd::len);
        if let (Some(ad), Some(named)) = (ad, self.ads.iter_mut().find(|named| named.name == job.name)) {
            named.ad = Some(ad);
        }
        CronPublication { name: job.name.clone(), attributes, bad_lines: bad, ..CronPublication::default() }
    }

    /// Merges all ads into the schedd's ad, in order of their names.
    pub fn merge_into_schedd(&self, schedd: &mut ClassAd) -> Vec<CronMerge<'_>> {
        let mut published: Vec<_> = self.published_ads().collect();
        published.sort_by(|one, other| one.0.name.cmp(&other.0.name));
        published
            .into_iter()
            .map(|(named, ad, _)| {
                schedd.update(ad);
                CronMerge { name: &named.name, is_merged: true, rule: "the ad of the schedd" }
            })
            .collect()
    }

    /// Merges all ads into a slot ad, the ads of resource monitors last, and returns the decision about each ad.
    pub fn merge_into(&self, slot: &mut ClassAd, world: &dyn World) -> Vec<CronMerge<'_>> {
        let mut decisions = Vec::new();
        let mut accumulator = ClassAd::new();
        for monitors in [false, true] {
            for (named, ad, owner) in self.published_ads() {
                if owner.metrics.is_empty() == monitors {
                    continue;
                }
                let (merges, rule) = decide_merge(ad, &owner.slots, slot, world, self.quirks);
                decisions.push(CronMerge { name: &named.name, is_merged: merges, rule });
                match (merges, monitors) {
                    (true, false) => merge_cron_ad(ad, slot),
                    (true, true) => aggregate_metrics(&mut accumulator, ad, &owner.metrics),
                    _ => {}
                }
            }
        }
        merge_cron_ad(&accumulator, slot);
        decisions
    }

    /// Starts the accounting of a job in the slot: the usage of its monitored resources is counted from the next sample on.
    pub fn begin_job_usage(&mut self, slot: &ClassAd, world: &dyn World) {
        self.update_monitor_ads(slot, world, |ad, metrics| {
            let mut changed = ClassAd::new();
            for metric in metrics {
                let name = metric.attribute();
                let Some(value) = literal_number(ad, &name) else { continue };
                if metric.is_sum {
                    changed.set(format!("StartOfJob{name}"), value);
                    changed.set(RESET_START_OF_JOB, true);
                } else {
                    changed.insert(format!("{}Usage", metric.resource), Expr::literal(Value::Undefined));
                }
            }
            ad.update(&changed);
        });
    }

    /// Ends the accounting of the job in the slot, and removes its usage attributes.
    pub fn end_job_usage(&mut self, slot: &ClassAd, world: &dyn World) {
        self.update_monitor_ads(slot, world, |ad, metrics| {
            for metric in metrics {
                let name = metric.attribute();
                if literal_number(ad, &name).is_none() {
                    continue;
                }
                let usage = format!("{}Usage", metric.resource);
                for gone in [
                    format!("StartOfJob{name}"),
                    format!("FirstUpdate{name}"),
                    format!("LastUpdate{name}"),
                    format!("LastUpdate{usage}"),
                    usage,
                ] {
                    ad.remove(&gone);
                }
            }
        });
    }

    fn published_ads(&self) -> impl Iterator<Item = (&NamedAd, &ClassAd, &CronAdOwner)> {
        self.ads.iter().filter_map(|named| {
            let owner = self.owners.iter().find(|owner| owner.name == named.job)?;
            Some((named, named.ad.as_ref()?, owner))
        })
    }

    fn update_monitor_ads(
        &mut self,
        slot: &ClassAd,
        world: &dyn World,
        change: impl Fn(&mut ClassAd, &[Metric]),
    ) {
        for named in &mut self.ads {
            let Some(owner) = self.owners.iter().find(|owner| owner.name == named.job) else { continue };
            let Some(ad) = named.ad.as_mut().filter(|_| !owner.metrics.is_empty()) else { continue };
            if decide_merge(ad, &owner.slots, slot, world, self.quirks).0 {
                change(ad, &owner.metrics);
            }
        }
    }
}

/// True if any attribute other than `stamp` differs.
fn is_changed(old: &ClassAd, new: &ClassAd, stamp: &[u8]) -> bool {
    let without = |ad: &ClassAd| {
        let mut ad = ad.clone();
        ad.remove(stamp);
        ad
    };
    long::print(&without(old)) != long::print(&without(new))
}

/// Returns the value of an attribute if it is a literal number, or `None` if the attribute is missing, an expression or
/// of another type.
fn literal_number(ad: &ClassAd, name: &[u8]) -> Option<f64> {
    match ad.literal(name)? {
        Value::Int(value) => Some(value as f64),
        Value::Real(value) => Some(value),
        Value::Bool(value) => Some(f64::from(u8::from(value))),
        _ => None,
    }
}

fn copy_attribute(to: &mut ClassAd, name: &str, from: &ClassAd, source: &str) {
    match from.get(source) {
        Some(value) => to.insert(name, value),
        None => drop(to.remove(name)),
    }
}

/// Adds a new sample to the ad of a monitor (`AggregateFrom`).
fn add_sample(ad: &mut ClassAd, sample: &ClassAd, metrics: &[Metric]) {
    if ad.literal(RESET_START_OF_JOB) == Some(Value::Bool(true)) {
        ad.remove(RESET_START_OF_JOB);
        // A job is charged for whole intervals only: its usage begins with the last sample before the current one.
        let names: Vec<BString> = ad.sorted().into_iter().map(|(name, _)| name.to_owned()).collect();
        for name in names {
            let Some(uptime) = name.strip_prefix(b"StartOfJob") else { continue };
            if Metric::from_attribute(uptime).is_some_and(|metric| metric.is_sum) {
                let (name, uptime) = (name.to_str_lossy(), uptime.to_str_lossy());
                let before = ad.clone();
                copy_attribute(ad, &name, &before, &uptime);
                copy_attribute(ad, &format!("FirstUpdate{uptime}"), &before, "LastUpdate");
            }
        }
    }
    for metric in metrics.iter().filter(|metric| !metric.is_sum) {
        let Some(value) = literal_number(sample, &metric.attribute()) else { continue };
        let usage = format!("{}Usage", metric.resource);
        let peak = literal_number(ad, usage.as_bytes()).map_or(value, |peak| peak.max(value));
        ad.set(usage.as_str(), peak);
        copy_attribute(ad, &format!("LastUpdate{usage}"), sample, "LastUpdate");
    }
    aggregate_metrics(ad, sample, metrics);
}

/// Aggregates the ad of a monitor with the ad of another one (`Aggregate`).
fn aggregate_metrics(to: &mut ClassAd, from: &ClassAd, metrics: &[Metric]) {
    for (name, value) in from.sorted() {
        let Some(metric) = metrics.iter().find(|metric| metric.attribute() == name) else {
            let skipped = name.starts_with(b"StartOfJob")
                || name == RESET_START_OF_JOB
                || name == "SlotMergeConstraint";
            if !skipped {
                to.insert(name, value);
            }
            continue;
        };
        let combine = |old: f64, new: f64| if metric.is_sum { old + new } else { old.max(new) };
        let Some(new) = literal_number(from, name) else { continue };
        to.set(name, literal_number(to, name).map_or(new, |old| combine(old, new)));
        let name = name.to_str_lossy().into_owned();
        let own = match metric.is_sum {
            true => format!("StartOfJob{name}"),
            false => format!("{}Usage", metric.resource),
        };
        if !to.contains(&own) {
            copy_attribute(to, &own, from, &own);
        } else if let (Some(old), Some(new)) =
            (literal_number(to, own.as_bytes()), literal_number(from, own.as_bytes()))
        {
            to.set(own.as_str(), combine(old, new));
        }
        copy_attribute(to, &format!("LastUpdate{name}"), from, "LastUpdate");
        if metric.is_sum {
            let average = format!("({name} - StartOfJob{name})/(LastUpdate{name} - FirstUpdate{name})");
            if let Ok(average) = Expr::parse(average.as_bytes()) {
                to.insert(format!("{name}AverageUsage"), average);
            }
        }
    }
}

/// Converts the usage of monitored resources to averages and peaks when the slot ad is sent (`process_update_ad`); policy
/// expressions use the unconverted values. `running` is the startd's uptime in seconds; `keeps_seconds` is
/// ADVERTISE_CMR_UPTIME_SECONDS.
pub fn convert_usage_for_sending(ad: &mut ClassAd, running: i64, keeps_seconds: bool, world: &dyn World) {
    let names: Vec<BString> = ad.sorted().into_iter().map(|(name, _)| name.to_owned()).collect();
    let mut removed: Vec<BString> = Vec::new();
    for name in names {
        if let Some(metric) = Metric::from_attribute(&name) {
            if !metric.is_sum {
                let before = ad.clone();
                copy_attribute(
                    ad,
                    &format!("Device{}PeakUsage", metric.resource),
                    &before,
                    &name.to_str_lossy(),
                );
                removed.push(name);
                continue;
            }
            if let Some(seconds) = literal_number(ad, &name) {
                ad.set(format!("Device{}AverageUsage", metric.resource), seconds / running as f64);
            }
            if !keeps_seconds {
                removed.push(name);
            }
        } else if let Some(uptime) = name.strip_prefix(b"StartOfJob") {
            let uptime = uptime.to_str_lossy();
            let Some(metric) = Metric::from_attribute(uptime.as_bytes()) else { continue };
            let (last, first) = (format!("LastUpdate{uptime}"), format!("FirstUpdate{uptime}"));
            let usage = format!("({uptime} - {name})/({last} - {first})");
            let context = Context::new(world).my(ad);
            let value = Expr::parse(usage.as_bytes()).ok().map(|usage| context.eval(&usage));
            let value = match value {
                Some(Value::Int(value)) => value as f64,
                Some(Value::Real(value)) => value,
                _ => continue,
            };
            ad.set(format!("{}AverageUsage", metric.resource), value);
            removed.extend([BString::from(uptime.as_bytes()), name.clone(), last.into(), first.into()]);
        } else if (name != "LastUpdate" && name.starts_with(b"LastUpdate"))
            || name.starts_with(b"FirstUpdate")
        {
            removed.push(name);
        }
    }
    for name in removed {
        ad.remove(&name);
    }
}

/// Weight of earlier benchmark results in an average; the latest results have the weight 1.
const EARLIER_WEIGHT: i64 = 3;

fn average_numbers(ad: &mut ClassAd, before: &ClassAd) {
    let names: Vec<BString> = ad.names().map(BString::from).collect();
    for name in names.iter().filter(|name| !name.ends_with(b"LastUpdate")) {
        let average = match (ad.literal(name), before.literal(name)) {
            (Some(Value::Int(last)), Some(Value::Int(earlier))) => {
                let sum = i128::from(earlier) * i128::from(EARLIER_WEIGHT) + i128::from(last);
                Value::Int(i64::try_from(sum / i128::from(EARLIER_WEIGHT + 1)).unwrap_or(last))
            }
            (Some(last), Some(earlier)) => match (last.as_real(), earlier.as_real()) {
                (Some(last), Some(earlier)) => {
                    Value::Real((earlier * EARLIER_WEIGHT as f64 + last) / (EARLIER_WEIGHT + 1) as f64)
                }
                _ => continue,
            },
            _ => continue,
        };
        ad.set(name, average);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_hook::cron_output::CronOutput;
    use htc_os::RealWorld;

    fn job(name: &str, metrics: &[(bool, &str)]) -> CronJob {
        let mut job = CronJob::new(name.as_bytes(), b"/x");
        job.metrics =
            metrics.iter().map(|&(is_sum, resource)| Metric { is_sum, resource: resource.into() }).collect();
        job
    }

    fn print(ads: &mut CronAds, job: &CronJob, at: i64, text: &str) -> Vec<CronPublication> {
        let mut output = CronOutput::new(&job.prefix, QuirkMode::Manual);
        let mut blocks: Vec<OutputBlock> = output.push_output(text.as_bytes()).into();
        blocks.extend(output.finish_run());
        let world = RealWorld::new();
        let now = ClockReading::from_epoch(at);
        blocks.iter().map(|block| ads.publish(job, block, AutoPublish::IfChanged, now, &world)).collect()
    }

    fn slot(lines: &[&str]) -> ClassAd {
        let mut ad = ClassAd::new();
        for line in lines {
            ad.insert_line(line.as_bytes()).unwrap();
        }
        ad
    }

    /// Example of the manual: the record without a tag is merged first, even if it is printed last.
    #[test]
    fn records_with_a_tag_win_over_the_one_without() {
        let man = job("MAN", &[]);
        let mut ads = CronAds::new(QuirkMode::Manual);
        ads.configure([&man]);
        let text = "Value=1\nSlotId=1\n-s1\nValue=2\nSlotId=2\n-s2\nValue=10\n-\n";
        let publications = print(&mut ads, &man, 9, text);
        assert_eq!(
            publications.iter().map(|one| one.name.to_string()).collect::<Vec<_>>(),
            ["MAN.s1", "MAN.s2", "MAN"]
        );
        for (number, value) in [(1i64, 1i64), (2, 2), (3, 10)] {
            let mut ad = slot(&["Name = \"slot@h\""]);
            ad.set("SlotID", number);
            ads.merge_into(&mut ad, &RealWorld::new());
            assert_eq!(ad.literal("Value"), Some(Value::Int(value)), "slot {number}");
        }
        ads.drop_job(b"MAN");
        assert!(ads.merge_into(&mut slot(&["SlotID = 1"]), &RealWorld::new()).is_empty());
    }

    #[test]
    fn changed_and_requested_attributes_are_sent_to_the_collector() {
        let one = job("ONE", &[]);
        let mut ads = CronAds::new(QuirkMode::Manual);
        ads.configure([&one]);
        let updates = |ads: &mut CronAds, at, text| {
            print(ads, &one, at, text).iter().map(|block| block.updates_collector).collect::<Vec<_>>()
        };
        assert_eq!(updates(&mut ads, 1, "A = 1\n"), [true]);
        assert_eq!(updates(&mut ads, 2, "A = 1\n"), [false], "only LastUpdate differs");
        assert_eq!(updates(&mut ads, 3, "A = 1\n-x update:false\nA = 1\n- update:true\n"), [false, true]);
        assert_eq!(updates(&mut ads, 4, "no line\n"), [false]);
    }

    #[test]
    fn results_of_benchmarks_are_averaged_with_earlier_ones() {
        let mips = job("MIPS", &[]);
        let mut ads = CronAds::new(QuirkMode::Manual);
        ads.configure([&mips]);
        print(&mut ads, &mips, 1, "Mips = 100\nRatio = 1.0\nModel = \"x\"\n");
        let before = ads.clone();
        print(&mut ads, &mips, 2, "Mips = 201\nRatio = 2\nModel = 5\nNew = 7\n");
        let ad = ads.averaged_with(&before).merged_ad();
        for (name, value) in [
            ("Mips", Value::Int(125)),
            ("Ratio", Value::Real(1.25)),
            ("Model", Value::Int(5)),
            ("New", Value::Int(7)),
        ] {
            assert_eq!(ad.literal(name), Some(value), "{name}");
        }
    }

    /// Values measured with 25.14 second by second: the slot ads sent after 5 s, and 4 s after a job began in slot1_1.
    #[test]
    fn monitors_count_sums_and_peaks_since_the_start_and_of_the_job() {
        let world = RealWorld::new();
        let monitor = job("MON", &[(true, "TOKENS"), (false, "TOKENSHeat")]);
        let mut ads = CronAds::new(QuirkMode::Manual);
        ads.configure([&monitor]);
        let pass = |ads: &mut CronAds, seconds: std::ops::RangeInclusive<i64>| {
            for n in seconds {
                let text: String = [("tokA", 3), ("tokB", 5)]
                    .iter()
                    .map(|(token, heat)| {
                        format!(
                            "SlotMergeConstraint = StringListMember(\"{token}\", AssignedTOKENS)\n\
                             UptimeTOKENSSeconds = {}.0\nUptimeTOKENSHeatPeakUsage = {}\n- {token}\n",
                            n * 2,
                            n * heat
                        )
                    })
                    .collect();
                print(ads, &monitor, n, &text);
            }
        };
        let partitionable = slot(&["SlotID = 1", "AssignedTOKENS = \"tokA,tokB\""]);
        let dynamic = slot(&["SlotID = 1", "AssignedTOKENS = \"tokA\""]);
        let sent = |ads: &CronAds, slot: &ClassAd, running| {
            let mut ad = slot.clone();
            ads.merge_into(&mut ad, &world);
            convert_usage_for_sending(&mut ad, running, false, &world);
            let number = |name: &str| literal_number(&ad, name.as_bytes()).unwrap_or(-1.0);
            assert!(!ad.contains("UptimeTOKENSSeconds") && !ad.contains("FirstUpdateUptimeTOKENSSeconds"));
            assert!(ad.contains("UptimeTOKENSSecondsAverageUsage"));
            ["DeviceTOKENSAverageUsage", "DeviceTOKENSHeatPeakUsage", "TOKENSAverageUsage", "TOKENSHeatUsage"]
                .map(number)
        };
        pass(&mut ads, 1..=5);
        assert_eq!(sent(&ads, &partitionable, 5), [12.0, 25.0, -1.0, 25.0]);
        pass(&mut ads, 6..=11);
        ads.begin_job_usage(&dynamic, &world);
        pass(&mut ads, 12..=15);
        assert_eq!(sent(&ads, &partitionable, 15), [32.0, 75.0, 87.0, 75.0]);
        assert_eq!(sent(&ads, &dynamic, 15), [16.0, 45.0, 27.0, 45.0]);
        ads.end_job_usage(&dynamic, &world);
        assert_eq!(sent(&ads, &dynamic, 15), [16.0, 45.0, -1.0, -1.0]);
    }
}
