//! The shadow as a starter's companion: what it sees becomes events of the machine, what that wants is asked or logged.

use bstr::BString;

use crate::starter::{Companion, ControlCommand, Seen, UserLog};
use htc_base::job::HoldCode;
use htc_base::time::{Now, Tick};
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_os::clock;
use htc_starter::disk::ONLY_SHADOW;
use htc_starter::shadow::{Action, Ask, Event, Order, Shadow, Why};
use htc_starter::{LogEvent, Request, ShadowReason, Vacate};
use htc_user_log::Body;

/// The machine with its log.
pub(super) struct ShadowCompanion<'w> {
    pub(super) shadow: Shadow<'w>,
    pub(super) log: Option<UserLog>,
    pub(super) world: &'w dyn World,
    /// Whether the starter is one of the local universe.
    pub(super) local: bool,
    /// The scratch directory of the run.
    pub(super) scratch: BString,
    /// What is to be done when no starter runs.
    pub(super) open: Vec<Action>,
    pub(super) wake_at: Option<Tick>,
    pub(super) vacate: std::time::Duration,
    pub(super) told: Vec<String>,
    pub(super) run: RunSeen,
}

/// What was seen of the run under way.
#[derive(Default)]
pub(super) struct RunSeen {
    /// The job left because it had been asked to.
    pub(super) evicted: bool,
    /// When a job that was asked to end has to.
    pub(super) fast_at: Option<Tick>,
    pub(super) last_word: LastWord,
}

/// What the queue hears of the starter's last word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LastWord {
    /// All of it.
    #[default]
    Whole,
    /// There is none, as a checkpoint could not be uploaded.
    None,
    /// It does not come through: the starter told of an error.
    Lost,
}

impl ShadowCompanion<'_> {
    /// What the queue never hears of a run whose files could not be moved: the times of standard files come with its last word
    /// (`notifyJobExit`), how full the directory is with the word before (`allJobsDone`).
    pub(super) fn unsaid(&self) -> &'static [&'static str] {
        match self.run.last_word {
            LastWord::Lost => &["StderrMtime", "StdoutMtime"],
            LastWord::None => &ONLY_SHADOW,
            LastWord::Whole => &[],
        }
    }

    /// Tells the machine something; what of its commands needs the starter is returned.
    pub(super) fn tell(&mut self, now: Now, event: Event) -> Vec<Request> {
        let mut requests = Vec::new();
        for action in self.shadow.step(now, event) {
            match action {
                Action::Log(body) => self.write(now, *body, None),
                Action::LogBefore(body, ad) => self.write(now, *body, Some(&ad)),
                Action::WakeAt(at) => self.wake_at = at,
                Action::Tell(text) => self.told.push(text),
                Action::Ask(ask) => {
                    // A starter of the local universe waits for its job without end.
                    self.run.fast_at = (!self.local).then(|| clock::tick().plus(self.vacate));
                    requests.extend(self.reason(ask));
                    requests.push(self.request(ask));
                }
                Action::AskAtOnce(ask) => {
                    self.run.fast_at = None;
                    requests.extend(self.reason(ask));
                    requests.push(Request::Fast(self.by_startd("Claim deactivated forcibly")));
                }
                Action::Call(_) | Action::Run(_) | Action::Finish(_) => self.open.push(action),
            }
        }
        requests
    }

    /// Behind a shadow all come as a soft end (c39): the starter knows from its startd only that the claim was deactivated (s23d). One
    /// of the local universe knows why, and sends the signal for it.
    fn request(&self, ask: Ask) -> Request {
        match ask {
            Ask::Hold if self.local => Request::Hold(None),
            Ask::Remove if self.local => Request::Remove(None),
            Ask::Requeue => Request::Requeue,
            Ask::Hold | Ask::Remove | Ask::Vacate => Request::Graceful(self.by_startd("Claim deactivated")),
        }
    }

    /// The reason of a claim that its shadow deactivates; `None` in the local universe.
    fn by_startd(&self, reason: &str) -> Option<Vacate> {
        let code = HoldCode::ClaimDeactivated as i64;
        (!self.local).then(|| Vacate { reason: reason.into(), code, subcode: 0 })
    }

    /// What the shadow wants, beside the deactivation of the claim: for the word of JOB_EXIT.
    fn reason(&self, ask: Ask) -> Option<Request> {
        let reason = match ask {
            Ask::Hold => ShadowReason::Hold,
            Ask::Remove => ShadowReason::Remove,
            Ask::Vacate | Ask::Requeue => return None,
        };
        (!self.local).then_some(Request::ForShadow(reason))
    }

    fn write(&mut self, now: Now, body: Body, before: Option<&ClassAd>) {
        let ad = before.unwrap_or(self.shadow.ad());
        if let Some(log) = &mut self.log
            && let Err(error) = log.write_of_queue(now, body, ad, self.world)
        {
            let path = log.path().display().to_string();
            self.told.push(format!("cannot write to the job's log '{path}': {error}"));
        }
        self.told.extend(self.log.as_mut().and_then(UserLog::complaint));
    }
}

impl ShadowCompanion<'_> {
    /// What a command is to the queue.
    fn order(command: ControlCommand) -> Option<Order> {
        Some(match command {
            ControlCommand::Hold(why) => Order::Hold(why_of(why)),
            ControlCommand::Remove(reason) => Order::Remove(reason),
            ControlCommand::Release(reason) => Order::Release(reason),
            ControlCommand::Vacate(None, fast) => Order::vacate(fast),
            ControlCommand::Vacate(Some(why), fast) => match (1..1000).contains(&why.code) {
                true => Order::Hold(why_of(why)),
                false => Order::Vacate { why: why_of(why), fast },
            },
            ControlCommand::Starter(_) | ControlCommand::Status => return None,
        })
    }
}

/// What a starter is told of a vacate is what the queue keeps of it.
fn why_of(Vacate { reason, code, subcode }: Vacate) -> Why {
    Why { reason, code, subcode }
}

impl Companion for ShadowCompanion<'_> {
    fn ordered(&mut self, now: Now, command: ControlCommand) -> Result<Vec<Request>, String> {
        let at_once = matches!(command, ControlCommand::Vacate(_, true));
        let Some(order) = Self::order(command) else { return Err("no job runs just now".to_owned()) };
        if let Some(why) = self.shadow.refuses(&order) {
            return Err(why.to_owned());
        }
        let mut requests = self.tell(now, Event::Ordered(order));
        if at_once {
            requests.push(Request::Fast(None));
        }
        Ok(requests)
    }

    fn saw(&mut self, now: Now, seen: Seen<'_>) -> Vec<Request> {
        let event = match seen {
            // What it tells is known already.
            Seen::Begun => Event::Updated(Box::default()),
            Seen::Transfer(way) => Event::Transfer(way),
            Seen::Transferred(done) => Event::Transferred(Box::new(done.clone())),
            Seen::Update(ad) => Event::Updated(Box::new(ad)),
            Seen::JobEnded => Event::JobEnded,
            Seen::Log(LogEvent::Execute) => Event::Executing(self.scratch.clone()),
            Seen::Log(LogEvent::Suspended { processes }) => Event::Suspended(*processes),
            Seen::Log(LogEvent::Continued) => Event::Continued,
            Seen::Log(LogEvent::Error { failure, critical }) => {
                // A checkpoint that could not be uploaded leaves no word of an end (c31 o39).
                let of_checkpoint = failure.code == HoldCode::FailedToCheckpoint.number();
                if *critical {
                    let word = if of_checkpoint { LastWord::None } else { LastWord::Lost };
                    self.run.last_word = self.run.last_word.max(word);
                }
                let why = Why { subcode: failure.subcode, ..Why::new(failure.text.clone(), failure.code) };
                Event::Error { why, critical: *critical }
            }
            // How it ended is told when the starter has ended.
            Seen::Log(LogEvent::Evicted { .. }) => {
                self.run.evicted = true;
                return Vec::new();
            }
            Seen::Log(LogEvent::Terminated { .. }) => return Vec::new(),
            Seen::Missed => {
                // The schedd holds it when it hears how the starter ended (`jobExitCode` of `schedd.cpp`).
                let code = HoldCode::MissedDeferredExecutionTime as i64;
                let why = Why::new("Job missed deferred execution time", code);
                drop(self.tell(now, Event::Ordered(Order::Hold(why))));
                self.run.fast_at = None;
                return Vec::new();
            }
            Seen::Removal if !self.local => return Vec::new(),
            Seen::Removal => {
                // A schedd has its starter remove the job by this signal; the starter has heard it.
                drop(self.tell(now, Event::Ordered(Order::Remove("via condor_rm".into()))));
                self.run.fast_at = None;
                return Vec::new();
            }
            Seen::Time => {
                let tick = now.tick();
                if self.run.fast_at.is_some_and(|at| at <= tick) {
                    self.run.fast_at = None;
                    return vec![Request::Fast(None)];
                }
                if self.wake_at.is_none_or(|at| at > tick) {
                    return Vec::new();
                }
                self.wake_at = None;
                Event::Timeout
            }
        };
        self.tell(now, event)
    }

    fn wake_at(&self) -> Option<Tick> {
        [self.wake_at, self.run.fast_at].into_iter().flatten().min()
    }
}
