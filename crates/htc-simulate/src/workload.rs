//! The jobs of a scenario as they come: written out, thrown by a seed, or out of a file of ads. What has not come yet takes
//! no room, but for a file, of which so much is kept as the policy may ask for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::chance::{Dice, Priorities};
use super::history::{Files, Reading, Stored, Unplayable};
use super::own::{ALWAYS, Own, PRIORITY, as_priority};
use super::scenario::{Group, Scenario};
use super::times::{micros, written};
use htc_base::job::{Universe, attr};
use htc_base::world::World;
use htc_classad::format::long;
use htc_classad::references::Names;
use htc_classad::{ClassAd, Context, Dialect, Value};

/// Jobs that are alike but for their numbers and times.
#[derive(Debug)]
pub struct Kind {
    /// The group it belongs to.
    pub group: u32,
    /// What is the same in all of their ads.
    pub ad: ClassAd,
    /// Who owns them.
    pub owner: String,
    /// What of a job's own anybody may look at.
    own: Own,
}

/// One job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Counts from 0 in the order in which jobs come.
    pub number: u32,
    /// Its kind.
    pub kind: u32,
    /// What a slot says to one job it says to all that are like it: those of its kind, unless somebody looks at what is a job's own.
    pub like: u64,
    /// Its number in its group, from 0.
    pub in_group: u32,
    /// ClusterId and ProcId.
    pub id: (i32, i32),
    /// When it comes, in microseconds since the start.
    pub arrives: u64,
    /// How long it runs when it is left alone, in microseconds.
    pub runs: u64,
    /// How long it takes to leave when it is asked to, in microseconds.
    pub leaves: u64,
    /// Its exit status.
    pub exit: i32,
    /// JobPrio.
    pub priority: i32,
    /// How often it has begun to run.
    pub starts: u32,
}

impl Job {
    /// As `cluster.proc`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.id.0, self.id.1)
    }
}

/// One group and how far it has come.
struct Source {
    group: Group,
    base: ClassAd,
    /// How its jobs are numbered.
    ids: Ids,
    count: u32,
    made: u32,
    at: f64,
    until: Option<f64>,
    priority: Priority,
    stored: Vec<Stored>,
    dice: Dice,
    /// When the next job comes, in microseconds.
    next: u64,
}

/// What says the priorities of the jobs of a group.
enum Priority {
    /// Its key.
    Thrown(Priorities),
    /// Its ad, which has a number or none.
    Same(i64),
    /// Its ad, which has an expression.
    OfAd,
}

impl Priority {
    fn of(group: &Group, base: &ClassAd) -> Priority {
        match (&group.priority, base.get(PRIORITY).map(|expr| expr.as_literal())) {
            (Some(priority), _) if group.from.is_none() => Priority::Thrown(priority.clone()),
            (_, Some(None)) => Priority::OfAd,
            (_, Some(Some(Value::Int(priority)))) => Priority::Same(priority),
            (_, _) => Priority::Same(0),
        }
    }
}

/// How the jobs of a group are numbered.
#[derive(Clone, Copy, Debug)]
struct Ids {
    cluster: i32,
    first: i32,
}

impl Ids {
    /// As the group's ad says, else by the numbers of group and job.
    fn of(index: usize, base: &ClassAd, world: &dyn World) -> Ids {
        let context = Context::new(world).my(base);
        let of = |name: &str| context.int(name).and_then(|number| i32::try_from(number).ok());
        let group = i32::try_from(index).unwrap_or(i32::MAX - 1) + 1;
        let cluster = of(attr::CLUSTER_ID);
        let first = cluster.and_then(|_| of(attr::PROC_ID)).unwrap_or(0);
        Ids { cluster: cluster.unwrap_or(group), first }
    }

    fn job(self, in_group: u32) -> (i32, i32) {
        (self.cluster, self.first.saturating_add(i32::try_from(in_group).unwrap_or(i32::MAX)))
    }
}

/// All jobs of a scenario.
pub struct Workload {
    sources: Vec<Source>,
    next: BinaryHeap<Reverse<(u64, usize)>>,
    kinds: Vec<Arc<Kind>>,
    by_text: FxHashMap<(u32, Vec<u8>), u32>,
    by_throw: FxHashMap<(u32, [u64; 4]), u32>,
    /// Jobs whose own attributes are looked at, by kind and by these.
    by_own: FxHashMap<(u32, [i64; 4]), u64>,
    /// What policies ask of jobs; `None` where that cannot be told.
    asked: Option<Names>,
    notes: Vec<String>,
    seed: u64,
    start: i64,
    arrived: u32,
}

/// Why the jobs of a scenario cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A line of an ad is no attribute.
    #[error("jobs {group}: 'ad': {line}")]
    Line {
        /// Number of the group, from 1.
        group: usize,
        /// What is wrong.
        line: String,
    },
    /// A file cannot be read.
    #[error("jobs {group}: '{file}'")]
    File {
        /// Number of the group, from 1.
        group: usize,
        /// Which.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file has no ad that can be played.
    #[error("jobs {group}: '{file}' {problem}")]
    Content {
        /// Number of the group, from 1.
        group: usize,
        /// Which.
        file: String,
        /// What is wrong.
        problem: &'static str,
    },
}

impl Workload {
    /// Makes ready; `files` are those that groups name. Of ads in files that is kept which `asked` may ask for; `None`
    /// keeps everything.
    ///
    /// # Errors
    /// An ad that is none, a file that cannot be read.
    pub fn new(
        scenario: &Scenario,
        start: i64,
        asked: Option<&Names>,
        world: &dyn World,
        mut files: Files<'_>,
    ) -> Result<Workload, WorkloadError> {
        let mut workload = Workload {
            sources: Vec::new(),
            next: BinaryHeap::new(),
            kinds: Vec::new(),
            by_text: FxHashMap::default(),
            by_throw: FxHashMap::default(),
            by_own: FxHashMap::default(),
            asked: asked.cloned(),
            notes: Vec::new(),
            seed: scenario.seed,
            start,
            arrived: 0,
        };
        for (index, group) in scenario.groups.iter().enumerate() {
            workload.add_group((index, group), scenario, world, &mut files)?;
        }
        Ok(workload)
    }

    fn add_group(
        &mut self,
        (index, group): (usize, &Group),
        scenario: &Scenario,
        world: &dyn World,
        files: &mut Files<'_>,
    ) -> Result<(), WorkloadError> {
        let mut source = self.source((index, group), world)?;
        let length = scenario.length.0;
        match &group.from {
            Some(path) => self.add_stored(&mut source, (index, path), length, (world, files))?,
            None => source.advance(true),
        }
        if source.count > 0 && source.next > micros(length) {
            let name = group.name.clone().unwrap_or_else(|| format!("jobs {}", index + 1));
            let (first, end) = (written(source.next as f64 / 1e6), written(length));
            self.notes.push(format!(
                "{name}: none comes: the first would {first} after the start, and it ends after {end}"
            ));
        }
        if source.made < source.count {
            self.next.push(Reverse((source.next, index)));
        }
        self.sources.push(source);
        Ok(())
    }

    /// The group before its first job.
    fn source(&self, (index, group): (usize, &Group), world: &dyn World) -> Result<Source, WorkloadError> {
        let (mut base, errors) = long::parse_with(group.ad.as_bytes(), Dialect::of(world));
        if let Some(error) = errors.first() {
            return Err(WorkloadError::Line { group: index + 1, line: error.to_string() });
        }
        let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
        let at = (group.at.epoch(self.start, offset) - self.start as f64).max(0.0);
        let ids = Ids::of(index, &base, world);
        // A queue gives every job a universe.
        if !base.contains("JobUniverse") {
            base.set("JobUniverse", Universe::Vanilla as i64);
        }
        Ok(Source {
            priority: Priority::of(group, &base),
            base,
            ids,
            count: group.count.unwrap_or(1),
            made: 0,
            at,
            until: group.within.map(|within| at + within.0),
            stored: Vec::new(),
            dice: Dice::new(&[self.seed, index as u64, 0xA221]),
            next: micros(at),
            group: group.clone(),
        })
    }

    /// The jobs of the file that a group names.
    fn add_stored(
        &mut self,
        source: &mut Source,
        (index, path): (usize, &Path),
        length: f64,
        (world, files): (&dyn World, &mut Files<'_>),
    ) -> Result<(), WorkloadError> {
        let file = path.display().to_string();
        let asked = self.asked.clone();
        let reading = Reading {
            index,
            group: &source.group,
            file: &file,
            asked: asked.as_ref(),
            world,
            seed: self.seed,
        };
        let number = u32::try_from(index).unwrap_or(0);
        let mut kind_of = |ad| self.kind_of_text(number, ad, world);
        let group = index + 1;
        let jobs = reading.read(&mut kind_of, (path, files)).map_err(|error| match error {
            Unplayable::System(source) => WorkloadError::File { group, file: file.clone(), source },
            Unplayable::Content(problem) => WorkloadError::Content { group, file: file.clone(), problem },
        })?;
        self.take_stored(source, jobs, (&file, length));
        Ok(())
    }

    /// Takes the jobs of a file.
    fn take_stored(&mut self, source: &mut Source, jobs: Vec<(i64, Stored)>, (file, length): (&str, f64)) {
        let first = jobs.first().map_or(0, |(queued, _)| *queued);
        let begins = micros(source.at);
        let comes = |(queued, stored): (i64, Stored)| Stored {
            arrives: begins.saturating_add(micros(queued.saturating_sub(first) as f64)),
            ..stored
        };
        source.stored = jobs.into_iter().map(comes).collect();
        source.count = u32::try_from(source.stored.len()).unwrap_or(u32::MAX);
        source.next = source.stored.first().map_or(0, |stored| stored.arrives);
        let late = source.stored.iter().filter(|stored| stored.arrives > micros(length)).count();
        if late > 0 && late < source.stored.len() {
            let count = source.stored.len();
            let last = source.stored.last().map_or(0, |stored| stored.arrives) as f64 / 1e6;
            self.notes.push(format!(
                "{late} of the {count} jobs of '{file}' do not come: the last would {} after the start, and it ends after {}",
                written(last),
                written(length)
            ));
        }
    }

    fn kind_of_text(&mut self, group: u32, ad: ClassAd, world: &dyn World) -> u32 {
        let key = (group, long::print(&ad));
        if let Some(kind) = self.by_text.get(&key) {
            return *kind;
        }
        let kind = self.add_kind(group, ad, world);
        self.by_text.insert(key, kind);
        kind
    }

    fn add_kind(&mut self, group: u32, ad: ClassAd, world: &dyn World) -> u32 {
        let owner = Context::new(world).my(&ad).string("Owner").unwrap_or_default().to_string();
        let own = Own::of(&ad, self.asked.as_ref(), &ALWAYS);
        self.kinds.push(Arc::new(Kind { group, ad, owner, own }));
        u32::try_from(self.kinds.len() - 1).unwrap_or(u32::MAX)
    }

    /// When the next job comes, in microseconds since the start.
    pub fn next_at(&self) -> Option<u64> {
        self.next.peek().map(|Reverse((at, _))| *at)
    }

    /// The next job.
    pub fn next_job(&mut self, world: &dyn World) -> Option<Job> {
        let Reverse((arrives, index)) = self.next.pop()?;
        let source = self.sources.get_mut(index)?;
        let in_group = source.made;
        let number = self.arrived;
        self.arrived += 1;
        source.made += 1;
        let group = u32::try_from(index).unwrap_or(0);
        let mut dice = Dice::new(&[self.seed, u64::from(group), u64::from(in_group)]);
        let mut job = Job {
            number,
            kind: 0,
            like: 0,
            in_group,
            id: source.ids.job(in_group),
            arrives,
            runs: 0,
            leaves: micros(source.group.leaves.draw(&mut dice)),
            exit: i32::try_from(source.group.exit).unwrap_or(1),
            priority: 0,
            starts: 0,
        };
        if let Some(stored) = source.stored.get(in_group as usize).copied() {
            if let Some(next) = source.stored.get(in_group as usize + 1) {
                self.next.push(Reverse((next.arrives, index)));
            }
            job.id = stored.id.unwrap_or(job.id);
            (job.kind, job.runs) = (stored.kind, stored.runs);
            (job.exit, job.priority) = (stored.exit, stored.priority);
        } else {
            self.throw((index, group), &mut job, &mut dice, world);
        }
        job.like = self.like(&job);
        Some(job)
    }

    /// What is left to chance of a job, and its kind.
    fn throw(&mut self, (index, group): (usize, u32), job: &mut Job, dice: &mut Dice, world: &dyn World) {
        let source = &mut self.sources[index];
        let of = &source.group;
        job.runs = of.runs.as_ref().map_or(0, |runs| micros(runs.draw(dice)));
        let owner = of.owner.draw(dice);
        let sizes = [
            of.cpus.as_ref().map(|size| size.whole(dice)),
            of.memory.as_ref().map(|size| size.whole(dice)),
            of.disk.as_ref().map(|size| size.whole(dice)),
        ];
        let priority = match &source.priority {
            Priority::Thrown(priority) => Some(priority.whole(dice)),
            Priority::Same(priority) => Some(*priority),
            Priority::OfAd => None,
        };
        if source.made < source.count {
            source.advance(false);
            self.next.push(Reverse((source.next, index)));
        }
        let bits = |size: Option<i64>| size.map_or(u64::MAX, |size| size as u64);
        let key = (group, [owner as u64, bits(sizes[0]), bits(sizes[1]), bits(sizes[2])]);
        job.kind = match self.by_throw.get(&key) {
            Some(kind) => *kind,
            None => {
                let source = &self.sources[index];
                let mut ad = source.base.clone();
                if let Some((name, _)) = source.group.owner.0.get(owner) {
                    ad.set("Owner", name.as_str());
                    ad.set("User", format!("{name}@simulated").as_str());
                }
                for (name, size) in ["RequestCpus", "RequestMemory", "RequestDisk"].into_iter().zip(sizes) {
                    size.into_iter().for_each(|size| ad.set(name, size));
                }
                let kind = self.add_kind(group, ad, world);
                self.by_throw.insert(key, kind);
                kind
            }
        };
        // An expression is another for each job.
        let priority = priority.or_else(|| Context::new(world).my(&self.ad(job)).int(PRIORITY));
        job.priority = as_priority(priority.unwrap_or(0));
    }

    /// The number of all jobs to which slots say what they say to this one.
    fn like(&mut self, job: &Job) -> u64 {
        let own = self.kinds[job.kind as usize].own;
        if own == Own::NOTHING {
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
        // Apart from the numbers of kinds.
        let next = (1 << 32) + self.by_own.len() as u64;
        *self.by_own.entry((job.kind, key)).or_insert(next)
    }

    /// The kind of a job.
    pub fn kind(&self, kind: u32) -> &Arc<Kind> {
        &self.kinds[kind as usize]
    }

    /// What a group is called.
    pub fn group_name(&self, group: u32) -> String {
        let source = self.sources.get(group as usize);
        let name = source.and_then(|source| source.group.name.clone());
        name.unwrap_or_else(|| format!("jobs {}", group + 1))
    }

    /// The ad of a job as FETCH_WORK would print it: numbered, where the scenario does not number it.
    pub fn ad(&self, job: &Job) -> ClassAd {
        let kind = self.kind(job.kind);
        let mut ad = kind.ad.clone();
        ad.set(attr::CLUSTER_ID, i64::from(job.id.0));
        ad.set(attr::PROC_ID, i64::from(job.id.1));
        if !ad.contains("QDate") {
            let since = i64::try_from(job.arrives / 1_000_000).unwrap_or(0);
            ad.set("QDate", self.start + since);
        }
        let source = self.sources.get(kind.group as usize);
        if source.is_some_and(|source| matches!(source.priority, Priority::Thrown(_))) {
            ad.set(PRIORITY, i64::from(job.priority));
        }
        ad
    }

    /// What is odd about jobs that come out of files, or never come.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// All names that ads of jobs mention, for whoever has to know what they may ask of a slot.
    pub fn bases(&self) -> impl Iterator<Item = &ClassAd> + Clone {
        self.sources.iter().map(|source| &source.base).chain(self.kinds.iter().map(|kind| &kind.ad))
    }
}

impl Source {
    /// Sets when the next job comes.
    fn advance(&mut self, is_first: bool) {
        let now = if is_first { self.at } else { self.next as f64 / 1e6 };
        let left = f64::from(self.count - self.made);
        let next = match (self.until, &self.group.every) {
            // The smallest of so many random times in what is left.
            (Some(until), _) => {
                until - (until - now) * (1.0 - self.dice.fraction()).powf(1.0 / left.max(1.0))
            }
            (None, Some(every)) if !is_first => now + every.draw(&mut self.dice),
            _ => now,
        };
        self.next = micros(next).max(if is_first { 0 } else { self.next });
    }
}
