//! What is under way for the job of a starter: what the loop shares with those who carry out single actions.

use std::collections::VecDeque;
use std::path::PathBuf;

use bstr::BString;
use rustc_hash::FxHashMap;

use super::companion::{Companion, Seen};
use super::docker_socket::DockerWatch;
use super::job::Job;
use super::looking::Looking;
use super::notice;
use super::reopened::Reopened;
use super::running::Running;
use super::state_file::StateFile;
use crate::control::Control;
use crate::events::{self, EventStream, Kind};
use crate::parent::Parent;
use htc_base::time::{Now, Tick};
use htc_base::world::World;
use htc_os::terminal::Terminal;
use htc_os::{ChildId, Reactor, clock};
use htc_starter::{CallId, Event, Standing};

/// Who may ask things of a starter beside signals.
#[derive(Default)]
pub struct Beside<'a> {
    /// Somebody who looks on.
    pub companion: Option<&'a mut (dyn Companion + 'a)>,
    /// A socket.
    pub control: Option<&'a mut Control>,
    /// Whoever the job does not outlive.
    pub parent: Option<&'a mut Parent>,
}

/// A call of a container's runtime that has not ended.
pub(super) struct Tool {
    pub(super) child: ChildId,
    pub(super) call: CallId,
    pub(super) until: Tick,
    /// The file that gets what it complains of.
    pub(super) errors: Option<PathBuf>,
}

/// How its end was asked for, by signal, order or `--timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asked {
    Nothing,
    /// In another way than the two below, as by removing the job.
    Otherwise,
    Softly,
    /// Hard, or softly for the second time: somebody is impatient.
    AtOnce,
}

/// What is under way.
pub(super) struct Live<'a> {
    pub(super) job: Job,
    pub(super) world: &'a dyn World,
    pub(super) reactor: &'a mut Reactor,
    pub(super) stream: &'a mut EventStream,
    /// What is to be told to the machine next.
    pub(super) events: VecDeque<Event>,
    pub(super) calls: FxHashMap<ChildId, CallId>,
    /// Calls of a container's runtime.
    pub(super) tools: Vec<Tool>,
    pub(super) process: Option<Running>,
    /// What is left when we are killed.
    pub(super) state: Option<StateFile>,
    /// What the job's directory held the last time.
    pub(super) disk: Option<(u64, u64)>,
    /// It is being looked through.
    pub(super) looking: Option<Looking>,
    /// The container of the job.
    pub(super) container: Option<BString>,
    /// Docker is asked what it uses.
    pub(super) docker: Option<DockerWatch<'a>>,
    /// The terminal, while a shell has it.
    pub(super) terminal: Option<Terminal>,
    pub(super) wake_at: Option<Tick>,
    pub(super) timeout_at: Option<Tick>,
    /// Who looks on, and who asks.
    pub(super) beside: Beside<'a>,
    pub(super) result: Vec<u8>,
    pub(super) unwritten: Option<String>,
    pub(super) finished: Option<(u8, Standing, Option<Vec<u8>>)>,
    pub(super) not_started: Option<String>,
    pub(super) timed_out: bool,
    /// The family was killed on request.
    pub(super) killed: bool,
    /// A hook has been called.
    pub(super) called: bool,
    /// A child has ended, hook or job.
    pub(super) past_start: bool,
    /// The scratch directory that is open for this call of JOB_EXIT alone.
    pub(super) reopened: Option<(CallId, Reopened)>,
    pub(super) asked: Asked,
    /// How far the machine has got, in a word.
    pub(super) doing: &'static str,
}

impl<'a> Live<'a> {
    /// A job that is about to begin.
    pub(super) fn new(
        job: Job,
        world: &'a dyn World,
        (reactor, stream): (&'a mut Reactor, &'a mut EventStream),
        beside: Beside<'a>,
    ) -> Self {
        Live {
            timeout_at: job.timeout.map(|limit| clock::tick().plus(limit)),
            job,
            world,
            reactor,
            stream,
            events: VecDeque::from([Event::Begin]),
            calls: FxHashMap::default(),
            tools: Vec::new(),
            process: None,
            state: None,
            disk: None,
            looking: None,
            container: None,
            docker: None,
            terminal: None,
            wake_at: None,
            beside,
            result: Vec::new(),
            unwritten: None,
            finished: None,
            not_started: None,
            timed_out: false,
            killed: false,
            called: false,
            past_start: false,
            reopened: None,
            asked: Asked::Nothing,
            doing: "",
        }
    }

    pub(super) fn now(&self) -> Now {
        let now = clock::now();
        Now { wall_us: now.wall_us.saturating_add(self.job.skew_us), ..now }
    }

    pub(super) fn event(&self, kind: Kind) -> events::Event {
        let event = events::Event::new(self.now(), kind).job(self.job.id.as_str());
        if self.job.slot.is_empty() { event } else { event.slot(self.job.slot.as_str()) }
    }

    pub(super) fn warn(&mut self, reason: String) {
        let event = self.event(Kind::Warning).reason(reason);
        self.stream.tell(&event);
    }

    /// Warns, unless another starter of the slot runner has warned of the same.
    pub(super) fn warn_once(&mut self, subject: &str, reason: impl FnOnce() -> String) {
        if notice::is_news(self.job.private.as_deref(), subject) {
            self.warn(reason());
        }
    }

    /// Shows the companion what happens; what it asks for is asked.
    pub(super) fn show(&mut self, now: Now, seen: Option<Seen<'_>>) {
        if let (Some(companion), Some(seen)) = (&mut self.beside.companion, seen) {
            self.events.extend(companion.saw(now, seen).into_iter().map(Event::Asked));
        }
    }

    pub(super) fn pid(&self, child: ChildId) -> u32 {
        self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0)
    }
}
