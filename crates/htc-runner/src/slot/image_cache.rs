//! Disk usage of the docker images of jobs, queried periodically (`compute_for_update` of `ResAttributes.cpp`,
//! `imageCacheUsed` of `docker-api.cpp`).
//!
//! 25.14 blocks while it waits for docker; this program does not. 25.14 also queries the times of tags, but does not
//! use them.

use std::time::Duration;

use crate::hook_environment::HookEnvironment;
use crate::starter::tool_path;
use htc_base::process::{ChildSpec, Exit, SessionMode, Stdio};
use htc_base::time::MonotonicTime;
use htc_base::world::World;
use htc_os::{ChildId, Reactor, SignalScope, clock};
use htc_slot::{ImageCacheSettings, StartdEvent};
use htc_starter::container::{image_cache_mib, list_all_images_call, parse_docker_parameter, parse_images};

/// Maximum time of a docker query (`default_timeout`).
const QUERY_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum number of bytes read of the output of docker.
const OUTPUT_LIMIT: usize = 1 << 20;

/// State of the docker queries.
pub(super) struct ImageCachePoll {
    /// Time of the last query, initially the start of the slots, because 25.14 makes its first query one interval
    /// later.
    last_query: MonotonicTime,
    /// The running query, and the time at which it is killed.
    running: Option<(ChildId, MonotonicTime)>,
}

impl ImageCachePoll {
    pub(super) fn new() -> Self {
        ImageCachePoll { last_query: clock::monotonic_now(), running: None }
    }

    /// Returns the time of the next call of `poll`, or `None` if docker is not queried.
    pub(super) fn next_wake(&self, settings: &ImageCacheSettings) -> Option<MonotonicTime> {
        match self.running {
            Some((_, until)) => Some(until),
            None => settings.interval.map(|every| self.last_query.plus(every)),
        }
    }

    /// Starts a query if it is due, or kills a query that takes too long. Returns an event if the result is known
    /// without a query. `environment` returns the environment for docker.
    pub(super) fn poll(
        &mut self,
        settings: &ImageCacheSettings,
        environment: impl FnOnce() -> HookEnvironment,
        reactor: &mut Reactor,
        world: &dyn World,
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
            // As in 25.14, the images are treated as using no space if docker is not installed.
            None => Some(StartdEvent::ImageCacheMeasured(0)),
        }
    }

    /// Processes docker's output if `child` is the query.
    pub(super) fn take_answer(&mut self, child: ChildId, exit: Exit, output: &[u8]) -> Option<StartdEvent> {
        self.running.take_if(|(running, _)| *running == child)?;
        // The output of a query that was killed is incomplete, so it is not used.
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
