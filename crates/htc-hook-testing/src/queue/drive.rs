//! What is known of each job of a queue while its hooks are driven, and which step comes next.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::directory::{Files, QueueDirectory};
use super::effects::{Effects, Names, names};
use super::hooks::Hooks;
use super::plan::{QueueTest, Round};
use super::step::{Step, Tag};
use crate::fuzz::Random;
use crate::{Ending, Outcome};
use htc_base::process::Exit;
use htc_base::quirks::Quirks;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_os::RealWorld;
use htc_runner::hook_call::PIPE_BUFFER_MAX;
use htc_slot::{FetchAnswer, Fetched, read_fetched};

/// After so many violations a round ends: the rest of it would tell nothing new.
const MOST_VIOLATIONS: usize = 20;
/// So many jobs come from a queue whose size nobody has told.
const MOST_JOBS: usize = 10_000;
/// So many jobs are followed through calls made one at a time.
const JOBS_ALONE: usize = 8;
/// No larger share of the calls is killed, in percent, so that the others get somewhere.
const MOST_KILLED: u32 = 90;

/// Where a job stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The slot that has it.
    pub held_by: Option<usize>,
    pub finished: bool,
    pub evicted: bool,
    pub rejected: bool,
    /// It was given back, and is to come again.
    pub owed: bool,
    /// One of its hooks was killed: nobody can say whether the queue has it, so it may come again or not.
    pub in_doubt: bool,
    /// It was rejected, and REPLY_FETCH has put it aside.
    pub filed: bool,
    pub names: Names,
    pub story: Vec<String>,
}

impl Known {
    /// The slot gets the job; what speaks against that. A killed hook may not have printed all of it.
    fn hand_out(&mut self, slot: usize, killed: bool) -> Option<String> {
        // After a killed hook the queue may hand the job out once more, never while another slot has it.
        if std::mem::take(&mut self.in_doubt) && self.held_by.is_none() {
            (self.finished, self.filed) = (false, false);
        }
        let twice = match (self.held_by, self.finished) {
            (Some(other), _) => Some(format!("while slot{} has it", other + 1)),
            (None, true) => Some("though it was done".to_owned()),
            _ => None,
        };
        (self.owed, self.filed) = (false, false);
        self.held_by = Some(slot);
        self.in_doubt = killed;
        twice
    }

    /// The slot gives the job back. One that a killed hook has handed out may not have been taken, so that it need not come.
    fn give_back(&mut self) {
        self.held_by = None;
        self.owed = !self.in_doubt;
    }
}

/// A call that is over.
struct Call {
    slot: usize,
    /// Its number and its slot.
    name: String,
    exit: Option<Exit>,
    /// Whether it was killed in the middle on purpose.
    killed: bool,
    /// The files before it, in a round that makes one call at a time.
    before: Files,
}

impl Call {
    /// A line of the story of a job.
    fn line(&self, what: &str) -> String {
        format!("{} {what}{}", self.name, how(self.exit, self.killed))
    }
}

pub(super) struct Drive<'a> {
    pub round: Round,
    pub hooks: &'a Hooks,
    pub directory: &'a QueueDirectory,
    pub effects: &'a mut Effects,
    /// What tells one job from another.
    pub id: Option<&'a Expr>,
    pub world: &'a RealWorld,
    /// The files before the next call of a round that makes one at a time, and those of the original.
    pub files: Files,
    pub original: Files,
    /// A round that is over before the queue is empty.
    pub stopped: bool,
    /// The hooks work on the original: which file they changed.
    pub astray: Option<std::path::PathBuf>,
    pub ready: VecDeque<(usize, Step)>,
    /// Slots that found nothing; they ask again when something has come back.
    pub idle: Vec<usize>,
    pub known: BTreeMap<String, Known>,
    pub violations: Vec<String>,
    pub random: Random,
    pub calls: u32,
    pub number: u32,
    pub killed: u32,
    /// Killed fetches that had not told of a job: each may have taken one.
    pub lost_fetches: usize,
    /// The claims of the slots: the last job of each.
    pub claims: BTreeMap<usize, Box<ClassAd>>,
    /// How long calls take, lately; those to be killed get a random part of it.
    pub typical: Duration,
}

impl<'a> Drive<'a> {
    pub(super) fn new(
        test: &'a QueueTest<'_>,
        round: Round,
        (hooks, directory): (&'a Hooks, &'a QueueDirectory),
        effects: &'a mut Effects,
    ) -> Self {
        let (files, original) = match round.alone {
            true => (Files::below(directory.path()), Files::below(directory.original())),
            false => Default::default(),
        };
        Drive {
            round,
            hooks,
            directory,
            effects,
            id: test.id.as_ref(),
            world: test.world,
            files,
            original,
            stopped: false,
            astray: None,
            ready: (0..round.slots.max(1)).map(|slot| (slot, Step::Fetch)).collect(),
            idle: Vec::new(),
            known: BTreeMap::new(),
            violations: Vec::new(),
            random: Random::new(test.seed),
            calls: 0,
            number: 0,
            killed: 0,
            lost_fetches: 0,
            claims: BTreeMap::new(),
            typical: Duration::from_millis(5),
        }
    }

    /// The next step of a slot, unless the round is over.
    fn go(&mut self, slot: usize, step: Step) {
        if !self.stopped {
            self.ready.push_back((slot, step));
        }
    }

    /// Nothing more is called.
    fn stop(&mut self) {
        self.stopped = true;
        self.ready.clear();
    }

    pub(super) fn done(&mut self, tag: Tag, outcome: &Outcome) {
        self.number += 1;
        let Tag { slot, step, doomed, place } = tag;
        drop(place);
        let number = self.number;
        let (exit, stdout, cut) = match &outcome.ending {
            Ending::Ran(ended) => (ended.exit, ended.stdout.as_slice(), ended.cut),
            Ending::NotStarted { reason, .. } | Ending::Refused { reason } => {
                self.violate(format!("slot{}: a hook cannot be executed: {reason}", slot + 1));
                return;
            }
        };
        let name = format!("{number}: slot{}", slot + 1);
        let killed = doomed && exit.is_none();
        self.killed += u32::from(killed);
        if exit.is_some() {
            self.typical = (self.typical * 7 + outcome.took) / 8;
        }
        let before = match self.round.alone {
            true => std::mem::replace(&mut self.files, Files::below(self.directory.path())),
            false => Files::default(),
        };
        let call = Call { slot, name, exit, killed, before };
        match step {
            Step::Evict { job } => {
                if let Some(known) = self.known.get_mut(&identify(&job, self.id, self.world)) {
                    known.story.push(call.line("EVICT_CLAIM"));
                }
                self.idle.push(slot);
            }
            Step::Fetch => self.fetch_done(&call, stdout, cut),
            Step::Reply { job, id, accept } => {
                self.note(&id, call.line(if accept { "REPLY_FETCH accept" } else { "REPLY_FETCH reject" }));
                self.doubt(&id, killed && !accept);
                match accept {
                    true => self.accepted(slot, job, id),
                    false => self.rejected(&call, &job, &id),
                }
            }
            Step::Exit { id, word, .. } => self.exit_done(&call, &id, word),
        }
    }

    /// What a fetch hook has printed.
    fn fetch_done(&mut self, call: &Call, stdout: &[u8], cut: bool) {
        let Call { slot, ref name, exit, killed, .. } = *call;
        if exit.is_none() && !killed {
            self.violate(format!("{name} FETCH_WORK hangs"));
            return;
        }
        let answer = FetchAnswer { stdout, cut, limit: PIPE_BUFFER_MAX };
        match read_fetched(answer, Dialect::of(self.world), Quirks::None, &mut Vec::new()) {
            // The startd does not look at how the hook ended; but what a killed one has taken nobody knows.
            Fetched::Nothing(_) | Fetched::Bad { .. } if killed => {
                self.lost_fetches += 1;
                self.go(slot, Step::Fetch);
            }
            Fetched::Job(job) if killed && !self.is_whole(&job) => {
                self.lost_fetches += 1;
                self.go(slot, Step::Fetch);
            }
            Fetched::Nothing(_) => match self.claims.remove(&slot) {
                Some(job) if self.hooks.evict.is_some() => self.go(slot, Step::Evict { job }),
                _ => self.idle.push(slot),
            },
            Fetched::Bad { reason, .. } => {
                self.violate(format!("{name} FETCH_WORK prints no job, so that one may be lost: {reason}"));
                self.go(slot, Step::Fetch);
            }
            Fetched::Job(job) => self.fetched(call, job),
        }
    }

    /// The queue was told that the slot does not take the job.
    fn rejected(&mut self, call: &Call, job: &ClassAd, id: &str) {
        if self.round.alone {
            self.effects.rejected(job, &call.before, &self.files);
        }
        let files = self.effects.files_rejects;
        if let Some(known) = self.known.get_mut(id).filter(|known| files && !known.in_doubt) {
            (known.filed, known.owed) = (true, false);
        }
        self.wake();
        self.go(call.slot, Step::Fetch);
    }

    /// The queue was told how the job ended.
    fn exit_done(&mut self, call: &Call, id: &str, word: &str) {
        self.note(id, call.line(&format!("JOB_EXIT {word}")));
        self.doubt(id, call.killed);
        let in_doubt = self.known.get(id).is_some_and(|known| known.in_doubt);
        let story = self.story(id);
        if !in_doubt && !call.exit.is_some_and(Exit::is_success) {
            let how = how(call.exit, call.killed);
            self.violate(format!("the end of job {id} was not taken down: JOB_EXIT {word}{how}{story}"));
        } else if self.round.alone && word == "exit" {
            let names = self.known.get(id).map(|known| known.names.clone()).unwrap_or_default();
            let root = self.directory.path();
            if let Some(missing) = self.effects.ended(&names, root, &call.before, &self.files) {
                self.violate(format!("job {id} has no exit record: JOB_EXIT exit: {missing}{story}"));
            }
        }
        self.ended(call.slot, id, word);
    }

    /// A job was handed out: never one that another slot has or that is done, and no more than there are.
    fn fetched(&mut self, call: &Call, job: Box<ClassAd>) {
        let Call { slot, ref name, killed, ref before, .. } = *call;
        let id = identify(&job, self.id, self.world);
        let is_new = !self.known.contains_key(&id);
        let count = self.known.len() + usize::from(is_new);
        let names = names(&job, &id, self.world);
        if self.round.alone {
            self.effects.fetched(&names, before, &self.files);
            self.look_astray(before);
        }
        let known = self.known.entry(id.clone()).or_default();
        known.names = names;
        known.story.push(format!("{name} FETCH_WORK hands it out"));
        if let Some(how) = known.hand_out(slot, killed) {
            let story = self.story(&id);
            self.violate(format!("job {id} is handed out twice, {how}{story}"));
            // Nobody can tell the two apart from here on.
            self.go(slot, Step::Fetch);
            return;
        }
        match self.round.jobs {
            Some(jobs) if is_new && count > jobs => {
                self.violate(format!(
                    "job {id} is handed out, number {count} of a queue of {jobs}\n  {name} FETCH_WORK hands it out"
                ));
            }
            None if count > MOST_JOBS => {
                self.violate(format!(
                    "the queue does not end: {count} jobs were handed out; --jobs says how many it holds"
                ));
                self.stop();
            }
            _ => {}
        }
        self.answer(slot, job, id);
    }

    /// Takes a job on, or not: each is rejected once at the most.
    fn answer(&mut self, slot: usize, job: Box<ClassAd>, id: String) {
        let rejected = self.known.get(&id).is_some_and(|known| known.rejected);
        let chosen = if self.round.alone { self.known.len() == 1 } else { self.chance(self.round.reject) };
        let reject = !rejected && self.hooks.reply.is_some() && chosen;
        if reject && let Some(known) = self.known.get_mut(&id) {
            known.rejected = true;
        }
        match self.hooks.reply {
            Some(_) => self.go(slot, Step::Reply { job, id, accept: !reject }),
            None => self.accepted(slot, job, id),
        }
    }

    /// A hook that hands out a job, leaves the copy as it is and changes the original works on that.
    fn look_astray(&mut self, before: &Files) {
        if !self.directory.is_copy() || self.effects.here || *before != self.files {
            return;
        }
        let original = Files::below(self.directory.original());
        let mut changed = original.written_since(&self.original).chain(original.gone_since(&self.original));
        if let Some(path) = changed.next().map(std::path::Path::to_owned) {
            drop(changed);
            self.astray = Some(path);
            self.stop();
        }
    }

    fn accepted(&mut self, slot: usize, job: Box<ClassAd>, id: String) {
        self.claims.insert(slot, job.clone());
        let evicted = self.known.get(&id).is_some_and(|known| known.evicted);
        let chosen = if self.round.alone { self.known.len() == 2 } else { self.chance(self.round.evict) };
        let evict = !evicted && self.hooks.exit.is_some() && chosen;
        let word = if evict { "evict" } else { "exit" };
        if evict && let Some(known) = self.known.get_mut(&id) {
            known.evicted = true;
        }
        match self.hooks.exit {
            Some(_) => self.go(slot, Step::Exit { job, id, word }),
            None => self.ended(slot, &id, "exit"),
        }
    }

    fn ended(&mut self, slot: usize, id: &str, word: &str) {
        if word == "exit" {
            if let Some(known) = self.known.get_mut(id) {
                known.held_by = None;
                known.finished = true;
            }
        } else {
            self.wake();
        }
        if self.round.alone && self.known.values().filter(|known| known.finished).count() >= JOBS_ALONE {
            self.stop();
        }
        self.go(slot, Step::Fetch);
    }

    /// The job is the queue's again.
    pub(super) fn release(&mut self, id: &str) {
        if let Some(known) = self.known.get_mut(id) {
            known.give_back();
        }
    }

    /// Slots that found nothing look again, since a job has come back.
    fn wake(&mut self) {
        for slot in std::mem::take(&mut self.idle) {
            self.go(slot, Step::Fetch);
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.below(100) < percent as usize
    }

    /// Whether the next call is to be killed in the middle, and how long it has.
    pub(super) fn doom(&mut self) -> Option<Duration> {
        let kill = self.round.kill.min(MOST_KILLED);
        self.chance(kill).then(|| {
            let typical = usize::try_from(self.typical.as_micros()).unwrap_or(usize::MAX);
            Duration::from_micros(self.random.below(typical) as u64)
        })
    }

    fn doubt(&mut self, id: &str, doubtful: bool) {
        if let Some(known) = self.known.get_mut(id).filter(|_| doubtful) {
            known.in_doubt = true;
            known.owed = false;
        }
    }

    /// Whether what a killed fetch hook has printed names a job: one whose id is known by more than its text.
    fn is_whole(&self, job: &ClassAd) -> bool {
        let context = Context::new(self.world).my(job);
        match self.id {
            Some(id) => !matches!(context.eval(id), Value::Undefined | Value::Error),
            None => named(&context).is_some(),
        }
    }

    fn note(&mut self, id: &str, line: String) {
        if let Some(known) = self.known.get_mut(id) {
            known.story.push(line);
        }
    }

    fn story(&self, id: &str) -> String {
        self.known
            .get(id)
            .into_iter()
            .flat_map(|known| &known.story)
            .map(|line| format!("\n  {line}"))
            .collect()
    }

    fn violate(&mut self, what: String) {
        self.violations.push(what);
        if self.violations.len() >= MOST_VIOLATIONS {
            self.stop();
        }
    }

    /// What is still missing at the end. A round that was stopped has told why.
    pub(super) fn close(&mut self) {
        if self.stopped || self.round.alone {
            return;
        }
        // A killed fetch may have taken a job that was never seen, or one that was to come back.
        let unseen = self.round.jobs.map_or(0, |jobs| jobs.saturating_sub(self.known.len()));
        let excused = self.lost_fetches.saturating_sub(unseen);
        let owed: Vec<String> = self
            .known
            .iter()
            .filter(|(_, known)| known.owed)
            .map(|(id, _)| id.clone())
            .skip(excused)
            .collect();
        for id in owed {
            let known = self.known.get(&id).cloned().unwrap_or_default();
            let what = if known.evicted { "evicted" } else { "rejected" };
            let story = self.story(&id);
            self.violate(format!("job {id} was {what} and does not come back{story}"));
        }
        let finished = self.known.values().filter(|known| known.finished).count();
        let lost = unseen.saturating_sub(self.lost_fetches);
        if let (Some(jobs), 1..) = (self.round.jobs, lost) {
            self.violate(format!("{lost} of {jobs} jobs were never handed out ({finished} are done)"));
        }
        self.count_records();
    }

    /// Each job that is done must have left a record where those of single calls were found.
    fn count_records(&mut self) {
        if self.hooks.exit.is_none() || !self.effects.can_count() {
            return;
        }
        let jobs = self.known.values().map(|known| &known.names);
        let recorded = self.effects.recorded(self.directory.path(), jobs);
        let places: Vec<String> =
            self.effects.records().iter().map(|place| place.display().to_string()).collect();
        let missing: Vec<String> = self
            .known
            .iter()
            .filter(|(_, known)| known.finished && !known.in_doubt && !recorded.has(&known.names))
            .map(|(id, _)| id.clone())
            .collect();
        for id in missing {
            let story = self.story(&id);
            self.violate(format!("job {id} is done and has no exit record in {}{story}", places.join(", ")));
        }
    }
}

fn how(exit: Option<Exit>, killed: bool) -> String {
    match exit {
        _ if killed => " (killed in the middle)".to_owned(),
        Some(Exit::Code(0)) => String::new(),
        Some(exit) => format!(" ({exit})"),
        None => " (hangs)".to_owned(),
    }
}

/// The id of a job: the expression, else cluster and proc, else what the ad says.
fn identify(job: &ClassAd, id: Option<&Expr>, world: &RealWorld) -> String {
    let context = Context::new(world).my(job);
    if let Some(id) = id {
        return context.eval(id).unparse().to_string();
    }
    if let Some(name) = named(&context) {
        return name;
    }
    let text = htc_classad::format::long::print(job);
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in text {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

/// The name that an ad gives its job.
fn named(context: &Context<'_>) -> Option<String> {
    if let Some(cluster) = context.int("ClusterId") {
        return Some(format!("{cluster}.{}", context.int("ProcId").unwrap_or(0)));
    }
    ["QueueName", "GlobalJobId", "JobId"].iter().find_map(|name| Some(context.string(name)?.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_surely_taken_is_to_come_again() {
        for (killed, owed) in [(false, true), (true, false)] {
            let mut known = Known::default();
            assert_eq!(known.hand_out(0, killed), None);
            known.give_back();
            assert_eq!((known.held_by, known.owed), (None, owed));
        }
    }
}
