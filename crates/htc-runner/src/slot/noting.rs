//! What is written down before it is done, and what is owed to queues since a run was killed.

use std::time::Duration;

use nix::libc;
use rustc_hash::FxHashMap;

use super::live::Live;
use super::requests::Answer;
use super::run_journal::Owed;
use super::starters;
use crate::events::{Event as StreamEvent, Kind};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_os as os;
use htc_os::{ChildId, Token, Whom, clock, process_table};
use htc_slot::{AcceptedJob, HookCall, HookRun, Notice, Record, SlotHook, SlotKey, StarterCall, job_id};

/// How long a queue may take to be told of a job that comes back, before its slots fetch again.
const PATIENCE: Duration = Duration::from_secs(20);

impl Live<'_> {
    /// Writes a record; what it says must not be done where that fails.
    pub(super) fn note(&mut self, record: Record) -> Result<(), String> {
        self.options.journal.as_mut().map_or(Ok(()), |journal| journal.note(record))
    }

    /// Writes what has happened already. Where that fails it is told: after a kill it would be taken for unknown.
    pub(super) fn note_done(&mut self, record: Record) {
        if let Err(error) = self.note(record) {
            self.warn(None, &error);
        }
    }

    /// A fetched job is accepted: from here on its queue has to be told what becomes of it.
    pub(super) fn note_accepted(&mut self, accepted: AcceptedJob, slot: SlotKey, ad: &[u8]) {
        let slot = self.slot_name(slot);
        let Some(journal) = &self.options.journal else { return };
        match journal.keep_ad(accepted.0, ad) {
            Ok((ad, path)) => {
                let job = job_id(&ad, &*self.options.world);
                self.note_done(Record::Accepted { accepted: accepted.0, slot, job, ad: path });
            }
            Err(error) => self.warn(Some(slot), &format!("the job's ad cannot be kept: {error}")),
        }
    }

    /// A hook is about to be called.
    pub(super) fn note_hook(&mut self, call: &HookCall, slot: &str) -> Result<(), String> {
        let Some(journal) = &self.options.journal else { return Ok(()) };
        let word = call.arguments.first().map(ToString::to_string).unwrap_or_default();
        let known = call.accepted.and_then(|accepted| journal.accepted(accepted.0));
        let about = match (call.hook, known) {
            (SlotHook::FetchWork, _) => None,
            (SlotHook::ReplyFetch | SlotHook::EvictClaim, Some(known)) => Some(known),
            (SlotHook::ReplyFetch | SlotHook::EvictClaim, None) => {
                let kept = journal.keep_ad(call.run.0, &call.stdin);
                let (ad, path) = kept.map_err(|error| format!("the job's ad cannot be kept: {error}"))?;
                Some((job_id(&ad, &*self.options.world), path))
            }
        };
        let (job, ad) = about.unzip();
        let (run, hook, slot) = (call.run.0, call.hook.name().to_owned(), slot.to_owned());
        let accepted = call.accepted.map(|accepted| accepted.0);
        let noted = self.note(Record::HookBegins { run, hook, slot: slot.clone(), word, job, ad, accepted });
        match (noted, call.hook) {
            // Told twice is better than never.
            (Err(error), SlotHook::EvictClaim) => {
                self.warn(Some(slot), &error);
                Ok(())
            }
            (noted, _) => noted,
        }
    }

    /// It runs with this process id.
    pub(super) fn note_hook_runs(&mut self, run: HookRun, pid: u32) {
        let pid = pid.cast_signed();
        let started = process_table::read(pid).map_or(0, |process| process.started);
        self.note_done(Record::HookRuns { run: run.0, pid, started });
    }

    /// A starter is about to be started.
    pub(super) fn note_starter(&mut self, call: &StarterCall, slot: &str) -> Result<(), String> {
        self.note(Record::StarterBegins {
            starter: call.starter.0,
            slot: slot.to_owned(),
            job: call.job.clone(),
            execute: call.execute.clone(),
            note: starters::note(&self.options.private, call.starter),
            accepted: call.accepted.map(|accepted| accepted.0),
        })
    }

    /// It runs with this process id.
    pub(super) fn note_starter_runs(&mut self, call: &StarterCall, pid: u32) {
        let pid = pid.cast_signed();
        let started = process_table::read(pid).map_or(0, |process| process.started);
        self.note_done(Record::StarterRuns { starter: call.starter.0, pid, started });
    }

    /// A claim begins or ends.
    pub(super) fn note_claim(&mut self, notice: &Notice) {
        if let Notice::Claim { slot, begins, .. } = notice {
            let slot = self.slot_name(*slot);
            self.note_done(Record::Claim { slot, begins: *begins });
        }
    }

    /// Tells what became of a run that was killed, and gives its jobs back before anything is fetched: all at once, as long as there is
    /// patience, and nobody is in a hurry.
    ///
    /// # Errors
    /// The reactor fails.
    pub(super) fn settle_the_last_run(&mut self) -> std::io::Result<()> {
        let recovered = std::mem::take(&mut self.options.recovered);
        for event in recovered.told {
            self.tell(event);
        }
        let given: Vec<GivenBack> =
            recovered.owed.into_iter().filter_map(|owed| self.give_back(owed)).collect();
        let mut given: FxHashMap<ChildId, GivenBack> =
            given.into_iter().map(|one| (one.child, one)).collect();
        let mut until = clock::tick().plus(PATIENCE);
        let mut killed = false;
        while !given.is_empty() {
            match self.reactor.next(Some(until))? {
                os::Event::Exited { child, exit, .. } => {
                    if let Some(one) = given.remove(&child) {
                        let event = one.about(StreamEvent::new(clock::now(), Kind::HookEnd));
                        self.tell(event.exit(crate::events::exit_words(exit)));
                        self.note_done(Record::HookEnds { run: one.run });
                    }
                }
                os::Event::Signal(signal) => {
                    self.early_signals.push(signal);
                    let ends =
                        |signal: &&i32| matches!(**signal, libc::SIGTERM | libc::SIGINT | libc::SIGQUIT);
                    if signal == libc::SIGQUIT || self.early_signals.iter().filter(ends).count() > 1 {
                        until = clock::tick();
                    }
                }
                os::Event::Readable(token) => self.put_off(token),
                _ => {}
            }
            if clock::tick() < until {
                continue;
            }
            if killed {
                // Their ends stay unknown, which the next run tells.
                break;
            }
            given.keys().for_each(|child| self.reactor.kill(*child, libc::SIGKILL, Whom::Family));
            (killed, until) = (true, clock::tick().plus(PATIENCE));
        }
        Ok(())
    }

    /// Whoever asks for something before the slots are there is told so.
    fn put_off(&mut self, token: Token) {
        let Some(control) = &mut self.control else { return };
        let Some(said) = control.readable(token, &mut self.reactor) else { return };
        let error = "jobs of a run that was killed are being given back: ask again in a moment".to_owned();
        let answer = Answer { error: Some(error), ..Answer::default() };
        control.answer(said.client, &answer, &mut self.reactor);
    }

    /// Calls EVICT_CLAIM for a job.
    fn give_back(&mut self, owed: Owed) -> Option<GivenBack> {
        let accepted = AcceptedJob(owed.accepted);
        let text = std::fs::read(&owed.ad).unwrap_or_default();
        let (job, _): (ClassAd, _) = long::parse(&text);
        let about =
            |event: StreamEvent| event.slot(&owed.slot).job(&owed.job).hook(SlotHook::EvictClaim.name());
        let Some(call) = self.machine.evict_left(&owed.slot, &job, accepted) else {
            let reason = "a run that was killed had accepted it, and no EVICT_CLAIM can tell its queue";
            self.tell(about(StreamEvent::new(clock::now(), Kind::Warning)).reason(reason));
            self.note_done(Record::GivenUp { accepted: owed.accepted });
            return None;
        };
        let spawned = self.note_hook(&call, &owed.slot).and_then(|()| {
            let spec = self.hook_spec(&call).map_err(|refused| refused.to_string())?;
            self.reactor.spawn(spec).map_err(|error| crate::events::full_text(&error))
        });
        match spawned {
            Ok(child) => {
                let reason = "a run that was killed had accepted it: its queue is told";
                self.tell(about(StreamEvent::new(clock::now(), Kind::HookStart)).reason(reason));
                Some(GivenBack { child, run: call.run.0, owed })
            }
            Err(reason) => {
                self.tell(about(StreamEvent::new(clock::now(), Kind::HookFailed)).reason(reason));
                self.note_done(Record::HookEnds { run: call.run.0 });
                None
            }
        }
    }
}

/// An EVICT_CLAIM that is under way for a job of a run that was killed.
struct GivenBack {
    child: ChildId,
    run: u64,
    owed: Owed,
}

impl GivenBack {
    fn about(&self, event: StreamEvent) -> StreamEvent {
        event.slot(&self.owed.slot).job(&self.owed.job).hook(SlotHook::EvictClaim.name())
    }
}
