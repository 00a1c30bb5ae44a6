//! What docker's images of jobs take on the disk, asked as time passes (`compute_for_update` of `ResAttributes.cpp`,
//! `imageCacheUsed` of `docker-api.cpp`).
//!
//! 25.14 waits for docker meanwhile, here nobody does. It asks for the times of tags too, of which nothing is made.

use std::time::Duration;

use crate::hook_environment::HookEnvironment;
use crate::starter::tool_path;
use htc_base::process::{ChildSpec, Exit, SessionMode, Stdio};
use htc_base::time::MonotonicTime;
use htc_base::world::World;
use htc_os::{ChildId, Reactor, SignalScope, clock};
use htc_slot::{ImageCacheSettings, StartdEvent};
use htc_starter::container::{image_cache_mib, list_all_images_call, parse_docker_parameter, parse_images};

/// How long docker may take (`default_timeout`).
const QUERY_TIMEOUT: Duration = Duration::from_secs(120);
/// How much of its answer is read, in bytes.
const OUTPUT_LIMIT: usize = 1 << 20;

/// When docker was asked, and the call under way.
pub(super) struct ImageCachePoll {
    /// When it was asked last. At first when the slots began: 25.14 asks for the first time an interval later.
    last_query: MonotonicTime,
    /// The call, and when it is given up.
    running: Option<(ChildId, MonotonicTime)>,
}

impl ImageCachePoll {
    pub(super) fn new() -> Self {
        ImageCachePoll { last_query: clock::monotonic_now(), running: None }
    }

    /// When it is to be looked at next.
    pub(super) fn next_wake(&self, settings: &ImageCacheSettings) -> Option<MonotonicTime> {
        match self.running {
            Some((_, until)) => Some(until),
            None => settings.interval.map(|every| self.last_query.plus(every)),
        }
    }

    /// Asks docker where it is time to, or gives a call up that takes too long; what is known at once. `environment` is what docker inherits.
    pub(super) fn poll(
        &mut self,
        settings: &ImageCacheSettings,
        environment: impl FnOnce() -> HookEnvironment,
        (reactor, world): (&mut Reactor, &dyn World),
    ) -> Option<StartdEvent> {
        let now = clock::monotonic_now();
        self.next_wake(settings).filter(|wake| *wake <= now)?;
        if let Some((child, until)) = &mut self.running {
            *until = now.plus(QUERY_TIMEOUT);
            reactor.send_signal(*child, nix::libc::SIGKILL, SignalScope::Family);
            return None;
        }
        self.last_query = now;
        let spec = docker_call(settings, environment, world);
        match spec.and_then(|spec| reactor.spawn(spec).ok()) {
            Some(child) => {
                self.running = Some((child, now.plus(QUERY_TIMEOUT)));
                None
            }
            // As in 25.14: where docker is not, its images take nothing.
            None => Some(StartdEvent::ImageCacheMeasured(0)),
        }
    }

    /// Takes the answer of docker, if the child was that call.
    pub(super) fn take_answer(&mut self, child: ChildId, exit: Exit, output: &[u8]) -> Option<StartdEvent> {
        self.running.take_if(|(running, _)| *running == child)?;
        // What was killed has said nothing.
        let images = match exit {
            Exit::Code(_) => parse_images(output),
            Exit::Signal { .. } => Vec::new(),
        };
        Some(StartdEvent::ImageCacheMeasured(image_cache_mib(&images)))
    }
}

fn docker_call(
    settings: &ImageCacheSettings,
    environment: impl FnOnce() -> HookEnvironment,
    world: &dyn World,
) -> Option<ChildSpec> {
    let call = list_all_images_call(&parse_docker_parameter(&settings.docker)?);
    let program = tool_path(call.argv.first()?, world)?;
    Some(ChildSpec {
        argv: call.argv,
        env: environment().entries(),
        stdio: [Stdio::Null, Stdio::Capture { limit: OUTPUT_LIMIT }, Stdio::Null],
        session: SessionMode::NewSession,
        discards_excess_output: true,
        ..ChildSpec::new(program)
    })
}
