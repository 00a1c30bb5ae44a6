//! What a run writes down before it does it, and what a later one concludes from that when the run was killed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::execution_point::ExecutionPoint;
use super::interface::{AcceptedJob, HookCall, HookRun, SlotHook};
use super::kept::claim::Kind;
use super::text;
use htc_classad::ClassAd;

/// One thing that was about to be done, or was done. Jobs are named by id and by the path of their ad; ids of claims never.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// A hook is about to be called.
    HookBegins {
        /// Which call.
        run: u64,
        /// Which hook.
        hook: String,
        /// For which slot.
        slot: String,
        /// What it is told, such as `accept`; may be empty.
        word: String,
        /// About which job.
        job: Option<String>,
        /// Where the ad of that stands.
        ad: Option<PathBuf>,
        /// Which accepted job that is, where it is one.
        #[serde(default)]
        accepted: Option<u64>,
    },
    /// It runs.
    HookRuns {
        /// Which call.
        run: u64,
        /// Its process.
        pid: i32,
        /// When that was started, in clock ticks after boot.
        started: u64,
    },
    /// It has ended, and what it said was heard.
    HookEnds {
        /// Which call.
        run: u64,
    },
    /// A slot has been claimed, or is so no more.
    Claim {
        /// Which.
        slot: String,
        /// Which of both.
        begins: bool,
    },
    /// A fetched job is accepted: EVICT_CLAIM is owed to its queue.
    Accepted {
        /// Which acceptance.
        accepted: u64,
        /// The slot that it runs in.
        slot: String,
        /// Which job.
        job: String,
        /// Where its ad stands.
        ad: PathBuf,
    },
    /// It is given up, and no hook can tell its queue.
    GivenUp {
        /// Which acceptance.
        accepted: u64,
    },
    /// A starter is about to be started.
    StarterBegins {
        /// Which.
        starter: u64,
        /// In which slot.
        slot: String,
        /// Its job.
        job: String,
        /// Where it makes its directory.
        execute: Option<PathBuf>,
        /// The note that it removes when it has come to an end.
        note: PathBuf,
        /// The accepted job that it runs.
        accepted: Option<u64>,
    },
    /// It runs.
    StarterRuns {
        /// Which.
        starter: u64,
        /// Its process.
        pid: i32,
        /// When that was started.
        started: u64,
    },
    /// It has ended, or was never started.
    StarterEnds {
        /// Which.
        starter: u64,
        /// The accepted job that it ran, unless it was killed or not started: else it has told its own hooks what became of that.
        done: Option<u64>,
    },
}

impl Record {
    /// Whether what this says is over once `later` has happened.
    fn ends_with(&self, later: &Record) -> bool {
        match (self, later) {
            (
                Record::HookBegins { run, .. } | Record::HookRuns { run, .. } | Record::HookEnds { run },
                Record::HookEnds { run: ended },
            ) => run == ended,
            (
                Record::StarterBegins { starter, .. }
                | Record::StarterRuns { starter, .. }
                | Record::StarterEnds { starter, .. },
                Record::StarterEnds { starter: ended, .. },
            ) => starter == ended,
            (Record::Accepted { accepted, .. }, Record::StarterEnds { done, .. }) => Some(*accepted) == *done,
            (Record::Claim { slot, .. }, Record::Claim { slot: other, .. }) => slot == other,
            (Record::Accepted { accepted, .. }, Record::GivenUp { accepted: other }) => accepted == other,
            (Record::Accepted { accepted, .. }, Record::HookBegins { accepted: other, hook, .. }) => {
                Some(*accepted) == *other && hook == SlotHook::EvictClaim.name()
            }
            _ => false,
        }
    }

    /// The ad that it names.
    pub fn ad(&self) -> Option<&PathBuf> {
        match self {
            Record::HookBegins { ad, .. } => ad.as_ref(),
            Record::Accepted { ad, .. } => Some(ad),
            _ => None,
        }
    }

    /// The process that it names: its id and when it was started.
    pub fn process_of(&self, all: &[Record]) -> Option<(i32, u64)> {
        all.iter().find_map(|other| match (self, other) {
            (Record::HookBegins { run, .. }, Record::HookRuns { run: of, pid, started }) if run == of => {
                Some((*pid, *started))
            }
            (Record::StarterBegins { starter, .. }, Record::StarterRuns { starter: of, pid, started })
                if starter == of =>
            {
                Some((*pid, *started))
            }
            _ => None,
        })
    }
}

/// Adds a record to those that matter still, and takes out what is over with it, which it gives back.
pub fn note(open: &mut Vec<Record>, record: Record) -> Vec<Record> {
    let mut ended = Vec::new();
    let mut at = 0;
    while at < open.len() {
        match open[at].ends_with(&record) {
            true => ended.push(open.remove(at)),
            false => at += 1,
        }
    }
    let over = matches!(
        record,
        Record::HookEnds { .. }
            | Record::StarterEnds { .. }
            | Record::GivenUp { .. }
            | Record::Claim { begins: false, .. }
    );
    if !over {
        open.push(record);
    }
    ended
}

/// What was under way when the last record was written.
pub fn recover(records: impl IntoIterator<Item = Record>) -> Vec<Record> {
    let mut open = Vec::new();
    records.into_iter().for_each(|record| drop(note(&mut open, record)));
    open
}

impl ExecutionPoint {
    /// EVICT_CLAIM for a job that a run which was killed had accepted for this slot, or for a dynamic one of it.
    pub fn evict_left(&mut self, id: &str, job: &ClassAd, accepted: AcceptedJob) -> Option<HookCall> {
        let parent = id.rsplit_once('_').map_or(id, |(parent, _)| parent);
        let named = |id: &str| self.slots.values().find(|slot| slot.id == id).map(|slot| slot.key);
        let key = named(id).or_else(|| named(parent))?;
        let slot = self.slots.get(&key)?;
        let path = slot.evict_hook(&mut self.core)?;
        let claim = self.core.new_claim(Kind::Fetched);
        let stdin = text::evict(job, &slot.live, &claim.id, self.core.quirks());
        Some(HookCall {
            run: HookRun(accepted.0),
            slot: key,
            hook: SlotHook::EvictClaim,
            path,
            arguments: Vec::new(),
            stdin,
            output_limit: None,
            begun: self.core.now,
            accepted: Some(accepted),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(run: u64, hook: &str, word: &str) -> Record {
        let (hook, slot, word) = (hook.into(), "slot1".into(), word.into());
        let accepted = (hook == "EVICT_CLAIM").then_some(2);
        Record::HookBegins { run, hook, slot, word, job: None, ad: None, accepted }
    }

    #[test]
    fn what_has_not_ended_is_left_with_its_process() {
        let starter = Record::StarterBegins {
            starter: 1,
            slot: "slot1".into(),
            job: "1.0".into(),
            execute: None,
            note: "n".into(),
            accepted: Some(3),
        };
        let records = [
            hook(1, "FETCH_WORK", ""),
            Record::HookRuns { run: 1, pid: 7, started: 8 },
            starter.clone(),
            Record::StarterRuns { starter: 1, pid: 9, started: 10 },
            hook(2, "REPLY_FETCH", "accept"),
            Record::HookEnds { run: 2 },
        ];
        let open = recover(records);
        assert_eq!(open.len(), 4);
        assert_eq!(open[0].process_of(&open), Some((7, 8)));
        assert_eq!(starter.process_of(&open), Some((9, 10)));
        let open = recover(
            open.into_iter()
                .chain([Record::HookEnds { run: 1 }, Record::StarterEnds { starter: 1, done: Some(3) }]),
        );
        assert_eq!(open, []);
    }

    #[test]
    fn an_accepted_job_is_owed_until_evict_claim_begins_or_its_own_starter_has_ended_by_itself() {
        let accepted = |accepted: u64| {
            let job = format!("{accepted}.0");
            Record::Accepted { accepted, slot: "slot1".into(), job, ad: "a".into() }
        };
        // A partitionable slot accepts one job after the other.
        let reply = hook(5, "REPLY_FETCH", "accept");
        let open = recover([accepted(1), accepted(2), reply.clone()]);
        assert_eq!(open, [accepted(1), accepted(2), reply]);
        let ends = |done| Record::StarterEnds { starter: 1, done };
        assert_eq!(recover([accepted(1), accepted(2), ends(Some(1))]), [accepted(2)]);
        assert_eq!(recover([accepted(1), ends(None)]), [accepted(1)], "its starter was killed");
        assert_eq!(recover([accepted(1), Record::GivenUp { accepted: 1 }]), []);
        let evict = hook(6, "EVICT_CLAIM", "");
        assert_eq!(recover([accepted(1), accepted(2), evict.clone()]), [accepted(1), evict]);
    }
}
