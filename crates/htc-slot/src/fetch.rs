//! When a slot asks for work, and what its answer means (`Resource::tryFetchWork`, `StartdHookMgr.cpp`).

use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use rustc_hash::FxHasher;

use super::claim_id::ClaimId;
use super::core::Core;
use super::execution_point::ExecutionPoint;
use super::fetch_verdict::{FetchAnswer, Fetched, add_requests, read_fetched};
use super::interface::{AcceptedJob, Action, HookCall, Notice, SlotHook, SlotKey, job_id};
use super::kept::claim::{Claim, FetchedJob, Kind};
use super::kept::fetching::Fetching;
use super::settings::SlotKind;
use super::single::Slot;
use super::startd_hooks::{early_accept, outranking, unspawnable_fetch};
use super::state::{Activity, State};
use super::text;
use super::watch::ALWAYS;
use htc_base::quirks::{Decided, Quirk};
use htc_base::text::caseless;
use htc_base::time::Now;
use htc_base::world::Frozen;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};

/// FetchWorkDelay when it is no number, in seconds.
pub(super) const DEFAULT_DELAY: i64 = 300;

/// Why a fetched job is refused, or with which rank it is taken.
type Decision = Result<f64, String>;

impl Slot {
    /// Asks for work if everything allows it; otherwise sets the timer for the next try.
    pub(super) fn try_fetch(&mut self, core: &mut Core) {
        self.held_back = false;
        let is_asking = matches!(self.fetching, Fetching::Runs(_) | Fetching::Counted(_));
        if self.hooks.is_none() || is_asking || core.no_more_fetching.is_some() {
            return;
        }
        if core.settings.limits.once && self.out_of_work {
            return;
        }
        if let Some(asks) = self.unable(core)
            && !core.told(asks, self.key)
        {
            self.fetching = Fetching::Waits(core.alarm_after(1));
            return;
        }
        let delay = self.evaluate_fetch_delay(core);
        if delay > 0 {
            let since = core.now.epoch() - self.last_fetch_completed;
            if since < delay {
                // A wall clock set back must not make it wait longer than the delay.
                self.fetching = Fetching::Waits(core.alarm_after((delay - since).min(delay)));
                return;
            }
        }
        if !self.is_willing(core) {
            self.out_of_work = true;
            self.set_fetch_timer(core);
            return;
        }
        let Some(path) = self.hooks.as_ref().and_then(|hooks| hooks.fetch.clone()) else { return };
        if !core.may_fetch() {
            self.held_back = true;
            return;
        }
        if core.watch.is_on() && self.would_ask_in_vain(core) {
            // Where slots rest it is counted only, until there may be work.
            self.fetching = Fetching::Counted(core.now);
            self.last_fetch_spawned = core.now.epoch();
            return;
        }
        let stdin = if core.wants.texts { text::print(&self.sent_ad(core)) } else { Vec::new() };
        self.last_fetch_spawned = core.now.epoch();
        self.call_fetch_hook(core, path, stdin, core.now);
    }

    /// Whether it asks although it could take no job; `None` when it could.
    pub(super) fn unable(&self, core: &Core) -> Option<Decided> {
        let drained = || self.state == State::Drained && !self.takes_while_draining(core);
        let ends = core.shutdown.is_some() || core.power.asleep.is_some();
        let unable = ends || self.state == State::Preempting || drained();
        unable.then(|| core.quirks().decide(Quirk::FetchWhenUnable))
    }

    /// Calls FETCH_WORK, as begun at that moment.
    pub(super) fn call_fetch_hook(&mut self, core: &mut Core, path: PathBuf, stdin: Vec<u8>, begun: Now) {
        let run = core.new_run();
        if let Some(lazy) = &mut core.lazy {
            lazy.fetches.insert(run, self.key);
        }
        self.fetching = Fetching::Runs(run);
        core.fetches += 1;
        core.out.push(Action::RunHook(HookCall {
            run,
            slot: self.key,
            hook: SlotHook::FetchWork,
            path,
            arguments: Vec::new(),
            stdin,
            output_limit: Some(core.settings.pipe_buffer_max),
            begun,
            accepted: None,
        }));
    }

    /// START alone, without a job: only a definite false is unwilling; undefined is willing unless the slot is broken.
    pub(super) fn is_willing(&self, core: &Core) -> bool {
        self.look(core, None, |context| context.boolean("START")).unwrap_or(self.broken.is_none())
    }

    fn evaluate_fetch_delay(&mut self, core: &mut Core) -> i64 {
        // A slot that is looked at was refreshed a moment ago.
        let is_fresh = core.watch.is_on() && self.changed_at != core.now.monotonic_us;
        if !is_fresh && !core.has_silently(Quirk::FetchDelayStaleActivity) {
            self.refresh(core);
        }
        let delay = self.look(core, self.job(), |context| context.int("FetchWorkDelay"));
        let delay = delay.unwrap_or(DEFAULT_DELAY);
        // 25.14 keeps the lower 32 bits: a delay of 3,000,000,000 seconds is none.
        self.next_fetch_delay =
            if core.quirks().has(Quirk::FetchDelayLowBits) { i64::from(delay as i32) } else { delay };
        self.next_fetch_delay
    }

    /// Sets the timer for a full delay (`resetFetchWorkTimer`).
    fn set_fetch_timer(&mut self, core: &mut Core) {
        let delay = self.evaluate_fetch_delay(core);
        self.fetching = Fetching::Waits(core.alarm_after(if delay > 0 { delay } else { 1 }));
    }

    fn has_idle_fetched_claim(&self) -> bool {
        (self.state, self.activity) == (State::Claimed, Activity::Idle)
            && self.current.as_ref().is_some_and(|claim| claim.kind == Kind::Fetched)
    }

    /// It asked in vain.
    fn has_no_work(&mut self, core: &mut Core, reason: &str) {
        self.out_of_work = true;
        self.no_work(core, reason);
    }

    /// An idle claim ends when there is no work for it (`terminateFetchedWork`).
    pub(super) fn no_work(&mut self, core: &mut Core, reason: &str) {
        if self.has_idle_fetched_claim() {
            self.change(core, State::Preempting, Activity::Vacating, reason);
        }
    }

    /// Whether the job is taken (`StartdHookMgr::handleHookFetchWork`).
    fn decide(&mut self, core: &mut Core, job: &ClassAd, kind: Option<u32>) -> Decision {
        if core.shutdown.is_some() {
            return Err("the execution point is ending".into());
        }
        if let Some(reason) = &core.no_more_fetching {
            return Err(reason.clone());
        }
        if let Some(reason) = &core.unable {
            return Err(format!("no starter could run it: {reason}"));
        }
        if self.state == State::Preempting {
            return Err("the slot still preempts its last job".into());
        }
        if self.state == State::Backfill && self.destination == Some(State::Claimed) {
            return Err("the slot is claimed already, and its backfill client is being ended".into());
        }
        self.restore_requirements(core);
        if !self.takes(core, job, kind) {
            let world = Frozen { world: &*core.world, now: core.now };
            return Err(self.in_one_line(&world, job));
        }
        // A partitionable slot looks for fitting devices when it splits.
        if self.kind != SlotKind::Partitionable {
            self.has_devices(core, job).map_err(|unfit| unfit.reason)?;
        }
        let rank = self.look(core, Some(job), |context| context.real("Rank")).unwrap_or(0.0);
        if self.state == State::Claimed && !self.has_idle_fetched_claim() {
            let current = self.current.as_ref().map_or(0.0, |claim| claim.rank);
            if rank <= current {
                return Err(format!("its rank {rank} is not higher than {current}, the running job's"));
            }
            let waiting = self.waiting.as_ref().filter(|claim| claim.job.is_some()).map(|claim| claim.rank);
            if let Some(waiting) = waiting
                && rank <= waiting
                && !core.told(outranking(core.quirks()), self.key)
            {
                return Err(format!("its rank {rank} is not higher than {waiting}, the waiting job's"));
            }
        }
        Ok(rank)
    }

    /// Whether Requirements are true for the job. Where nothing that they lead to moves, what is true for a job is so for all of
    /// its kind.
    fn takes(&mut self, core: &Core, job: &ClassAd, kind: Option<u32>) -> bool {
        /// So many kinds are remembered.
        const MOST: usize = 64;
        let kind = kind.filter(|_| core.wants.still && self.is_available() && self.keeps_constants(core));
        let Some(kind) = kind else {
            return self.look(core, Some(job), |context| context.boolean("Requirements")) == Some(true);
        };
        if self.taken_kinds.contains(&kind) {
            return true;
        }
        core.watch.begin(self.moving(core));
        let takes = self.look(core, Some(job), |context| context.boolean("Requirements")) == Some(true);
        if core.watch.end() == ALWAYS && takes {
            if self.taken_kinds.len() == MOST {
                self.taken_kinds.clear();
            }
            self.taken_kinds.push(kind);
        }
        takes
    }

    /// Calls REPLY_FETCH. `id` is given with an acceptance.
    fn reply(&self, core: &mut Core, job: &ClassAd, id: Option<ClaimId>, accepted: Option<AcceptedJob>) {
        let Some(path) = self.hooks.as_ref().and_then(|hooks| hooks.reply.clone()) else { return };
        let word = if id.is_some() { "accept" } else { "reject" };
        let stdin = match core.wants.texts {
            true => text::reply(job, &self.live, id.as_ref(), core.quirks()),
            false => Vec::new(),
        };
        self.tell_by_hook(core, (SlotHook::ReplyFetch, path), (vec![word.into()], stdin), accepted);
    }

    /// Makes or renews the claim the job will run under, and returns the id to be told
    /// (`createOrUpdateFetchClaim`).
    fn claim_for(
        &mut self,
        core: &mut Core,
        (job, print): (ClassAd, Option<u64>),
        rank: f64,
    ) -> (ClaimId, AcceptedJob) {
        let shared = core.world.clone();
        let world = Frozen { world: &*shared, now: core.now };
        let accepted = core.new_accepted();
        let ad = if core.wants.texts { text::print(&job) } else { Vec::new() };
        core.out.push(Action::Accept { accepted, slot: self.key, ad });
        if self.has_idle_fetched_claim()
            && let Some(mut claim) = self.current.take()
        {
            if claim.fetched.is_some_and(|job| job.lost) {
                // Nobody else will ever tell the queue of it.
                self.evict(core, &claim);
            }
            claim.fetched = Some(FetchedJob { accepted, print, lost: false });
            claim.set_job(job, rank, &world);
            let id = claim.id.clone();
            self.current = Some(claim);
            return (id, accepted);
        }
        let mut claim = core.new_claim(Kind::Fetched);
        claim.set_job(job, rank, &world);
        claim.fetched = Some(FetchedJob { accepted, print, lost: false });
        let id = claim.id.clone();
        if self.state == State::Claimed {
            self.drop_waiting(core, "a claim of higher rank takes its place");
            self.waiting = Some(claim);
        } else {
            self.current = Some(claim);
        }
        (id, accepted)
    }
}

/// What a job is known by: its ad, what it requests aside, since that may have been changed for the slot.
fn told_of(ad: &ClassAd) -> impl Iterator<Item = (&bstr::BStr, Expr)> {
    ad.sorted().into_iter().filter(|(name, _)| !caseless::starts_with(name, b"Request"))
}

/// Whether two jobs are one by their ads.
fn same_job(one: &ClassAd, other: &ClassAd) -> bool {
    told_of(one).eq(told_of(other))
}

/// A number that two jobs which are one have in common: with hundreds of slots each new job is compared with hundreds.
fn print_of(ad: &ClassAd) -> u64 {
    let mut hasher = FxHasher::default();
    for (name, value) in told_of(ad) {
        (name, value.unparse()).hash(&mut hasher);
    }
    hasher.finish()
}

impl ExecutionPoint {
    /// A fetch hook has ended.
    pub(super) fn fetch_ended(&mut self, key: SlotKey, stdout: &[u8], cut: bool) {
        let answer = self.read_answer(key, stdout, cut);
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        let (verdict, reason) = match &answer {
            Fetched::Nothing(reason) => ("no work", (*reason).to_owned()),
            Fetched::Bad { line: Some(line), .. } => ("bad answer", line.to_string()),
            Fetched::Bad { reason, line: None, .. } => ("bad answer", reason.clone()),
            Fetched::Job(_) => ("", String::new()),
        };
        if !verdict.is_empty() {
            core.tell(Notice::Verdict { slot: key, hook: SlotHook::FetchWork, job: None, verdict, reason });
        }
        match answer {
            Fetched::Nothing(_) => slot.has_no_work(core, "no more work"),
            Fetched::Bad { keeps_claim, .. } => {
                if !core.told(keeps_claim, key) {
                    slot.has_no_work(core, "the answer of FETCH_WORK is no job");
                }
            }
            Fetched::Job(job) => self.offered(key, *job, None),
        }
        self.fetch_completed(key);
    }

    /// A fetch hook has ended with a job.
    pub(super) fn fetched(&mut self, key: SlotKey, (job, kind): (ClassAd, Option<u32>)) {
        self.offered(key, job, kind);
        self.fetch_completed(key);
    }

    /// The starter that was asked for while a fetch was handled runs, or does not: now that is complete too.
    pub(super) fn fetch_completed_by_starter(&mut self) {
        if let Some(key) = self.completing.take() {
            self.fetch_completed(key);
        }
    }

    /// A fetch hook could not be executed.
    pub(super) fn fetch_failed(&mut self, key: SlotKey, reason: String) {
        self.tell_no_work(key, reason);
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        if core.told(unspawnable_fetch(core.quirks()), key) {
            // It believes for ever that this fetch is under way.
            core.fetches = core.fetches.saturating_sub(1);
            return;
        }
        slot.has_no_work(core, "FETCH_WORK could not be run");
        self.fetch_completed(key);
    }

    /// A fetch hook was killed for its length, which 25.14 never does: it has no limit. An end without an answer.
    pub(super) fn fetch_timed_out(&mut self, key: SlotKey, reason: String) {
        self.tell_no_work(key, reason);
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        slot.has_no_work(core, "FETCH_WORK was killed");
        self.fetch_completed(key);
    }

    fn tell_no_work(&mut self, key: SlotKey, reason: String) {
        let hook = SlotHook::FetchWork;
        self.core.tell(Notice::Verdict { slot: key, hook, job: None, verdict: "no work", reason });
    }

    fn fetch_completed(&mut self, key: SlotKey) {
        let ExecutionPoint { core, slots, .. } = self;
        if core.spawning > 0 {
            // Its timer is set after the starter was made: a poll that begins with the job comes before the next fetch (s19).
            self.completing = Some(key);
            return;
        }
        core.fetches = core.fetches.saturating_sub(1);
        let Some(slot) = slots.get_mut(&key) else { return };
        slot.last_fetch_completed = core.now.epoch();
        slot.set_fetch_timer(core);
        if slot.kind == SlotKind::Dynamic && matches!(slot.state, State::Owner | State::Unclaimed) {
            // It may have become free meanwhile, and could not go while the fetch ran.
            slot.evaluate(core);
        }
    }

    fn read_answer(&mut self, key: SlotKey, stdout: &[u8], cut: bool) -> Fetched {
        let core = &mut self.core;
        let mut seen = Vec::new();
        let answer = FetchAnswer { stdout, cut, limit: core.settings.pipe_buffer_max };
        let fetched = read_fetched(answer, Dialect::of(&*core.world), core.quirks(), &mut seen);
        for quirk in seen {
            core.has(quirk, key);
        }
        fetched
    }

    /// A job was fetched for the slot: it is taken or refused, and either is told.
    fn offered(&mut self, key: SlotKey, mut job: ClassAd, kind: Option<u32>) {
        let ExecutionPoint { core, slots, .. } = self;
        let shared = core.world.clone();
        let world = Frozen { world: &*shared, now: core.now };
        let id = job_id(&job, &world);
        let Some(slot) = slots.get_mut(&key) else { return };
        slot.out_of_work = false;
        if slot.kind == SlotKind::Static {
            add_requests(&mut job);
        }
        let keyword = slot.hooks.as_ref().map(|hooks| hooks.keyword.clone()).unwrap_or_default();
        let mut decision = slot.decide(core, &job, kind);
        if Context::new(&world).my(&job).string("HookKeyword").is_none() {
            job.set("HookKeyword", Value::from(bstr::BString::from(keyword)));
        }
        // 25.14 tells the answer before it makes the dynamic slot and the claim, with the id of the claim that goes.
        let early = early_accept(core.quirks()).as_reference;
        if early {
            let id = decision.is_ok().then(|| slot.current.as_ref().map(|claim| claim.id.clone())).flatten();
            slot.reply(core, &job, id, None);
        }
        let mut runs_in = key;
        let splits = match slot.kind {
            SlotKind::Partitionable => true,
            SlotKind::Dynamic => {
                decision.is_ok() && slot.splittable && core.has(Quirk::DslotSplitsAgain, key)
            }
            SlotKind::Static => false,
        };
        if decision.is_ok() && splits {
            match self.carve(key, &mut job) {
                Ok(child) => runs_in = child,
                Err(unfit) => decision = Err(unfit.reason),
            }
        }
        let (verdict, reason) = match &decision {
            Ok(rank) => ("accepted", format!("rank {rank}")),
            Err(reason) => ("rejected", reason.clone()),
        };
        let hook = SlotHook::FetchWork;
        self.core.tell(Notice::Verdict { slot: key, hook, job: Some(id), verdict, reason });
        match decision {
            Ok(rank) => self.accept((key, runs_in), job, rank, early),
            Err(_) => self.refuse(key, &job, early),
        }
    }

    /// A fetched job is not taken; `replied`: that is told already.
    fn refuse(&mut self, key: SlotKey, job: &ClassAd, replied: bool) {
        let ExecutionPoint { core, slots, .. } = self;
        let Some(slot) = slots.get_mut(&key) else { return };
        if !replied {
            slot.reply(core, job, None, None);
        }
        slot.no_work(core, "the fetched job was refused");
    }

    /// A fetched job is taken, and runs in that slot or in one that was made of it.
    fn accept(&mut self, (key, runs_in): (SlotKey, SlotKey), job: ClassAd, rank: f64, replied: bool) {
        let ExecutionPoint { core, slots, .. } = self;
        core.jobs_accepted += 1;
        // A dynamic slot gets what is left of the machine, so that what was asked for may differ.
        let print = core.wants.texts.then(|| print_of(&job));
        let same = |claim: &Claim| {
            claim.is_active()
                && claim.fetched.is_some_and(|fetched| fetched.print == print)
                && claim.job.as_ref().is_some_and(|other| same_job(other, &job))
        };
        if core.wants.texts
            && let Some(other) = slots.values().find(|slot| slot.current.as_ref().is_some_and(same))
        {
            let text = format!(
                "the same ad runs in {} already, word for word: does FETCH_WORK hand a job out twice when two slots ask at once?",
                other.id
            );
            core.warn(Some(key), text);
        }
        let Some(slot) = slots.get_mut(&runs_in) else { return };
        let idle = slot.has_idle_fetched_claim();
        // Nobody reads it where no texts are wanted.
        let texts = core.wants.texts;
        let told = (!replied).then(|| if texts { job.clone() } else { ClassAd::new() });
        let (claim_id, accepted) = slot.claim_for(core, (job, print), rank);
        if let Some(job) = told {
            slot.reply(core, &job, Some(claim_id), Some(accepted));
        }
        match slot.state {
            State::Claimed if idle => slot.spawn(core),
            // A better ranked job waits: the policy decides what becomes of the present one.
            State::Claimed => slot.evaluate(core),
            State::Backfill => slot.leave_backfill(core, State::Claimed, "work was fetched"),
            _ => slot.change(core, State::Claimed, Activity::Idle, "work was fetched"),
        }
    }
}
