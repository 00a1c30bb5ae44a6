//! The jobs of a scenario as they come: written out, thrown by a seed, or out of a file of ads. What has not come yet takes
//! no room, but for a file, of which so much is kept as the policy may ask for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::BufRead;
use std::sync::Arc;

use bstr::BString;
use rustc_hash::FxHashMap;

use super::chance::{Dice, Drawn, Throw};
use super::scenario::{Group, Scenario};
use crate::classad::format::long;
use crate::classad::references::Names;
use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Context, Dialect, Value};
use crate::job::{Universe, attr};
use crate::world::World;

/// Jobs that are alike but for their numbers and times.
#[derive(Debug)]
pub struct Kind {
    /// The group it belongs to.
    pub group: u32,
    /// What is the same in all of their ads.
    pub ad: ClassAd,
    /// Who owns them.
    pub owner: String,
}

/// One job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Counts from 0 in the order in which jobs come.
    pub number: u32,
    /// Its kind.
    pub kind: u32,
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

/// A job out of a file.
#[derive(Clone, Copy, Debug)]
struct Stored {
    id: Option<(i32, i32)>,
    arrives: u64,
    runs: u64,
    kind: u32,
    exit: i32,
    priority: i32,
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
    stored: Vec<Stored>,
    dice: Dice,
    /// When the next job comes, in microseconds.
    next: u64,
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
    seed: u64,
    start: i64,
    arrived: u32,
}

/// Why the jobs of a scenario cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A line of an ad is no attribute.
    #[error("jobs {group}: {line}")]
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
    /// A file has no ad, or one that has no QDate.
    #[error("jobs {group}: '{file}' {problem}")]
    Content {
        /// Number of the group, from 1.
        group: usize,
        /// Which.
        file: String,
        /// What is wrong.
        problem: String,
    },
}

/// Attributes that a machine asks of jobs whatever its policy says.
const ALWAYS: [&str; 18] = [
    "Owner",
    "User",
    "AccountingGroup",
    "JobUniverse",
    "RequestCpus",
    "RequestMemory",
    "RequestDisk",
    "RequestGPUs",
    "RequestVirtualMemory",
    "MaxJobRetirementTime",
    "JobMaxVacateTime",
    "KillSigTimeout",
    "JobLeaseDuration",
    "StartdSendsAlives",
    "StarterHandlesAlives",
    "HookKeyword",
    "JobPrio",
    "Cmd",
];

fn micros(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e6).round() as u64
}

impl Workload {
    /// Makes ready; `open` opens the files that groups name. Of ads in files that is kept which `asked` may ask for; `None`
    /// keeps everything.
    ///
    /// # Errors
    /// An ad that is none, a file that cannot be read.
    pub fn new(
        scenario: &Scenario,
        start: i64,
        asked: Option<&Names>,
        world: &dyn World,
        open: &mut dyn FnMut(&std::path::Path) -> std::io::Result<Box<dyn BufRead>>,
    ) -> Result<Workload, WorkloadError> {
        let mut workload = Workload {
            sources: Vec::new(),
            next: BinaryHeap::new(),
            kinds: Vec::new(),
            by_text: FxHashMap::default(),
            by_throw: FxHashMap::default(),
            seed: scenario.seed,
            start,
            arrived: 0,
        };
        let offset = |epoch: i64| i64::from(world.zone(epoch).offset);
        for (index, group) in scenario.groups.iter().enumerate() {
            let (mut base, errors) = long::parse_with(group.ad.as_bytes(), Dialect::of(world));
            if let Some(error) = errors.first() {
                return Err(WorkloadError::Line { group: index + 1, line: error.to_string() });
            }
            let at = group.at.epoch(start, offset) - start as f64;
            let ids = Ids::of(index, &base, world);
            // A queue gives every job a universe.
            if !base.contains("JobUniverse") {
                base.set("JobUniverse", Universe::Vanilla as i64);
            }
            let mut source = Source {
                base,
                ids,
                count: group.count.unwrap_or(1),
                made: 0,
                at: at.max(0.0),
                until: group.within.map(|within| at.max(0.0) + within.0),
                stored: Vec::new(),
                dice: Dice::new(&[scenario.seed, index as u64, 0xA221]),
                next: micros(at),
                group: group.clone(),
            };
            if let Some(path) = &group.from {
                let file = path.display().to_string();
                let reader = open(path).map_err(|source| WorkloadError::File {
                    group: index + 1,
                    file: file.clone(),
                    source,
                })?;
                workload.store(index, &mut source, Reading { reader, file, asked, world })?;
            } else {
                source.advance(true);
            }
            if source.made < source.count {
                workload.next.push(Reverse((source.next, index)));
            }
            workload.sources.push(source);
        }
        Ok(workload)
    }

    /// Reads the jobs of a file.
    fn store(&mut self, index: usize, source: &mut Source, from: Reading<'_>) -> Result<(), WorkloadError> {
        let Reading { reader, file, asked, world } = from;
        let fail = |problem: &str| WorkloadError::Content {
            group: index + 1,
            file: file.clone(),
            problem: problem.to_owned(),
        };
        let most = source.group.count.unwrap_or(u32::MAX) as usize;
        let mut ads = AdReader::new(reader, None);
        let mut read: Vec<(i64, Stored)> = Vec::new();
        let mut dice = Dice::new(&[self.seed, index as u64, 0xF11E]);
        loop {
            let record = ads.next_ad().map_err(|error| WorkloadError::File {
                group: index + 1,
                file: file.clone(),
                source: error,
            })?;
            let Some(record) = record else { break };
            if read.len() >= most {
                break;
            }
            if !record.errors.is_empty() {
                return Err(fail("has lines that are no attributes"));
            }
            let ad = record.ad;
            if ad.is_empty() {
                continue;
            }
            let context = Context::new(world).my(&ad);
            let queued = context.int("QDate").unwrap_or(0);
            let runs = match run_time(&context) {
                Some(seconds) => seconds,
                None => source.group.runs.as_ref().map_or(0.0, |runs| runs.0.draw(&mut dice)),
            };
            let by_signal = context.boolean("ExitBySignal") == Some(true);
            let exit = match context.int("ExitSignal").filter(|_| by_signal) {
                Some(signal) => 128 + signal,
                None => context.int("ExitCode").unwrap_or(source.group.exit),
            };
            let number = |name: &str| context.int(name).and_then(|number| i32::try_from(number).ok());
            let id = number(attr::CLUSTER_ID).zip(Some(number(attr::PROC_ID).unwrap_or(0)));
            let priority = context.int("JobPrio").unwrap_or(0);
            let kept = kept(&ad, asked);
            let kind = self.kind_of_text(u32::try_from(index).unwrap_or(0), kept, world);
            read.push((
                queued,
                Stored {
                    id,
                    arrives: 0,
                    runs: micros(runs),
                    kind,
                    exit: i32::try_from(exit).unwrap_or(1),
                    priority: i32::try_from(priority).unwrap_or(0),
                },
            ));
        }
        if read.is_empty() {
            return Err(fail("has no ad"));
        }
        read.sort_by_key(|(queued, _)| *queued);
        let first = read.first().map_or(0, |(queued, _)| *queued);
        let begins = micros(source.at);
        source.stored = read
            .into_iter()
            .map(|(queued, stored)| Stored { arrives: begins + micros((queued - first) as f64), ..stored })
            .collect();
        source.count = u32::try_from(source.stored.len()).unwrap_or(u32::MAX);
        source.next = source.stored.first().map_or(0, |stored| stored.arrives);
        Ok(())
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
        self.kinds.push(Arc::new(Kind { group, ad, owner }));
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
        let leaves = micros(source.group.leaves.0.draw(&mut dice));
        if let Some(stored) = source.stored.get(in_group as usize).copied() {
            if let Some(next) = source.stored.get(in_group as usize + 1) {
                self.next.push(Reverse((next.arrives, index)));
            }
            return Some(Job {
                number,
                kind: stored.kind,
                in_group,
                id: stored.id.unwrap_or_else(|| source.ids.job(in_group)),
                arrives,
                runs: stored.runs,
                leaves,
                exit: stored.exit,
                priority: stored.priority,
                starts: 0,
            });
        }
        let runs = source.group.runs.as_ref().map_or(0, |runs| micros(runs.0.draw(&mut dice)));
        let exit = i32::try_from(source.group.exit).unwrap_or(1);
        let owner = source.group.owner.draw(&mut dice) as u64;
        let group_of = &source.group;
        let sizes = [
            thrown(group_of.cpus.as_ref(), &mut dice),
            thrown(group_of.memory.as_ref(), &mut dice),
            thrown(group_of.disk.as_ref(), &mut dice),
        ];
        let priority = thrown(group_of.priority.as_ref(), &mut dice).unwrap_or(0);
        let id = source.ids.job(in_group);
        if source.made < source.count {
            source.advance(false);
            self.next.push(Reverse((source.next, index)));
        }
        let bits = |size: Option<i64>| size.map_or(u64::MAX, |size| size as u64);
        let key = (group, [owner, bits(sizes[0]), bits(sizes[1]), bits(sizes[2])]);
        let kind = match self.by_throw.get(&key) {
            Some(kind) => *kind,
            None => {
                let source = &self.sources[index];
                let mut ad = source.base.clone();
                if let Some((name, _)) = source.group.owner.0.get(owner as usize) {
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
        Some(Job {
            number,
            kind,
            in_group,
            id,
            arrives,
            runs,
            leaves,
            exit,
            priority: i32::try_from(priority).unwrap_or(0),
            starts: 0,
        })
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
        ad
    }

    /// All names that ads of jobs mention, for whoever has to know what they may ask of a slot.
    pub fn bases(&self) -> impl Iterator<Item = &ClassAd> + Clone {
        self.sources.iter().map(|source| &source.base).chain(self.kinds.iter().map(|kind| &kind.ad))
    }
}

struct Reading<'a> {
    reader: Box<dyn BufRead>,
    file: String,
    asked: Option<&'a Names>,
    world: &'a dyn World,
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
            (None, Some(every)) if !is_first => now + every.0.draw(&mut self.dice),
            _ => now,
        };
        self.next = micros(next).max(if is_first { 0 } else { self.next });
    }
}

/// A whole number that a job is given.
fn thrown<const UNIT: u8>(throw: Option<&Throw<UNIT>>, dice: &mut Dice) -> Option<i64> {
    throw.map(|Throw(drawn)| match drawn {
        Drawn::Fixed(value) => *value as i64,
        other => other.draw(dice).round() as i64,
    })
}

/// How long a job of a history has run: less what it was suspended.
fn run_time(context: &Context<'_>) -> Option<f64> {
    let wall = context.real("RemoteWallClockTime").filter(|wall| *wall > 0.0);
    if let Some(wall) = wall {
        let suspended = context.real("CumulativeSuspensionTime").unwrap_or(0.0);
        // Of several runs the last is the one that came to its end.
        let last = context.real("LastRemoteWallClockTime").filter(|last| *last > 0.0 && *last <= wall);
        return Some(last.unwrap_or((wall - suspended).max(0.0)));
    }
    let from = context.int("JobCurrentStartDate").or_else(|| context.int("JobStartDate"))?;
    let to = context.int("CompletionDate").filter(|to| *to > 0)?;
    (to >= from).then(|| (to - from) as f64)
}

/// What of an ad the machines may ask for, and nothing that belongs to one job alone.
fn kept(ad: &ClassAd, asked: Option<&Names>) -> ClassAd {
    // Its number, its time, and what became of it.
    const OWN: [&str; 12] = [
        "ClusterId",
        "ProcId",
        "QDate",
        "CompletionDate",
        "ExitCode",
        "ExitBySignal",
        "ExitSignal",
        "JobFinishedHookDone",
        "Managed",
        "ManagedManager",
        "RoutedToJobId",
        "RemoteHost",
    ];
    let mut kept = ClassAd::new();
    match asked {
        None => {
            kept = ad.clone();
            OWN.into_iter().for_each(|name| drop(kept.remove(name)));
        }
        Some(asked) => {
            let names = ALWAYS.iter().map(|name| BString::from(*name));
            let asked = asked.iter().map(|name| BString::from(name.as_bytes()));
            let mut todo: Vec<BString> = names.chain(asked).collect();
            while let Some(name) = todo.pop() {
                let is_own = OWN.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(&name));
                if is_own || kept.contains(&*name) {
                    continue;
                }
                let Some(expr) = ad.get(&*name) else { continue };
                // What an attribute refers to has to be there, too.
                if expr.as_literal().is_none() {
                    let names = crate::classad::references::every(&expr);
                    todo.extend(names.iter().map(|name| BString::from(name.as_bytes())));
                }
                kept.insert(&*name, expr);
            }
        }
    }
    if kept.contains("JobStatus") {
        kept.set("JobStatus", 1);
    }
    if !kept.contains("Owner")
        && let Some(user) = ad.get("User").and_then(|expr| expr.as_literal())
        && let Value::Str(user) = user
    {
        let user: &[u8] = user.as_ref();
        let name = user.split(|byte| *byte == b'@').next().unwrap_or(user);
        kept.set("Owner", Value::from(BString::from(name)));
    }
    kept
}
