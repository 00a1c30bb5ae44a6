//! A recording that is so long that only its beginning and end are logged. The queue is generated from our
//! router's actions, and the order of its writes, all recorded states of the routing table, and messages
//! about throttles are compared.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;

use htc_hooks::classad::ClassAd;
use htc_hooks::hook::HookType;
use htc_hooks::job::JobId;
use htc_hooks::process::Exit;
use htc_hooks::queue::QueueLogReader;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::router::{
    FinishedHookCall, QueueView, RouterAction, RouterContext, RouterEvent, RouterHookCall, RouterHookResult,
    judge_hook_call, limits,
};
use htc_hooks::runner::router::HookRunner;
use htc_hooks::world::FrozenClockWorld;

use super::super::Outcome;
use super::super::findings::Difference;
use super::recording::timed;
use super::session::{Stage, fresh, now};
use super::units::Kind;

/// Recorded parts of the router's log: seconds since the epoch with rows of the routing table and messages.
pub struct More(Vec<(f64, String)>);

/// Returns the longer log of a recording, if there is one.
pub fn recorded(directory: &Path) -> Option<More> {
    let text = fs::read_to_string(directory.join("throttle.extract")).ok()?;
    Some(More(timed(&text).into_iter().map(|(at, line)| (at, line.trim().to_owned())).collect()))
}

/// The queue as modified by our own router; its writes are visible at the next poll.
struct Mirror {
    jobs: Vec<(JobId, ClassAd)>,
    written: Vec<(JobId, &'static str)>,
}

impl Mirror {
    fn catch_up(&mut self) {
        for (id, managed) in std::mem::take(&mut self.written) {
            if let Some((_, ad)) = self.jobs.iter_mut().find(|(known, _)| *known == id) {
                ad.set("Managed", managed);
                ad.set("ManagedManager", if managed == "External" { "jobrouter" } else { "" });
            }
        }
    }
}

impl QueueView for Mirror {
    fn job(&self, id: JobId) -> Option<ClassAd> {
        self.jobs.iter().find(|(known, _)| *known == id).map(|(_, ad)| ad.clone())
    }

    fn jobs(&self) -> Vec<JobId> {
        self.jobs.iter().map(|(id, _)| *id).collect()
    }
}

/// Times per action to try, in half milliseconds, because the time that the recorded router needed is
/// unknown. The best match counts. The router sets its timer at the end of a poll.
const COSTS: std::ops::Range<u32> = 0..24;

/// Replays it from the start to the end of the recording.
pub fn compare(stage: &Stage<'_>, more: &More, outcome: &mut Outcome) {
    let accounts = COSTS.map(|half| {
        let mut trial = Outcome { differences: Vec::new(), ..outcome.clone() };
        Account::of(stage, f64::from(half) / 2000.0).held_against(stage, more, &mut trial);
        trial
    });
    let agreed = |trial: &Outcome| trial.counts.states.compared + trial.counts.values.compared;
    let best = accounts.min_by_key(|trial| (trial.differences.len(), usize::MAX - agreed(trial)));
    *outcome = best.unwrap_or_else(|| outcome.clone());
}

impl Account {
    fn of(stage: &Stage<'_>, cost: f64) -> Self {
        let recording = stage.recording;
        let begun = recording.lives.first().copied().unwrap_or(0.0);
        let first = recording.units.iter().position(|unit| unit.router.is_some()).unwrap_or(0);
        let mut reader = QueueLogReader::new();
        recording.units[..first].iter().for_each(|unit| reader.feed(&unit.text));
        let jobs = reader.queue().job_ids_in_entry_order();
        let jobs = jobs.into_iter().filter_map(|id| Some((id, reader.queue().job(id)?.flattened_chain())));
        let mut mirror = Mirror { jobs: jobs.collect(), written: Vec::new() };
        let mut router = fresh(stage, begun);
        let mut account = Account::default();
        let mut hooks: Vec<RouterEvent> = Vec::new();
        account.look(&router);
        let mut at = begun + stage.period;
        while at < recording.stopped {
            mirror.catch_up();
            // Hooks that were started in one poll have ended long before the next one.
            let mut done = 0;
            let mut events: VecDeque<RouterEvent> = hooks.drain(..).chain([RouterEvent::Poll]).collect();
            while let Some(event) = events.pop_front() {
                let is_poll = matches!(event, RouterEvent::Poll);
                let frozen = FrozenClockWorld { world: stage.world, now: now(at) };
                let context = RouterContext {
                    queue: &mirror,
                    copies: &mirror,
                    config: Some(stage.view),
                    parameters: stage.view,
                    world: &frozen,
                };
                for action in router.handle_event(now(at), event, &context) {
                    done += i32::from(!matches!(action, RouterAction::Log(_)));
                    account.act(action, at, stage, &mut mirror, &mut events, &mut hooks);
                }
                if is_poll {
                    account.look(&router);
                }
            }
            account.look(&router);
            at += stage.period + f64::from(done) * cost;
        }
        account
    }

    fn act(
        &mut self,
        action: RouterAction,
        at: f64,
        stage: &Stage<'_>,
        mirror: &mut Mirror,
        events: &mut VecDeque<RouterEvent>,
        hooks: &mut Vec<RouterEvent>,
    ) {
        match action {
            RouterAction::Log(text) if text.contains("adjusting throttle") => self.messages.push((at, text)),
            RouterAction::Claim(id) => {
                self.writes.push((id, Kind::Claim));
                mirror.written.push((id, "External"));
                events.push_back(RouterEvent::ClaimResult(id, Ok(())));
            }
            RouterAction::YieldSource(id, done) => {
                self.writes.push((id, Kind::Yield { done }));
                mirror.written.push((id, "Schedd"));
                events.push_back(RouterEvent::YieldResult(id, Ok(())));
            }
            RouterAction::CallHook(RouterHookCall {
                source,
                hook: HookType::TranslateJob,
                route,
                source_ad,
                copy_ad,
                ..
            }) => {
                let stdin = HookRunner::stdin(HookType::TranslateJob, &route, &source_ad, &copy_ad);
                let text = String::from_utf8_lossy(&stdin).replace(&stage.local, "@LOCAL_DIR@");
                self.inputs.push((source, text));
                let answer = FinishedHookCall {
                    dialect: htc_hooks::classad::Dialect::new_syntax(),
                    hook: HookType::TranslateJob,
                    exit: Exit::Code(1),
                    stdout: b"",
                    is_truncated: false,
                    source_ad: &source_ad,
                    routed_ad: None,
                    edit_in_place: false,
                };
                let result =
                    RouterHookResult::Ended(Box::new(judge_hook_call(&answer, QuirkMode::Reference)));
                hooks.push(RouterEvent::HookEnded(source, HookType::TranslateJob, result));
            }
            RouterAction::CallHook(RouterHookCall { source, hook, .. }) => {
                events.push_back(RouterEvent::HookEnded(source, hook, RouterHookResult::NotConfigured));
            }
            _ => {}
        }
    }
}

/// Actions of our router.
#[derive(Default)]
struct Account {
    writes: Vec<(JobId, Kind)>,
    /// Changing rows of each route.
    rows: BTreeMap<String, Vec<String>>,
    /// Time at which the counts of each route began.
    begun: BTreeMap<String, i64>,
    messages: Vec<(f64, String)>,
    inputs: Vec<(JobId, String)>,
}

impl Account {
    /// Records the table row of each route if it has changed. The recorded router logs the table before it
    /// chooses jobs, so that reset counts are visible.
    fn look(&mut self, router: &htc_hooks::router::Router) {
        for (route, state) in router.routes() {
            let throttle = limits::format_throttle(state.throttle);
            let rows = self.rows.entry(route.name.to_string()).or_default();
            let mut note = |routed: i64, succeeded: i64, failed: i64| {
                let row = format!("{throttle} {routed} {succeeded} {failed}");
                if rows.last() != Some(&row) {
                    rows.push(row);
                }
            };
            let begun = self.begun.insert(route.name.to_string(), state.counts_since);
            if begun.is_some_and(|begun| begun != state.counts_since) {
                note(0, 0, 0);
            }
            note(state.recently_routed, state.recently_succeeded, state.recently_failed);
        }
    }

    fn held_against(&self, stage: &Stage<'_>, more: &More, outcome: &mut Outcome) {
        let mut differ = |what: &str, recorded: Option<String>, ours: Option<String>| {
            let place = "routes".to_owned();
            outcome.differences.push(Difference { place, what: what.to_owned(), recorded, ours });
        };
        // Compares all writes in order; the time at which the router was stopped is uncertain by one or two
        // polls.
        let recorded: Vec<(JobId, Kind)> =
            stage.recording.units.iter().filter_map(|unit| unit.router).collect();
        let same = recorded.iter().zip(&self.writes).take_while(|(a, b)| a == b).count();
        outcome.counts.states.compared += same;
        const OF_A_LOOK: usize = 12;
        if same + OF_A_LOOK < recorded.len().max(self.writes.len()) {
            let shown = |all: &[(JobId, Kind)]| Some(format!("{:?} of {}", all.get(same), all.len()));
            differ(&format!("write {}", same + 1), shown(&recorded), shown(&self.writes));
        }
        // Compares each recorded row, in order.
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, line) in &more.0 {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [route, source, _, _, _, _, throttle @ .., started, succeeded, failed] = words.as_slice()
            else {
                continue;
            };
            if route != source {
                continue;
            }
            let throttle = throttle.join(" ");
            let row = format!("{throttle} {started} {succeeded} {failed}");
            let rows = self.rows.get(*route).map(Vec::as_slice).unwrap_or_default();
            let from = seen.entry(route).or_default();
            match rows[*from..].iter().position(|ours| *ours == row) {
                Some(at) => *from += at,
                None => {
                    differ(&format!("row of {route}"), Some(line.clone()), rows.get(*from).cloned());
                    break;
                }
            }
            outcome.counts.values.compared += 1;
        }
        let adjusted: Vec<_> =
            more.0.iter().filter(|(_, line)| line.contains("adjusting throttle")).collect();
        let alike = adjusted.len() == self.messages.len()
            && adjusted.iter().zip(&self.messages).all(|(a, b)| a.1 == b.1 && (a.0 - b.0).abs() < 4.0);
        outcome.counts.states.compared += adjusted.len();
        if !alike {
            differ("throttle", Some(format!("{adjusted:?}")), Some(format!("{:?}", self.messages)));
        }
        for call in stage.recording.calls.iter() {
            let (Some(stdin), Some(source)) = (&call.stdin, call.source) else { continue };
            outcome.counts.calls.compared += 1;
            outcome.counts.values.compared += stdin.lines().count();
            let ours = self.inputs.iter().find(|(id, _)| *id == source).map(|(_, text)| text);
            if ours != Some(stdin) {
                differ(&call.label, Some(stdin.clone()), ours.cloned());
            }
        }
    }
}
