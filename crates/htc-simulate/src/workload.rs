//! Jobs of a scenario in order of arrival: specified by job groups and sampled from a seed, or read from a file of
//! ads. Jobs that have not arrived take no memory, except those of a file, of which only the attributes that policies
//! refer to are kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::job_files::{JobFileError, JobFileReader, JobFiles, StoredJob};
use super::per_job_attributes::{
    ALWAYS_READ_ATTRIBUTES, PRIORITY_ATTRIBUTE, PerJobAttributes, clamp_priority,
};
use super::random::{PriorityDistribution, RandomGenerator};
use super::scenario::{JobGroup, Scenario};
use super::times::{format_span, to_micros};
use htc_base::job::{Universe, attr};
use htc_base::world::World;
use htc_classad::format::long;
use htc_classad::references::AttrNames;
use htc_classad::{ClassAd, Context, Dialect, Value};

/// Kind of jobs, whose ads differ only in their ids and times.
#[derive(Debug)]
pub struct JobKind {
    /// Number of the job group.
    pub group: u32,
    /// Attributes that all jobs of the kind have in common.
    pub ad: ClassAd,
    /// Owner of the jobs.
    pub owner: String,
    /// Job-specific attributes to which policies may refer.
    per_job_attributes: PerJobAttributes,
}

/// Job of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Sequence number in order of arrival, from 0.
    pub number: u32,
    /// Number of the job's kind.
    pub kind: u32,
    /// Number of the set of equivalent jobs that the job belongs to: every slot decides about them in the same way.
    /// The set contains all jobs of one kind, unless a policy refers to job-specific attributes.
    pub likeness: u64,
    /// Number of the job in its group, from 0.
    pub in_group: u32,
    /// ClusterId and ProcId.
    pub id: (i32, i32),
    /// Time of arrival, in microseconds since the start.
    pub arrives: u64,
    /// Run time without interruption, in microseconds.
    pub runs: u64,
    /// Time from a soft kill of the job to its exit, in microseconds.
    pub leaves: u64,
    /// Exit status of the job.
    pub exit: i32,
    /// Value of the attribute `JobPrio`.
    pub priority: i32,
    /// Number of times the job was started.
    pub starts: u32,
}

impl Job {
    /// Returns the id of the job as `cluster.proc`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.id.0, self.id.1)
    }
}

/// Group of jobs, and the state of creating them.
struct JobSource {
    group: JobGroup,
    template_ad: ClassAd,
    /// Numbering of the group's jobs.
    ids: JobNumbering,
    count: u32,
    created: u32,
    at: f64,
    ends_at: Option<f64>,
    priority: PrioritySource,
    stored: Vec<StoredJob>,
    dice: RandomGenerator,
    /// Arrival of the group's next job, in microseconds since the start.
    next: u64,
}

/// Source of the priorities of the jobs in a group.
enum PrioritySource {
    /// The group's `priority` key.
    Random(PriorityDistribution),
    /// A number in the group's ad, or 0 if the ad has no priority.
    Constant(i64),
    /// An expression in the group's ad.
    FromAd,
}

impl PrioritySource {
    fn for_group(group: &JobGroup, base: &ClassAd) -> PrioritySource {
        match (&group.priority, base.get(PRIORITY_ATTRIBUTE).map(|expr| expr.as_literal())) {
            (Some(priority), _) if group.from.is_none() => PrioritySource::Random(priority.clone()),
            (_, Some(None)) => PrioritySource::FromAd,
            (_, Some(Some(Value::Int(priority)))) => PrioritySource::Constant(priority),
            (_, _) => PrioritySource::Constant(0),
        }
    }
}

/// Ids of the jobs in a group.
#[derive(Clone, Copy, Debug)]
struct JobNumbering {
    cluster: i32,
    first: i32,
}

impl JobNumbering {
    /// Returns the numbering that the group's ad gives, or a numbering by the index of the group and the number of
    /// the job.
    fn for_group(index: usize, base: &ClassAd, world: &dyn World) -> JobNumbering {
        let context = Context::new(world).my(base);
        let of = |name: &str| context.int(name).and_then(|number| i32::try_from(number).ok());
        let group = i32::try_from(index).unwrap_or(i32::MAX - 1) + 1;
        let cluster = of(attr::CLUSTER_ID);
        let first = cluster.and_then(|_| of(attr::PROC_ID)).unwrap_or(0);
        JobNumbering { cluster: cluster.unwrap_or(group), first }
    }

    fn job_id(self, in_group: u32) -> (i32, i32) {
        (self.cluster, self.first.saturating_add(i32::try_from(in_group).unwrap_or(i32::MAX)))
    }
}

/// All jobs of a scenario.
pub struct Workload {
    sources: Vec<JobSource>,
    upcoming: BinaryHeap<Reverse<(u64, usize)>>,
    kinds: Vec<Arc<JobKind>>,
    kinds_by_ad: FxHashMap<(u32, Vec<u8>), u32>,
    kinds_by_sample: FxHashMap<(u32, [u64; 4]), u32>,
    /// Numbers of sets of equivalent jobs, by kind and by the values of the job-specific attributes to which policies
    /// refer.
    likeness_by_attributes: FxHashMap<(u32, [i64; 4]), u64>,
    /// Job attributes to which policies refer, or `None` if they are unknown.
    attributes_read: Option<AttrNames>,
    notes: Vec<String>,
    seed: u64,
    start: i64,
    arrived: u32,
}

/// Reason why the jobs of a scenario cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A line of an ad is not a valid attribute.
    #[error("jobs {group}: 'ad': {line}")]
    Line {
        /// Number of the group, from 1.
        group: usize,
        /// The invalid line and its error.
        line: String,
    },
    /// A file cannot be read.
    #[error("jobs {group}: '{file}'")]
    File {
        /// Number of the group, from 1.
        group: usize,
        /// Path of the file.
        file: String,
        /// Error while the file was read.
        source: std::io::Error,
    },
    /// A file contains no usable ad.
    #[error("jobs {group}: '{file}' {problem}")]
    Content {
        /// Number of the group, from 1.
        group: usize,
        /// Path of the file.
        file: String,
        /// Description of what the file lacks.
        problem: &'static str,
    },
}

impl Workload {
    /// Prepares the jobs of a scenario; `files` opens the files that job groups name. Of the ads in files, only the
    /// attributes in `referenced_names` are kept, or all attributes if it is `None`.
    ///
    /// # Errors
    /// Fails if an ad is not valid or a file cannot be read.
    pub fn new(
        scenario: &Scenario,
        start: i64,
        referenced_names: Option<&AttrNames>,
        world: &dyn World,
        mut files: JobFiles<'_>,
    ) -> Result<Workload, WorkloadError> {
        let mut workload = Workload {
            sources: Vec::new(),
            upcoming: BinaryHeap::new(),
            kinds: Vec::new(),
            kinds_by_ad: FxHashMap::default(),
            kinds_by_sample: FxHashMap::default(),
            likeness_by_attributes: FxHashMap::default(),
            attributes_read: referenced_names.cloned(),
            notes: Vec::new(),
            seed: scenario.seed,
            start,
            arrived: 0,
        };
        for (index, group) in scenario.groups.iter().enumerate() {
            workload.add_group(index, group, scenario, world, &mut files)?;
        }
        Ok(workload)
    }

    fn add_group(
        &mut self,
        index: usize,
        group: &JobGroup,
        scenario: &Scenario,
        world: &dyn World,
        files: &mut JobFiles<'_>,
    ) -> Result<(), WorkloadError> {
        let mut source = self.new_source(index, group, world)?;
        let length = scenario.length.0;
        match &group.from {
            Some(path) => self.load_stored_jobs(&mut source, index, path, length, world, files)?,
            None => source.schedule_next_job(true),
        }
        if source.count > 0 && source.next > to_micros(length) {
            let name = group.name.clone().unwrap_or_else(|| format!("jobs {}", index + 1));
            let (first, end) = (format_span(source.next as f64 / 1e6), format_span(length));
            self.notes.push(format!(
                "{name}: no job arrives: the first would arrive {first} after the start, but the scenario ends after {end}"
            ));
        }
        if source.created < source.count {
            self.upcoming.push(Reverse((source.next, index)));
        }
        self.sources.push(source);
        Ok(())
    }

    /// Creates the source of a group's jobs, which has not created any job.
    fn new_source(
        &self,
        index: usize,
        group: &JobGroup,
        world: &dyn World,
    ) -> Result<JobSource, WorkloadError> {
        let (mut base, errors) = long::parse_with(group.ad.as_bytes(), Dialect::of_world(world));
        if let Some(error) = errors.first() {
            return Err(WorkloadError::Line { group: index + 1, line: error.to_string() });
        }
        let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
        let at = (group.at.to_epoch(self.start, offset) - self.start as f64).max(0.0);
        let ids = JobNumbering::for_group(index, &base, world);
        // A schedd sets a universe in every job.
        if !base.contains("JobUniverse") {
            base.set("JobUniverse", Universe::Vanilla as i64);
        }
        Ok(JobSource {
            priority: PrioritySource::for_group(group, &base),
            template_ad: base,
            ids,
            count: group.count.unwrap_or(1),
            created: 0,
            at,
            ends_at: group.within.map(|within| at + within.0),
            stored: Vec::new(),
            dice: RandomGenerator::new(&[self.seed, index as u64, 0xA221]),
            next: to_micros(at),
            group: group.clone(),
        })
    }

    /// Reads the jobs of the file that a job group names.
    fn load_stored_jobs(
        &mut self,
        source: &mut JobSource,
        index: usize,
        path: &Path,
        length: f64,
        world: &dyn World,
        files: &mut JobFiles<'_>,
    ) -> Result<(), WorkloadError> {
        let file = path.display().to_string();
        let names = self.attributes_read.clone();
        let reading = JobFileReader {
            index,
            group: &source.group,
            file: &file,
            attributes: names.as_ref(),
            world,
            seed: self.seed,
        };
        let number = u32::try_from(index).unwrap_or(0);
        let mut kind_of = |ad| self.kind_of_ad(number, ad, world);
        let group = index + 1;
        let jobs = reading.read_jobs(&mut kind_of, path, files).map_err(|error| match error {
            JobFileError::Io(source) => WorkloadError::File { group, file: file.clone(), source },
            JobFileError::NoJobs(problem) => WorkloadError::Content { group, file: file.clone(), problem },
        })?;
        self.schedule_stored_jobs(source, jobs, &file, length);
        Ok(())
    }

    /// Determines the arrival times of the jobs read from a file.
    fn schedule_stored_jobs(
        &mut self,
        source: &mut JobSource,
        jobs: Vec<(i64, StoredJob)>,
        file: &str,
        length: f64,
    ) {
        let first = jobs.first().map_or(0, |(queued, _)| *queued);
        let begins = to_micros(source.at);
        let comes = |(queued, stored): (i64, StoredJob)| StoredJob {
            arrives: begins.saturating_add(to_micros(queued.saturating_sub(first) as f64)),
            ..stored
        };
        source.stored = jobs.into_iter().map(comes).collect();
        source.count = u32::try_from(source.stored.len()).unwrap_or(u32::MAX);
        source.next = source.stored.first().map_or(0, |stored| stored.arrives);
        let late_count = source.stored.iter().filter(|stored| stored.arrives > to_micros(length)).count();
        if late_count > 0 && late_count < source.stored.len() {
            let count = source.stored.len();
            let last = source.stored.last().map_or(0, |stored| stored.arrives) as f64 / 1e6;
            self.notes.push(format!(
                "jobs of '{file}' that do not arrive: {late_count} of {count}: the last would arrive {} after the start, but the scenario ends after {}",
                format_span(last),
                format_span(length)
            ));
        }
    }

    fn kind_of_ad(&mut self, group: u32, ad: ClassAd, world: &dyn World) -> u32 {
        let key = (group, long::print(&ad));
        if let Some(kind) = self.kinds_by_ad.get(&key) {
            return *kind;
        }
        let kind = self.add_kind(group, ad, world);
        self.kinds_by_ad.insert(key, kind);
        kind
    }

    fn add_kind(&mut self, group: u32, ad: ClassAd, world: &dyn World) -> u32 {
        let owner = Context::new(world).my(&ad).string("Owner").unwrap_or_default().to_string();
        let own =
            PerJobAttributes::read_by_slots(&ad, self.attributes_read.as_ref(), &ALWAYS_READ_ATTRIBUTES);
        self.kinds.push(Arc::new(JobKind { group, ad, owner, per_job_attributes: own }));
        u32::try_from(self.kinds.len() - 1).unwrap_or(u32::MAX)
    }

    /// Returns the time when the next job arrives, in microseconds since the start, or `None` if no more jobs arrive.
    pub fn next_arrival(&self) -> Option<u64> {
        self.upcoming.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next job in order of arrival, or returns `None` if no more jobs arrive.
    pub fn take_next_job(&mut self, world: &dyn World) -> Option<Job> {
        let Reverse((arrives, index)) = self.upcoming.pop()?;
        let source = self.sources.get_mut(index)?;
        let in_group = source.created;
        let number = self.arrived;
        self.arrived += 1;
        source.created += 1;
        let group = u32::try_from(index).unwrap_or(0);
        let mut dice = RandomGenerator::new(&[self.seed, u64::from(group), u64::from(in_group)]);
        let mut job = Job {
            number,
            kind: 0,
            likeness: 0,
            in_group,
            id: source.ids.job_id(in_group),
            arrives,
            runs: 0,
            leaves: to_micros(source.group.leaves.sample(&mut dice)),
            exit: i32::try_from(source.group.exit).unwrap_or(1),
            priority: 0,
            starts: 0,
        };
        if let Some(stored) = source.stored.get(in_group as usize).copied() {
            if let Some(next) = source.stored.get(in_group as usize + 1) {
                self.upcoming.push(Reverse((next.arrives, index)));
            }
            job.id = stored.id.unwrap_or(job.id);
            (job.kind, job.runs) = (stored.kind, stored.runs);
            (job.exit, job.priority) = (stored.exit, stored.priority);
        } else {
            self.sample_job(index, group, &mut job, &mut dice, world);
        }
        job.likeness = self.job_set_number(&job);
        Some(job)
    }

    /// Samples the random properties of a job, and determines its kind.
    fn sample_job(
        &mut self,
        index: usize,
        group: u32,
        job: &mut Job,
        dice: &mut RandomGenerator,
        world: &dyn World,
    ) {
        let source = &mut self.sources[index];
        let of = &source.group;
        job.runs = of.runs.as_ref().map_or(0, |runs| to_micros(runs.sample(dice)));
        let owner = of.owner.sample_index(dice);
        let sizes = [
            of.cpus.as_ref().map(|size| size.sample_integer(dice)),
            of.memory.as_ref().map(|size| size.sample_integer(dice)),
            of.disk.as_ref().map(|size| size.sample_integer(dice)),
        ];
        let priority = match &source.priority {
            PrioritySource::Random(priority) => Some(priority.sample_integer(dice)),
            PrioritySource::Constant(priority) => Some(*priority),
            PrioritySource::FromAd => None,
        };
        if source.created < source.count {
            source.schedule_next_job(false);
            self.upcoming.push(Reverse((source.next, index)));
        }
        let bits = |size: Option<i64>| size.map_or(u64::MAX, |size| size as u64);
        let key = (group, [owner as u64, bits(sizes[0]), bits(sizes[1]), bits(sizes[2])]);
        job.kind = match self.kinds_by_sample.get(&key) {
            Some(kind) => *kind,
            None => {
                let source = &self.sources[index];
                let mut ad = source.template_ad.clone();
                if let Some((name, _)) = source.group.owner.0.get(owner) {
                    ad.set("Owner", name.as_str());
                    ad.set("User", format!("{name}@simulated").as_str());
                }
                for (name, size) in ["RequestCpus", "RequestMemory", "RequestDisk"].into_iter().zip(sizes) {
                    size.into_iter().for_each(|size| ad.set(name, size));
                }
                let kind = self.add_kind(group, ad, world);
                self.kinds_by_sample.insert(key, kind);
                kind
            }
        };
        // The priority is an expression, whose value may be different for each job.
        let priority = priority.or_else(|| Context::new(world).my(&self.job_ad(job)).int(PRIORITY_ATTRIBUTE));
        job.priority = clamp_priority(priority.unwrap_or(0));
    }

    /// Returns the number of the set of equivalent jobs that the job belongs to.
    fn job_set_number(&mut self, job: &Job) -> u64 {
        let own = self.kinds[job.kind as usize].per_job_attributes;
        if own == PerJobAttributes::NONE {
            return u64::from(job.kind);
        }
        let of = |is_asked: bool, value: i64| if is_asked { value } else { 0 };
        let since = i64::try_from(job.arrives / 1_000_000).unwrap_or(0);
        let key = [
            of(own.cluster, i64::from(job.id.0)),
            of(own.proc, i64::from(job.id.1)),
            of(own.qdate, since),
            of(own.priority, i64::from(job.priority)),
        ];
        // These numbers are above the numbers of all kinds, which have 32 bits.
        let next = (1 << 32) + self.likeness_by_attributes.len() as u64;
        *self.likeness_by_attributes.entry((job.kind, key)).or_insert(next)
    }

    /// Returns the kind of jobs with this number.
    pub fn kind(&self, kind: u32) -> &Arc<JobKind> {
        &self.kinds[kind as usize]
    }

    /// Returns the name of a group.
    pub fn group_name(&self, group: u32) -> String {
        let source = self.sources.get(group as usize);
        let name = source.and_then(|source| source.group.name.clone());
        name.unwrap_or_else(|| format!("jobs {}", group + 1))
    }

    /// Returns the ad of a job in the form that FETCH_WORK would print. If the scenario gives no id, the ad gets one.
    pub fn job_ad(&self, job: &Job) -> ClassAd {
        let kind = self.kind(job.kind);
        let mut ad = kind.ad.clone();
        ad.set(attr::CLUSTER_ID, i64::from(job.id.0));
        ad.set(attr::PROC_ID, i64::from(job.id.1));
        if !ad.contains("QDate") {
            let since = i64::try_from(job.arrives / 1_000_000).unwrap_or(0);
            ad.set("QDate", self.start + since);
        }
        let source = self.sources.get(kind.group as usize);
        if source.is_some_and(|source| matches!(source.priority, PrioritySource::Random(_))) {
            ad.set(PRIORITY_ATTRIBUTE, i64::from(job.priority));
        }
        ad
    }

    /// Returns notes about jobs from files, and about jobs that never arrive.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the ads from which all jobs are made, to find the slot attributes to which they refer.
    pub fn all_job_ads(&self) -> impl Iterator<Item = &ClassAd> + Clone {
        self.sources.iter().map(|source| &source.template_ad).chain(self.kinds.iter().map(|kind| &kind.ad))
    }
}

impl JobSource {
    /// Determines the arrival of the group's next job.
    fn schedule_next_job(&mut self, is_first: bool) {
        let now = if is_first { self.at } else { self.next as f64 / 1e6 };
        let left = f64::from(self.count - self.created);
        let next = match (self.ends_at, &self.group.every) {
            // The next arrival is the smallest of the remaining random times in the rest of the period.
            (Some(until), _) => {
                until - (until - now) * (1.0 - self.dice.next_fraction()).powf(1.0 / left.max(1.0))
            }
            (None, Some(every)) if !is_first => now + every.sample(&mut self.dice),
            _ => now,
        };
        self.next = to_micros(next).max(if is_first { 0 } else { self.next });
    }
}
