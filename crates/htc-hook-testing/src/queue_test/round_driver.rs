//! State of each job during a round of a queue test, and the choice of the next step.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::hook_effects::{HookEffects, JobNames, job_names};
use super::queue_directory::{FileSnapshot, QueueDirectory};
use super::queue_hooks::QueueHooks;
use super::slot_step::{SlotStep, StepTag};
use super::test_plan::{QueueTest, TestRound};
use crate::fuzz::RandomGenerator;
use crate::{CallEnding, CallOutcome};
use htc_base::process::Exit;
use htc_base::quirks::QuirkMode;
use htc_base::text::plural::counted;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_os::RealWorld;
use htc_runner::hook_call::DEFAULT_PIPE_BUFFER_MAX;
use htc_slot::{FetchOutcome, FetchOutput, parse_fetch_output};

/// Number of violations after which a round stops, because more violations would add no information.
const MAX_VIOLATIONS: usize = 20;
/// Maximum number of jobs that a queue of unknown size may hand out before the round stops.
const MAX_JOBS: usize = 10_000;
/// Number of finished jobs after which a round with one call at a time stops.
const MAX_JOBS_ONE_BY_ONE: usize = 8;
/// Maximum percentage of killed calls, so that the round can make progress.
const MAX_KILLED_PERCENT: u32 = 90;

/// State of one job during a round.
#[derive(Clone, Debug, Default)]
pub(super) struct JobProgress {
    /// Slot to which the job was handed out, or `None` if no slot has it.
    pub held_by: Option<usize>,
    pub finished: bool,
    pub evicted: bool,
    pub rejected: bool,
    /// True if a slot gave the job back, so that the queue must hand it out again.
    pub must_return: bool,
    /// True if one of the job's hooks was killed. It is then unknown whether the queue has the job, so handing it out
    /// again is permitted but not required.
    pub in_doubt: bool,
    /// True if the job was rejected and REPLY_FETCH set it aside.
    pub set_aside: bool,
    pub names: JobNames,
    pub story: Vec<String>,
}

impl JobProgress {
    /// Records that the job was handed out to the slot. Returns a message if that is a violation. `killed` is true if
    /// the hook was killed, so that it may not have printed the whole job.
    fn record_hand_out(&mut self, slot: usize, killed: bool) -> Option<String> {
        // After a killed hook, the queue may hand out the job once more, but not while another slot has it.
        if std::mem::take(&mut self.in_doubt) && self.held_by.is_none() {
            (self.finished, self.set_aside) = (false, false);
        }
        let twice = match (self.held_by, self.finished) {
            (Some(other), _) => Some(format!("while slot{} runs it", other + 1)),
            (None, true) => Some("although it had finished".to_owned()),
            _ => None,
        };
        (self.must_return, self.set_aside) = (false, false);
        self.held_by = Some(slot);
        self.in_doubt = killed;
        twice
    }

    /// Records that the slot gives the job back. If a hook of the job was killed, the queue may already have the job,
    /// so it need not hand it out again.
    fn record_return(&mut self) {
        self.held_by = None;
        self.must_return = !self.in_doubt;
    }
}

/// Call of a hook that has ended.
struct FinishedCall {
    slot: usize,
    /// Number of the call and its slot, for messages.
    name: String,
    exit: Option<Exit>,
    /// True if the test killed the call.
    killed: bool,
    /// Snapshot of the files before the call; used only if one call is made at a time.
    before: FileSnapshot,
}

impl FinishedCall {
    /// Returns a line about the call for the history of a job.
    fn story_line(&self, event: &str) -> String {
        format!("{} {event}{}", self.name, describe_exit(self.exit, self.killed))
    }
}

pub(super) struct RoundDriver<'a> {
    pub round: TestRound,
    pub hooks: &'a QueueHooks,
    pub directory: &'a QueueDirectory,
    pub effects: &'a mut HookEffects,
    /// Expression that identifies a job, or `None` to use the names in its ad.
    pub id: Option<&'a Expr>,
    pub world: &'a RealWorld,
    /// Snapshot of the files before the next call; used only if one call is made at a time.
    pub files: FileSnapshot,
    /// Snapshot of the original directory before the next call.
    pub original: FileSnapshot,
    /// True if the queue handed out jobs with equal ads, which the test cannot distinguish.
    pub has_equal_jobs: bool,
    /// True if the round ended before the queue was empty.
    pub stopped: bool,
    /// File in the original directory that the hooks changed although they should work on the copy, or `None`.
    pub changed_original: Option<std::path::PathBuf>,
    pub ready: VecDeque<(usize, SlotStep)>,
    /// Slots that got no job. They fetch again when a job has been given back.
    pub idle: Vec<usize>,
    pub jobs: BTreeMap<String, JobProgress>,
    pub violations: Vec<String>,
    pub random: RandomGenerator,
    pub calls: u32,
    pub number: u32,
    pub killed: u32,
    /// Number of calls of FETCH_WORK that were killed before they printed a job. Each of them may have taken a job
    /// from the queue.
    pub lost_fetches: usize,
    /// Slots with a claim, each with the last job of the claim.
    pub claims: BTreeMap<usize, Box<ClassAd>>,
    /// Moving average of the duration of calls. A hook that is to be killed gets a random part of this time.
    pub typical_duration: Duration,
}

impl<'a> RoundDriver<'a> {
    pub(super) fn new(
        test: &'a QueueTest<'_>,
        round: TestRound,
        hooks: &'a QueueHooks,
        directory: &'a QueueDirectory,
        effects: &'a mut HookEffects,
    ) -> Self {
        let (files, original) = match round.one_at_a_time {
            true => (
                FileSnapshot::of_directory(directory.path()),
                FileSnapshot::of_directory(directory.original()),
            ),
            false => Default::default(),
        };
        RoundDriver {
            round,
            hooks,
            directory,
            effects,
            id: test.id.as_ref(),
            world: test.world,
            files,
            original,
            has_equal_jobs: false,
            stopped: false,
            changed_original: None,
            ready: (0..round.slots.max(1)).map(|slot| (slot, SlotStep::Fetch)).collect(),
            idle: Vec::new(),
            jobs: BTreeMap::new(),
            violations: Vec::new(),
            random: RandomGenerator::new(test.seed),
            calls: 0,
            number: 0,
            killed: 0,
            lost_fetches: 0,
            claims: BTreeMap::new(),
            typical_duration: Duration::from_millis(5),
        }
    }

    /// Schedules the next step of a slot, unless the round has been stopped.
    fn schedule_step(&mut self, slot: usize, step: SlotStep) {
        if !self.stopped {
            self.ready.push_back((slot, step));
        }
    }

    /// Stops the round, so that no more hooks are called.
    fn stop_round(&mut self) {
        self.stopped = true;
        self.ready.clear();
    }

    pub(super) fn handle_outcome(&mut self, tag: StepTag, outcome: &CallOutcome) {
        self.number += 1;
        let StepTag { slot, step, is_killed: doomed, directories: place } = tag;
        drop(place);
        let number = self.number;
        let (exit, stdout, cut) = match &outcome.ending {
            CallEnding::Ran(ended) => (ended.exit, ended.stdout.as_slice(), ended.cut),
            CallEnding::NotStarted { reason, .. } | CallEnding::Refused { reason } => {
                self.add_violation(format!("slot{}: a hook cannot be executed: {reason}", slot + 1));
                return;
            }
        };
        let name = format!("{number}: slot{}", slot + 1);
        let killed = doomed && exit.is_none();
        self.killed += u32::from(killed);
        if exit.is_some() {
            self.typical_duration = (self.typical_duration * 7 + outcome.took) / 8;
        }
        let before = match self.round.one_at_a_time {
            true => std::mem::replace(&mut self.files, FileSnapshot::of_directory(self.directory.path())),
            false => FileSnapshot::default(),
        };
        let call = FinishedCall { slot, name, exit, killed, before };
        match step {
            SlotStep::Evict { job } => {
                if let Some(known) = self.jobs.get_mut(&job_id(&job, self.id, self.world)) {
                    known.story.push(call.story_line("EVICT_CLAIM"));
                }
                self.idle.push(slot);
            }
            SlotStep::Fetch => self.handle_fetch(&call, stdout, cut),
            SlotStep::Reply { job, id, accept } => {
                self.add_to_story(
                    &id,
                    call.story_line(if accept { "REPLY_FETCH accept" } else { "REPLY_FETCH reject" }),
                );
                self.mark_in_doubt(&id, killed && !accept);
                match accept {
                    true => self.handle_acceptance(slot, job, id),
                    false => self.handle_rejection(&call, &job, &id),
                }
            }
            SlotStep::Exit { id, word, .. } => self.handle_exit(&call, &id, word),
        }
    }

    /// Handles the output of a call of FETCH_WORK.
    fn handle_fetch(&mut self, call: &FinishedCall, stdout: &[u8], cut: bool) {
        let FinishedCall { slot, ref name, exit, killed, .. } = *call;
        if exit.is_none() && !killed {
            self.add_violation(format!("{name} FETCH_WORK hangs"));
            return;
        }
        let answer = FetchOutput { stdout, is_truncated: cut, limit: DEFAULT_PIPE_BUFFER_MAX };
        match parse_fetch_output(answer, Dialect::of_world(self.world), QuirkMode::Manual, &mut Vec::new()) {
            // The startd ignores the exit status of the hook, but a killed hook may have taken a job from the queue
            // without printing it.
            FetchOutcome::NoWork(_) | FetchOutcome::BadOutput { .. } if killed => {
                self.lost_fetches += 1;
                self.schedule_step(slot, SlotStep::Fetch);
            }
            FetchOutcome::Job(job) if killed && !self.is_identified(&job) => {
                self.lost_fetches += 1;
                self.schedule_step(slot, SlotStep::Fetch);
            }
            FetchOutcome::NoWork(_) => match self.claims.remove(&slot) {
                Some(job) if self.hooks.evict.is_some() => self.schedule_step(slot, SlotStep::Evict { job }),
                _ => self.idle.push(slot),
            },
            FetchOutcome::BadOutput { reason, .. } => {
                self.add_violation(format!(
                    "{name} FETCH_WORK prints something that is not a job, so a job may be lost: {reason}"
                ));
                self.schedule_step(slot, SlotStep::Fetch);
            }
            FetchOutcome::Job(job) => self.handle_fetched_job(call, job),
        }
    }

    /// Handles the end of a call of REPLY_FETCH for a rejected job.
    fn handle_rejection(&mut self, call: &FinishedCall, job: &ClassAd, id: &str) {
        if self.round.one_at_a_time {
            self.effects.record_rejection(job, &call.before, &self.files);
        }
        let files = self.effects.sets_rejects_aside;
        if let Some(known) = self.jobs.get_mut(id).filter(|known| files && !known.in_doubt) {
            (known.set_aside, known.must_return) = (true, false);
        }
        self.wake_idle_slots();
        self.schedule_step(call.slot, SlotStep::Fetch);
    }

    /// Handles the end of a call of JOB_EXIT.
    fn handle_exit(&mut self, call: &FinishedCall, id: &str, word: &str) {
        self.add_to_story(id, call.story_line(&format!("JOB_EXIT {word}")));
        self.mark_in_doubt(id, call.killed);
        let in_doubt = self.jobs.get(id).is_some_and(|known| known.in_doubt);
        let story = self.job_story(id);
        if !in_doubt && !call.exit.is_some_and(Exit::is_success) {
            let how = describe_exit(call.exit, call.killed);
            self.add_violation(format!(
                "the queue has not recorded the end of job {id}: JOB_EXIT {word}{how}{story}"
            ));
        } else if self.round.one_at_a_time && word == "exit" {
            let names = self.jobs.get(id).map(|known| known.names.clone()).unwrap_or_default();
            let root = self.directory.path();
            if let Some(missing) = self.effects.record_exit(&names, root, &call.before, &self.files) {
                self.add_violation(format!("job {id} has no exit record: JOB_EXIT {missing}{story}"));
            }
        }
        self.handle_job_end(call.slot, id, word);
    }

    /// Handles a job that the queue handed out. It is a violation if another slot has the job, if the job has
    /// finished, or if more jobs are handed out than the queue was filled with.
    fn handle_fetched_job(&mut self, call: &FinishedCall, job: Box<ClassAd>) {
        let FinishedCall { slot, ref name, killed, ref before, .. } = *call;
        let id = job_id(&job, self.id, self.world);
        let is_new = !self.jobs.contains_key(&id);
        let count = self.jobs.len() + usize::from(is_new);
        let names = job_names(&job, &id, self.world);
        if self.round.one_at_a_time {
            self.effects.record_fetch(&names, before, &self.files);
            self.check_original_changed(before);
        }
        let known = self.jobs.entry(id.clone()).or_default();
        known.names = names;
        known.story.push(format!("{name} FETCH_WORK hands it out"));
        if let Some(how) = known.record_hand_out(slot, killed) {
            let story = self.job_story(&id);
            // Jobs without an id can be distinguished only by the contents of their ads.
            let has_no_id = self.id.is_none() && name_in_ad(&Context::new(self.world).my(&job)).is_none();
            if !has_no_id {
                self.add_violation(format!("job {id} is handed out twice, {how}{story}"));
            } else if !std::mem::replace(&mut self.has_equal_jobs, true) {
                self.add_violation(format!(
                    "jobs have equal ads without an id, so that it is unknown which of them are handed out: give each a \
                     ClusterId, or use --id EXPR{story}"
                ));
            }
            // From here on, the test cannot distinguish the two copies of the job.
            self.schedule_step(slot, SlotStep::Fetch);
            return;
        }
        match self.round.jobs {
            Some(jobs) if is_new && count > jobs => {
                self.add_violation(format!(
                    "job {id} is handed out as number {count} of a queue of {jobs}\n  {name} FETCH_WORK hands it out"
                ));
            }
            None if count > MAX_JOBS => {
                self.add_violation(format!(
                    "the queue does not end: it handed out {}; --jobs sets its number of jobs",
                    counted(count, "job")
                ));
                self.stop_round();
            }
            _ => {}
        }
        self.answer_fetch(slot, job, id);
    }

    /// Accepts or rejects a job that was handed out. Each job is rejected at most once.
    fn answer_fetch(&mut self, slot: usize, job: Box<ClassAd>, id: String) {
        let rejected = self.jobs.get(&id).is_some_and(|known| known.rejected);
        let chosen = if self.round.one_at_a_time {
            self.round.reject > 0 && self.jobs.len() == 1
        } else {
            self.is_chosen(self.round.reject)
        };
        let reject = !rejected && self.hooks.reply.is_some() && chosen;
        if reject && let Some(known) = self.jobs.get_mut(&id) {
            known.rejected = true;
        }
        match self.hooks.reply {
            Some(_) => self.schedule_step(slot, SlotStep::Reply { job, id, accept: !reject }),
            None => self.handle_acceptance(slot, job, id),
        }
    }

    /// Stops the round if FETCH_WORK handed out a job and changed only the original directory, not the copy.
    fn check_original_changed(&mut self, before: &FileSnapshot) {
        if !self.directory.is_copy() || self.effects.changes_queue_here || *before != self.files {
            return;
        }
        let original = FileSnapshot::of_directory(self.directory.original());
        let mut changed = original.written_since(&self.original).chain(original.gone_since(&self.original));
        if let Some(path) = changed.next().map(std::path::Path::to_owned) {
            drop(changed);
            self.changed_original = Some(path);
            self.stop_round();
        }
    }

    fn handle_acceptance(&mut self, slot: usize, job: Box<ClassAd>, id: String) {
        self.claims.insert(slot, job.clone());
        let evicted = self.jobs.get(&id).is_some_and(|known| known.evicted);
        let chosen = if self.round.one_at_a_time {
            self.round.evict > 0 && self.jobs.len() == 2
        } else {
            self.is_chosen(self.round.evict)
        };
        let evict = !evicted && self.hooks.exit.is_some() && chosen;
        let word = if evict { "evict" } else { "exit" };
        if evict && let Some(known) = self.jobs.get_mut(&id) {
            known.evicted = true;
        }
        match self.hooks.exit {
            Some(_) => self.schedule_step(slot, SlotStep::Exit { job, id, word }),
            None => self.handle_job_end(slot, &id, "exit"),
        }
    }

    fn handle_job_end(&mut self, slot: usize, id: &str, word: &str) {
        if word == "exit" {
            if let Some(known) = self.jobs.get_mut(id) {
                known.held_by = None;
                known.finished = true;
            }
        } else {
            self.wake_idle_slots();
        }
        if self.round.one_at_a_time
            && self.jobs.values().filter(|known| known.finished).count() >= MAX_JOBS_ONE_BY_ONE
        {
            self.stop_round();
        }
        self.schedule_step(slot, SlotStep::Fetch);
    }

    /// Records that a job is given back to the queue.
    pub(super) fn release_job(&mut self, id: &str) {
        if let Some(known) = self.jobs.get_mut(id) {
            known.record_return();
        }
    }

    /// Lets the slots that got no job fetch again, because a job has been given back.
    fn wake_idle_slots(&mut self) {
        for slot in std::mem::take(&mut self.idle) {
            self.schedule_step(slot, SlotStep::Fetch);
        }
    }

    fn is_chosen(&mut self, percent: u32) -> bool {
        self.random.next_below(100) < percent as usize
    }

    /// Returns the time after which the next hook is killed, or `None` if it is not killed.
    pub(super) fn choose_kill_delay(&mut self) -> Option<Duration> {
        let kill = self.round.kill.min(MAX_KILLED_PERCENT);
        self.is_chosen(kill).then(|| {
            let typical = usize::try_from(self.typical_duration.as_micros()).unwrap_or(usize::MAX);
            Duration::from_micros(self.random.next_below(typical) as u64)
        })
    }

    fn mark_in_doubt(&mut self, id: &str, doubtful: bool) {
        if let Some(known) = self.jobs.get_mut(id).filter(|_| doubtful) {
            known.in_doubt = true;
            known.must_return = false;
        }
    }

    /// Returns true if the output of a killed fetch hook identifies the job by an id, not only by a hash of the ad.
    fn is_identified(&self, job: &ClassAd) -> bool {
        let context = Context::new(self.world).my(job);
        match self.id {
            Some(id) => !matches!(context.eval(id), Value::Undefined | Value::Error),
            None => name_in_ad(&context).is_some(),
        }
    }

    fn add_to_story(&mut self, id: &str, line: String) {
        if let Some(known) = self.jobs.get_mut(id) {
            known.story.push(line);
        }
    }

    fn job_story(&self, id: &str) -> String {
        self.jobs
            .get(id)
            .into_iter()
            .flat_map(|known| &known.story)
            .map(|line| format!("\n  {line}"))
            .collect()
    }

    fn add_violation(&mut self, text: String) {
        self.violations.push(text);
        if self.violations.len() >= MAX_VIOLATIONS {
            self.stop_round();
        }
    }

    /// Checks at the end of a round that no job is missing. A round that was stopped has already reported the reason.
    pub(super) fn check_missing_jobs(&mut self) {
        if self.stopped || self.round.one_at_a_time {
            return;
        }
        // A killed call of FETCH_WORK may have taken a job that was never printed, or a job that must be handed out
        // again.
        let unseen = self.round.jobs.map_or(0, |jobs| jobs.saturating_sub(self.jobs.len()));
        let excused = self.lost_fetches.saturating_sub(unseen);
        let owed: Vec<String> = self
            .jobs
            .iter()
            .filter(|(_, known)| known.must_return)
            .map(|(id, _)| id.clone())
            .skip(excused)
            .collect();
        for id in owed {
            let known = self.jobs.get(&id).cloned().unwrap_or_default();
            let reason = if known.evicted { "evicted" } else { "rejected" };
            let story = self.job_story(&id);
            self.add_violation(format!("job {id} was {reason} and is not handed out again{story}"));
        }
        let finished = self.jobs.values().filter(|known| known.finished).count();
        let lost = unseen.saturating_sub(self.lost_fetches);
        if let (Some(jobs), 1.., false) = (self.round.jobs, lost, self.has_equal_jobs) {
            self.add_violation(format!(
                "never handed out: {lost} of {} ({finished} have finished)",
                counted(jobs, "job")
            ));
        }
        self.check_exit_records();
    }

    /// Checks that each finished job has left an exit record in the places that were observed while one call was made
    /// at a time.
    fn check_exit_records(&mut self) {
        if self.hooks.exit.is_none() || !self.effects.can_count_records() {
            return;
        }
        let jobs = self.jobs.values().map(|known| &known.names);
        let recorded = self.effects.read_records(self.directory.path(), jobs);
        let places: Vec<String> =
            self.effects.record_places().iter().map(|place| place.display().to_string()).collect();
        let missing: Vec<String> = self
            .jobs
            .iter()
            .filter(|(_, known)| known.finished && !known.in_doubt && !recorded.has_job(&known.names))
            .map(|(id, _)| id.clone())
            .collect();
        for id in missing {
            let story = self.job_story(&id);
            self.add_violation(format!(
                "job {id} has finished, but has no exit record in {}{story}",
                places.join(", ")
            ));
        }
    }
}

fn describe_exit(exit: Option<Exit>, killed: bool) -> String {
    match exit {
        _ if killed => " (killed by the test while it ran)".to_owned(),
        Some(Exit::Code(0)) => String::new(),
        Some(exit) => format!(" ({exit})"),
        None => " (hangs)".to_owned(),
    }
}

/// Returns the id of a job: the value of the expression if one is given, else the name in the ad, else a hash of the
/// ad.
fn job_id(job: &ClassAd, id: Option<&Expr>, world: &RealWorld) -> String {
    let context = Context::new(world).my(job);
    if let Some(id) = id {
        return context.eval(id).unparse().to_string();
    }
    if let Some(name) = name_in_ad(&context) {
        return name;
    }
    let text = htc_classad::format::long::print(job);
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in text {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

/// Returns the name of a job in its ad: ClusterId and ProcId, QueueName, GlobalJobId or JobId; `None` if the ad has
/// none of them.
fn name_in_ad(context: &Context<'_>) -> Option<String> {
    if let Some(cluster) = context.int("ClusterId") {
        return Some(format!("{cluster}.{}", context.int("ProcId").unwrap_or(0)));
    }
    ["QueueName", "GlobalJobId", "JobId"].iter().find_map(|name| Some(context.string(name)?.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_jobs_that_were_certainly_fetched_must_return() {
        for (killed, owed) in [(false, true), (true, false)] {
            let mut known = JobProgress::default();
            assert_eq!(known.record_hand_out(0, killed), None);
            known.record_return();
            assert_eq!((known.held_by, known.must_return), (None, owed));
        }
    }
}
