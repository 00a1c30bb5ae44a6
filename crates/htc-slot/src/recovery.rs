//! Journal of a run of the execution point. If the run is killed, the next run reads from the journal what it must clean up.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::events::{AcceptedJobId, HookCall, HookRunId, SlotHookType};
use super::execution_point::ExecutionPoint;
use super::hook_input;
use super::runtime_state::claim::ClaimKind;
use htc_base::process::ProcessInstance;
use htc_classad::ClassAd;

/// Journal entry, written before or after the action that it records. Jobs are identified by id and by the path of their ad;
/// claim ids are never written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JournalRecord {
    /// A hook is about to be called.
    HookBegins {
        /// Id of the call.
        run: u64,
        /// Hook type.
        hook: String,
        /// Id of the slot.
        slot: String,
        /// Argument of the hook, such as `accept`; may be empty.
        word: String,
        /// Job that the hook is about, or `None`.
        job: Option<String>,
        /// Path of the job ad, or `None`.
        ad: Option<PathBuf>,
        /// Id of the accepted job, or `None`.
        #[serde(default)]
        accepted: Option<u64>,
    },
    /// The hook is running.
    HookRuns {
        /// Id of the call.
        run: u64,
        /// Process id of the hook.
        pid: i32,
        /// Start time of the process, in clock ticks after boot.
        started: u64,
    },
    /// The hook has ended, and its output was processed.
    HookEnds {
        /// Id of the call.
        run: u64,
    },
    /// A slot was claimed, or the claim of a slot was released.
    Claim {
        /// Id of the slot.
        slot: String,
        /// True if the claim has begun, false if it was released.
        begins: bool,
    },
    /// A fetched job was accepted: EVICT_CLAIM must be called if the job does not end normally.
    Accepted {
        /// Id of the accepted job.
        accepted: u64,
        /// Id of the slot in which the job runs.
        slot: String,
        /// Id of the job.
        job: String,
        /// Path of the job ad.
        ad: PathBuf,
    },
    /// The accepted job was given up, and no EVICT_CLAIM hook is configured that could report this to the job's queue.
    GivenUp {
        /// Id of the accepted job.
        accepted: u64,
    },
    /// A starter is about to be started.
    StarterBegins {
        /// Id of the starter.
        starter: u64,
        /// Id of the slot.
        slot: String,
        /// Id of the starter's job.
        job: String,
        /// Parent of the starter's scratch directory, or `None`.
        execute: Option<PathBuf>,
        /// Path of the file that the starter removes when it ends normally.
        note: PathBuf,
        /// Accepted job that the starter runs, or `None`.
        accepted: Option<u64>,
    },
    /// The starter is running.
    StarterRuns {
        /// Id of the starter.
        starter: u64,
        /// Process id of the starter.
        pid: i32,
        /// Start time of the process, in clock ticks after boot.
        started: u64,
    },
    /// The starter has exited, or was never started.
    StarterEnds {
        /// Id of the starter.
        starter: u64,
        /// Accepted job that the starter ran, if the starter's own hooks have reported the job's end; `None` if the starter was
        /// killed or not started.
        done: Option<u64>,
    },
}

impl JournalRecord {
    /// True if the entry `later` makes this entry obsolete.
    fn is_ended_by(&self, later: &JournalRecord) -> bool {
        match (self, later) {
            (
                JournalRecord::HookBegins { run, .. }
                | JournalRecord::HookRuns { run, .. }
                | JournalRecord::HookEnds { run },
                JournalRecord::HookEnds { run: ended },
            ) => run == ended,
            (
                JournalRecord::StarterBegins { starter, .. }
                | JournalRecord::StarterRuns { starter, .. }
                | JournalRecord::StarterEnds { starter, .. },
                JournalRecord::StarterEnds { starter: ended, .. },
            ) => starter == ended,
            (JournalRecord::Accepted { accepted, .. }, JournalRecord::StarterEnds { done, .. }) => {
                Some(*accepted) == *done
            }
            (JournalRecord::Claim { slot, .. }, JournalRecord::Claim { slot: other, .. }) => slot == other,
            (JournalRecord::Accepted { accepted, .. }, JournalRecord::GivenUp { accepted: other }) => {
                accepted == other
            }
            (
                JournalRecord::Accepted { accepted, .. },
                JournalRecord::HookBegins { accepted: other, hook, .. },
            ) => Some(*accepted) == *other && hook == SlotHookType::EvictClaim.name(),
            _ => false,
        }
    }

    /// Returns the path of the job ad that the entry names, or `None`.
    pub fn ad_path(&self) -> Option<&PathBuf> {
        match self {
            JournalRecord::HookBegins { ad, .. } => ad.as_ref(),
            JournalRecord::Accepted { ad, .. } => Some(ad),
            _ => None,
        }
    }

    /// Returns the process of the entry's hook or starter, or `None` if it is unknown.
    pub fn process_of(&self, all: &[JournalRecord]) -> Option<ProcessInstance> {
        all.iter().find_map(|other| match (self, other) {
            (JournalRecord::HookBegins { run, .. }, JournalRecord::HookRuns { run: of, pid, started })
                if run == of =>
            {
                Some(ProcessInstance { pid: *pid, start_ticks: *started })
            }
            (
                JournalRecord::StarterBegins { starter, .. },
                JournalRecord::StarterRuns { starter: of, pid, started },
            ) if starter == of => Some(ProcessInstance { pid: *pid, start_ticks: *started }),
            _ => None,
        })
    }
}

/// Adds an entry to the open ones, and returns the open entries that it makes obsolete.
pub fn add_record(open: &mut Vec<JournalRecord>, record: JournalRecord) -> Vec<JournalRecord> {
    let mut ended = Vec::new();
    let mut at = 0;
    while at < open.len() {
        match open[at].is_ended_by(&record) {
            true => ended.push(open.remove(at)),
            false => at += 1,
        }
    }
    let ends_another = matches!(
        record,
        JournalRecord::HookEnds { .. }
            | JournalRecord::StarterEnds { .. }
            | JournalRecord::GivenUp { .. }
            | JournalRecord::Claim { begins: false, .. }
    );
    if !ends_another {
        open.push(record);
    }
    ended
}

/// Returns the entries that no later entry makes obsolete.
pub fn open_records(records: impl IntoIterator<Item = JournalRecord>) -> Vec<JournalRecord> {
    let mut open = Vec::new();
    records.into_iter().for_each(|record| drop(add_record(&mut open, record)));
    open
}

impl ExecutionPoint {
    /// Returns the EVICT_CLAIM call for a job that a killed run accepted for this slot, or for one of its dynamic slots.
    pub fn evict_abandoned_job(
        &mut self,
        id: &str,
        job: &ClassAd,
        accepted: AcceptedJobId,
    ) -> Option<HookCall> {
        let parent = id.rsplit_once('_').map_or(id, |(parent, _)| parent);
        let named = |id: &str| self.slots.values().find(|slot| slot.id == id).map(|slot| slot.key);
        let key = named(id).or_else(|| named(parent))?;
        let slot = self.slots.get(&key)?;
        let path = slot.evict_hook_path(&mut self.core)?;
        let claim = self.core.new_claim(ClaimKind::Fetched);
        let stdin = hook_input::evict_claim_input(job, &slot.ads.live, &claim.id, self.core.quirks());
        Some(HookCall {
            run: HookRunId(accepted.0),
            slot: key,
            hook: SlotHookType::EvictClaim,
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

    fn hook(run: u64, hook: &str, word: &str) -> JournalRecord {
        let (hook, slot, word) = (hook.into(), "slot1".into(), word.into());
        let accepted = (hook == "EVICT_CLAIM").then_some(2);
        JournalRecord::HookBegins { run, hook, slot, word, job: None, ad: None, accepted }
    }

    #[test]
    fn unfinished_actions_remain_with_their_process() {
        let starter = JournalRecord::StarterBegins {
            starter: 1,
            slot: "slot1".into(),
            job: "1.0".into(),
            execute: None,
            note: "n".into(),
            accepted: Some(3),
        };
        let records = [
            hook(1, "FETCH_WORK", ""),
            JournalRecord::HookRuns { run: 1, pid: 7, started: 8 },
            starter.clone(),
            JournalRecord::StarterRuns { starter: 1, pid: 9, started: 10 },
            hook(2, "REPLY_FETCH", "accept"),
            JournalRecord::HookEnds { run: 2 },
        ];
        let open = open_records(records);
        assert_eq!(open.len(), 4);
        assert_eq!(open[0].process_of(&open), Some(ProcessInstance { pid: 7, start_ticks: 8 }));
        assert_eq!(starter.process_of(&open), Some(ProcessInstance { pid: 9, start_ticks: 10 }));
        let open = open_records(open.into_iter().chain([
            JournalRecord::HookEnds { run: 1 },
            JournalRecord::StarterEnds { starter: 1, done: Some(3) },
        ]));
        assert_eq!(open, []);
    }

    #[test]
    fn an_accepted_job_must_be_reported_until_evict_claim_or_its_exit() {
        let accepted = |accepted: u64| {
            let job = format!("{accepted}.0");
            JournalRecord::Accepted { accepted, slot: "slot1".into(), job, ad: "a".into() }
        };
        // A partitionable slot can accept several jobs, one after the other.
        let reply = hook(5, "REPLY_FETCH", "accept");
        let open = open_records([accepted(1), accepted(2), reply.clone()]);
        assert_eq!(open, [accepted(1), accepted(2), reply]);
        let ends = |done| JournalRecord::StarterEnds { starter: 1, done };
        assert_eq!(open_records([accepted(1), accepted(2), ends(Some(1))]), [accepted(2)]);
        assert_eq!(open_records([accepted(1), ends(None)]), [accepted(1)], "its starter was killed");
        assert_eq!(open_records([accepted(1), JournalRecord::GivenUp { accepted: 1 }]), []);
        let evict = hook(6, "EVICT_CLAIM", "");
        assert_eq!(open_records([accepted(1), accepted(2), evict.clone()]), [accepted(1), evict]);
    }
}
