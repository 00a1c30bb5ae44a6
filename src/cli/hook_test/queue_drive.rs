//! What is known of each job of a queue while its hooks are driven, and which step comes next.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bstr::BString;

use super::queue::QueueArgs;
use crate::classad::{ClassAd, Context, Expr, Value};
use crate::os::RealWorld;
use crate::process::Exit;
use crate::quirks::Quirks;
use crate::runner::hook_call::PIPE_BUFFER_MAX;
use crate::runner::hook_test::fuzz::Random;
use crate::runner::hook_test::{Ending, Outcome};
use crate::slot::{Fetched, read_fetched};

/// What is to be called next, and for which slot.
pub(super) enum Step {
    Fetch,
    Reply {
        job: Box<ClassAd>,
        id: String,
        accept: bool,
    },
    Exit {
        job: Box<ClassAd>,
        id: String,
        word: &'static str,
    },
    /// The claim is given up: there is no more work for it.
    Evict {
        job: Box<ClassAd>,
    },
}

/// A call of a step: whose, and whether it is to be killed.
pub(super) struct Tag {
    pub slot: usize,
    pub step: Step,
    /// It is killed if it has not ended by then.
    pub doomed: bool,
}

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
    pub story: Vec<String>,
}

pub(super) struct Drive {
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

pub(super) struct Hooks {
    pub fetch: BString,
    pub reply: Option<BString>,
    pub exit: Option<BString>,
    pub evict: Option<BString>,
}

impl Drive {
    pub(super) fn done(
        &mut self,
        Tag { slot, step, doomed }: Tag,
        outcome: &Outcome,
        args: &QueueArgs,
        hooks: &Hooks,
        id: Option<&Expr>,
        world: &RealWorld,
    ) {
        self.number += 1;
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
        match step {
            Step::Evict { job } => {
                if let Some(known) = self.known.get_mut(&identify(&job, id, world)) {
                    known.story.push(format!("{name} EVICT_CLAIM{}", how(exit, killed)));
                }
                self.idle.push(slot);
            }
            Step::Fetch => {
                if exit.is_none() && !killed {
                    self.violate(format!("{name} FETCH_WORK hangs"));
                    return;
                }
                match read_fetched(stdout, cut, PIPE_BUFFER_MAX, Quirks::None, &mut Vec::new()) {
                    // The startd does not look at how the hook ended; but what a killed one has taken nobody knows.
                    Fetched::Nothing(_) | Fetched::Bad { .. } if killed => {
                        self.lost_fetches += 1;
                        self.ready.push_back((slot, Step::Fetch));
                    }
                    Fetched::Job(job) if killed && !self.is_whole(&job, id, world) => {
                        self.lost_fetches += 1;
                        self.ready.push_back((slot, Step::Fetch));
                    }
                    Fetched::Nothing(_) => match self.claims.remove(&slot) {
                        Some(job) if hooks.evict.is_some() => {
                            self.ready.push_back((slot, Step::Evict { job }))
                        }
                        _ => self.idle.push(slot),
                    },
                    Fetched::Bad { reason, .. } => {
                        self.violate(format!(
                            "{name} FETCH_WORK prints no job, so that one may be lost: {reason}"
                        ));
                        self.ready.push_back((slot, Step::Fetch));
                    }
                    Fetched::Job(job) => self.fetched(slot, job, killed, &name, args, hooks, id, world),
                }
            }
            Step::Reply { job, id, accept } => {
                let word = if accept { "accept" } else { "reject" };
                self.note(&id, format!("{name} REPLY_FETCH {word}{}", how(exit, killed)));
                self.doubt(&id, killed && !accept);
                if accept {
                    self.accepted(slot, job, id, args, hooks);
                } else {
                    self.wake();
                    self.ready.push_back((slot, Step::Fetch));
                }
            }
            Step::Exit { id, word, .. } => {
                self.note(&id, format!("{name} JOB_EXIT {word}{}", how(exit, killed)));
                self.doubt(&id, killed);
                let in_doubt = self.known.get(&id).is_some_and(|known| known.in_doubt);
                if !in_doubt && !exit.is_some_and(Exit::is_success) {
                    let story = self.story(&id);
                    self.violate(format!(
                        "the end of job {id} was not taken down: JOB_EXIT {word}{}{story}",
                        how(exit, killed)
                    ));
                }
                self.ended(slot, &id, word);
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one job that came, and what it is judged with")]
    fn fetched(
        &mut self,
        slot: usize,
        job: Box<ClassAd>,
        killed: bool,
        name: &str,
        args: &QueueArgs,
        hooks: &Hooks,
        id: Option<&Expr>,
        world: &RealWorld,
    ) {
        let id = identify(&job, id, world);
        let known = self.known.entry(id.clone()).or_default();
        known.story.push(format!("{name} FETCH_WORK hands it out"));
        // After a killed hook the queue may hand the job out once more, never while another slot has it.
        if std::mem::take(&mut known.in_doubt) && known.held_by.is_none() {
            known.finished = false;
        }
        let twice = match (known.held_by, known.finished) {
            (Some(other), _) => Some(format!("while slot{} has it", other + 1)),
            (None, true) => Some("though it was done".to_owned()),
            _ => None,
        };
        known.owed = false;
        known.held_by = Some(slot);
        // Perhaps not all of it was printed.
        known.in_doubt = killed;
        if let Some(how) = twice {
            let story = self.story(&id);
            self.violate(format!("job {id} is handed out twice, {how}{story}"));
            // Nobody can tell the two apart from here on.
            self.ready.push_back((slot, Step::Fetch));
            return;
        }
        let rejected = self.known.get(&id).is_some_and(|known| known.rejected);
        let reject = !rejected && hooks.reply.is_some() && self.chance(args.reject);
        if reject && let Some(known) = self.known.get_mut(&id) {
            known.rejected = true;
        }
        match hooks.reply {
            Some(_) => self.ready.push_back((slot, Step::Reply { job, id, accept: !reject })),
            None => self.accepted(slot, job, id, args, hooks),
        }
    }

    fn accepted(&mut self, slot: usize, job: Box<ClassAd>, id: String, args: &QueueArgs, hooks: &Hooks) {
        self.claims.insert(slot, job.clone());
        let evicted = self.known.get(&id).is_some_and(|known| known.evicted);
        let evict = !evicted && hooks.exit.is_some() && self.chance(args.evict);
        let word = if evict { "evict" } else { "exit" };
        if evict && let Some(known) = self.known.get_mut(&id) {
            known.evicted = true;
        }
        match hooks.exit {
            Some(_) => self.ready.push_back((slot, Step::Exit { job, id, word })),
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
        self.ready.push_back((slot, Step::Fetch));
    }

    /// The job is the queue's again.
    pub(super) fn release(&mut self, id: &str) {
        if let Some(known) = self.known.get_mut(id) {
            known.held_by = None;
            known.owed = true;
        }
    }

    /// Slots that found nothing look again, since a job has come back.
    fn wake(&mut self) {
        for slot in std::mem::take(&mut self.idle) {
            self.ready.push_back((slot, Step::Fetch));
        }
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.random.below(100) < percent as usize
    }

    /// A random part of what a call takes.
    pub(super) fn part_of_typical(&mut self) -> Duration {
        let typical = usize::try_from(self.typical.as_micros()).unwrap_or(usize::MAX);
        Duration::from_micros(self.random.below(typical) as u64)
    }

    fn doubt(&mut self, id: &str, doubtful: bool) {
        if let Some(known) = self.known.get_mut(id).filter(|_| doubtful) {
            known.in_doubt = true;
            known.owed = false;
        }
    }

    /// Whether what a killed fetch hook has printed names a job: one whose id is known by more than its text.
    fn is_whole(&self, job: &ClassAd, id: Option<&Expr>, world: &RealWorld) -> bool {
        let context = Context::new(world).my(job);
        match id {
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
    }

    /// What is still missing at the end.
    pub(super) fn close(&mut self, args: &QueueArgs) {
        // A killed fetch may have taken a job that was never seen, or one that was to come back.
        let unseen = args.jobs.map_or(0, |jobs| jobs.saturating_sub(self.known.len()));
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
        if let (Some(jobs), 1..) = (args.jobs, lost) {
            self.violate(format!("{lost} of {jobs} jobs were never handed out ({finished} are done)"));
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
    let text = crate::classad::format::long::print(job);
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
